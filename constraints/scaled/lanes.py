"""SCAL: the lanes that flatmm reads its weights and its scales with, and how it orders reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.weights import BEYOND_ORDER, loop_fits_order
from ckrules.constraints.scaled.block_rules import OF_BLOCKS
from ckrules.constraints.scaled.kernel import FLAT_POLICY, OF_EXPERTS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import EXPERTS
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

#: One warp tile of each wave along M and N.
_SINGLE: Mapping[str, Any] = {
    "arch": "gfx950", "warp_tile_k": 128, "tile_m": 16, "tile_n": 64, "wave_n": 4,
}  # fmt: skip
_BLOCKS: Mapping[str, Any] = {
    **OF_BLOCKS, "transpose_c": False, "arch": "gfx1250", "warp_tile_k": 128,
}  # fmt: skip


@rule(
    "SCAL034", "weights-for-waves-of-64", kind="compile",
    applies=lambda c: c.flat,
    says="{variant} reads pre-shuffled weights in waves of 64 lanes, not {wave_size}",
    source=f"{FLAT_POLICY}: MakeBFlatDramTileDistribution static_assert flatKPerWarp == KThdPerWave * KBPerLoad",
    accepts=[{}, {"arch": "gfx90a", "dtype": "bf16", "warp_tile_k": 16}],
    rejects=[{"arch": "gfx1201", "dtype": "bf16", "warp_tile_k": 16},
             {**OF_EXPERTS, "arch": "gfx1100", "dtype": "bf16", "warp_tile_k": 16}],
)  # fmt: skip
def weights_are_for_waves_of_64(c: ScaledQuantities) -> BoolExpr:
    """Kernels of flatmm are of GPUs whose waves have 64 lanes.

    Why: a lane loads a half or a quarter of the warp tile's K, by its columns alone, so that all
    lanes load a warp tile of B where there are 64 of them; asserted. The weights of preshufflev2
    are loaded by another policy, which knows waves of 32.

    Fix: use preshufflev2, or a GPU with waves of 64 lanes.
    """
    return c.wave_size == 64


@rule(
    "SCAL039", "scales-of-neighbouring-rows", kind="wrong-result",
    applies=lambda c: (c.variant == "flatmm") & (c.scales == "row_column"),
    says=["transpose_c gives a lane several columns of a row, and it scales them as rows side by side: {pad_k=}",
          "permute_n gives a lane {repeat_n} columns of a row, and it scales them as rows side by side: {pad_k=}"],
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: MakeGemmTensorViews, scale_m_view (strides of 1 and 0, GetVectorSizeA() elements at once; run)",
            "ops/gemm/pipeline/gemm_pipeline_problem.hpp: GemmPipelineProblemBase::VectorSizeA (1 where kPadK; run)",
            "ops/epilogue/cshuffle_epilogue.hpp: scale_m_window of lds_tile.get_tile_distribution(), sm_tile of dram_tile_distribution"],
    issue="ROCm/rocm-libraries#11700",
    accepts=[{}, {"permute_n": True, "tile_m": 16, "tile_n": 64, "tile_k": 256},
             {"transpose_c": True, "pad_k": True}, {"permute_n": True, "tile_m": 16, "tile_n": 128, "tile_k": 256, "pad_k": True}],
    rejects=[{"transpose_c": True}, {"permute_n": True, "tile_m": 16, "tile_n": 128, "tile_k": 256}],
)  # fmt: skip
def lanes_scale_one_column(c: ScaledQuantities) -> BoolExpr:
    """Where rows have scales, a lane of flatmm has one column of C, unless K is padded.

    Why: scales of rows are a matrix whose step along a row is 0, but which says that so many of a
    row lie side by side. A lane with several columns loads as many at once, which are those of the
    next rows: of four columns three are wrong. Upstream saw it of permute_n in September 2026;
    kernels with transpose_c that were run are wrong in the same way. Where K is padded, loads are
    of single elements, and each is the row's scale.

    Fix: turn transpose_c or permute_n off, or set pad_k to true.
    """
    return all_of(~c.transpose_c | c.pad_k, ~c.permute_n | (c.repeat_n == 1) | c.pad_k)


@rule(
    "SCAL044", "hot-loop-beyond-its-order", kind="wrong-result",
    applies=lambda c: c.variant.isin("flatmm", EXPERTS) & ~c.narrow_b & (c.repeat_m == 1) & (c.repeat_n >= 1),
    says=BEYOND_ORDER,
    source=["ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1.hpp: SchedulerPerM (inst_order[NIterPerWarp * 10]), HotLoopScheduler (DsWritePreIssue = 3; run; so in ROCm/rocm-libraries @ 498ed36, read)",
            "ops/flatmm/pipeline/moe_flatmm_pipeline_agmem_bgmem_creg.hpp: the same (run)"],
    accepts=[_SINGLE, {**_SINGLE, "wave_n": 1, "tile_n": 32}],
    rejects=[{**_SINGLE, "wave_n": 1, "tile_n": 16}],
)  # fmt: skip
def hot_loops_fit_their_order(c: ScaledQuantities) -> BoolExpr:
    """The order in which a hot loop reads, stores and loads has a place for each.

    Why: what GEMM083 says of other pre-shuffled weights, whose scheduler is the same.

    Fix: use a larger block tile.
    """
    return loop_fits_order(c, c.repeat_n)


@rule(
    "SCAL053", "one-scale-for-rows-of-two-results", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "abquant") & ~c.eight_waves & (c.wave_size == 32),
    says=("a lane of {arch} has two rows of a warp tile, and {pipeline} looks up the scale of one: "
          "warp_tile_m = {warp_tile_m}, expected 16"),
    source=["ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase<gfx12_t>: kCMBlock (CK 2026.09, read in ROCm/rocm-libraries @ 0149199)",
            "ops/gemm_quant/block/block_gemm_quant_common.hpp: AQPickerCommon (CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)"],
    accepts=[_BLOCKS], rejects=[{**_BLOCKS, "warp_tile_m": 32, "warp_tile_n": 32}],
)  # fmt: skip
def rows_have_their_block_scales(c: ScaledQuantities) -> BoolExpr:
    """In waves of 32 lanes block scales have a 16x16 warp tile.

    Why: what QUANT041 says of aquant, whose way to the scales of A's rows this is. Those of B's
    blocks are right.

    Fix: use a 16x16 warp tile.
    """
    return c.warp_tile_m == 16
