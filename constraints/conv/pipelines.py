"""PIPE: pipelines, their schedulers, LDS double buffers and what they ask of a tile."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, all_of, rel
from ckrules.engine.rules import rule
from ckrules.engine.table import Table

_DIR = "ops/gemm/pipeline"
_ALL = ("forward", "bwd_data", "bwd_weight")

#: Directions whose kernels compile with a pipeline at all, by CK version.
_USABLE = {
    "2025.11": {
        "basic_v1": _ALL, "mem": _ALL, "compv3": _ALL, "compv4": ("forward", "bwd_weight"),
        "compv5": _ALL,
    },
    "2026.06": {
        "basic_v1": _ALL, "mem": _ALL, "compv3": _ALL, "compv4": _ALL, "compv5": _ALL,
        "compv6": _ALL, "comp_async": _ALL, "wavelet": _ALL, "basic_async_v1": ("forward",),
    },
}  # fmt: skip
USABLE = {
    ck: Table.relation(
        "usable_pipelines",
        ("pipeline", "variant"),
        [(p, v) for p, variants in rows.items() for v in variants],
        source=f"{_DIR}, CK {ck}",
    )
    for ck, rows in _USABLE.items()
}

SCHEDULERS = Table.relation(
    "schedulers",
    ("pipeline", "scheduler"),
    [
        *((p, "intrawave") for p in (
            "basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5",
            "compv6", "comp_async", "wavelet",
        )),
        ("basic_v1", "interwave"), ("mem", "interwave"),
    ],
    source=f"{_DIR}: PipelineImpl specializations",
)  # fmt: skip


@rule(
    "PIPE001", "pipeline-not-for-this-direction", kind="compile",
    source=[f"{_DIR}/gemm_pipeline_ag*.hpp: operator() overloads for the windows of the conv kernels",
            "ops/grouped_convolution/kernel: RunGemm"],
    accepts=[{}], rejects=[{"pipeline": "basic_v2"}],
)  # fmt: skip
def pipeline_is_usable(c: Quantities) -> BoolExpr:
    """The direction's kernel compiles with the pipeline.

    Why: the kernel calls the pipeline with the windows and buffers of its direction, and not
    every pipeline has such an overload. basic_async_v1 wants both operands with K contiguous.

    Fix: use mem or compv3, which every direction has.
    """
    return rel(USABLE[c.ck], c.pipeline, c.variant)


@rule(
    "PIPE002", "scheduler-without-implementation", kind="compile",
    source=f"{_DIR}: PipelineImpl<GemmPipelineScheduler>",
    accepts=[{}, {"pipeline": "mem", "scheduler": "interwave"}],
    rejects=[{"scheduler": "interwave"}],
)  # fmt: skip
def scheduler_is_implemented(c: Quantities) -> BoolExpr:
    """The pipeline implements the scheduler.

    Why: PipelineImpl has no operator() for the others. Only basic_v1 and mem know interwave.

    Fix: use intrawave.
    """
    return rel(SCHEDULERS, c.pipeline, c.scheduler)


@rule(
    "PIPE003", "single-buffer-in-double-buffered-pipeline", kind="compile",
    applies=lambda c: c.pipeline.isin("compv4", "comp_async"),
    source=[f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v4.hpp: static_assert DoubleSmemBuffer",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_async.hpp: static_assert DoubleSmemBuffer"],
    accepts=[{"pipeline": "compv4", "double_smem_buffer": True}],
    rejects=[{"pipeline": "compv4"}],
)  # fmt: skip
def double_buffer_is_on(c: Quantities) -> BoolExpr:
    """compv4 and comp_async have double_smem_buffer on.

    Why: they alternate between two LDS buffers and have no form with one.

    Fix: set double_smem_buffer to true.
    """
    return c.double_smem_buffer


@rule(
    "PIPE004", "double-buffer-in-single-buffered-pipeline", kind="compile", until="2026.06",
    applies=lambda c: c.pipeline.isin("mem", "compv3", "compv5"),
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_{{mem,comp_v3,comp_v5}}.hpp: no operator() with two LDS pointers",
    accepts=[{}], rejects=[{"double_smem_buffer": True}, {"pipeline": "mem", "double_smem_buffer": True}],
)  # fmt: skip
def double_buffer_is_off(c: Quantities) -> BoolExpr:
    """mem, compv3 and compv5 have double_smem_buffer off.

    Why: with it the kernel passes two LDS pointers, which these pipelines do not take.

    Fix: set double_smem_buffer to false.
    """
    return ~c.double_smem_buffer


@rule(
    "PIPE005", "async-pipeline-off-gfx950", kind="hardware",
    applies=lambda c: c.pipeline.isin("comp_async", "basic_async_v1"),
    source=["ops/grouped_convolution/kernel: the kernel body is empty for Async pipelines off gfx950",
            "IsSupportedArgument: Async asks for device gfx950"],
    accepts=[{"arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True}],
    rejects=[{"pipeline": "comp_async", "double_smem_buffer": True}],
)  # fmt: skip
def async_needs_wide_direct_loads(c: Quantities) -> BoolExpr:
    """Asynchronous pipelines run on GPUs with wide loads from global memory to LDS.

    Why: elsewhere the kernel's body is empty and its argument check refuses every problem.

    Fix: use compv4 or basic_v1.
    """
    return c.has("async_pipelines")


@rule(
    "PIPE006", "less-than-one-load-per-thread", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline.isin("compv3", "compv6"),
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v3.hpp, …_comp_v6.hpp: HotLoopScheduler divides by A_Buffer_Load_Inst_Num",
    accepts=[{}], rejects=[{"tile_m": 16, "tile_k": 8},
                            {"tile_m": 16, "tile_k": 32, "vector_a": 16}],
)  # fmt: skip
def hot_loop_has_loads(c: Quantities) -> BoolExpr:
    """Each thread issues at least one whole vector load of A and of B per K step.

    Why: the hot loop interleaves loads with matrix instructions and divides by the number of
    loads in a constant expression. Other pipelines narrow the vector instead. Before 2026.06 the
    width was the computed one, which always fits.

    Fix: narrow the vector, raise the tile or use fewer waves.
    """
    return all_of(
        c.tile_m * c.tile_k // (c.threads * c.vector_a) >= 1,
        c.tile_n * c.tile_k // (c.threads * c.vector_b) >= 1,
    )


@rule(
    "PIPE007", "compv5-k-not-shared", kind="compile",
    applies=lambda c: c.pipeline == "compv5",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: static_assert on KPerBlock",
    accepts=[{"pipeline": "compv5", "tile_k": 64}],
    rejects=[{"pipeline": "compv5", "tile_k": 16},
             {"pipeline": "compv5", "wave_m": 1, "wave_n": 1}],
)  # fmt: skip
def compv5_halves_share_k(c: Quantities) -> BoolExpr:
    """compv5's K is a multiple of half the waves times the warp tile's K.

    Why: half of the waves split K among them; with a single wave the header divides by zero.

    Fix: raise tile_k or use two waves.
    """
    return c.tile_k % (c.waves // 2 * c.warp_tile_k) == 0


@rule(
    "PIPE008", "compv5-with-other-waves", kind="wrong-result",
    applies=lambda c: c.pipeline == "compv5",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: only waves 0 and 1 compute, each a whole tile",
    accepts=[{"pipeline": "compv5", "wave_m": 1, "wave_n": 1, "wave_k": 2, "num_wave_groups": 2}],
    rejects=[{"pipeline": "compv5"}],
)  # fmt: skip
def compv5_has_two_waves(c: Quantities) -> BoolExpr:
    """compv5 runs with exactly two waves along K in two wave groups.

    Why: each of the two computes a whole tile over alternate slices of K, and the sums are
    added through LDS; more waves compute nothing right.

    Fix: use waves 1x1x2 with two groups, or another pipeline.
    """
    return all_of(c.wave_m == 1, c.wave_n == 1, c.wave_k == 2, c.num_wave_groups == 2)


@rule(
    "PIPE009", "async-load-with-merged-groups", kind="compile", since="2026.06",
    applies=lambda c: c.forward & (c.pipeline == "basic_async_v1"),
    source=f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_async_v1.hpp: A is an M x K window",
    accepts=[{"arch": "gfx950", "pipeline": "basic_async_v1"}],
    rejects=[{"arch": "gfx950", "pipeline": "basic_async_v1", "num_groups_to_merge": 4}],
)  # fmt: skip
def basic_async_wants_k_contiguous(c: Quantities) -> BoolExpr:
    """basic_async_v1 reads both operands with K contiguous, so no groups are merged.

    Why: its windows are always M x K and N x K; merging makes A contiguous along M.

    Fix: set num_groups_to_merge to 1.
    """
    return c.num_groups_to_merge == 1


@rule(
    "PIPE010", "width-without-direct-load", kind="compile", since="2026.06",
    applies=lambda c: c.has("async_pipelines") & _direct(c) & c.a.sound & c.b.sound,
    source="core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load static_assert on bytes",
    accepts=[{"arch": "gfx950", "pipeline": "basic_async_v1"}],
    rejects=[{"arch": "gfx950", "pipeline": "basic_async_v1", "vector_a": 4}],
)  # fmt: skip
def direct_loads_have_width(c: Quantities) -> BoolExpr:
    """Loads from global memory straight to LDS move as many bytes a lane as the GPU can.

    Why: the instruction exists for a few widths only (4, 12 and 16 bytes on gfx950).

    Fix: take a vector of 4 or 16 bytes.
    """
    table = c.facts["direct_to_lds"]
    return all_of(
        rel(table, c.arch, c.a.width * c.element_bytes),
        rel(table, c.arch, c.b.width * c.element_bytes),
    )


def _direct(c: Quantities) -> BoolExpr:
    plain: BoolExpr = ~c.a_transposed & ~c.b_transposed
    return plain & c.pipeline.isin("basic_async_v1", "comp_async")


@rule(
    "PIPE011", "wavelet-without-cshuffle", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline == "wavelet",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_wavelet.hpp: the epilogue must offer RunBarrierStub",
    accepts=[{"pipeline": "wavelet"}], rejects=[{"pipeline": "wavelet", "epilogue": "default"}],
)  # fmt: skip
def wavelet_uses_cshuffle(c: Quantities) -> BoolExpr:
    """wavelet is used with the CShuffle epilogue.

    Why: the loading waves must pass as many barriers as the storing ones, and only CShuffle
    offers the stub for it.

    Fix: set epilogue to cshuffle.
    """
    return c.epilogue == "cshuffle"


@rule(
    "PIPE012", "double-buffer-in-backward-data", kind="compile", until="2026.06",
    applies=lambda c: (c.variant == "bwd_data") & (c.pipeline != "basic_v1"),
    source="grouped_convolution_backward_data_kernel.hpp: RunGemm2LDS calls get_length, which does not exist",
    accepts=[{"variant": "bwd_data"}],
    rejects=[{"variant": "bwd_data", "double_smem_buffer": True}],
)  # fmt: skip
def backward_data_has_one_buffer(c: Quantities) -> BoolExpr:
    """Backward data has double_smem_buffer off.

    Why: the path with two LDS buffers of this kernel does not compile. basic_v1 ignores the
    flag.

    Fix: set double_smem_buffer to false.
    """
    return ~c.double_smem_buffer


@rule(
    "PIPE013", "basic-v1-with-transposed-operand", kind="wrong-result", until="2026.06",
    applies=lambda c: c.pipeline == "basic_v1",
    source=f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_v1.hpp: move_tile_window by {{0, kKPerBlock}} (read, not run)",
    accepts=[{"pipeline": "basic_v1"}],
    rejects=[{"pipeline": "basic_v1", "variant": "bwd_weight"}],
)  # fmt: skip
def basic_v1_steps_along_k(c: Quantities) -> BoolExpr:
    """basic_v1 reads both operands with K contiguous, that is in forward.

    Why: it moves its windows along the contiguous dimension from one step to the next, which is
    not K for a transposed operand. It compiles.

    Fix: use mem or compv3.
    """
    return ~c.a_transposed & ~c.b_transposed


@rule(
    "PIPE014", "compv5-with-transposed-operand", kind="wrong-result",
    applies=lambda c: c.pipeline == "compv5",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: offset of the second wave's K slice (read, not run)",
    accepts=[{"pipeline": "compv5"}],
    rejects=[{"pipeline": "compv5", "variant": "bwd_weight"}],
)  # fmt: skip
def compv5_reads_k_contiguous(c: Quantities) -> BoolExpr:
    """compv5 reads both operands with K contiguous, that is in forward.

    Why: the second wave starts its slice of K at an offset along the contiguous dimension,
    which is not K for a transposed operand. It compiles.

    Fix: use another pipeline.
    """
    return ~c.a_transposed & ~c.b_transposed


@rule(
    "PIPE015", "compv6-below-64-threads", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline == "compv6",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v6.hpp: HotLoopScheduler divides by BlockSize / WaveSize, with a WaveSize of 64",
    accepts=[{"pipeline": "compv6"}],
    rejects=[{"pipeline": "compv6", "arch": "gfx1201", "wave_m": 1, "wave_n": 1, "tile_m": 32,
              "tile_n": 32, "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def compv6_has_64_threads(c: Quantities) -> BoolExpr:
    """compv6 computes with at least 64 threads.

    Why: its schedule counts waves of 64 lanes on every GPU. A single wave of 32 is none, and
    the header divides by that number in a constant expression.

    Fix: use two waves or compv3.
    """
    return c.threads >= 64
