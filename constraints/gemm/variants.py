"""GEMM: what batched, grouped and stream-K kernels ask beside what every GEMM kernel does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.quantities import Quantities
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_BATCHED = "ops/gemm/kernel/batched_gemm_kernel.hpp: BatchedGemmKernel"
_GROUPED = "ops/gemm/kernel/grouped_gemm_kernel.hpp: GroupedGemmKernel"
_UNIVERSAL = "ops/gemm/kernel/universal_gemm_kernel.hpp: UniversalGemmKernel"
_STREAMK = "ops/gemm/kernel/streamk_gemm_kernel.hpp: reboot::StreamKKernel"
_TWO: Mapping[str, Any] = {"pipeline": "compv4", "double_smem_buffer": True}
_SK: Mapping[str, Any] = {"variant": "stream_k", "streamk": "atomic"}
_WAVES: Mapping[str, Any] = {
    "pipeline": "compv5", "epilogue": "default", "wave_m": 1, "wave_n": 1, "wave_k": 2,
    "num_wave_groups": 2,
}  # fmt: skip
#: Two waves, each a group of its own.
_PAIR: Mapping[str, Any] = {"wave_m": 2, "wave_n": 1, "num_wave_groups": 2}

#: Pipelines that take hot loop and tail as values, by variants that decide on the device.
_DECIDING = {"grouped": ("mem", "compv3", "compv4"), "stream_k": ("mem", "compv3")}


@rule(
    "GEMM060", "one-buffer-for-two", kind="compile", until="2026.06",
    applies=lambda c: c.one_buffer,
    says="{variant} hands the pipeline one LDS buffer, and {pipeline} takes two",
    source=[f"{_BATCHED}::operator() (RunGemm)", f"{_STREAMK}::BaseGemm"],
    accepts=[{"variant": "batched"}, _SK],
    rejects=[{"variant": "batched", **_TWO}, {**_SK, **_TWO}],
)  # fmt: skip
def pipeline_takes_one_buffer(c: Quantities) -> BoolExpr:
    """Batched and stream-K kernels use a pipeline with one LDS buffer.

    Why: both declare one array and pass one pointer, whatever double_smem_buffer says.

    Fix: use mem or compv3.
    """
    return ~c.pipeline.isin("compv4", "comp_async", "preshufflev2")


@rule(
    "GEMM061", "tail-chosen-on-host", kind="compile", until="2026.06",
    applies=lambda c: c.variant.isin(*_DECIDING),
    says="{variant} chooses hot loop and tail on the device, and {pipeline} has them compiled in",
    source=[f"{_GROUPED}: UsePersistentKernel of the pipeline, RunGemmWithPipelineSelection2LDS",
            f"{_STREAMK}::RunGemm (has_hot_loop and tail_num are arguments)"],
    accepts=[{"variant": "grouped"}, {"variant": "grouped", **_TWO}, _SK],
    rejects=[{"variant": "grouped", "pipeline": "compv6"}, {**_SK, "pipeline": "compv6"}],
)  # fmt: skip
def pipeline_chooses_tail(c: Quantities) -> BoolExpr:
    """Grouped and stream-K kernels use a pipeline that takes hot loop and tail as arguments.

    Why: the number of K steps of a block is not known on the host. mem, compv3 and, with two
    buffers, compv4 have an operator() that decides; basic_v1, compv5 and compv6 have none.

    Fix: use mem or compv3.
    """
    return all_of(
        *(implies(c.variant == v, c.pipeline.isin(*found)) for v, found in _DECIDING.items())
    )


@rule(
    "GEMM062", "stream-k-and-strategy-apart", kind="compile",
    says=["{variant} shares no tiles out: streamk = {streamk}, expected off",
          "{variant} needs a strategy to join the parts of a tile, not streamk = {streamk}"],
    source=f"{_STREAMK} (StreamKReductionStrategy is the partitioner's)",
    accepts=[{}, _SK], rejects=[{"streamk": "atomic"}, {"variant": "stream_k"}],
)  # fmt: skip
def strategy_is_stream_ks(c: Quantities) -> BoolExpr:
    """Stream-K kernels have a strategy that joins the parts of a tile, and no others have one.

    Why: it is an argument of stream-K's partitioner.

    Fix: set streamk to off, or to atomic or linear for stream_k.
    """
    return all_of(
        implies(c.variant != "stream_k", c.streamk == "off"),
        implies(c.variant == "stream_k", c.streamk != "off"),
    )


@rule(
    "GEMM063", "no-tree-of-parts", kind="compile", until="2026.06",
    says="StreamKReductionStrategy of CK 2025.11 has no {streamk}",
    source="ops/common/streamk_common.hpp: StreamKReductionStrategy (Atomic, Reduction)",
    accepts=[{}, {**_SK, "streamk": "linear"}], rejects=[{**_SK, "streamk": "tree"}],
)  # fmt: skip
def strategy_exists(c: Quantities) -> BoolExpr:
    """The parts of a tile are added atomically or one after the other.

    Why: the enumeration has these two until 2026.06, the second of them called Reduction.

    Fix: use linear.
    """
    return c.streamk != "tree"


@rule(
    "GEMM064", "parts-not-added", kind="compile", until="2026.06",
    applies=lambda c: (c.variant == "stream_k") & (c.streamk == "atomic"),
    says="results of {dtype_c} in stores of {store_width} cannot be added to memory by {epilogue}",
    source=["core/tensor/update_tile.hpp: update_tile_raw (tile_window_with_static_distribution)",
            "ops/epilogue/default_2d_epilogue.hpp: storeOrUpdateTile (windows without a distribution)",
            "core/arch/amd_buffer_addressing.hpp: amd_buffer_atomic_add static_assert on type and width",
            f"{_STREAMK}::RunGemm (without the guard of UniversalGemmKernel)"],
    accepts=[_SK],
    rejects=[{**_SK, "epilogue": "default"}, {**_SK, "epilogue": "default", "layout": "rcc"},
             {**_SK, "epilogue": "default", "dtype_c": "fp32", "pad_n": True}],
)  # fmt: skip
def parts_are_added(c: Quantities) -> BoolExpr:
    """With the strategy atomic, results are of a type and width that can be added to memory.

    Why: every store of the kernel is an atomic addition, 16-bit results in pairs at least. The
    default epilogue calls a function that takes no such window where tiles are padded along M or N.

    Fix: use cshuffle, another type of C, or the strategy linear.
    """
    return c.adds_results


@rule(
    "GEMM065", "persistent-batch", kind="wrong-result",
    applies=lambda c: c.variant == "batched",
    says="{variant} computes one tile a block: with persistent the rest of C is never computed",
    source=f"{_BATCHED}::operator() has no form for the trait (run)",
    accepts=[{"variant": "batched"}], rejects=[{"variant": "batched", "persistent": True}],
)  # fmt: skip
def batches_are_not_persistent(c: Quantities) -> BoolExpr:
    """Batched kernels are not persistent.

    Why: the kernel does not look at the trait and computes one tile a block, while a host that
    does launches as many blocks as run at once.

    Fix: turn persistent off.
    """
    return ~c.persistent


@rule(
    "GEMM066", "every-group-stores", kind="wrong-result", until="2026.06",
    applies=lambda c: c.variant.isin("batched", "grouped", "stream_k"),
    says="{variant} lets every wave store: num_wave_groups = {num_wave_groups}, expected 1",
    source=[f"{_BATCHED}::operator() (RunGemm with its default scheduler; run)",
            f"{_GROUPED}::Run (read, not run)", f"{_STREAMK}::BaseGemm (read, not run)"],
    accepts=[{"variant": "batched"}],
    rejects=[{"variant": "batched", **_WAVES}],
)  # fmt: skip
def one_group_stores(c: Quantities) -> BoolExpr:
    """Batched, grouped and stream-K kernels have one wave group.

    Why: with more groups the sum of a tile is in the first wave alone, which GemmKernel has store
    it. These kernels have all waves store.

    Fix: use a pipeline with one wave group.
    """
    return c.num_wave_groups == 1


@rule(
    "GEMM068", "first-wave-stores", kind="wrong-result", until="2026.06",
    applies=lambda c: (
        c.variant.isin("standard", "multi_d", "preshuffle")
        & (c.pipeline != "compv5") & ~c.persistent & ~c.double_smem_buffer
    ),
    says=("with num_wave_groups = {num_wave_groups} the first wave alone stores, and {pipeline} has "
          "a part of the tile in each"),
    source=f"{_UNIVERSAL}::operator() (scheduler_type), RunGemm (UseDefaultScheduler; run)",
    accepts=[{}],
    rejects=[{**_PAIR}, {**_PAIR, "pipeline": "basic_v1", "scheduler": "default"}],
)  # fmt: skip
def one_group_leaves_all_to_store(c: Quantities) -> BoolExpr:
    """Of the pipelines with one LDS buffer only compv5 has several wave groups.

    Why: with several groups the kernel has its first wave store alone, as compv5 wants it, whose
    sums end there. Other pipelines leave a part of the tile in every wave, and the rest of C is
    not written. Persistent kernels let every wave store.

    Fix: set num_wave_groups to 1.
    """
    return c.num_wave_groups == 1


@rule(
    "GEMM067", "tiles-without-barrier-between", kind="wrong-result", until="2026.06",
    applies=lambda c: c.persistent & c.variant.isin("grouped", "stream_k"),
    says=("blocks of {variant} go on with the next tile without a barrier: one of {waves} waves "
          "overwrites LDS that another still reads: {waves=}, expected 1"),
    source=[f"{_GROUPED}::operator() (the loop for persistent kernels; run)",
            f"{_STREAMK}::operator() (the loop over data-parallel tiles; run)"],
    accepts=[{"variant": "grouped", "persistent": True, "tile_m": 32, "tile_n": 32,
              "wave_m": 1, "wave_n": 1}],
    rejects=[{"variant": "grouped", "persistent": True}, {**_SK, "persistent": True}],
)  # fmt: skip
def tiles_are_kept_apart(c: Quantities) -> BoolExpr:
    """Persistent grouped and stream-K kernels have blocks of one wave.

    Why: from a tile to the next there is no barrier, as GemmKernel has. A wave that is ahead
    writes the next tile's operands to LDS while others still read those of the last.

    Fix: turn persistent off, or use one wave.
    """
    return c.waves == 1
