"""AITR: which kernels with scales aiter's C++ wrappers can be asked for (profile `aiter`).

Facts: ROCm/aiter of August 2026, the wrappers (``*.cuh``) beside csrc/cktile_gemm_a8w8_bpreshuffle,
csrc/ck_gemm_a8w8_blockscale and csrc/ck_tile_gemm_moe_2stages, and of September 2026 beside
csrc/ck_gemm_a4w4_blockscale. The kernels that it shipped in August are the catalog `aiter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.mx_gemm_rules import OF_MX_GEMM
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_PROFILE = ("aiter",)
_WRAPPERS = [
    "csrc/cktile_gemm_a8w8_bpreshuffle/gemm_a8w8_bpreshuffle_cktile_common.py and the wrappers beside it (ROCm/aiter of August 2026)",
    "csrc/ck_gemm_a8w8_blockscale/gemm_a8w8_blockscale_cktile_instance.py and the wrappers beside it",
    "csrc/ck_tile_gemm_moe_2stages/moe_cktile2stages_common.py and the wrappers beside it (4-bit A with 4-bit weights: ROCm/aiter @ 11e6155)",
    "csrc/ck_deepgemm/gen_instances.py and the wrapper include/deepgemm_common.cuh (ROCm/aiter @ a459af7, @ 9853791)",
    "csrc/ck_gemm_a4w4_blockscale/gemm_a4w4_blockscale_common.py and the wrapper gemm_a4w4_blockscale_cktile_common.cuh (ROCm/aiter @ 0055ba9)",
]
_FLAT: Mapping[str, Any] = {"partition_groups": 8, "partition_m01": 4}
_EXPERTS: Mapping[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "per_tensor",
}  # fmt: skip
_BLOCKS: Mapping[str, Any] = {
    "variant": "abquant", "pipeline": "abquant", "scales": "blocks", "scheduler": "intrawave",
    "transpose_c": True, "pad_m": True,
}  # fmt: skip
_MICRO: Mapping[str, Any] = {**OF_MX_GEMM, "pad_m": True}


@rule(
    "AITR001", "types-beyond-aiter", kind="profile", profiles=_PROFILE,
    says=["aiter has kernels with scales for gfx942 and gfx950, not {arch}",
          "aiter's {variant} takes fp8, not {dtype}",
          "aiter's experts take fp8, or 4-bit weights, not {dtype}",
          "aiter has 8- and 4-bit A with 4-bit weights for gfx950, not {arch}",
          "aiter's {variant} takes fp4, not {dtype}"],
    source=_WRAPPERS, accepts=[_FLAT, _EXPERTS, _BLOCKS, _MICRO, {**_FLAT, "grouping": "masked", "dtype": "bf16"}],
    rejects=[{**_FLAT, "dtype": "bf8"}, {**_EXPERTS, "dtype": "bf16"}, {"arch": "gfx90a"},
             {**_MICRO, "dtype": "fp8"}],
)  # fmt: skip
def types_are_aiters(c: ScaledQuantities) -> BoolExpr:
    """aiter multiplies fp8 with fp8 and, for experts, with 4-bit weights, on two GPUs, and 4 bits by MX.

    Groups of masked rows are of bf16 and fp16, too.

    Why: its lists are by these types and GPUs.
    """
    experts = c.variant == "moe_flatmm"
    return all_of(
        c.arch.isin("gfx942", "gfx950"),
        experts | c.mx_gemm | (c.dtype == "fp8") | (c.masked & c.dtype.isin("bf16", "fp16")),
        ~experts | c.dtype.isin("fp8", "bf16_fp4", "fp16_fp4", "fp8_fp4", "fp4"),
        implies(c.dtype.isin("fp8_fp4", "fp4"), c.arch == "gfx950"),
        ~c.mx_gemm | (c.dtype == "fp4"),
    )


@rule(
    "AITR002", "fixed-by-aiter", kind="profile", profiles=_PROFILE,
    says=["aiter stores with cshuffle, not {epilogue}",
          "aiter has one wave group: num_wave_groups = {num_wave_groups}",
          "aiter has no persistent {variant}: persistent = {persistent}",
          "aiter permutes no columns of {variant}: permute_n = {permute_n}",
          "aiter transposes no C of experts: transpose_c = {transpose_c}",
          "aiter pads no tile of experts: pad_m = {pad_m}, pad_n = {pad_n}, pad_k = {pad_k}",
          "aiter pads M with block scales, and by MX: pad_m = {pad_m}",
          "aiter pads no N and no K by MX: pad_n = {pad_n}, pad_k = {pad_k}"],
    source=_WRAPPERS, accepts=[_FLAT, _EXPERTS, _BLOCKS, _MICRO],
    rejects=[{**_FLAT, "persistent": True}, {**_EXPERTS, "pad_m": True}, {**_BLOCKS, "pad_m": False},
             {**_MICRO, "pad_n": True}],
)  # fmt: skip
def fixed_fields_are_aiters(c: ScaledQuantities) -> BoolExpr:
    """What aiter's wrappers set for every kernel of a kind has that value.

    Why: their lists have no field for it.
    """
    flat, experts, blocks = (c.variant == v for v in ("flatmm", "moe_flatmm", "abquant"))
    micro = c.mx_gemm
    return all_of(
        c.epilogue == "cshuffle",
        c.num_wave_groups == 1,
        blocks | micro | ~c.persistent,
        blocks | ~c.permute_n,
        flat | blocks | micro | ~c.transpose_c,
        ~experts | ~(c.pad_m | c.pad_n | c.pad_k),
        ~(blocks | micro) | c.pad_m,
        ~micro | ~(c.pad_n | c.pad_k),
    )


@rule(
    "AITR003", "blocks-beyond-aiter", kind="profile", profiles=_PROFILE,
    says="aiter has 1 to 4 blocks on a compute unit: k_block_per_cu = {k_block_per_cu}",
    source=_WRAPPERS, accepts=[_FLAT, {**_FLAT, "k_block_per_cu": 4}],
    rejects=[{**_FLAT, "k_block_per_cu": 5}],
)  # fmt: skip
def blocks_are_aiters(c: ScaledQuantities) -> BoolExpr:
    """One to four blocks are on a compute unit.

    Why: aiter adds to each list what it lacks of these numbers.

    Fix: use 1 to 4.
    """
    return c.k_block_per_cu <= 4
