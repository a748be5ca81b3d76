"""SCAL: what flatmm with 4-bit operands and scales of 32 along K (MX) asks beside other flatmm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import MX
from ckrules.engine.expr import BoolExpr, all_of, rel
from ckrules.engine.rules import rule

_PIPELINE = "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: MXF4FlatmmPipelineAGmemBGmemCRegV1"
_KERNEL = "ops/flatmm/kernel/mx_flatmm_kernel.hpp: MXFlatmmKernel"

#: A kernel with 4-bit operands, for examples of rules.
OF_FOUR_BITS: Mapping[str, Any] = {
    "variant": "mx_flatmm", "pipeline": "mx_flatmm", "arch": "gfx950", "dtype": "fp4",
    "scales": "per_1x32", "tile_k": 256, "warp_tile_k": 128,
}  # fmt: skip


def _micro(c: ScaledQuantities) -> BoolExpr:
    return c.micro


def _by_flatmm(c: ScaledQuantities) -> BoolExpr:
    """MX by flatmm; SCAL055 says which scales the other kernel has."""
    return c.variant == MX


@rule(
    "SCAL029", "four-bits-elsewhere", kind="compile", until="2026.06",
    says=["mx_flatmm multiplies fp4, not {dtype}", "only mx_flatmm multiplies fp4: {variant}"],
    source=["ops/gemm/warp/warp_gemm_attribute_mfma_impl.hpp: WarpGemmAttributeMfmaScaleImpl_f32_16x16x128_fp4::operator() (takes scales, as no other does)",
            f"{_PIPELINE}::operator() (WG with two numbers of scales)"],
    accepts=[{}, OF_FOUR_BITS], rejects=[{"dtype": "fp4"}, {**OF_FOUR_BITS, "dtype": "fp8"}],
)  # fmt: skip
def four_bits_have_their_kernel(c: ScaledQuantities) -> BoolExpr:
    """4-bit operands belong to mx_flatmm, and it takes no others.

    Why: its warp GEMM takes scales, which other kernels do not hand to it.

    Fix: change the variant or dtype.
    """
    four = c.dtype == "fp4"
    return all_of(~c.micro | four, c.micro | ~four)


@rule(
    "SCAL030", "four-bits-on-other-gpu", kind="compile", until="2026.06", applies=_micro,
    says="mx_flatmm is for GPUs with scaled matrix instructions, not {arch}",
    source=f"{_PIPELINE}::operator() (static_assert outside of __gfx950__)",
    accepts=[OF_FOUR_BITS], rejects=[{**OF_FOUR_BITS, "arch": "gfx942"}],
)  # fmt: skip
def four_bits_are_on_gfx950(c: ScaledQuantities) -> BoolExpr:
    """Kernels of mx_flatmm are for gfx950.

    Why: asserted; the scaled matrix instructions are there.

    Fix: widen the operands.
    """
    return rel(c.facts["scaled_mfma"], c.arch)


@rule(
    "SCAL035", "scales-that-mx-cannot-hand-on", kind="compile", applies=_by_flatmm,
    says="mx_flatmm has no epilogue for scales that do not change along K: scales = {scales}",
    source=[f"{_KERNEL}::RunFlatmm (DoEpiScale: hands scale_m_ptr + block_idx_m on)",
            f"{_KERNEL}::RunFlatmm (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36: the same)",
            "ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue::operator() (make_tile_window of the scales, which are a pointer here)",
            "ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmScalePointer (static_assert GranularityMN != 0)"],
    accepts=[OF_FOUR_BITS, {**OF_FOUR_BITS, "scales": "no"}],
    rejects=[{**OF_FOUR_BITS, "scales": "row_column"}, {**OF_FOUR_BITS, "scales": "per_tensor"}],
)  # fmt: skip
def four_bits_have_scales_along_k(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm has no scales of rows and columns, or of whole tensors.

    Why: for those of rows and columns the kernel calls the epilogue with pointers, where CShuffle
    takes windows of tensors and the default one nothing. A scale of a whole tensor the type of the
    scales refuses.

    Fix: use per_1x32.
    """
    return ~c.scales.isin("row_column", "per_tensor")


@rule(
    "SCAL031", "other-scales-of-four-bits", kind="wrong-result",
    applies=lambda c: _by_flatmm(c) & ~c.scales.isin("row_column", "per_tensor"),
    says="mx_flatmm reads a scale for each 32 along K, not {scales}",
    source=[f"{_KERNEL}::MakeGemmTensorViews (BlockScaleSize, reinterpret_cast to int32_t; read, not run)",
            f"{_KERNEL}::MakeScaleABlockWindow (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36: the same)"],
    accepts=[OF_FOUR_BITS], rejects=[{**OF_FOUR_BITS, "scales": "per_1x128"}],
)  # fmt: skip
def four_bits_have_scales_of_32(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm has scales for every 32 of a row of A, and of a column of B.

    Why: whatever the type of the scales says, the kernel reads four exponents of such at once.
    SCAL035 has the scales with which it does not compile.

    Fix: use per_1x32.
    """
    return c.scales == "per_1x32"


@rule(
    "SCAL036", "windows-beyond-packs", kind="compile", until="2026.06",
    applies=lambda c: c.micro & (c.steps_k >= 1),
    says=["scales are loaded for pairs of a wave's warp tiles along N: {repeat_n=}, expected 2 or more",
          "A is read from LDS for pairs of warp tiles along M: {repeat_m=}, expected an even number",
          "A is read from LDS in the order of two warp tiles along K: {steps_k=}, expected 2 or fewer",
          "the first four reads of A go over two warp tiles along K: {steps_k=}, expected 2 with {repeat_m=} along M"],
    source=[f"{_PIPELINE}::operator() (m_preload: mIter = loadIter % MXdlPack, kIter = loadIter / MXdlPack; addr: AmIter, AkIter)",
            "core/container/tuple.hpp: tuple::at static_assert on the index",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp: MakeMXFP4_ScaleB_DramTileDistribution (Y0 = kNPerBlock / (NXdlPack * Y1 * Y2))",
            "core/algorithm/space_filling_curve.hpp: static_assert 0 < TensorSize"],
    accepts=[OF_FOUR_BITS, {**OF_FOUR_BITS, "tile_n": 192},
             {**OF_FOUR_BITS, "tile_m": 32, "tile_k": 128, "wave_n": 2}],
    rejects=[{**OF_FOUR_BITS, "tile_n": 64}, {**OF_FOUR_BITS, "tile_m": 48, "tile_n": 64, "wave_n": 2},
             {**OF_FOUR_BITS, "tile_k": 512}, {**OF_FOUR_BITS, "tile_m": 64, "tile_k": 128}],
)  # fmt: skip
def windows_of_four_bits_exist(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm has a wave's warp tiles in pairs along M, two or more along N and at most two along K.

    Why: the windows of A are a tuple, and what is read next is counted for two warp tiles along M
    and two along K. With others a constant index is beyond the tuple, which is asserted, but for
    few warp tiles along M with one along K (SCAL032). Scales of B for less than a pair along N are
    an empty tile.

    Fix: use a tile_k of 256, and a tile_m and tile_n of whole pairs.
    """
    single = c.steps_k == 1
    return all_of(
        c.repeat_n >= 2, single | (c.repeat_m % 2 == 0), c.steps_k <= 2, ~single | (c.repeat_m <= 2)
    )


@rule(
    "SCAL032", "packs-of-four-bits", kind="wrong-result", until="2026.06", applies=_micro,
    says=["scales are shared by pairs of a wave's warp tiles along N: {repeat_n=}, expected an even number",
          "the loops count pairs of warp tiles along K: {steps_k=}, expected 2"],
    source=f"{_PIPELINE}::operator() (NIterPerWarp / NXdlPack, KIterPerWarp / KXdlPack; run)",
    accepts=[OF_FOUR_BITS],
    rejects=[{**OF_FOUR_BITS, "tile_n": 192}, {**OF_FOUR_BITS, "tile_m": 32, "tile_k": 128, "wave_n": 2}],
)  # fmt: skip
def packs_of_four_bits_are_whole(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm has warp tiles in pairs along N, and two along K.

    Why: the loops count pairs, so that what is left over is not computed: the last of an odd
    number along N, and everything where there is one along K.

    Fix: use a tile_k of 256, and a tile_n of whole pairs.
    """
    return all_of(c.repeat_n % 2 == 0, c.steps_k == 2)


@rule(
    "SCAL033", "mx-in-short-waves", kind="compile", since="2026.06",
    applies=_micro,
    says="{variant} has rules for waves of 64 lanes alone, not {wave_size}",
    source=["ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: MXFlatmmPipelineAGmemBGmemCRegV1 (CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705: __gfx125__, KXdlPack = 1)",
            "ops/gemm/pipeline/wp_mx_pipeline_agmem_bgmem_creg_v1.hpp: PipelineImpl::operator(), static_assert outside of __gfx950__ (CK 2026.09, read in ROCm/rocm-libraries @ 858d6b2)"],
    accepts=[OF_FOUR_BITS], rejects=[{**OF_FOUR_BITS, "arch": "gfx1250"}],
)  # fmt: skip
def four_bits_are_in_waves_of_64(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm and mx_gemm are judged in waves of 64 lanes alone.

    Why: the pipeline of 2026 is one for gfx1250, too, in waves of 32 lanes, with a warp tile less in a
    pack of scales along K. The texts of its policy that could be read spread operands over 64 lanes;
    that of ROCm/rocm-libraries#7359, which has others, is not known. The pipeline of mx_gemm asserts
    gfx950.

    Fix: use gfx950.
    """
    return c.wave_size == 64
