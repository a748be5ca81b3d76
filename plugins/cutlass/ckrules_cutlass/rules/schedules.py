"""Schedules, stages and shared memory."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule
from ckrules_cutlass.vocabulary import HopperGemm

_MAINLOOP = "gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp: DispatchPolicy::Stages"


@rule(
    "CUTS001", "stream-k-without-cooperation", kind="compile",
    profiles=("legal", "library"),
    source=(
        "gemm/kernel/sm90_gemm_tma_warpspecialized_pingpong.hpp: TileScheduler_ static_assert",
        "gemm/kernel/sm90_gemm_tma_warpspecialized.hpp: TileScheduler_ static_assert",
    ),
    applies=lambda c: c.tile_scheduler == "stream_k",
    accepts=[{"tile_scheduler": "stream_k"}],
    rejects=[{"tile_scheduler": "stream_k", "schedule": "pingpong"},
             {"tile_scheduler": "stream_k", "schedule": "warpspecialized"}],
)  # fmt: skip
def stream_k_is_cooperative(c: HopperGemm) -> BoolExpr:
    """Stream-K is for cooperative kernels.

    Why: the others have no step that adds the parts of a sum.

    Fix: set schedule to cooperative, or tile_scheduler to persistent.
    """
    return c.cooperative


@rule(
    "CUTS002", "too-few-stages", kind="compile", source=_MAINLOOP,
    accepts=[{}, {"stages": 2}], rejects=[{"stages": 1}, {"tile_n": 256, "tile_k": 256}],
    says="{stage_count=} of the mainloop, expected 2 or more",
)  # fmt: skip
def stages_are_two(c: HopperGemm) -> BoolExpr:
    """The mainloop has two stages at least.

    Why: one is loaded while another is multiplied.

    Fix: take a smaller block tile, or an epilogue with less shared memory.
    """
    return c.stage_count >= 2


@rule(
    "CUTS003", "too-much-shared-memory", kind="launch",
    source=(
        "gemm/collective/builders/sm90_common.inl: sm90_smem_capacity_bytes",
        "gemm/device/gemm_universal_adapter.h: initialize, cudaFuncSetAttribute",
    ),
    accepts=[{}], rejects=[{"stages": 8}],
)  # fmt: skip
def shared_memory_suffices(c: HopperGemm) -> BoolExpr:
    """A block's shared memory is within what the GPU gives one.

    Why: the launch fails.

    Fix: set stages to 0, which takes as many as fit.
    """
    return c.shared_bytes <= c.smem_capacity


@rule(
    "CUTS004", "swizzle-without-effect", kind="performance", severity="warning",
    profiles=("fast",),
    source="gemm/kernel/sm90_gemm_tma_warpspecialized.hpp: get_grid_shape",
    applies=lambda c: c.swizzle != 1,
    accepts=[{"swizzle": 4}], rejects=[{"swizzle": 4, "schedule": "warpspecialized"}],
)  # fmt: skip
def swizzle_is_of_persistent_kernels(c: HopperGemm) -> BoolExpr:
    """A swizzle is for persistent kernels.

    Why: blocks of others have one tile each, in the order of the grid.

    Fix: set swizzle to 1.
    """
    return c.cooperative | c.pingpong


@rule(
    "CUTS005", "promotion-within-a-step", kind="launch",
    source="gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized_fp8.hpp: can_implement",
    applies=lambda c: c.dtype.isin("fp8", "bf8") & ~c.fast_accum & (c.tile_k >= c.mma_k),
    accepts=[{"dtype": "fp8", "align": 16, "tile_k": 128}],
    rejects=[{"dtype": "fp8", "align": 16, "tile_k": 96},
             {"dtype": "fp8", "align": 16, "tile_k": 256, "tile_n": 64}],
    says="{tile_k=}, expected 32, 64 or 128: fp8 sums are promoted after each four instructions",
)  # fmt: skip
def promotions_are_between_steps(c: HopperGemm) -> BoolExpr:
    """fp8 sums are promoted after a number of instructions that is a multiple of a step's.

    Why: the mainloop counts instructions by steps, and refuses every problem otherwise.

    Fix: take a tile_k of 32, 64 or 128, or set fast_accum.
    """
    return c.tile_k.isin(32, 64, 128)
