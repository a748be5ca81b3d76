"""The tiles that upstream's generator of November 2025 knows for attention backward.

Facts: ``get_dq_dk_dv_tiles`` of example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py, CK 2025.11.
gfx950 has the tiles of gfx9 and those that load transposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ckrules.constraints.fmha.tiles import HALVES, W16, W16_32, Row
from ckrules.engine.expr.relation import Table

Shape = tuple[int, int, int]
Tiling = tuple[tuple[int, ...], tuple[Shape, Shape, Shape], tuple[Shape, Shape], int, int]
"""Block tile, waves of products 0, 1 and 4, warp tiles of 0 and 1, launch bound, longest Q."""

_ONE: tuple[Shape, Shape, Shape] = ((1, 1, 1), (1, 1, 1), (1, 1, 1))
_ROW: tuple[Shape, Shape, Shape] = ((1, 4, 1), (4, 1, 1), (1, 4, 1))
_SQUARE: tuple[Shape, Shape, Shape] = ((1, 4, 1), (4, 1, 1), (2, 2, 1))
_PLAIN, _DEEP, _DEEPER = (W16, W16), (W16_32, W16), (W16_32, W16_32)

_GFX9: Mapping[Sequence[str], Sequence[Tiling]] = {
    ("fp32",): [
        ((32, 128, 32, 32, 32, 32, 64, 32, 32), _SQUARE, _PLAIN, 1, 0),
        ((16, 64, 64, 16, 64, 16, 16, 64, 64), _ROW, _PLAIN, 1, 0),
        ((16, 64, 128, 16, 128, 16, 16, 128, 128), _ROW, _PLAIN, 1, 0),
    ],
    HALVES: [
        ((32, 128, 32, 32, 32, 32, 64, 32, 32), _SQUARE, _DEEP, 1, 0),
        ((32, 128, 64, 32, 64, 32, 32, 64, 64), _ROW, _DEEP, 1, 0),
        ((32, 128, 96, 32, 96, 32, 32, 96, 96), _SQUARE, _DEEP, 1, 0),
        ((16, 128, 128, 16, 128, 16, 32, 128, 128), _ROW, _DEEP, 1, 0),
        ((16, 64, 256, 16, 256, 16, 32, 256, 256), _ROW, _DEEP, 1, 0),
    ],
}
_GFX950_TRLOAD: Mapping[Sequence[str], Sequence[Tiling]] = {
    HALVES: [
        ((32, 128, 64, 32, 64, 32, 32, 64, 64), _ROW, _DEEPER, 1, 0),
        ((32, 128, 128, 32, 128, 32, 32, 128, 128), _ROW, _DEEPER, 1, 0),
        ((16, 192, 128, 16, 128, 16, 32, 128, 128), _ROW, _DEEP, 1, 0),
        ((32, 16, 64, 32, 64, 32, 16, 64, 64), _ONE, _DEEP, 2, 32),
        ((16, 16, 128, 16, 128, 16, 16, 128, 128), _ONE, _DEEP, 2, 16),
    ],
}
_GFX12: Mapping[Sequence[str], Sequence[Tiling]] = {
    HALVES: [
        ((32, 64, 32, 32, 32, 32, 64, 32, 32), _SQUARE, _PLAIN, -1, 0),
        ((32, 64, 64, 32, 64, 32, 32, 64, 64), _ROW, _PLAIN, -1, 0),
        ((16, 64, 128, 16, 128, 16, 32, 128, 128), _ROW, _PLAIN, -1, 0),
        ((16, 64, 256, 16, 256, 16, 32, 256, 256), _ROW, _PLAIN, -1, 0),
    ],
}
#: By target and whether operands are transposed as LDS is read.
TILINGS: Mapping[tuple[str, bool], Mapping[Sequence[str], Sequence[Tiling]]] = {
    ("gfx9", False): _GFX9, ("gfx950", False): _GFX9, ("gfx950", True): _GFX950_TRLOAD,
    ("gfx12", False): _GFX12,
}  # fmt: skip
_SOURCE = "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: get_dq_dk_dv_tiles (CK 2025.11)"


def _tilings() -> Iterator[tuple[str, bool, str, Tiling]]:
    for (target, trload), by_type in TILINGS.items():
        for dtypes, tilings in by_type.items():
            yield from ((target, trload, dtype, t) for dtype in dtypes for t in tilings)


def _rows() -> Iterator[Row]:
    for target, trload, dtype, (tile, waves, warp, bound, longest) in _tilings():
        flat = [n for shape in (*waves, *warp) for n in shape]
        yield target, trload, dtype, tile[7], *tile, *flat, bound, longest


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
    "heads", ("target", "dtype", "hdim"),
    {(t, dtype, tiling[0][7]) for t, _, dtype, tiling in _tilings()}, source=_SOURCE,
)  # fmt: skip
#: Rows of K in a block, where dQ is converted after a deterministic kernel.
CONVERTED = Table.relation(
    "converted", ("target", "dtype", "hdim", "n0"),
    {(t, dtype, tiling[0][7], tiling[0][1]) for t, _, dtype, tiling in _tilings() if not tiling[4]},
    source=_SOURCE,
)  # fmt: skip
