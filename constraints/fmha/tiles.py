"""The tiles of ``tiles.toml`` as tables: those that upstream's generator of November 2025 knows."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from ckrules.engine.expr.relation import Table

Row = tuple[int | str, ...]


@cache
def tilings(package: str) -> list[dict[str, Any]]:
    """What ``tiles.toml`` of a family's package says."""
    text = files(package).joinpath("tiles.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["tilings"]
    return found


def numbers(text: str) -> tuple[int, ...]:
    """The sizes that a word says.

    >>> numbers("64x32x16")
    (64, 32, 16)
    """
    return tuple(map(int, text.split("x")))


def rows() -> Iterator[Row]:
    """Kernel, target, type and head dimension, tile, waves and warp tile of both products, bound."""
    for said in tilings("ckrules.constraints.fmha"):
        for target, dtype, text in product(said["targets"], said["dtypes"], said["tiles"]):
            hdim, tile, waves, warp, bound = map(numbers, text.split())
            key = said["kernel"], target, dtype, *hdim
            yield (*key, *tile, *waves, *waves, *warp, *warp, *bound)


_SOURCE = "example/ck_tile/01_fmha/codegen/ops/*.py: get_hdim_tile_size_dict (CK 2025.11)"
_KEY = ("variant", "target", "dtype", "hdim", "m0", "n0", "n1")


def _part(name: str, first: int, last: int, *columns: str) -> Table:
    """The part of the rows that follows from a key, which no two rows share."""
    found = [(*row[:6], row[7], *row[first:last]) for row in rows()]
    return Table.relation(name, (*_KEY, *columns), found, source=_SOURCE)


#: The rows in four tables, which compile where one of 23 columns does not: block tiles, and by
#: what tells them apart waves, warp tiles and launch bound.
TILES = (
    Table.relation(
        "tiles", ("variant", "target", "dtype", "hdim", "m0", "n0", "k0", "n1", "k1", "k0max"),
        [row[:10] for row in rows()], source=_SOURCE,
    ),
    _part("waves", 10, 16, *(f"wave_{x}{p}" for p in "01" for x in "mnk")),
    _part("warps", 16, 22, *(f"warp_{x}{p}" for p in "01" for x in "mnk")),
    _part("bounds", 22, 23, "block_per_cu"),
)  # fmt: skip
