"""TENG: which kernels upstream's tile_engine of November 2025 lists (profile `tile_engine`).

Its checks are Python over the numbers of a tile, the same for every pipeline: they reject much
that the C++ compiles, and let some kernels through that compute wrong. Facts: tile_engine/ops of
the PyPI sdist amd-aiter 0.1.7.post2.dev18, commons/validation_utils.py and the instance builders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.gemm.words import TILE_ENGINE_BUFFERS, USUAL_C
from ckrules.constraints.tile_gemm.upstream import REFUSED_TRAITS
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, implies, ite, named, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_PROFILE = ("tile_engine",)
_UNTIL = "2026.06"
_CHECKS = "tile_engine/ops/commons/validation_utils.py (CK 2025.11)"
_OLDER = "tile_engine/ops/gemm_preshuffle/commons/validation_utils.py (CK 2025.11)"
_BUILDERS = "tile_engine/ops/{gemm,gemm_preshuffle,gemm_multi_d}/*_instance_builder.py (CK 2025.11)"
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True, "tile_m": 64,
}  # fmt: skip
#: Half a byte of A for each lane: tile_engine divides as Python does, with fractions.
_BITS: Mapping[str, Any] = {
    **_WEIGHTS, "dtype": "fp8", "dtype_c": "fp16", "tile_m": 32, "tile_n": 16, "tile_k": 256,
    "wave_m": 4, "wave_n": 1, "warp_tile_m": 4, "warp_tile_n": 4, "warp_tile_k": 4,
}  # fmt: skip
_D: Mapping[str, Any] = {
    "variant": "multi_d", "layout": "rcrr", "num_d": 2, "elementwise_op": "multiply",
}  # fmt: skip
_SMALL: Mapping[str, Any] = {"tile_n": 64}

DTYPES = ("fp16", "bf16", "fp8", "bf8")
LAYOUTS = {
    "standard": ("rcr", "rrr", "crr", "ccr"),
    "preshuffle": ("rcr",),
    "multi_d": ("rcrr", "rrrr", "crrr", "ccrr"),
}
_GPUS = ("gfx90a", "gfx942", "gfx950", "gfx1201")
_MFMA_WAVES = ((1, 4, 1), (2, 2, 1), (4, 1, 1))
_WMMA_WAVES = ((2, 4, 1), (1, 8, 1), (8, 1, 1), (4, 2, 1))
_HALF = ((32, 32, 8), (16, 16, 16), (32, 32, 16), (16, 16, 32))
_BYTE = ((32, 32, 16), (32, 32, 32))
_BYTE_942 = (*_BYTE, (16, 16, 32), (16, 16, 64))
_BYTE_950 = (*_BYTE_942, (16, 16, 128), (32, 32, 64))
_BYTES: Mapping[str, Any] = {"gfx90a": _BYTE, "gfx942": _BYTE_942, "gfx950": _BYTE_950}

WAVES = Table.relation(
    "tile_engine_waves",
    ("arch", "wave_m", "wave_n", "wave_k"),
    [(g, *w) for g in _GPUS for w in (_WMMA_WAVES if g == "gfx1201" else _MFMA_WAVES)],
    source=_CHECKS,
)
#: The copy for pre-shuffled weights knows no other GPUs.
WEIGHT_WAVES = Table.relation(
    "weight_waves", ("wave_m", "wave_n", "wave_k"), _MFMA_WAVES, source=_OLDER
)
_KEYS = ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")


def _tiles(half: tuple[tuple[int, int, int], ...]) -> list[tuple[str | int, ...]]:
    out: list[tuple[str | int, ...]] = []
    for gpu, shapes in _BYTES.items():
        out += [(gpu, d, *s) for d in ("fp16", "bf16") for s in (*_HALF, *half)]
        out += [(gpu, d, *s) for d in ("fp8", "bf8") for s in shapes]
    return out


WARP_TILES = Table.relation(
    "tile_engine_warp_tiles",
    _KEYS,
    [*_tiles(((4, 64, 16), (64, 4, 16))), ("gfx1201", "fp16", 16, 16, 16)],
    source=_CHECKS,
)
WEIGHT_TILES = Table.relation("weight_tiles", _KEYS, _tiles(((64, 4, 16),)), source=_OLDER)
#: GPUs and types that have a row; where there is none, every warp tile passes.
_ROWS = Table.relation(
    "tile_engine_rows", ("arch", "dtype"), sorted({r[:2] for r in WARP_TILES.rows}), source=_CHECKS
)
_WEIGHT_ROWS = Table.relation(
    "weight_rows", ("arch", "dtype"), sorted({r[:2] for r in WEIGHT_TILES.rows}), source=_OLDER
)


def _weights(c: GemmQuantities) -> BoolExpr:
    return c.variant == "preshuffle"


#: What tools say of a tile that is not `whole_tile`, and of threads that do not cover operands.
NOT_WHOLE = [
    f"the waves do not cover the tile: tile_{d} = {{tile_{d}}}, {{wave_{d} * warp_tile_{d}=}}"
    for d in "mnk"
]
NOT_COVERED = [
    f"tile_engine finds that the threads do not cover {operand}: tile_{d} = {{tile_{d}}}, "
    "tile_k = {tile_k}, waves {wave}, layout {layout}"
    for operand, d in (("A", "m"), ("B", "n"))
]


def whole_tile(c: GemmQuantities) -> BoolExpr:
    """The block tile is a multiple of waves and warp tiles along M, N and K.

    Why: checked for every pipeline.

    Fix: use another tile.
    """
    return c.whole_tile


def listed_waves(c: GemmQuantities) -> BoolExpr:
    """Where the waves are in the GPU's row of `WAVES`, or it has none."""
    known = c.arch.isin(*(g for g in _GPUS if g in c.archs))
    return ~known | rel(WAVES, c.arch, c.wave_m, c.wave_n, c.wave_k)


@rule(
    "TENG001", "purpose-beyond-tile-engine", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says=["tile_engine has no {dtype} kernels of {variant}",
          "tile_engine has no layout {layout} in {variant}",
          "tile_engine has C of type {ite(dtype == 'fp8' | dtype == 'bf8', 'fp16', dtype)}, not {dtype_c}",
          "tile_engine sums in fp32, not {dtype_acc}"],
    source=_BUILDERS, accepts=[_SMALL, _D],
    rejects=[{"dtype": "fp32", "dtype_c": "fp32"}, {"layout": "rcc"}],
)  # fmt: skip
def purpose_is_known(c: GemmQuantities) -> BoolExpr:
    """tile_engine makes kernels of four types, and of four layouts, one with pre-shuffled weights.

    Why: its command line takes these words; with D tensors it takes fp16 only.
    """
    return all_of(
        ite(c.variant == "multi_d", c.dtype == "fp16", c.dtype.isin(*DTYPES)),
        any_of(*((c.variant == v) & c.layout.isin(*found) for v, found in LAYOUTS.items())),
        c.dtype_acc == "fp32",
        any_of(*((c.dtype == d) & (c.dtype_c == USUAL_C[d]) for d in DTYPES)),
    )


@rule(
    "TENG002", "features-beyond-tile-engine", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says=["tile_engine derives double_smem_buffer from the pipeline: {pipeline}, {double_smem_buffer}",
          "tile_engine has one wave group: num_wave_groups = {num_wave_groups}",
          "tile_engine transposes no C: transpose_c = {transpose_c}",
          "tile_engine has two D tensors: num_d = {num_d}", "tile_engine has no {elementwise_op} in {variant}",
          "tile_engine's {variant} shares out no steps: streamk = {streamk}"],
    source=_BUILDERS, accepts=[_SMALL, _D],
    rejects=[{"double_smem_buffer": True}, {**_D, "num_d": 1}, {**_SMALL, "streamk": "atomic"}],
)  # fmt: skip
def features_are_known(c: GemmQuantities) -> BoolExpr:
    """Double LDS buffers follow from the pipeline; there is one wave group and no transposed C.

    Why: the generated code says so for every kernel.
    """
    return all_of(
        c.double_smem_buffer == c.pipeline.isin(*TILE_ENGINE_BUFFERS),
        c.num_wave_groups == 1,
        ~c.transpose_c,
        c.num_d == ite(c.variant == "multi_d", 2, 0),
        ite(
            c.variant == "multi_d",
            c.elementwise_op.isin("add", "multiply", "passthrough"),
            c.elementwise_op == "passthrough",
        ),
        c.streamk == "off",
    )


@rule(
    "TENG003", "trait-refused", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says=["tile_engine refuses {pipeline} with {scheduler} and {epilogue}",
          "tile_engine stops at {pipeline} in {variant}, where it takes preshufflev2 alone"],
    source=[f"{_CHECKS}: is_trait_combination_valid", f"{_OLDER}: is_trait_combination_valid"],
    accepts=[{}, {"pipeline": "mem", "scheduler": "interwave"}, _WEIGHTS],
    rejects=[{"scheduler": "interwave"}, {**_WEIGHTS, "pipeline": "compv4"}],
)  # fmt: skip
def trait_is_taken(c: GemmQuantities) -> BoolExpr:
    """compv3 and compv4 are not combined with interwave, and pre-shuffled weights have preshufflev2.

    Why: these combinations stand in a list; every other word passes, also unknown ones. With
    pre-shuffled weights another pipeline is an error that aborts the whole listing.

    Fix: use intrawave.
    """
    refused = Table.relation(
        "refused_traits",
        REFUSED_TRAITS.keys,
        [k for k in REFUSED_TRAITS.rows if k[0] in ("compv3", "compv4")],
        source=_CHECKS,
    )
    return all_of(
        ~rel(refused, c.pipeline, c.epilogue, c.scheduler),
        implies(_weights(c), c.pipeline == "preshufflev2"),
    )


tile_is_whole = rule(
    "TENG004", "tile-not-whole", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says=NOT_WHOLE,
    source=_CHECKS, accepts=[{}], rejects=[{"tile_m": 96}, {"tile_k": 24}],
)(whole_tile)  # fmt: skip


@rule(
    "TENG005", "waves-not-listed", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says="tile_engine does not list waves {wave} for {variant} on {arch}",
    source=[_CHECKS, _OLDER], accepts=[{}, _WEIGHTS], rejects=[{"wave_m": 1, "wave_n": 1}],
)  # fmt: skip
def waves_are_listed(c: GemmQuantities) -> BoolExpr:
    """The waves are among three maps of the GPU's table, four on gfx1201.

    Why: the table is short; the C++ takes any number of waves that a block can launch. A GPU
    without a row passes, except with pre-shuffled weights.

    Fix: use 2x2x1, or 4x2x1 on gfx1201.
    """
    return ite(_weights(c), rel(WEIGHT_WAVES, c.wave_m, c.wave_n, c.wave_k), listed_waves(c))


@rule(
    "TENG006", "staged-bytes", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says=("tile_engine allows 32768 bytes of A and B for every pipeline: "
          "{(tile_m + tile_n) * tile_k * element_bytes=}"),
    source=_CHECKS, accepts=[{}, _WEIGHTS], rejects=[{"tile_m": 256}],
)  # fmt: skip
def staged_bytes_fit(c: GemmQuantities) -> BoolExpr:
    """A and B of a tile take 32768 bytes at most.

    Why: the check takes every pipeline for compv4, which has two buffers in 64 KB; with pre-shuffled
    weights it counts B, which is not staged.

    Fix: use a smaller tile.
    """
    return (c.tile_m + c.tile_n) * c.tile_k * c.element_bytes <= 32768


@rule(
    "TENG007", "warp-tile-not-in-table", kind="profile", profiles=_PROFILE, until=_UNTIL,
    says="tile_engine does not list warp tile {warp_tile} for {dtype} of {variant} on {arch}",
    source=[_CHECKS, _OLDER], accepts=[{}, _WEIGHTS],
    rejects=[{"warp_tile_k": 4}, {"arch": "gfx90a", "dtype": "fp8", "warp_tile_k": 64}],
)  # fmt: skip
def warp_tile_is_listed(c: GemmQuantities) -> BoolExpr:
    """The warp tile is in the table, or the table has no row for GPU and type.

    Why: a missing row lets everything through, such as bf16 on gfx1201.

    Fix: use a warp tile of the GPU (`ckrules archs GPU`).
    """
    tile = (c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)
    plain = ~rel(_ROWS, c.arch, c.dtype) | rel(WARP_TILES, *tile)
    weights = ~rel(_WEIGHT_ROWS, c.arch, c.dtype) | rel(WEIGHT_TILES, *tile)
    return ite(_weights(c), weights, plain)


def _covers(c: GemmQuantities, x: IntExpr, y: IntExpr, lanes: IntExpr | int) -> BoolExpr:
    """The check that threads cover a tile of rows of x elements, in true division."""
    block = c.waves * lanes
    vector = c.width_for(x, x * y // block, c.element_bytes)
    across = x // vector
    wide = x * y >= vector * block
    return (x % vector == 0) & ite(wide, lanes % across == 0, y % c.waves == 0)


def threads_cover(
    c: GemmQuantities, tile: IntExpr, turned: BoolExpr, lanes: IntExpr | int
) -> BoolExpr:
    """The check of an operand with so many rows, twice where it lies transposed.

    Args:
        tile: The rows of A's tile, or the columns of B's.
        turned: Where K is not contiguous.
        lanes: The lanes that the tool counts in a wave.
    """
    return _covers(c, c.tile_k, tile, lanes) & implies(turned, _covers(c, tile, c.tile_k, lanes))


@rule(
    "TENG008", "threads-do-not-cover", kind="profile", profiles=_PROFILE, until=_UNTIL,
    applies=lambda c: c.variant != "preshuffle",
    says=NOT_COVERED,
    source=f"{_CHECKS}: validate_whole_wg_cover_configuration",
    accepts=[{}], rejects=[{"tile_k": 48}, {"tile_m": 192, "layout": "crr"}],
)  # fmt: skip
def threads_cover_tile(c: GemmQuantities) -> BoolExpr:
    """Lanes of 64 cover the rows of A and B as tile_engine computes it.

    Why: it divides as the header did for rows of K, asks the same of transposed operands a second
    time along K, and counts 64 lanes everywhere.

    Fix: use powers of two.
    """

    return all_of(
        named("a_covered", threads_cover(c, c.tile_m, c.a_transposed, 64)),
        named("b_covered", threads_cover(c, c.tile_n, c.b_transposed, 64)),
    )


NOT_WHOLE_ROWS = [
    "each lane's reads of A are not a multiple of 16 bytes with warp_tile_k = {warp_tile_k}",
    "a row of A is not a multiple of 16 bytes: tile_k = {tile_k}",
    "the lanes of a row of A do not divide 64: {preshuffle_lanes_k}",
    "the waves do not cover the rows of A: tile_m = {tile_m}, {preshuffle_lanes_k}",
]


def rows_are_covered(c: GemmQuantities) -> BoolExpr:
    """A's loads beside pre-shuffled weights are whole: 16 bytes, lanes that divide 64, all rows.

    Why: as the pipeline asserts, and beyond it that lanes divide the wave, which has 64 here on
    every GPU. Numbers are divided as Python does.

    Fix: use powers of two.
    """
    per_row = 16 // c.element_bytes
    lanes = c.tile_k // per_row
    reads = c.warp_tile_m * c.warp_tile_k * c.element_bytes * c.repeat_m
    return all_of(
        reads % (16 * 64) == 0,
        c.tile_k % per_row == 0,
        64 % lanes == 0,
        c.tile_m % (64 // lanes * c.waves) == 0,
    )


weights_are_covered = rule(
    "TENG009", "weights-not-covered", kind="profile", profiles=_PROFILE, until=_UNTIL,
    applies=_weights,
    says=NOT_WHOLE_ROWS,
    source=_OLDER, accepts=[_WEIGHTS], rejects=[{**_WEIGHTS, "tile_k": 192, "tile_m": 192}, _BITS],
)(rows_are_covered)  # fmt: skip


@rule(
    "TENG010", "odd-permuted-columns", kind="profile", profiles=_PROFILE, until=_UNTIL,
    applies=lambda c: c.permute_n,
    says=["tile_engine permutes columns of pre-shuffled weights only, not of {variant}",
          "tile_engine permutes an even number of warp tiles along N: {repeat_n=}"],
    source=_OLDER, accepts=[{**_WEIGHTS, "permute_n": True}],
    rejects=[{**_WEIGHTS, "permute_n": True, "tile_n": 64}, {"permute_n": True}],
)  # fmt: skip
def permuted_columns_are_even(c: GemmQuantities) -> BoolExpr:
    """Columns are permuted with pre-shuffled weights, for an even number of warp tiles of a wave.

    Why: asked of configurations whose file says permute_n.

    Fix: use another tile_n.
    """
    return all_of(_weights(c), c.repeat_n % 2 == 0)
