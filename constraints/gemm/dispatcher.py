"""GDSP: what upstream's dispatcher generates since June 2026 (profile `dispatcher`).

Its filter is Python over the numbers of a tile. Until 2026.09 every tile passed it as a plain GEMM
with compv4 first, and then as what it is. Facts: dispatcher/codegen/unified_gemm_codegen.py,
codegen_common.py and arch_filter.py, ROCm/composable_kernel of June 2026 and ROCm/rocm-libraries of
September 2026 (read; not installed anywhere to be run).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.gemm.tile_engine import (
    NOT_WHOLE,
    NOT_WHOLE_ROWS,
    rows_are_covered,
    whole_tile,
)
from ckrules.constraints.gemm.words import D_LAYOUTS, PLAIN_LAYOUTS
from ckrules.constraints.tile_gemm.upstream import REFUSED_TRAITS
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, ite, lookup, rel
from ckrules.engine.rules import rule

_PROFILE = ("dispatcher",)
_CODEGEN = "dispatcher/codegen/unified_gemm_codegen.py (CK 2026.06, read)"
_FILTER = "dispatcher/codegen/arch_filter.py (CK 2026.06, read)"
_LATER = "dispatcher/codegen/unified_gemm_codegen.py (CK 2026.09, read)"
_COMMON = "dispatcher/codegen/codegen_common.py: is_preshuffle_config_valid (CK 2026.06, read)"
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True,
    "scheduler": "default", "tile_m": 128, "tile_n": 64,
}  # fmt: skip
#: Half a byte of A for each lane: the dispatcher divides as Python does, with fractions.
_BITS: Mapping[str, Any] = {
    **_WEIGHTS, "dtype": "fp8", "dtype_c": "fp16", "tile_m": 32, "tile_n": 16, "tile_k": 256,
    "wave_m": 4, "wave_n": 1, "warp_tile_m": 4, "warp_tile_n": 4, "warp_tile_k": 4,
}  # fmt: skip
_D: Mapping[str, Any] = {
    "variant": "multi_d", "layout": "rcrr", "num_d": 1, "elementwise_op": "add",
}  # fmt: skip
_SMALL: Mapping[str, Any] = {"tile_n": 64}

#: The type of C that it writes for each type of A and B; it sums in fp32, int8 as well.
OUTPUT: Mapping[str, str] = {
    "fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "fp8": "fp16", "bf8": "fp16", "int8": "int8",
}  # fmt: skip
#: The pipelines with two LDS buffers.
BUFFERS = ("compv4", "preshufflev2")
#: The pipelines that its tables of C++ classes know.
PIPELINES = ("mem", "compv3", "compv4", "compv5", "preshufflev2")
#: Bytes of A and B that a tile may stage: it is asked for compv4, whatever its pipeline.
STAGED = 32768


def _weights(c: GemmQuantities) -> BoolExpr:
    return c.variant == "preshuffle"


def _staged(c: GemmQuantities) -> IntExpr:
    """Bytes of A and B; fp32 is counted as fp16, which the dispatcher's map of types lacks."""
    size: IntExpr = ite(c.dtype == "fp32", 2, c.element_bytes)
    return (c.tile_m + c.tile_n) * c.tile_k * size


@rule(
    "GDSP001", "purpose-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has no {dtype} kernels",
          "the dispatcher has no C of type {dtype_c} for {dtype}",
          "the dispatcher sums in fp32, not {dtype_acc}"],
    source=f"{_CODEGEN}: CKTileKernelGenerator, get_output_dtype",
    accepts=[_SMALL, {**_SMALL, "dtype": "int8", "dtype_c": "int8"}],
    rejects=[{**_SMALL, "dtype": "fp8_bf8"}, {**_SMALL, "dtype": "int8", "dtype_acc": "int32"}],
)  # fmt: skip
def purpose_is_generated(c: GemmQuantities) -> BoolExpr:
    """The dispatcher makes kernels of six types, whose C follows and whose sums are fp32.

    Why: the code that it writes names float as the type of sums for all, also for int8, which
    the C++ then refuses.
    """
    return all_of(
        c.dtype.isin(*OUTPUT),
        any_of(*((c.dtype == d) & (c.dtype_c == out) for d, out in OUTPUT.items())),
        c.dtype_acc == "fp32",
    )


@rule(
    "GDSP010", "variant-beyond-dispatcher", kind="profile", profiles=_PROFILE, until="2026.09",
    says="the dispatcher generates no {variant}, only standard, preshuffle and multi_d",
    source=f"{_CODEGEN}: GemmVariant", accepts=[_SMALL, _WEIGHTS, _D],
    rejects=[{**_SMALL, "variant": "batched"},
             {**_SMALL, "variant": "grouped"},
             {**_SMALL, "variant": "stream_k", "streamk": "atomic"}],
)  # fmt: skip
def variant_is_generated(c: GemmQuantities) -> BoolExpr:
    """The dispatcher of June 2026 makes plain kernels, those of pre-shuffled weights and those of D.

    Why: its enumeration has no others. That of 2026.09 has batched, grouped and stream_k.
    """
    return c.variant.isin("standard", "preshuffle", "multi_d")


@rule(
    "GDSP002", "features-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher generates no {pipeline}",
          "the dispatcher derives double_smem_buffer from the pipeline: {pipeline}, {double_smem_buffer}",
          "the dispatcher has one wave group: num_wave_groups = {num_wave_groups}",
          "the dispatcher transposes no C: transpose_c = {transpose_c}",
          "the dispatcher permutes no columns of {variant}: permute_n = {permute_n}",
          "the dispatcher has one block on a compute unit: k_block_per_cu = {k_block_per_cu}",
          "the dispatcher has D tensors in multi_d only: {variant} with num_d = {num_d}",
          "the dispatcher has no operation without D tensors: elementwise_op = {elementwise_op}",
          "the dispatcher has four letters of layout in multi_d, else three: {layout}",
          "the dispatcher has no {variant} with streamk = {streamk}"],
    source=[_CODEGEN, f"{_LATER}: KernelConfig permute_n, reduction_strategy"],
    accepts=[_SMALL, _D, {**_WEIGHTS, "permute_n": True, "@ck": "2026.09"},
             {**_SMALL, "variant": "stream_k", "streamk": "tree", "@ck": "2026.09"}],
    rejects=[{**_SMALL, "double_smem_buffer": True}, {**_SMALL, "k_block_per_cu": 2},
             {**_SMALL, "streamk": "atomic"}, {**_SMALL, "elementwise_op": "add"},
             {**_SMALL, "layout": "rcrr"}],
)  # fmt: skip
def features_are_generated(c: GemmQuantities) -> BoolExpr:
    """Double LDS buffers follow from the pipeline, and what has no option is fixed.

    Why: the generated code says so for every kernel. Since 2026.09 pre-shuffled weights may have
    permuted columns, and stream-K kernels each way to join parts.
    """
    with_d, later = c.variant == "multi_d", c.since("2026.09")
    return all_of(
        c.pipeline.isin(*PIPELINES),
        c.double_smem_buffer == c.pipeline.isin(*BUFFERS),
        c.num_wave_groups == 1,
        ~c.transpose_c,
        (~c.permute_n | _weights(c)) if later else ~c.permute_n,
        c.k_block_per_cu == 1,
        with_d == (c.num_d >= 1),
        with_d | (c.elementwise_op == "passthrough"),
        ite(with_d, c.layout.isin(*D_LAYOUTS), c.layout.isin(*PLAIN_LAYOUTS)),
        ((c.streamk != "off") == (c.variant == "stream_k")) if later else c.streamk == "off",
    )


@rule(
    "GDSP003", "tile-not-aligned-for-gemm", kind="profile", profiles=_PROFILE,
    says=["the dispatcher wants a multiple of {ite(variant == 'preshuffle', 32, 16)}: tile_m = {tile_m}",
          "the dispatcher wants a multiple of {ite(variant == 'preshuffle', 32, 16)}: tile_n = {tile_n}",
          "the dispatcher wants a multiple of {ite(variant == 'preshuffle', 16, 8)}: tile_k = {tile_k}",
          "the dispatcher wants 64x64x32 at least with pre-shuffled weights: {tile_m}, {tile_n}, {tile_k}"],
    source=f"{_FILTER}: OPERATOR_TILE_CONSTRAINTS", accepts=[_SMALL, _WEIGHTS],
    rejects=[{"tile_m": 8}, {**_WEIGHTS, "tile_m": 48}],
)  # fmt: skip
def gemm_tile_is_aligned(c: GemmQuantities) -> BoolExpr:
    """Tiles are multiples of 16, 16 and 8; with pre-shuffled weights of 32, 32 and 16, from 64x64x32.

    Why: minima and alignments stand in a table by operator. The C++ has none; production kernels
    with pre-shuffled weights have 16, 48 or 80 rows.

    Fix: use another tile.
    """
    weights = _weights(c)
    along_mn: IntExpr = ite(weights, 32, 16)
    along_k: IntExpr = ite(weights, 16, 8)
    least = (c.tile_m >= 64) & (c.tile_n >= 64) & (c.tile_k >= 32)
    return all_of(
        c.tile_m % along_mn == 0, c.tile_n % along_mn == 0, c.tile_k % along_k == 0,
        ~weights | least,
    )  # fmt: skip


@rule(
    "GDSP004", "gemm-waves-not-listed", kind="profile", profiles=_PROFILE,
    applies=lambda c: rel(c.facts["dispatcher_gpus"], c.arch),
    says="{arch} has no wave map {wave} in the dispatcher's table, {table dispatcher_waves}",
    source=f"{_FILTER}: _validate_warp_config; arch_specs.json warp_configs",
    accepts=[_SMALL], rejects=[{**_SMALL, "wave_m": 4}],
)  # fmt: skip
def gemm_waves_are_listed(c: GemmQuantities) -> BoolExpr:
    """The waves are a map of the GPU's table; a GPU without one passes.

    Why: the C++ takes any number of waves that a block can launch.

    Fix: use 2x2x1, or 4x2x1 on RDNA.
    """
    return rel(c.facts["dispatcher_waves"], c.arch, c.wave_m, c.wave_n, c.wave_k)


@rule(
    "GDSP005", "gemm-warp-tile-not-listed", kind="profile", profiles=_PROFILE,
    says=["the dispatcher does not list warp tile {warp_tile} for {dtype} on {arch}",
          "the dispatcher does not list warp tile {warp_tile} with pre-shuffled weights of {dtype} on {arch}"],
    source=f"{_FILTER}: _validate_warp_tile_combo; arch_specs.json",
    accepts=[_SMALL, _WEIGHTS],
    rejects=[{**_SMALL, "warp_tile_k": 4},
             {**_WEIGHTS, "warp_tile_m": 4, "warp_tile_n": 64}],
)  # fmt: skip
def gemm_warp_tile_is_listed(c: GemmQuantities) -> BoolExpr:
    """The warp tile is in the table, or the table has no row for GPU and type.

    Why: rows are by the types of A, B and sums; fp32 is looked up as fp16. With pre-shuffled weights
    a second table is asked as well, whose rows hold 64x4x16, which the C++ asserts against.

    Fix: use a warp tile of the GPU (`ckrules archs GPU`).
    """
    tile = (c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)
    plain = ~rel(c.facts["dispatcher_dtypes"], c.arch, c.dtype) | rel(
        c.facts["dispatcher_warp_tiles"], *tile
    )
    own = ~rel(c.facts["dispatcher_weight_rows"], c.arch, c.dtype) | rel(
        c.facts["dispatcher_weight_tiles"], *tile
    )
    return all_of(plain, ~_weights(c) | own)


@rule(
    "GDSP006", "gemm-trait-refused", kind="profile", profiles=_PROFILE,
    says=["the dispatcher refuses {pipeline} with {scheduler} and epilogue {epilogue}",
          ("the dispatcher writes weights with preshufflev2, scheduler default and epilogue "
          "cshuffle (since 2026.09 default, too), not {pipeline}, {scheduler} and {epilogue}")],
    source=[f"{_CODEGEN}: _get_configs_for_variant", f"{_LATER}: the same",
            "dispatcher/codegen/arch_specs.json: unsupported_traits"],
    accepts=[_SMALL, _WEIGHTS, {**_WEIGHTS, "epilogue": "default", "@ck": "2026.09"}],
    rejects=[{"scheduler": "interwave"}, {**_WEIGHTS, "scheduler": "intrawave"}],
)  # fmt: skip
def gemm_trait_is_taken(c: GemmQuantities) -> BoolExpr:
    """The computing pipelines are not combined with interwave, and weights have one combination.

    Why: the combinations stand in a list; other words pass.

    Fix: use intrawave.
    """
    stored = ("cshuffle", "default") if c.since("2026.09") else ("cshuffle",)
    own = all_of(c.pipeline == "preshufflev2", c.epilogue.isin(*stored), c.scheduler == "default")
    return all_of(~rel(REFUSED_TRAITS, c.pipeline, c.epilogue, c.scheduler), ~_weights(c) | own)


@rule(
    "GDSP007", "gemm-staging-over-limit", kind="profile", profiles=_PROFILE, until="2026.09",
    says=(f"the dispatcher allows {STAGED} bytes of A and B for every pipeline: "
          "{(tile_m + tile_n) * tile_k * ite(dtype == 'fp32', 2, element_bytes)=}"),
    source=f"{_CODEGEN}: _get_tile_configs, _is_tile_arch_valid; arch_filter.py: LDS_CAPACITY_LIMITS",
    accepts=[_SMALL], rejects=[{"tile_m": 256}],
)  # fmt: skip
def gemm_staging_fits(c: GemmQuantities) -> BoolExpr:
    """A and B of a tile take 32768 bytes at most.

    Why: every tile is asked for as compv4 first, which has two buffers in 64 KB; with pre-shuffled
    weights B counts, which is not staged, and an element of fp32 counts two bytes.

    Fix: use a smaller tile.
    """
    return _staged(c) <= STAGED


@rule(
    "GDSP011", "gemm-staging-over-share", kind="profile", profiles=_PROFILE, since="2026.09",
    says=("the dispatcher lets {pipeline} stage {table dispatcher_lds} bytes on {arch}, less than "
          "{(tile_m + tile_n) * tile_k * ite(dtype == 'fp32', 2, element_bytes)=}"),
    source=[f"{_LATER}: _get_configs_for_variant, _is_tile_arch_valid with the trait's pipeline",
            "dispatcher/codegen/arch_specs.json: pipeline_lds_budget (CK 2026.09 at 029d7b0)"],
    issue="ROCm/rocm-libraries#12173",
    accepts=[_SMALL, {"arch": "gfx950", "tile_m": 256, "tile_n": 256}],
    rejects=[{"tile_m": 256, "tile_n": 256, "tile_k": 128}],
)  # fmt: skip
def gemm_staging_fits_share(c: GemmQuantities) -> BoolExpr:
    """A and B of a tile take the GPU's LDS at most, or half of it in pipelines with two buffers.

    Why: the tile is asked for with the pipeline that it gets, on the GPU that it is for. An
    element of fp32 still counts two bytes.

    Fix: use a smaller tile.
    """
    limit: IntExpr = lookup(c.facts["dispatcher_lds"], c.arch, c.pipeline)
    return _staged(c) <= limit


@rule(
    "GDSP012", "stream-k-without-shuffle", kind="profile", profiles=_PROFILE, since="2026.09",
    applies=lambda c: c.variant == "stream_k",
    says="the dispatcher stores stream-K by cshuffle, not {epilogue}",
    source=f"{_LATER}: _get_configs_for_variant, STREAM_K",
    accepts=[{**_SMALL, "variant": "stream_k", "streamk": "atomic"}],
    rejects=[{**_SMALL, "variant": "stream_k", "streamk": "atomic", "epilogue": "default"}],
)  # fmt: skip
def stream_k_is_shuffled(c: GemmQuantities) -> BoolExpr:
    """The dispatcher makes stream-K kernels with the epilogue cshuffle only.

    Why: other epilogues are left out before code is written.

    Fix: use cshuffle.
    """
    return c.epilogue == "cshuffle"


@rule(
    "GDSP013", "odd-repeats-of-wide-warp-tiles", kind="profile", profiles=_PROFILE, since="2026.09",
    applies=lambda c: (c.epilogue == "cshuffle") & ~c.variant.isin("grouped", "stream_k"),
    says=["the dispatcher stores no odd number of warp tiles of 32 rows by cshuffle: {repeat_m=}",
          "the dispatcher stores no odd number of warp tiles of 32 columns by cshuffle: {repeat_n=}"],
    source=f"{_LATER}: _cshuffle_repeat_ok",
    issue="ROCm/rocm-libraries#9684, ROCm/rocm-libraries#9306",
    accepts=[_SMALL, {**_SMALL, "tile_m": 192, "warp_tile_m": 16, "warp_tile_n": 16}],
    rejects=[{**_SMALL, "tile_m": 192}],
)  # fmt: skip
def wide_warp_tiles_come_in_pairs(c: GemmQuantities) -> BoolExpr:
    """A wave has one warp tile of 32 rows or columns, or an even number of them.

    Why: 26 of 116 kernels were wrong on MI300X, all with three warp tiles of 32 rows. Grouped and
    stream-K kernels are not asked; the C++ has EPI002 for all.

    Fix: use another tile, or the default epilogue.
    """
    wide_m, wide_n = c.warp_tile_m == 32, c.warp_tile_n == 32
    return all_of(
        ~(wide_m & (c.repeat_m > 1)) | (c.repeat_m % 2 == 0),
        ~(wide_n & (c.repeat_n > 1)) | (c.repeat_n % 2 == 0),
    )


gemm_tile_is_whole = rule(
    "GDSP008", "gemm-tile-not-whole", kind="profile", profiles=_PROFILE,
    says=NOT_WHOLE,
    source=f"{_FILTER}: _validate_dimensions, _validate_dimension_alignment",
    accepts=[_SMALL], rejects=[{"tile_m": 96}, {"tile_k": 24}],
)(whole_tile)  # fmt: skip


gemm_weights_are_covered = rule(
    "GDSP009", "gemm-weights-not-covered", kind="profile", profiles=_PROFILE, applies=_weights,
    says=NOT_WHOLE_ROWS,
    source=_COMMON, accepts=[_WEIGHTS],
    rejects=[{**_WEIGHTS, "tile_k": 192, "tile_m": 192}, _BITS],
)(rows_are_covered)  # fmt: skip
