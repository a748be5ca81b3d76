"""SCAL: what GEMMs of MX by the kernel of other GEMMs ask beside what MX by flatmm does, and both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import MX_GEMM
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_KERNEL = "ops/gemm/kernel/mx_gemm_kernel.hpp: MxGemmKernel"
_READ = "CK 2026.09, read in ROCm/rocm-libraries @ 522292d"

#: A kernel with pre-shuffled weights, for examples of rules.
OF_MX_GEMM: Mapping[str, Any] = {
    "@ck": "2026.09", "variant": "mx_gemm", "pipeline": "weight_preshuffle", "arch": "gfx950",
    "dtype": "fp4", "scales": "per_1x32", "tile_k": 256, "warp_tile_k": 128,
}  # fmt: skip
_EIGHTS: Mapping[str, Any] = {**OF_FOUR_BITS, "@ck": "2026.06", "dtype": "fp8"}


@rule(
    "SCAL054", "no-mx-gemm-yet", kind="compile", until="2026.09",
    says="CK has no MxGemmKernel before 2026.09: {variant}",
    source="ops/gemm_mx/kernel/gemm_mx_kernel.hpp: MXGemmKernel, the class before it, with other arguments (CK 2026.06, read in ROCm/rocm-libraries @ 15490d9)",
    accepts=[{}], rejects=[{"variant": "mx_gemm"}],
)  # fmt: skip
def mx_gemms_exist(c: ScaledQuantities) -> BoolExpr:
    """GEMMs of MX by the kernel of other GEMMs are those of September 2026.

    Why: headers of November 2025 have none. The class that came before, in a folder of its own, takes
    other arguments and scales in another order, and is not judged.

    Fix: use newer headers, or mx_flatmm.
    """
    return c.variant != MX_GEMM


@rule(
    "SCAL055", "parameters-of-mx-gemm", kind="compile", since="2026.09",
    applies=lambda c: c.mx_gemm,
    says=["{variant} has a scale for each 32 along K, not {scales}",
          "{variant} pads no K: pad_k = {pad_k}",
          "permuted columns of {variant} take an epilogue that has no word here: permute_n = {permute_n}"],
    source=[f"{_KERNEL} (BlockScaleSize, static_assert !kPadK; {_READ})",
            "csrc/ck_gemm_a4w4_blockscale/gemm_a4w4_blockscale_common.py and the wrapper beside it: TileGemmComputeImpl (static_assert on TiledMMAPermuteN; ROCm/aiter @ 0055ba9)"],
    accepts=[OF_MX_GEMM, {**OF_MX_GEMM, "dtype": "fp8", "pad_m": True, "pad_n": True}],
    rejects=[{**OF_MX_GEMM, "scales": "no"}, {**OF_MX_GEMM, "pad_k": True},
             {**OF_MX_GEMM, "permute_n": True}],
)  # fmt: skip
def mx_gemms_have_their_parameters(c: ScaledQuantities) -> BoolExpr:
    """GEMMs of MX have scales for every 32 along K, pad no K and permute no columns.

    Why: the kernel has no form without scales, and asserts that K is not padded, for its loads are
    masked by whole vectors. CShuffle does not put permuted columns back; CK has another epilogue for
    them, which no field here says.

    Fix: use per_1x32, a tile_k that divides K, and no permuted columns.
    """
    return all_of(c.scales == "per_1x32", ~c.pad_k, ~c.permute_n)


@rule(
    "SCAL056", "more-loads-than-mx-counts", kind="compile", since="2026.06",
    applies=lambda c: c.micro & (c.warp_tile_m == 16) & (c.warp_tile_n == 16) & (c.warp_tile_k == 128),
    says=("a wave waits for {loads_awaited} loads of B and of scales, and 63 can be counted: "
          "{repeat_m=}, {repeat_n=} with {dtype}"),
    source=["core/arch/arch.hpp: waitcnt_arg::from_vmcnt (static_assert \"vmcnt out of range\")",
            "ops/gemm/pipeline/wp_mx_pipeline_agmem_bgmem_creg_v1.hpp: PipelineImpl::operator(), s_waitcnt<Bload_num + ScaleAload_num + ScaleBload_num> (CK 2026.09, read in ROCm/rocm-libraries @ 858d6b2)",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: MXFlatmmPipelineAGmemBGmemCRegV1::Run_ (the same; CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705)"],
    accepts=[_EIGHTS, {**_EIGHTS, "tile_n": 384, "wave_n": 2}],
    rejects=[{**_EIGHTS, "tile_n": 512, "wave_n": 2}],
)  # fmt: skip
def loads_of_mx_are_counted(c: ScaledQuantities) -> BoolExpr:
    """The loads of weights and scales that a wave of MX has under way can be counted.

    Why: it waits for A's, which come before them, by their number, and the counter has 6 bits; asserted.

    Fix: use more waves along N, or a smaller tile_n.
    """
    return c.loads_awaited <= 63
