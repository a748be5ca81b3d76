"""The tiles of ``tiles.toml`` as tables: those that upstream's generator of November 2025 knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ckrules.constraints.fmha.tiles import Row, numbers, tilings
from ckrules.engine.expr.relation import Table

_SOURCE = "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: get_dq_dk_dv_tiles (CK 2025.11)"


def _rows() -> Iterator[Row]:
    """Target, trload, type and head dimension, tile, waves and warp tiles, bound, longest Q."""
    for said in tilings("ckrules.constraints.fmha_bwd"):
        for dtype, text in product(said["dtypes"], said["tiles"]):
            tile, *rest = map(numbers, text.split())
            flat = (n for part in rest for n in part)
            yield said["target"], said["trload"], dtype, tile[7], *tile, *flat


_KEY = ("target", "trload", "dtype", "hdim", "m0", "n0")


def _part(name: str, first: int, last: int, columns: Sequence[str]) -> Table:
    """The part of the rows that follows from a key, which no two rows share."""
    rows = [(*row[:6], *row[first:last]) for row in _rows()]
    return Table.relation(name, (*_KEY, *columns), rows, source=_SOURCE)


#: The rows in three tables, as those of forward: block tiles, and by what tells them apart waves,
#: and warp tiles with launch bound and longest Q.
TILES = (
    _part("tiles", 6, 13, ("k0", "k1", "k2", "k3", "k4", "hdq", "hdv")),
    _part("waves", 13, 22, [f"wave_{x}{p}" for p in "012" for x in "mnk"]),
    _part("warps", 22, 30, [*(f"warp_{x}{p}" for p in "01" for x in "mnk"), "block_per_cu", "longest"]),
)  # fmt: skip
#: What the kernels before and after take of the tiles.
HEADS = Table.relation(
    "heads", ("target", "dtype", "hdim"), {(row[0], *row[2:4]) for row in _rows()}, source=_SOURCE
)
#: Rows of K in a block, where dQ is converted after a deterministic kernel.
CONVERTED = Table.relation(
    "converted", ("target", "dtype", "hdim", "n0"),
    {(row[0], *row[2:4], row[5]) for row in _rows() if not row[-1]}, source=_SOURCE,
)  # fmt: skip
