"""SCAL: what kernels with scales ask beside what all tile GEMMs do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled import words as w
from ckrules.constraints.scaled.block_rules import OF_BLOCKS
from ckrules.constraints.scaled.inherited import flat
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite
from ckrules.engine.rules import rule

_PIPELINE = "ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1.hpp"
#: What lays out the loads of flatmm.
FLAT_POLICY = "ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp"
_MIXED = "ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp"
_MOE = "ops/flatmm/pipeline/moe_flatmm_pipeline_agmem_bgmem_creg.hpp"

#: A kernel for experts, and one with 4-bit weights, for examples of rules.
OF_EXPERTS: Mapping[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "row_column",
}  # fmt: skip
FOUR_BITS: Mapping[str, Any] = {
    **OF_EXPERTS, "dtype": "bf16_fp4", "tile_m": 32, "tile_k": 256, "warp_tile_k": 32,
}  # fmt: skip


@rule(
    "SCAL001", "pipeline-of-other-kernel", kind="compile",
    says="kernels of {variant} take another pipeline than {pipeline}",
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmPipeline",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: FlatmmPipeline",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: GemmPipeline"],
    accepts=[{}, OF_EXPERTS, OF_BLOCKS], rejects=[{"pipeline": "compv3"}, {**OF_BLOCKS, "pipeline": "flatmm"}],
)  # fmt: skip
def pipeline_is_the_kernels(c: ScaledQuantities) -> BoolExpr:
    """Each kind of kernel has its own pipelines.

    Why: the kernel calls the pipeline with the windows and scales of its own kind.

    Fix: take the pipeline of the variant.
    """
    known = {v: p for v, p in w.PIPELINES.items() if v != w.MX_GEMM or c.since("2026.09")}
    return any_of(*(all_of(c.variant == v, c.pipeline.isin(*p)) for v, p in known.items()))


@rule(
    "SCAL003", "waves-of-flatmm", kind="compile", applies=flat,
    says=["{variant} wants one wave along M: wave_m = {wave_m}",
          "{variant} wants one wave along K: wave_k = {wave_k}"],
    source=[f"{FLAT_POLICY}: MakeALDS_WarpTileDistribution static_assert BlockWarps M == 1",
            f"{FLAT_POLICY}: MakeBFlatDramTileDistribution static_assert BlockWarps K == 1",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp: MakeMXFP4_ScaleB_DramTileDistribution static_assert WaveNum == M_Warps * N_Warps",
            "ops/gemm/pipeline/wp_mx_pipeline_agmem_bgmem_creg_v1.hpp: PipelineImpl::operator(), static_assert MWarp == 1 (CK 2026.09, read in ROCm/rocm-libraries @ 858d6b2)"],
    accepts=[{}], rejects=[{"wave_m": 2, "wave_n": 2}, {"wave_k": 2, "wave_n": 2}],
)  # fmt: skip
def flatmm_waves_lie_along_n(c: ScaledQuantities) -> BoolExpr:
    """The waves of a flatmm block lie along N.

    Why: asserted; every wave reads all rows of A from LDS and its own weights from memory.

    Fix: use 1x4x1.
    """
    return all_of(c.wave_m == 1, c.narrow_b | (c.wave_k == 1))


@rule(
    "SCAL004", "weights-of-other-shape", kind="compile", applies=flat,
    says=["pre-shuffled weights have warp tiles of 16 or 32 columns, not warp_tile_n = {warp_tile_n}",
          "4-bit weights take warp tiles of 16x16, not {warp_tile_m}x{warp_tile_n}"],
    source=[f"{FLAT_POLICY}: GetKBPerLoad static_assert WarpTile::at(I1) == 16",
            f"{_MIXED}: static_assert MPerXdl == 16 && NPerXdl == 16"],
    accepts=[{}, FOUR_BITS],
    rejects=[{"dtype": "bf16", "warp_tile_m": 64, "warp_tile_n": 4, "warp_tile_k": 16},
             {**FOUR_BITS, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16}],
)  # fmt: skip
def weights_have_known_shape(c: ScaledQuantities) -> BoolExpr:
    """Pre-shuffled weights are read in warp tiles of 16 or 32 columns, 4-bit ones of 16x16.

    Why: the order of the shuffled elements is written for these.

    Fix: use a 16x16 warp tile.
    """
    small = (c.warp_tile_m == 16) & (c.warp_tile_n == 16)
    return all_of(c.warp_tile_n.isin(16, 32), implies(c.narrow_b, small))


@rule(
    "SCAL005", "partial-reads-of-flat-a", kind="compile", applies=flat,
    says="a lane reads A from LDS 16 bytes at a time: {lane_bytes=} bytes of a warp tile",
    source=f"{_PIPELINE}: static_assert on WG::kM * WG::kK * sizeof(ADataType) / WaveSize",
    accepts=[{}], rejects=[{"warp_tile_k": 32}],
)  # fmt: skip
def flat_a_is_read_whole(c: ScaledQuantities) -> BoolExpr:
    """A lane's part of A's warp tile is a multiple of 16 bytes.

    Why: asserted. Unlike preshufflev2, flatmm counts one warp tile and not all of a wave's.

    Fix: take a warp tile with a larger K.
    """
    return (c.lane_bytes >= 1) & (c.lane_bytes % 16 == 0)


@rule(
    "SCAL006", "rows-of-flat-a-not-covered", kind="compile", applies=flat,
    says=["a row of A has fewer than 16 bytes: tile_k = {tile_k}",
          "{lanes_k=} lanes along a row of A neither divide a wave nor fill whole waves",
          "the waves do not cover the rows of A: tile_m = {tile_m}, {lanes_k=}, {waves} waves"],
    source=f"{FLAT_POLICY}: MakeADramTileDistribution (K0, M2; static_assert M0 * M1 * M2 == MPerBlock)",
    accepts=[{}, {"tile_m": 48, "tile_k": 256, "tile_n": 64}],
    rejects=[{"tile_m": 16}, {"tile_k": 192, "tile_m": 192}, {"tile_k": 8}],
)  # fmt: skip
def rows_of_flat_a_are_covered(c: ScaledQuantities) -> BoolExpr:
    """Lanes of 16 bytes cover the rows of A's tile: they divide the wave, or fill whole waves.

    Why: lanes lie along K first. Where they divide the wave, the rows that all waves load at once
    must divide tile_m, which is asserted; a number of lanes that does neither divides by zero.

    Fix: use a power of two for tile_k, fewer waves or another tile_m.
    """
    lanes, wave = c.lanes_k, c.wave_size
    inside = wave % lanes == 0
    per_row = lanes // wave
    beside = (lanes % wave == 0) & (c.waves % per_row == 0)
    rows = ite(inside, wave // lanes * c.waves, c.waves // per_row)
    return all_of(lanes >= 1, inside | beside, c.tile_m % rows == 0)


@rule(
    "SCAL007", "odd-gate-and-up", kind="compile",
    applies=lambda c: (c.stage == 1) & ~c.narrow_b,
    says="gate and up share a wave's warp tiles along N: {repeat_n=}, expected an even number",
    source=f"{_MOE}: static_assert NIterPerWarp % 2 == 0 (IsGateUpMode)",
    accepts=[OF_EXPERTS], rejects=[{**OF_EXPERTS, "tile_n": 64}],
)  # fmt: skip
def gate_and_up_are_even(c: ScaledQuantities) -> BoolExpr:
    """The first GEMM of experts has an even number of warp tiles along N for each wave.

    Why: every second one is of the gate, the others are of the upward projection.

    Fix: use another tile_n or fewer waves.
    """
    return c.repeat_n % 2 == 0


@rule(
    "SCAL008", "experts-elsewhere", kind="compile",
    says=["only moe_flatmm has stages, and it has 1 and 2: {variant}, stage = {stage}",
          "4-bit weights belong to experts, and beside fp8 since 2026.06 to MX, too: {variant}, {dtype}",
          "only the first stage has an activation: stage = {stage}, {activation}"],
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmKind",
            "example/ck_tile/18_flatmm/mxgemm/mx_flatmm_arch_traits.hpp: MXFlatmm_GFX950_FP8FP4_Traits (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[{}, OF_EXPERTS], rejects=[{"stage": 1}, {**OF_EXPERTS, "stage": 0}],
)  # fmt: skip
def experts_have_stages(c: ScaledQuantities) -> BoolExpr:
    """Stages, activations and 4-bit weights belong to kernels for mixtures of experts.

    Why: the other kernels have no such parameter. Since 2026.06 mx_flatmm multiplies fp8 with
    4-bit weights, too, since 2026.09 mx_gemm.

    Fix: change the variant or the field.
    """
    experts = c.variant == "moe_flatmm"
    mixed = c.micro & (c.dtype == "fp8_fp4")
    return all_of(
        experts == c.stage.isin(1, 2),
        implies(c.narrow_b, experts | mixed if c.since("2026.06") else experts),
        (c.activation == "no") | (c.stage == 1),
    )


@rule(
    "SCAL010", "parameters-of-other-kernels", kind="compile",
    says=["only abquant reads scales in rows: {variant}, scale_rows = {scale_rows}",
          "only moe_flatmm multiplies by the experts' weights: {variant}, routed_weight = {routed_weight}",
          "only moe_flatmm adds a bias: {variant}, bias = {bias}",
          "only moe_flatmm is instantiated for split sums: {variant}, split_k = {split_k}"],
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmKernelArgs",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmHostArgs (exp_bias, p_sorted_expert_weights)",
            "ops/gemm_quant/pipeline/tile_gemm_quant_traits.hpp: AQLayout"],
    accepts=[{}, {**OF_EXPERTS, "bias": True}, {**OF_BLOCKS, "scale_rows": True}],
    rejects=[{"scale_rows": True}, {"routed_weight": True}, {"bias": True}, {"split_k": True}],
)  # fmt: skip
def parameters_exist(c: ScaledQuantities) -> BoolExpr:
    """Weights of experts, a bias and split sums as a parameter belong to experts, rows of scales to blocks.

    Why: the other kernels have no such parameter. flatmm takes a split sum as an argument.

    Fix: change the variant or the field.
    """
    experts = c.variant == "moe_flatmm"
    return all_of(
        ~c.scale_rows | (c.variant == "abquant"),
        ~c.routed_weight | experts,
        ~c.bias | experts,
        ~c.split_k | experts,
    )


@rule(
    "SCAL011", "scales-of-other-kernel", kind="compile",
    applies=lambda c: c.variant == "flatmm",
    says="flatmm has no scales of blocks or whole tensors: scales = {scales}",
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmScalePointer (static_assert GranularityMN != 0)",
            "ops/flatmm/kernel/flatmm_kernel.hpp: MakeGemmTensorViews (only support per-tensor or per-row scaling)"],
    accepts=[{}, {"scales": "no"}], rejects=[{"scales": "per_tensor"}, {"scales": "per_128x128"}],
)  # fmt: skip
def flat_scales_exist(c: ScaledQuantities) -> BoolExpr:
    """flatmm has no scales that several rows or columns share.

    Why: asserted. The kernel's check allows one scale for a whole tensor, which the type of the
    scales refuses.

    Fix: use row_column.
    """
    return ~c.scales.isin("per_tensor", "per_128x128", "blocks")


@rule(
    "SCAL012", "scales-without-cshuffle", kind="compile", applies=lambda c: c.flat & ~c.micro,
    says=["only cshuffle multiplies by scales, not {epilogue}: scales = {scales}",
          "experts store with cshuffle, not {epilogue}"],
    source=["ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue::operator() (takes no scales)",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: NumMXdlPerWavePerShuffle of the epilogue"],
    accepts=[{}, {"epilogue": "default", "scales": "no"}, OF_EXPERTS],
    rejects=[{"epilogue": "default"}, {**OF_EXPERTS, "epilogue": "default"}],
)  # fmt: skip
def scales_go_through_cshuffle(c: ScaledQuantities) -> BoolExpr:
    """Kernels with scales of rows and columns store with cshuffle, and experts' always do.

    Why: the kernel hands the scales to the epilogue, and the default one has no such argument.
    Experts' kernels shuffle themselves, with the sizes that cshuffle computes. Those of mx_flatmm
    (SCAL035) are in the matrix instructions.

    Fix: use cshuffle.
    """
    shuffled = c.epilogue == "cshuffle"
    experts = c.variant == "moe_flatmm"
    return all_of(shuffled | experts | (c.scales == "no"), shuffled | ~experts)


@rule(
    "SCAL013", "permuted-rows-share-scales", kind="wrong-result",
    applies=lambda c: c.from_registers & (c.scales == "row_column"),
    says="permute_n scales all rows as the first of a wave: a wave has {repeat_m} warp tiles along M, expected 1",
    source="ops/epilogue/cshuffle_epilogue.hpp: operator() for TiledMMAPermuteN (scale_m_window is never moved)",
    issue="ROCm/rocm-libraries#11700",
    accepts=[{"permute_n": True, "tile_m": 16, "tile_n": 64, "tile_k": 256}],
    rejects=[{"permute_n": True}],
)  # fmt: skip
def permuted_rows_have_their_scales(c: ScaledQuantities) -> BoolExpr:
    """With permute_n and scales of rows a wave has one warp tile along M.

    Why: the epilogue goes through a wave's warp tiles along M and moves the window of C, but not
    that of the rows' scales.

    Fix: turn permute_n off.
    """
    return c.repeat_m == 1


@rule(
    "SCAL014", "permuted-columns-not-undone", kind="wrong-result",
    applies=lambda c: c.but_mx_gemm(c.permute_n & c.flat),  # SCAL055
    says=["experts undo no permuted columns: a wave has {repeat_n} warp tiles along N",
          "only cshuffle stores permuted columns, not {epilogue}: a wave has {repeat_n} warp tiles along N"],
    source=["example/ck_tile/18_flatmm/flatmm_basic.cpp: shuffle_b_v1",
            "ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue (has no TiledMMAPermuteN)",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (an epilogue of its own)"],
    accepts=[{"permute_n": True, "scales": "no"},
             {"permute_n": True, "scales": "no", "epilogue": "default", "tile_n": 64}],
    rejects=[{"permute_n": True, "scales": "no", "epilogue": "default"},
             {**OF_EXPERTS, "permute_n": True}],
)  # fmt: skip
def permuted_columns_are_undone(c: ScaledQuantities) -> BoolExpr:
    """permute_n goes with flatmm and cshuffle, or with one warp tile along N for each wave.

    Why: the host shuffles the weights in another order then, and the epilogue stores results from
    registers in the order that undoes it. With one warp tile along N there is nothing to undo.

    Fix: turn permute_n off.
    """
    single = c.repeat_n == 1
    return all_of((c.variant == "flatmm") | single, (c.epilogue == "cshuffle") | single)


@rule(
    "SCAL024", "permuted-columns-not-covered", kind="wrong-result",
    applies=lambda c: c.from_registers,
    says=["permute_n leaves rows out: tile_m = {tile_m} is not a multiple of {wave_m * warp_tile_m=}",
          "permute_n leaves columns out: tile_n = {tile_n} is not a multiple of {wave_n * warp_tile_n=}"],
    source="ops/epilogue/cshuffle_epilogue.hpp: MRepeat, NRepeat (truncating divisions; read, not run)",
    accepts=[{"permute_n": True, "scales": "no"}],
    rejects=[{"permute_n": True, "scales": "no", "wave_n": 2, "tile_n": 80}],
)  # fmt: skip
def permuted_columns_are_covered(c: ScaledQuantities) -> BoolExpr:
    """With permute_n the block tile is a multiple of waves and warp tiles.

    Why: results go from registers to memory, where nothing asserts it: what is left of the tile is
    neither computed nor stored.

    Fix: use fewer waves or another tile.
    """
    m, n = c.wave_m * c.warp_tile_m, c.wave_n * c.warp_tile_n
    # tiles that are smaller do not compile (TILE001, TILE002)
    return all_of(
        implies(c.tile_m >= m, c.tile_m % m == 0), implies(c.tile_n >= n, c.tile_n % n == 0)
    )


@rule(
    "SCAL015", "packs-of-narrow-weights", kind="compile",
    applies=lambda c: c.narrow_b & (c.dtype != "fp8_fp4"),
    says=["4-bit weights share scales by pairs of a wave's warp tiles along N: {repeat_n=}, expected an even number",
          "4-bit weights take eight warp tiles along K at once: {tile_k // warp_tile_k=}"],
    source="ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: static_assert NIterPerWarp % XDL_PerScaleN, KIterPerWarp % XDL_PerScaleK",
    accepts=[FOUR_BITS], rejects=[{**FOUR_BITS, "tile_n": 64}, {**FOUR_BITS, "tile_k": 128}],
)  # fmt: skip
def packs_are_whole(c: ScaledQuantities) -> BoolExpr:
    """Beside 16-bit A, 4-bit weights have warp tiles in pairs along N and by eight along K.

    Why: asserted; a lane loads the weights of four warp tiles along K at once, and the scales of
    two such loads and of two columns of warp tiles.

    Fix: use another tile_n, fewer waves, or a tile_k of 256.
    """
    return all_of(c.repeat_n % 2 == 0, c.tile_k // c.warp_tile_k % 8 == 0)


@rule(
    "SCAL018", "scales-along-k-of-flatmm", kind="wrong-result",
    applies=lambda c: c.variant == "flatmm",
    says="flatmm scales a sum by one scale of its row and one of its column, not {scales}",
    source="ops/flatmm/kernel/flatmm_kernel.hpp: MakeGemmTensorViews, MakeGemmTileWindows (ScaleGranularityKA, ScaleGranularityKB are 0; read, not run)",
    accepts=[{}, {"scales": "no"}], rejects=[{"scales": "per_1x32"}, {"scales": "per_1x128"}],
)  # fmt: skip
def flat_scales_do_not_change_along_k(c: ScaledQuantities) -> BoolExpr:
    """flatmm multiplies by one scale of the row and one of the column.

    Why: with scales that change along K it compiles, and reads the first of each row and column.

    Fix: use row_column.
    """
    return ~c.scales.isin("per_1x32", "per_1x128")
