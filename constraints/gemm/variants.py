"""GEMM: what batched, grouped and stream-K kernels ask beside what every GEMM kernel does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BATCHED, GROUPED, LATER, REPLICATED, STREAMK
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.engine.expr import TRUE, BoolExpr, all_of, any_of, implies, maximum
from ckrules.engine.rules import rule

_SK_LATER = "ops/gemm/kernel/streamk_gemm/streamk_gemm_kernel.hpp: StreamKKernel"
_UNIVERSAL = "ops/gemm/kernel/universal_gemm_kernel.hpp: UniversalGemmKernel"
_TWO: Mapping[str, Any] = {"pipeline": "compv4", "double_smem_buffer": True}
_SK: Mapping[str, Any] = {"variant": "stream_k", "streamk": "atomic"}
_WAITING: Mapping[str, Any] = {"pipeline": "mem", "scheduler": "interwave"}
_WMMA: Mapping[str, Any] = {**_SK, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16}
_TURNED: Mapping[str, Any] = {
    **_SK, "arch": "gfx1201", "epilogue": "default", "transpose_c": True, "warp_tile_m": 16,
    "warp_tile_n": 16, "warp_tile_k": 16,
}  # fmt: skip
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
    source=[f"{BATCHED}::operator() (RunGemm)", f"{STREAMK}::BaseGemm"],
    accepts=[{"variant": "batched"}, _SK],
    rejects=[{"variant": "batched", **_TWO}, {**_SK, **_TWO}],
)  # fmt: skip
def pipeline_takes_one_buffer(c: GemmQuantities) -> BoolExpr:
    """Batched and stream-K kernels use a pipeline with one LDS buffer.

    Why: both declare one array and pass one pointer, whatever double_smem_buffer says. Since
    2026.06 every pipeline takes one pointer, to as much as it asks for.

    Fix: use mem or compv3.
    """
    return ~c.pipeline.isin("compv4", "comp_async", "preshufflev2")


@rule(
    "GEMM061", "tail-chosen-on-host", kind="compile", until="2026.06",
    applies=lambda c: c.variant.isin(*_DECIDING),
    says="{variant} chooses hot loop and tail on the device, and {pipeline} has them compiled in",
    source=[f"{GROUPED}: UsePersistentKernel of the pipeline, RunGemmWithPipelineSelection2LDS",
            f"{STREAMK}::RunGemm (has_hot_loop and tail_num are arguments)"],
    accepts=[{"variant": "grouped"}, {"variant": "grouped", **_TWO}, _SK],
    rejects=[{"variant": "grouped", "pipeline": "compv6"}, {**_SK, "pipeline": "compv6"}],
)  # fmt: skip
def pipeline_chooses_tail(c: GemmQuantities) -> BoolExpr:
    """Grouped and stream-K kernels use a pipeline that takes hot loop and tail as arguments.

    Why: the number of K steps of a block is not known on the host. mem, compv3 and, with two
    buffers, compv4 have an operator() that decides; basic_v1, compv5 and compv6 have none. Since
    2026.06 all pipelines decide on the device; GEMM068 says what stream-K asks then, and GEMM086
    what grouped kernels ask of June.

    Fix: use mem or compv3.
    """
    return all_of(
        *(implies(c.variant == v, c.pipeline.isin(*found)) for v, found in _DECIDING.items())
    )


@rule(
    "GEMM086", "grouped-asks-for-persistence", kind="compile", since="2026.06", until="2026.09",
    applies=lambda c: c.variant == "grouped",
    says="{variant} asks its pipeline whether it is persistent, which {pipeline} has no member for",
    source=["ops/gemm/kernel/grouped_gemm_kernel.hpp: UsePersistentKernel (CK 2026.06, read in ROCm/rocm-libraries @ a6a4cc5)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_{comp_v6,comp_async}.hpp: no UsePersistentKernel in the pipeline or its base"],
    accepts=[{"variant": "grouped"}, {"variant": "grouped", **_TWO},
             {"variant": "grouped", "pipeline": "basic_v1", "scheduler": "intrawave"}],
    rejects=[{"variant": "grouped", "pipeline": "compv6"}],
)  # fmt: skip
def pipeline_says_persistence(c: GemmQuantities) -> BoolExpr:
    """Grouped kernels use neither compv6 nor comp_async.

    Why: the kernel reads UsePersistentKernel of its pipeline, which these two lack (GEMM024). Since
    2026.09 it asks first whether the member is there.

    Fix: use mem, compv3, compv4 or basic_v1.
    """
    return ~c.pipeline.isin("compv6", "comp_async")


@rule(
    "GEMM062", "stream-k-and-strategy-apart", kind="compile",
    says=["{variant} does not distribute work by stream-K: streamk = {streamk}, expected off",
          "{variant} needs a strategy to join the parts of a tile, not streamk = {streamk}"],
    source=f"{STREAMK} (StreamKReductionStrategy is the partitioner's)",
    accepts=[{}, _SK], rejects=[{"streamk": "atomic"}, {"variant": "stream_k"}],
)  # fmt: skip
def strategy_is_stream_ks(c: GemmQuantities) -> BoolExpr:
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
def strategy_exists(c: GemmQuantities) -> BoolExpr:
    """The parts of a tile are added atomically or one after the other.

    Why: the enumeration has these two until 2026.06, the second of them called Reduction. Since
    then it has Atomic, Linear and Tree.

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
            f"{STREAMK}::RunGemm (without the guard of UniversalGemmKernel)"],
    accepts=[_SK, _TURNED, {**_SK, "dtype_c": "fp8"},
             {**_SK, "dtype": "int8", "dtype_acc": "int32", "dtype_c": "int32"}],
    rejects=[{**_SK, "epilogue": "default"}, {**_SK, "epilogue": "default", "layout": "rcc"},
             {**_TURNED, "arch": "gfx1100"},
             {**_SK, "dtype": "int8", "dtype_acc": "int32", "dtype_c": "int8"},
             {**_SK, "epilogue": "default", "dtype_c": "fp32", "pad_n": True}],
)  # fmt: skip
def parts_are_added(c: GemmQuantities) -> BoolExpr:
    """With the strategy atomic, results are of a type and width that can be added to memory.

    Why: every store of the kernel is an atomic addition, 16-bit results in pairs at least and fp8
    and bf8 by four; there is none of int8. The default epilogue calls a function that takes no such
    window where tiles are padded along M or N.
    GEMM069 and GEMM070 say what holds since 2026.06.

    Fix: use cshuffle, another type of C, or the strategy linear.
    """
    return c.adds_results


@rule(
    "GEMM065", "persistent-batch", kind="wrong-result",
    applies=lambda c: c.variant == "batched",
    says="{variant} computes one tile a block: with persistent the rest of C is never computed",
    source=f"{BATCHED}::operator() has no form for the trait (run)",
    accepts=[{"variant": "batched"}], rejects=[{"variant": "batched", "persistent": True}],
)  # fmt: skip
def batches_are_not_persistent(c: GemmQuantities) -> BoolExpr:
    """Batched kernels are not persistent.

    Why: the kernel does not look at the trait and computes one tile a block, while a host that
    does launches as many blocks as run at once.

    Fix: turn persistent off.
    """
    return ~c.persistent


@rule(
    "GEMM066", "every-wave-stores", kind="wrong-result",
    applies=lambda c: (
        TRUE if c.since("2026.06") else c.variant.isin("batched", "grouped", "stream_k")
    ),
    says="the kernel lets every wave store, and {pipeline} has the sum in its first wave alone",
    source=[f"{BATCHED}::operator() (RunGemm with its default scheduler; run)",
            f"{GROUPED}::Run (read, not run)", f"{STREAMK}::BaseGemm (read, not run)",
            f"{_UNIVERSAL}::RunGemm, which no longer asks get_warp_id() {LATER}"],
    accepts=[{"variant": "batched"}, {"variant": "batched", **_PAIR}],
    rejects=[{"variant": "batched", **_WAVES}, {**_WAVES, "@ck": "2026.06"}],
)  # fmt: skip
def first_wave_may_store(c: GemmQuantities) -> BoolExpr:
    """compv5 is not for batched, grouped and stream-K kernels, and since 2026.06 for none.

    Why: the sum of a tile is in its first wave alone, which GemmKernel of 2025.11 has store it.
    The others have all waves store. In other pipelines every wave has its own part.

    Fix: use another pipeline.
    """
    return c.pipeline != "compv5"


@rule(
    "GEMM078", "added-by-every-group", kind="wrong-result",
    applies=lambda c: (c.streamk == "atomic") & (c.epilogue == "cshuffle"),
    says="each of {num_wave_groups} wave groups stores all of a tile, and streamk = {streamk} adds it each time",
    source=[f"{REPLICATED} (run)",
            "ops/epilogue/cshuffle_epilogue.hpp: operator() (a pattern with kNumWaveGroups)"],
    accepts=[_SK], rejects=[{**_SK, **_PAIR}],
)  # fmt: skip
def one_group_adds(c: GemmQuantities) -> BoolExpr:
    """Stream-K kernels that add parts of a sum through CShuffle have one wave group.

    Why: the epilogue's stores are divided among the waves of a group, and every group does them
    all. Storing twice is harmless; added twice, results are twice what they should be.

    Fix: set num_wave_groups to 1, or use the default epilogue.
    """
    return c.num_wave_groups == 1


@rule(
    "GEMM073", "first-wave-stores", kind="wrong-result", until="2026.06",
    applies=lambda c: (
        c.variant.isin("standard", "multi_d", "preshuffle")
        & (c.pipeline != "compv5") & ~c.persistent
        & (~c.double_smem_buffer | (c.pipeline == "basic_v1"))  # which has one whatever it says
    ),
    says=("with num_wave_groups = {num_wave_groups} the first wave alone stores, and {pipeline} has "
          "a part of the tile in each"),
    source=f"{_UNIVERSAL}::operator() (scheduler_type), RunGemm (UseDefaultScheduler; run)",
    accepts=[{}],
    rejects=[_PAIR, {**_PAIR, "pipeline": "basic_v1", "double_smem_buffer": True}],
)  # fmt: skip
def one_group_leaves_all_to_store(c: GemmQuantities) -> BoolExpr:
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
          "overwrites LDS that another still reads: {waves=}, expected 1, mem with interwave and the "
          "default epilogue, or cshuffle with as many bytes of a shuffle as of A's tile"),
    source=[f"{GROUPED}::operator() (the loop for persistent kernels; run)",
            f"{STREAMK}::operator() (the loop over data-parallel tiles; run)",
            "ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: BlockGemmImpl (the one of Interwave ends with block_sync_lds; run)",
            "ops/epilogue/cshuffle_epilogue.hpp: operator() (no block_sync_lds behind the last load_tile; run)",
            "core/algorithm/static_encoding_pattern.hpp: thread_raked (a wave has rows side by side; run)"],
    accepts=[{"variant": "grouped", "persistent": True, "tile_m": 32, "tile_n": 32,
              "wave_m": 1, "wave_n": 1},
             {"variant": "grouped", "persistent": True, **_WAITING, "epilogue": "default"},
             {"variant": "grouped", "persistent": True, "tile_m": 64, "tile_n": 64}],
    rejects=[{"variant": "grouped", "persistent": True}, {**_SK, "persistent": True},
             {"variant": "grouped", "persistent": True, **_WAITING},
             {"variant": "grouped", "persistent": True, "tile_m": 64, "tile_n": 64, "tile_k": 32},
             {"variant": "grouped", "persistent": True, "tile_m": 64, "tile_n": 64,
              "layout": "crr"},
             {"variant": "grouped", "persistent": True, "tile_m": 64, "tile_n": 64,
              "epilogue": "default"}],
)  # fmt: skip
def tiles_are_kept_apart(c: GemmQuantities) -> BoolExpr:
    """Persistent grouped and stream-K kernels keep their waves' parts of LDS apart.

    Why: from a tile to the next there is no barrier, as GemmKernel has. A wave that is ahead
    writes the next tile's operands to LDS while others still read those of the last. The last
    products of mem with interwave wait for all waves, which is enough for the default epilogue,
    which needs no LDS. CShuffle waits before it reads its last slice, not after: a wave that writes
    rows of A where it read rows of that slice itself disturbs no other, which is so where both have
    the same bytes. Since 2026.06 both kernels have a barrier.

    Fix: turn persistent off, or use one wave.
    """
    return any_of(
        c.waves == 1,
        all_of(c.pipeline == "mem", c.scheduler == "interwave", c.epilogue == "default"),
        all_of(
            c.epilogue == "cshuffle",
            ~c.permute_n,
            ~c.a_transposed,
            c.tile_m * c.tile_k * c.a_bytes == c.shuffle_m * c.shuffle_n * c.output_bytes,
            c.tile_m // c.waves % maximum(128 // (c.tile_k * c.a_bytes), 1) == 0,
        ),
    )


@rule(
    "GEMM075", "parts-signalled-early", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "stream_k") & (c.streamk == "linear"),
    says=("the first of {waves} waves says that a part of a sum is stored while the others still "
          "store theirs: {waves=}, expected 1"),
    source=[f"{STREAMK}::SignalStorePartialDone (no barrier behind StorePartial; run)",
            "core/arch/workgroup_barrier.hpp: workgroup_barrier::wait_set (thread 0 sets the flag, then the block waits)"],
    accepts=[{**_SK, "streamk": "linear", "tile_m": 32, "tile_n": 32, "wave_m": 1, "wave_n": 1}],
    rejects=[{**_SK, "streamk": "linear"}],
)  # fmt: skip
def parts_are_stored_when_signalled(c: GemmQuantities) -> BoolExpr:
    """Stream-K kernels with the strategy linear have blocks of one wave.

    Why: each wave stores its share of a part to the workspace and waits for its own stores only.
    Wave 0 then sets the flag, and the barrier comes after it: another block may add up shares that
    are not there yet. Since 2026.06 the block meets at a barrier before the flag is set.

    Fix: use the strategy atomic, or one wave.
    """
    return c.waves == 1


@rule(
    "GEMM068", "tail-chosen-by-stream-k", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "stream_k",
    says="{variant} tells the pipeline hot loop and tail, which {pipeline} does not take",
    source=[f"{_SK_LATER}::RunGemm, StreamKGemm (has_hot_loop and tail_num are arguments) {LATER}",
            f"ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_{{comp_v6,comp_async}}.hpp: operator(), none with TailNumber {LATER}",
            f"ops/gemm/pipeline/{{gemm_pipeline_agmem_bgmem_creg_v1,wp_pipeline_agmem_bgmem_creg_v2}}.hpp: operator() {LATER}"],
    accepts=[_SK, {**_SK, **_TWO}],
    rejects=[{**_SK, "pipeline": "compv6"}, {**_SK, "pipeline": "basic_v1"}],
)  # fmt: skip
def pipeline_is_told_tail(c: GemmQuantities) -> BoolExpr:
    """Stream-K kernels use mem, compv3 or compv4.

    Why: these have an operator() for hot loop and tail that the kernel computes. Other pipelines
    compute both themselves, and have no such form.

    Fix: use mem, compv3 or compv4.
    """
    return c.pipeline.isin("mem", "compv3", "compv4")


@rule(
    "GEMM069", "results-without-addition", kind="compile", since="2026.06",
    applies=lambda c: (c.epilogue == "cshuffle") & ~c.permute_n & (c.streamk != "linear")
    & (c.streamk != "tree"),
    says="every kernel holds the form that adds parts to memory, and none adds {dtype_c}",
    source=[f"{_UNIVERSAL}::RunGemm (atomic_add behind a condition on the type at compile time) {LATER}",
            "core/arch/generic_memory_space_atomic.hpp: atomic_add_g static_assert on type and width"],
    accepts=[{}, {"dtype": "int8", "dtype_acc": "int32", "dtype_c": "int32"}],
    rejects=[{"dtype": "int8", "dtype_acc": "int32", "dtype_c": "int8"}],
)  # fmt: skip
def results_have_an_addition(c: GemmQuantities) -> BoolExpr:
    """Results that CShuffle stores are of a type that can be added to memory.

    Why: since 2026.06 a kernel decides by k_batch on the device whether it stores or adds, and so
    has both forms. There is no addition of int8.

    Fix: use int32 or fp16 for C, or the default epilogue, which never adds.
    """
    return c.dtype_c != "int8"


@rule(
    "GEMM070", "parts-overwrite-each-other", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "stream_k") & (c.streamk == "atomic"),
    says="epilogue {epilogue} stores the parts of a tile over each other instead of adding them",
    source=f"ops/epilogue/default_2d_epilogue.hpp: storeOrUpdateTile (the condition is true, that on DstInMemOp is taken out) {LATER}",
    accepts=[_SK], rejects=[{**_SK, "epilogue": "default"}],
)  # fmt: skip
def parts_are_not_stored(c: GemmQuantities) -> BoolExpr:
    """With the strategy atomic stream-K kernels use CShuffle.

    Why: the default epilogue stores since 2026.06, whatever the window of C asks for.

    Fix: use cshuffle, or another strategy.
    """
    return c.epilogue != "default"


@rule(
    "GEMM071", "tails-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "stream_k") & (c.pipeline == "compv3"),
    says="{pipeline} with {wave} waves gives wrong sums for K ranges of 1, 3 or an even number of K tiles; {variant} assigns ranges of any length",
    source=f"ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: BlockHasHotloop and GetBlockLoopTailNum for NumWarps == 8 {LATER}",
    issue="ROCm/rocm-libraries#7669, ROCm/rocm-libraries#11161",
    accepts=[_SK], rejects=[{**_SK, "wave_m": 4}],
)  # fmt: skip
def parts_have_their_tails(c: GemmQuantities) -> BoolExpr:
    """Stream-K kernels with compv3 do not have eight waves.

    Why: for eight waves it takes tails that belong to another pipeline (GPROB028).

    Fix: use another number of waves, mem or compv4.
    """
    return c.waves != 8


@rule(
    "GEMM072", "stream-k-without-coherence", kind="compile", since="2026.06",
    applies=lambda c: c.streamk.isin("linear", "tree"),
    says=("stream-K with strategy {streamk} hands parts of sums from block to block, which {arch} has no "
          "operations for"),
    source=["ops/gemm/kernel/streamk_gemm/streamk_gemm_coherency.hpp: StreamKCoherency",
            f"{_SK_LATER}::SignalStorePartialDone (s_store_dword, which gfx11 and gfx12 lack) {LATER}",
            "ops/gemm/kernel/streamk_gemm/streamk_gemm_coherency.hpp: StreamKCoherency of GFX11, GFX1200 and GFX1201 (CK 2026.09 at 3e48cab, read)"],
    issue="ROCm/rocm-libraries#7836, ROCm/rocm-libraries#12340",
    accepts=[{**_SK, "streamk": "linear"},
             {**_WMMA, "streamk": "tree", "arch": "gfx1100", "@ck": "2026.09"}],
    rejects=[{**_WMMA, "streamk": "tree", "arch": "gfx1201", "@ck": "2026.06"},
             {**_WMMA, "streamk": "linear", "arch": "gfx1250", "warp_tile_k": 32}],
)  # fmt: skip
def parts_are_coherent(c: GemmQuantities) -> BoolExpr:
    """Sums that are handed on run on GPUs for which they are coherent.

    Why: the flag of a part is stored by an instruction that gfx11 and gfx12 lack. Since 2026.09 these
    store it in another way, but for gfx1250. (SK003 says it of convolutions, which leave out gfx908, too.)

    Fix: use the strategy atomic.
    """
    if c.since("2026.09"):
        return c.has("scalar_stores") | c.has("buffer_flags")
    return c.has("scalar_stores")


@rule(
    "GEMM079", "parts-stored-after-their-flag", kind="wrong-result", since="2026.09",
    applies=lambda c: c.streamk.isin("linear", "tree"),
    says=("{arch} counts stores apart from loads, and stream-K with strategy {streamk} waits for loads "
          "only before it says that a part is stored"),
    source="ops/common/streamk_common.hpp: StreamKReductionOps::StorePartial (s_waitcnt<0> of vmcnt; CK 2026.09 at 2e1bd5c, read)",
    issue="ROCm/rocm-libraries#12341",
    accepts=[{**_SK, "streamk": "tree"}, {**_WMMA, "streamk": "tree", "arch": "gfx1100"}],
    rejects=[{**_WMMA, "streamk": "tree", "arch": "gfx1201"}],
)  # fmt: skip
def parts_are_stored_before_their_flag(c: GemmQuantities) -> BoolExpr:
    """Sums are not handed on by GPUs that count stores apart.

    Why: the wait that stands between the stores of a part and its flag is one for loads on gfx12, so
    that another block may add up what is not there yet. It is a race, found by reading.

    Fix: use the strategy atomic.
    """
    return ~c.has("store_counter")
