"""SCAL: kernels of 2026 whose matrix instructions take the scales of both operands (MX)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_READ = "CK 2026.09, read in ROCm/rocm-libraries @ 498ed36"
_PIPELINE = "ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: F8xMXF4FlatmmPipelineAGmemBGmemCRegV1"
_POLICY = "ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp: F8xMXF4FlatmmPipelineAgBgCrPolicy"
_MX = "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: MXFlatmmPipelineAGmemBGmemCRegV1"
_MX_POLICY = "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp: MXFlatmmPipelineAgBgCrPolicy"
_MX_READ = "CK 2026.09, read in ROCm/rocm-libraries @ 925db99"
_GEMM_POLICY = (
    "ops/gemm/pipeline/wp_mx_pipeline_agmem_bgmem_creg_v1_policy.hpp: MXGemmPipelineAgBgCrPolicy"
)
_GEMM_READ = "CK 2026.09, read in ROCm/rocm-libraries @ d67e7e8"
_GEMM_BLOCK = "ops/gemm/block/block_mx_asmem_breg_creg.hpp: BlockMXGemmASmemBRegCReg"
_BLOCK_READ = "CK 2026.09, read in ROCm/rocm-libraries @ 9c29cd6"

#: A kernel for experts with A of 8 bits and weights of 4, for examples of rules.
OF_SCALED_EXPERTS: Mapping[str, Any] = {
    "@ck": "2026.06", "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1,
    "arch": "gfx950", "dtype": "fp8_fp4", "scales": "per_1x32", "tile_m": 32, "tile_n": 256,
    "tile_k": 256, "warp_tile_k": 128,
}  # fmt: skip
_FOURS: Mapping[str, Any] = {**OF_SCALED_EXPERTS, "dtype": "fp4"}


_EIGHTS: Mapping[str, Any] = {**OF_FOUR_BITS, "@ck": "2026.06", "dtype": "fp8"}


def _in_instructions(c: ScaledQuantities) -> BoolExpr:
    return c.scales_in_instructions


@rule(
    "SCAL046", "four-bits-of-other-kernels", kind="compile", since="2026.06",
    says=["{variant} multiplies fp4 and fp8, and fp8 with fp4, not {dtype}",
          "only MX and experts multiply fp4: {variant}"],
    source=[f"{_MX_POLICY}::MakeMX_ALDSBytes_TileDistribution, MakeMX_BFlatBytesDramTileDistribution (static_assert: unsupported datatype; {_MX_READ})",
            "example/ck_tile/18_flatmm/mxgemm/mx_flatmm_arch_traits.hpp: MXFlatmm_GFX950_FP8FP4_Traits (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)",
            f"{_GEMM_BLOCK}::MakeABlockTileDistribution (static_assert: unsupported datatype; {_BLOCK_READ})",
            f"{_GEMM_POLICY}::MakeMX_BFlatBytesDramTileDistribution (the same; {_GEMM_READ})",
            f"{_PIPELINE} (APackedSize; {_READ})",
            "csrc/ck_tile_gemm_moe_2stages/moe_cktile2stages_common.py: a4w4_gemm1_kernels_list_gfx950 (ROCm/aiter @ 11e6155)"],
    accepts=[_FOURS, _EIGHTS, {**_EIGHTS, "dtype": "fp8_fp4"}, {}], rejects=[{"dtype": "fp4"}, {**_EIGHTS, "dtype": "bf8"}],
)  # fmt: skip
def four_bits_have_kernels(c: ScaledQuantities) -> BoolExpr:
    """4-bit operands belong to experts and to MX, which takes fp8, too, also with 4-bit weights.

    Why: other warp GEMMs do not take the scales of both operands. The pipeline knows how lanes
    hold fp8, fp6 and fp4 of each operand; there is no word here for fp6, nor for an A of 4 bits
    with a B of 8.

    Fix: change the variant or dtype.
    """
    four = c.dtype == "fp4"
    return all_of(
        ~c.micro | c.dtype.isin("fp4", "fp8", "fp8_fp4"),
        c.micro | (c.variant == "moe_flatmm") | ~four,
    )


@rule(
    "SCAL047", "tiles-of-scaled-instructions", kind="compile", since="2026.06",
    applies=_in_instructions,
    says=["experts with scales of both operands have four waves along N: wave_n = {wave_n}",
          "scales are loaded for one wave along K: wave_k = {wave_k}",
          "A is loaded by 128 bytes of a row: tile_k = {tile_k} of {dtype} is not a multiple",
          "A lies in LDS for warp tiles of 16 rows: warp_tile_m = {warp_tile_m}",
          "weights are shuffled for warp tiles of 16 columns: warp_tile_n = {warp_tile_n}",
          "instructions that take scales multiply 128 along K: warp_tile_k = {warp_tile_k}"],
    source=[f"{_PIPELINE}::operator() (static_assert NWarp == 4; {_READ})",
            f"{_POLICY}::MakeMXFP4_ScaleA_DramTileDistribution, MakeMXFP4_ALdsBlockDescriptor (static_assert WaveNum == M_Warps * N_Warps, K0 * K1 * K2 == KPerBlock, MPerXdl == 16; {_MX_READ})",
            f"{_MX_POLICY} (static_assert WaveNum == MWarps * NWarps, MPerXdl == 16 && NPerXdl == 16), MakeMX_ALdsBytesBlockDescriptor ({_MX_READ})",
            f"{_GEMM_POLICY} (the same; {_GEMM_READ})"],
    accepts=[OF_SCALED_EXPERTS, _FOURS, _EIGHTS, {**OF_SCALED_EXPERTS, "tile_k": 128}],
    rejects=[{**OF_SCALED_EXPERTS, "wave_n": 2}, {**_FOURS, "tile_k": 128},
             {**OF_SCALED_EXPERTS, "wave_k": 2}, {**_EIGHTS, "warp_tile_k": 64}],
)  # fmt: skip
def tiles_of_scaled_instructions_fit(c: ScaledQuantities) -> BoolExpr:
    """Where instructions take scales, tile_k is a multiple of 128 bytes of A, and warp tiles are 16x16x128.

    A block for experts has four waves along N.

    Why: asserted, but for the length along K: no other warp GEMM of these types takes scales.

    Fix: use 1x4x1 waves and a tile_k of 256.
    """
    return all_of(
        c.micro | (c.wave_n == 4),
        c.wave_k == 1,
        c.tile_k % (128 * c.packed_a) == 0,
        c.warp_tile_m == 16,
        c.warp_tile_n == 16,
        c.warp_tile_k == 128,
    )


@rule(
    "SCAL048", "packs-of-scaled-instructions", kind="wrong-result", since="2026.06",
    applies=_in_instructions,
    says=["scales are shared by pairs of a wave's warp tiles along M: {repeat_m=}, expected an even number",
          "scales are shared by pairs of a wave's warp tiles along N: {repeat_n=}, expected an even number",
          "A is read from LDS in the order of two warp tiles along K: {steps_k=}, expected 2"],
    source=[f"{_PIPELINE}::operator() (MIterPerWarp / MXdlPack, NIterPerWarp / NXdlPack, KIterPerWarp / KXdlPack; AkIter = addr / 2 % 2; {_READ})",
            f"{_MX}::Run_ (MPackIterPerWarp, NPackIterPerWarp, KPackIterPerWarp; preload_next_A; CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705)",
            f"{_GEMM_BLOCK}::operator() (MPackIterPerWarp, NPackIterPerWarp, KPackIterPerWarp; AkIter = addr / 2 % 2; {_BLOCK_READ})"],
    accepts=[OF_SCALED_EXPERTS, _FOURS, _EIGHTS, {**OF_SCALED_EXPERTS, "tile_m": 64}],
    rejects=[{**OF_SCALED_EXPERTS, "tile_m": 48}, {**OF_SCALED_EXPERTS, "tile_n": 64},
             {**OF_SCALED_EXPERTS, "tile_k": 128}, {**_EIGHTS, "tile_k": 512}],
)  # fmt: skip
def packs_of_scaled_instructions_are_whole(c: ScaledQuantities) -> BoolExpr:
    """Where instructions take scales, a wave's warp tiles come in pairs along M and N, and are two along K.

    Why: the loops count pairs along M, N and K, so that what is left over is not computed: with one
    warp tile along M nothing is. What is read next of A is counted for two along K.

    Fix: use a tile_k of 256, and a tile_m and tile_n of whole pairs.
    """
    return all_of(c.repeat_m % 2 == 0, c.repeat_n % 2 == 0, c.steps_k == 2)


@rule(
    "SCAL049", "other-scales-of-scaled-experts", kind="wrong-result", since="2026.06",
    applies=lambda c: c.scaled_experts & (c.scales != "per_tensor"),
    says="instructions that take the scales of experts' operands have one for each 32 along K, not {scales}",
    source=[f"{_PIPELINE} (Problem::ScaleGranularityK = 32; {_READ})",
            f"{_POLICY}::MakeMXFP4_ScaleA_DramTileDistribution (four exponents in an int32; {_MX_READ})"],
    accepts=[OF_SCALED_EXPERTS, _FOURS],
    rejects=[{**OF_SCALED_EXPERTS, "scales": "row_column"}, {**_FOURS, "scales": "no"}],
)  # fmt: skip
def scaled_experts_have_scales_of_32(c: ScaledQuantities) -> BoolExpr:
    """Experts whose instructions take scales have them for every 32 along K, of A and of B.

    Why: four exponents are loaded at once, of two warp tiles each way. aiter's lists say per_tensor
    where they leave the scales to the caller.

    Fix: use per_1x32.
    """
    return c.scales == "per_1x32"


@rule(
    "SCAL050", "scaled-instructions-transposed", kind="compile", since="2026.06",
    applies=_in_instructions,
    says="warp GEMMs of a transposed product take no scales: transpose_c = {transpose_c}",
    source=["ops/gemm/warp/warp_gemm_attribute_mfma.hpp: WarpGemmAttributeMfmaTransposedCDistribution (operator() without opselA, opselB, which WarpGemmAttributeMfma has; CK 2026.09, read in ROCm/rocm-libraries @ 09ca95c)",
            f"{_MX}::Run_ (WG with two scales; CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705)",
            f"{_GEMM_BLOCK}::operator() (OpSelA, OpSelB; {_BLOCK_READ})"],
    accepts=[OF_SCALED_EXPERTS, _EIGHTS],
    rejects=[{**_EIGHTS, "transpose_c": True}],
)  # fmt: skip
def scaled_instructions_are_not_transposed(c: ScaledQuantities) -> BoolExpr:
    """Where instructions take scales, the product is not transposed.

    Why: the pipelines hand two scales to the warp GEMM, and the one for a transposed C has no form
    with them.

    Fix: turn transpose_c off.
    """
    return ~c.transpose_c


@rule(
    "SCAL052", "pairs-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.paired_columns & (c.stage != 1) & (c.epilogue == "cshuffle")
                       & c.neighbouring_results & (c.wave_m * c.wave_n == 8)),
    says=("{epilogue} takes the {repeat_n} warp tiles of one of eight waves along N for neighbours, and "
          "two are: {repeat_n=}, expected 2"),
    source=["ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue EightWave, BlockedXDLN_PerWarp (CK 2026.09, read in ROCm/rocm-libraries @ 098502e)",
            f"{_MX}::Run_ (NXdlPack; CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705)"],
    accepts=[{**_EIGHTS, "wave_n": 8, "tile_n": 256}],
    rejects=[{**_EIGHTS, "wave_n": 8, "tile_n": 512}],
)  # fmt: skip
def pairs_of_eight_waves_are_single(c: ScaledQuantities) -> BoolExpr:
    """Where scales are packed for pairs of columns of warp tiles, each of eight waves has one pair.

    Why: what EPI011 says of other kernels, whose warp tiles alternate with those of other waves:
    CShuffle does not look at the number of neighbours that it is told where a block has eight
    waves, and takes all of a wave's.

    Fix: use four waves, or a smaller tile_n.
    """
    return c.repeat_n <= 2
