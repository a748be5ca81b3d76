"""The tiles that upstream's generator of November 2025 knows, by kernel, target, type and hdim.

Facts: ``get_hdim_tile_size_dict`` of example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py,
fmha_fwd_splitkv.py, fmha_pagedkv_prefill.py and fmha_batch_prefill.py, CK 2025.11. gfx950 has the
tiles of gfx9. Head dimensions of Q and V are one number where they are the same; that of V is n1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ckrules.engine.expr.relation import Table

Row = tuple[int | str, ...]
Tiling = tuple[tuple[int, ...], tuple[int, int, int], tuple[int, int, int], int]
"""Block tile, waves and warp tile of both products, and the launch bound."""

W16, W16_32, W32, W32_32 = (16, 16, 16), (16, 16, 32), (32, 32, 16), (32, 32, 32)
_ONE, _TWO, _FOUR = (1, 1, 1), (2, 1, 1), (4, 1, 1)

HALVES = ("fp16", "bf16")
_FP8, _WIDE_FP8 = ("fp8", "fp8bf16"), ("fp8fp32",)

_FWD_GFX9: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    ("fp32",): {
        32: [((64, 64, 16, 32, 32, 32), _FOUR, W16, -1)],
        48: [((32, 128, 16, 48, 16, 48), _TWO, W16, -1), ((128, 64, 16, 48, 32, 48), _FOUR, W16, -1)],
        64: [((64, 64, 32, 64, 32, 64), _FOUR, W16, -1)],
        96: [((128, 64, 32, 128, 32, 96), _FOUR, W16, -1)],
        128: [((32, 128, 32, 128, 16, 128), _TWO, W16, -1),
              ((128, 64, 32, 128, 32, 128), _FOUR, W16, -1)],
        192: [((64, 64, 32, 192, 32, 192), _FOUR, W16, -1)],
        256: [((64, 64, 32, 256, 32, 256), _FOUR, W16, -1)],
    },
    HALVES: {
        32: [((128, 64, 16, 32, 32, 32), _FOUR, W32, -1)],
        64: [((16, 32, 64, 64, 32, 64), _ONE, W16_32, -1), ((32, 32, 64, 64, 32, 64), _ONE, W32, -1),
             ((128, 64, 32, 64, 32, 64), _FOUR, W32, -1)],
        96: [((128, 128, 32, 128, 32, 96), _FOUR, W32, -1)],
        128: [((16, 32, 64, 128, 32, 128), _ONE, W16_32, -1),
              ((32, 32, 128, 128, 32, 128), _ONE, W32, -1),
              ((128, 64, 32, 128, 16, 128), _FOUR, W32, -1),
              ((128, 128, 32, 128, 32, 128), _FOUR, W32, -1)],
        192: [((128, 128, 32, 128, 32, 192), _FOUR, W32, -1), ((128, 128, 32, 192, 32, 192), _FOUR, W32, 1)],
        256: [((128, 128, 32, 256, 32, 256), _FOUR, W32, -1)],
    },
    _FP8: {
        64: [((128, 64, 32, 64, 32, 64), _TWO, W32_32, -1)],
        128: [((128, 128, 32, 128, 32, 128), _FOUR, W32_32, -1)],
        256: [((128, 128, 32, 256, 32, 256), _FOUR, W32_32, -1)],
    },
    _WIDE_FP8: {128: [((128, 128, 32, 128, 32, 128), _FOUR, W32_32, -1)]},
}  # fmt: skip
_FWD_GFX12: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {
        32: [((64, 64, 16, 32, 32, 32), _FOUR, W16, -1)],
        64: [((64, 64, 32, 64, 32, 64), _FOUR, W16, -1)],
        128: [((64, 64, 32, 128, 32, 128), _FOUR, W16, -1)],
        192: [((64, 64, 32, 128, 32, 256), _FOUR, W16, -1)],
        256: [((64, 64, 32, 256, 32, 256), _FOUR, W16, -1)],
    },
    _FP8: {
        64: [((128, 64, 32, 64, 32, 64), _FOUR, W16, -1)],
        128: [((64, 64, 32, 128, 32, 128), _FOUR, W16, -1)],
        256: [((64, 32, 32, 256, 32, 256), _FOUR, W16, -1)],
    },
    _WIDE_FP8: {128: [((64, 64, 32, 128, 32, 128), _FOUR, W16, -1)]},
}  # fmt: skip
_SPLIT_GFX9: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {
        32: [((32, 64, 16, 32, 32, 32), _TWO, W16, -1)],
        64: [((64, 64, 32, 64, 32, 64), _FOUR, W16, -1)],
        96: [((64, 128, 32, 128, 32, 96), _FOUR, W16, -1)],
        128: [((64, 128, 32, 128, 32, 128), _FOUR, W16, -1)],
        256: [((64, 128, 32, 256, 32, 256), _FOUR, W16, -1)],
    },
    ("fp8", "bf8"): {
        64: [((128, 64, 32, 64, 32, 64), _TWO, W32_32, -1)],
        128: [((128, 128, 32, 128, 32, 128), _FOUR, W32_32, -1)],
    },
}
_SPLIT_GFX12: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {h: _FWD_GFX12[HALVES][h] for h in (32, 64, 128, 256)},
    ("fp8", "bf8"): {h: _FWD_GFX12[_FP8][h] for h in (64, 128)},
}
_PAGED_GFX9: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {128: [((128, 128, 32, 128, 32, 128), _FOUR, W32, -1)]},
    ("fp8", "bf8"): _FWD_GFX9[_FP8],
}
_PAGED_GFX12: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {128: _FWD_GFX12[HALVES][128]},
    ("fp8", "bf8"): _FWD_GFX12[_FP8],
}
_PREFILL: Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]] = {
    HALVES: {
        128: [((64, 128, 64, 128, 64, 128), _FOUR, W16, -1), ((128, 128, 32, 128, 32, 128), _FOUR, W32, -1)]
    },
}  # fmt: skip

#: By kernel and target, where gfx950 is one of gfx9; that of batch prefill does not matter.
TILINGS: Mapping[tuple[str, str], Mapping[Sequence[str], Mapping[int, Sequence[Tiling]]]] = {
    ("fmha_fwd", "gfx9"): _FWD_GFX9, ("fmha_fwd", "gfx12"): _FWD_GFX12,
    ("fmha_fwd_splitkv", "gfx9"): _SPLIT_GFX9, ("fmha_fwd_splitkv", "gfx12"): _SPLIT_GFX12,
    ("fmha_fwd_pagedkv", "gfx9"): _PAGED_GFX9, ("fmha_fwd_pagedkv", "gfx12"): _PAGED_GFX12,
    **{("fmha_batch_prefill", t): _PREFILL for t in ("gfx9", "gfx12", "none")},
}  # fmt: skip


def _rows() -> Iterator[Row]:
    for (variant, target), by_type in TILINGS.items():
        for dtypes, by_hdim in by_type.items():
            # FWD_DTYPE_MAP lacks bf8, so its tiles are never asked for.
            for dtype in (d for d in dtypes if d != "bf8"):
                for hdim, tilings in by_hdim.items():
                    for tile, waves, warp, bound in tilings:
                        key = variant, target, dtype, hdim
                        yield (*key, *tile, *waves, *waves, *warp, *warp, bound)


_SOURCE = "example/ck_tile/01_fmha/codegen/ops/*.py: get_hdim_tile_size_dict (CK 2025.11)"
_KEY = ("variant", "target", "dtype", "hdim", "m0", "n0", "n1")


def _part(name: str, first: int, last: int, *columns: str) -> Table:
    """The part of the rows that follows from a key, which no two rows share."""
    rows = [(*row[:6], row[7], *row[first:last]) for row in _rows()]
    return Table.relation(name, (*_KEY, *columns), rows, source=_SOURCE)


#: The rows in four tables, which compile where one of 23 columns does not: block tiles, and by
#: what tells them apart waves, warp tiles and launch bound.
TILES = (
    Table.relation(
        "tiles", ("variant", "target", "dtype", "hdim", "m0", "n0", "k0", "n1", "k1", "k0max"),
        [row[:10] for row in _rows()], source=_SOURCE,
    ),
    _part("waves", 10, 16, *(f"wave_{x}{p}" for p in "01" for x in "mnk")),
    _part("warps", 16, 22, *(f"warp_{x}{p}" for p in "01" for x in "mnk")),
    _part("bounds", 22, 23, "block_per_cu"),
)  # fmt: skip
