"""QTEN: which quantised kernels upstream's tile_engine of 2026 lists (profile `tile_engine`).

Its checks are those of other GEMMs with the wave size of the GPU and the LDS of the pipeline, and
some of their own on groups and warp tiles. Facts: tile_engine/ops/gemm/gemm_validation_utils.py,
gemm_instance_builder.py and the builders of block_scale_gemm/, ROCm/rocm-libraries of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.tile_engine import (
    NOT_COVERED,
    NOT_WHOLE,
    WAVES,
    WEIGHT_TILES,
    listed_waves,
    threads_cover,
    whole_tile,
)
from ckrules.constraints.quant.kernel import ROWCOL, B
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, maximum, minimum, named, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_PROFILE = ("tile_engine",)
_SINCE = "2026.06"
_CHECKS = "tile_engine/ops/gemm/gemm_validation_utils.py (ROCm/rocm-libraries of 2026)"
_BUILDERS = "tile_engine/ops/gemm/{gemm_instance_builder,block_scale_gemm/*/*_instance_builder}.py (of 2026)"

DTYPES = ("fp8", "bf8")
_ROWS = ("rcr", "rrr", "ccr", "crr")
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "aquant": _ROWS, "bquant": _ROWS, "rowcol_quant": ("rcr",), "tensor_quant": ("rcr",),
}  # fmt: skip
_MI400: Mapping[str, Any] = {
    "arch": "gfx1250", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 128,
}  # fmt: skip
#: GPUs with a row for 8-bit types; others let every warp tile through.
_LISTED = ("gfx90a", "gfx942", "gfx950")
_LATER = "tile_engine/ops/gemm/gemm_validation_utils.py (CK 2026.09 at 029d7b0, read)"
_GFX1250_WAVES = Table.relation(
    "tile_engine_waves_gfx1250",
    WAVES.keys[1:],
    (
        (2, 4, 1),
        (1, 8, 1),
        (8, 1, 1),
        (4, 2, 1),
        (2, 1, 1),
        (1, 2, 2),
        (4, 1, 1),
        (1, 4, 1),
        (2, 2, 1),
    ),
    source=_LATER,
)


@rule(
    "QTEN001", "quant-purpose-beyond-tile-engine", kind="profile", profiles=_PROFILE, since=_SINCE,
    says=["tile_engine quantises fp8 and bf8, not {dtype}",
          "tile_engine has no layout {layout} in {variant}",
          "tile_engine has C of type fp16, not {dtype_c}",
          "tile_engine has scales of fp32, not {dtype_scale}",
          "tile_engine has groups of one row: group_m = {group_m}",
          "tile_engine has groups of one column: group_n = {group_n}"],
    source=_BUILDERS, accepts=[{}, ROWCOL], rejects=[{"dtype": "i4_fp8"}, {**ROWCOL, "layout": "rrr"}],
)  # fmt: skip
def purpose_is_known(c: QuantQuantities) -> BoolExpr:
    """tile_engine quantises fp8 and bf8 to fp16, with scales of fp32 and groups of one row and column.

    Why: its command line takes these types and layouts, and the generated code says the rest.
    """
    return all_of(
        c.dtype.isin(*DTYPES),
        any_of(*((c.variant == v) & c.layout.isin(*found) for v, found in LAYOUTS.items())),
        c.dtype_c == "fp16",
        c.dtype_scale == "fp32",
        c.group_m == 1,
        c.group_n == 1,
    )


@rule(
    "QTEN002", "quant-features-beyond-tile-engine", kind="profile", profiles=_PROFILE, since=_SINCE,
    says=["tile_engine has one LDS buffer: double_smem_buffer = {double_smem_buffer}",
          "tile_engine transposes no C: transpose_c = {transpose_c}",
          "tile_engine permutes no columns: permute_n = {permute_n}"],
    source=_BUILDERS, accepts=[{}], rejects=[{"transpose_c": True}, {"double_smem_buffer": True}],
)  # fmt: skip
def features_are_known(c: QuantQuantities) -> BoolExpr:
    """Quantised kernels of tile_engine have one LDS buffer, and neither C nor columns turned.

    Why: the generated code says so for every kernel.
    """
    return all_of(~c.double_smem_buffer, ~c.transpose_c, ~c.permute_n)


@rule(
    "QTEN003", "quant-trait-refused", kind="profile", profiles=_PROFILE, since=_SINCE,
    says=["tile_engine has no {scheduler} with {pipeline} in {variant}",
          "tile_engine has no {pipeline} in {variant}",
          "tile_engine stores {variant} with cshuffle, not {epilogue}",
          "tile_engine shuffles no scales for {pipeline} of {variant} in layout {layout}"],
    source=[f"{_CHECKS}: is_trait_combination_valid, AQUANT_TRAIT_UNSUPPORTED_COMBINATIONS"],
    accepts=[{}, {"pipeline": "mem"}, {"preshuffle_quant": True}],
    rejects=[{"scheduler": "interwave"}, {**B, "pipeline": "mem"},
             {"pipeline": "mem", "preshuffle_quant": True}, {**ROWCOL, "epilogue": "default"}],
)  # fmt: skip
def trait_is_taken(c: QuantQuantities) -> BoolExpr:
    """aquant has compv3 and mem, the others compv3, all of them with intrawave.

    Why: these combinations are the ones that the check lets through. Scales are shuffled for
    compv3 of aquant and of bquant, there only beside a B whose columns are contiguous.

    Fix: use compv3 and intrawave.
    """
    mem = c.pipeline == "mem"
    grouped = c.variant.isin("aquant", "bquant")
    return all_of(
        c.scheduler == "intrawave",
        (c.pipeline == "compv3") | (mem & (c.variant == "aquant")),
        implies(~grouped, c.epilogue == "cshuffle"),
        implies(
            c.preshuffle_quant,
            ite(c.variant == "aquant", ~mem, (c.variant == "bquant") & ~c.b_transposed),
        ),
    )


tile_is_whole = rule(
    "QTEN004", "quant-tile-not-whole", kind="profile", profiles=_PROFILE, since=_SINCE,
    says=NOT_WHOLE,
    source=f"{_CHECKS}: validate_dimension_alignment",
    accepts=[{}], rejects=[{"tile_m": 96}, {"tile_k": 24}],
)(whole_tile)  # fmt: skip


@rule(
    "QTEN005", "quant-waves-not-listed", kind="profile", profiles=_PROFILE, since=_SINCE,
    says="tile_engine does not list waves {wave} on {arch}",
    source=[f"{_CHECKS}: WARP_SUPPORTED_COMBINATIONS", f"{_LATER}: the same of gfx1250"],
    accepts=[{}, {**_MI400, "wave_m": 1, "wave_n": 1, "@ck": "2026.06"}, _MI400],
    rejects=[{"wave_m": 1, "wave_n": 1}, {**_MI400, "wave_m": 1, "wave_n": 1, "@ck": "2026.09"}],
)  # fmt: skip
def waves_are_listed(c: QuantQuantities) -> BoolExpr:
    """The waves are among three maps of the GPU's table, four on gfx1201, nine on gfx1250.

    Why: the table is short; the C++ takes any number of waves that a block can launch. A GPU
    without a row passes, and so did gfx1250 before 2026.09.

    Fix: use 2x2x1, or 4x2x1 on gfx1201.
    """
    if c.since("2026.09") and "gfx1250" in c.archs:
        own = rel(_GFX1250_WAVES, c.wave_m, c.wave_n, c.wave_k)
        return listed_waves(c) & ((c.arch != "gfx1250") | own)
    return listed_waves(c)


@rule(
    "QTEN006", "quant-staged-bytes", kind="profile", profiles=_PROFILE, since=_SINCE,
    says="tile_engine allows {ite(arch == 'gfx950', 163840, 65536)} bytes of A and B: {(tile_m + tile_n) * tile_k=}",
    source=f"{_CHECKS}: validate_lds_capacity, LDS_SIZE_MAP",
    accepts=[{}], rejects=[{"tile_m": 512}],
)  # fmt: skip
def staged_bytes_fit(c: QuantQuantities) -> BoolExpr:
    """A and B of a tile take 64 KB at most, 160 KB on gfx950.

    Why: counted a byte to an element, without what the epilogue needs.

    Fix: use a smaller tile.
    """
    limit = ite(c.arch == "gfx950", 163840, 65536) if "gfx950" in c.archs else 65536
    return (c.tile_m + c.tile_n) * c.tile_k <= limit


@rule(
    "QTEN007", "quant-warp-tile-not-in-table", kind="profile", profiles=_PROFILE, since=_SINCE,
    applies=lambda c: c.arch.isin(*(g for g in _LISTED if g in c.archs)) & c.dtype.isin(*DTYPES),
    says="tile_engine does not list warp tile {warp_tile} for {dtype} on {arch}",
    source=f"{_CHECKS}: GEMM_WARP_TILE_SUPPORTED_COMBINATIONS",
    accepts=[{}], rejects=[{"warp_tile_k": 8}],
)  # fmt: skip
def warp_tile_is_listed(c: QuantQuantities) -> BoolExpr:
    """The warp tile is in the table of a GPU with a row for 8-bit types.

    Why: a missing row lets everything through.

    Fix: use a warp tile of the GPU (`ckrules archs GPU`).
    """
    return rel(WEIGHT_TILES, c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)


@rule(
    "QTEN008", "quant-threads-do-not-cover", kind="profile", profiles=_PROFILE, since=_SINCE,
    says=[*NOT_COVERED,
          ("tile_engine finds that the threads do not cover C: tile_m = {tile_m}, tile_n = {tile_n}, "
          "waves {wave}")],
    source=[f"{_CHECKS}: validate_whole_wg_cover_configuration",
            f"{_CHECKS}: validate_cshuffle_epilogue_distribution"],
    accepts=[{}], rejects=[{"tile_k": 96}, {"tile_n": 192}],
)  # fmt: skip
def threads_cover_tile(c: QuantQuantities) -> BoolExpr:
    """Lanes of a wave cover the rows of A, B and C as tile_engine computes it.

    Why: it divides as headers of 2025 did, asks the same of transposed operands a second time
    along K, and C's distribution of every epilogue.

    Fix: use powers of two.
    """
    lanes = c.wave_size
    wide = minimum(8, maximum(c.tile_n * (c.tile_m // c.wave_m) // (c.waves * lanes), 1))
    stored = minimum(lanes, c.tile_n // wide)
    return all_of(
        named("a_covered", threads_cover(c, c.tile_m, c.a_transposed, lanes)),
        named("b_covered", threads_cover(c, c.tile_n, c.b_transposed, lanes)),
        named("c_covered", lanes % stored == 0),
    )


@rule(
    "QTEN009", "quant-groups-not-whole", kind="profile", profiles=_PROFILE, since=_SINCE,
    applies=lambda c: c.grouped,
    says=["tile_engine wants whole groups in a tile: tile_k = {tile_k}, group_k = {group_k}",
          "tile_engine wants whole warp tiles in a group: group_k = {group_k}, warp_tile_k = {warp_tile_k}"],
    source=f"{_CHECKS}: validate_gemm_aquant, validate_gemm_bquant",
    accepts=[{}], rejects=[{"tile_k": 64}, {"group_k": 24, "tile_k": 96}],
)  # fmt: skip
def groups_are_whole(c: QuantQuantities) -> BoolExpr:
    """tile_k is a multiple of group_k, and group_k of warp_tile_k.

    Why: as the pipelines assert.

    Fix: use a tile_k that is a multiple of the group.
    """
    return all_of(c.tile_k % c.group_k == 0, c.group_k % c.warp_tile_k == 0)


@rule(
    "QTEN010", "warp-tile-of-other-depth", kind="profile", profiles=_PROFILE, since=_SINCE,
    applies=lambda c: c.variant != "tensor_quant",
    says=["tile_engine wants square warp tiles: warp_tile_m = {warp_tile_m}, warp_tile_n = {warp_tile_n}",
          "tile_engine wants one depth of {warp_tile_m} rows on {arch}, not warp_tile_k = {warp_tile_k}"],
    source=[f"{_CHECKS}: _validate_fp8_mfma_warp_tile_k", f"{_LATER}: the same of gfx1250"],
    issue="ROCm/rocm-libraries#11693",
    accepts=[{}, {**_MI400, "@ck": "2026.09"}],
    rejects=[{"warp_tile_k": 16}, {"warp_tile_n": 16},
             {**_MI400, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 32, "@ck": "2026.09"}],
)  # fmt: skip
def warp_tile_has_its_depth(c: QuantQuantities) -> BoolExpr:
    """Warp tiles are square, with the K that upstream gives 32 rows, or 16: 32 or 64, twice on gfx950.

    Why: the deepest instructions of each GPU, whatever else it has; tensor_quant is not asked. Since
    2026.09 gfx1250 has 16x16x64 and 16x16x128: all kernels that a sweep found wrong had 32x32x32.

    Fix: use 32x32x32, 32x32x64 on gfx950, or 16x16x128 on gfx1250.
    """
    depth = ite(c.warp_tile_m == 32, 32, 64)
    deep = ite(c.arch == "gfx950", 2 * depth, depth) if "gfx950" in c.archs else depth
    found = c.warp_tile_k == deep
    if c.since("2026.09") and "gfx1250" in c.archs:
        own = (c.warp_tile_m == 16) & c.warp_tile_k.isin(64, 128)
        found = any_of((c.arch == "gfx1250") & own, (c.arch != "gfx1250") & found)
    return all_of(c.warp_tile_m == c.warp_tile_n, found)
