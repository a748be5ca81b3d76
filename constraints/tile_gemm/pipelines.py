"""PIPE: pipelines, their schedulers, LDS double buffers and what they ask of a tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, all_of, rel
from ckrules.engine.rules import rule

_DIR = "ops/gemm/pipeline"
#: A thread has 4 elements of A and of B, of which vectors are 8.
_SMALL: Mapping[str, Any] = {
    "tile_m": 16, "tile_n": 16, "tile_k": 16, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16,
    "warp_tile_n": 16, "vector_c": 4,
}  # fmt: skip


@rule(
    "PIPE002", "scheduler-without-implementation", kind="compile",
    says="{pipeline} has no scheduler {scheduler}, {table schedulers}",
    source=f"{_DIR}/gemm_pipeline_ag*.hpp: PipelineImpl<GemmPipelineScheduler>",
    accepts=[{}, {"pipeline": "mem", "scheduler": "interwave"}],
    rejects=[{"scheduler": "interwave"}],
)  # fmt: skip
def scheduler_is_implemented(c: TileGemm) -> BoolExpr:
    """The pipeline implements the scheduler.

    Why: PipelineImpl has no operator() for the others. Only basic_v1 and mem know interwave.

    Fix: use intrawave.
    """
    return rel(c.facts["schedulers"], c.pipeline, c.scheduler)


@rule(
    "PIPE003", "single-buffer-in-double-buffered-pipeline", kind="compile",
    applies=lambda c: c.pipeline.isin("compv4", "comp_async"),
    says="{pipeline} needs double_smem_buffer = true",
    source=[f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v4.hpp: static_assert DoubleSmemBuffer",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_async.hpp: static_assert DoubleSmemBuffer"],
    accepts=[{"pipeline": "compv4", "double_smem_buffer": True}],
    rejects=[{"pipeline": "compv4"}],
)  # fmt: skip
def double_buffer_is_on(c: TileGemm) -> BoolExpr:
    """compv4 and comp_async have double_smem_buffer on.

    Why: they alternate between two LDS buffers and have no form with one.

    Fix: set double_smem_buffer to true.
    """
    return c.double_smem_buffer


@rule(
    "PIPE004", "double-buffer-in-single-buffered-pipeline", kind="compile", until="2026.06",
    applies=lambda c: c.pipeline.isin("mem", "compv3", "compv5"),
    says="{pipeline} needs double_smem_buffer = false",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_{{mem,comp_v3,comp_v5}}.hpp: no operator() with two LDS pointers",
    accepts=[{}], rejects=[{"double_smem_buffer": True}, {"pipeline": "mem", "double_smem_buffer": True}],
)  # fmt: skip
def double_buffer_is_off(c: TileGemm) -> BoolExpr:
    """mem, compv3 and compv5 have double_smem_buffer off.

    Why: with it the kernel passes two LDS pointers, which these pipelines do not take. Since
    2026.06 kernels pass one.

    Fix: set double_smem_buffer to false.
    """
    return ~c.double_smem_buffer


#: What to say where not all `loads_are_whole`.
PART_LOADS = (
    "{pipeline} loads whole vectors, but a thread's share of A is {tile_m * tile_k // threads=}, less than vector_a = {vector_a}",
    "{pipeline} loads whole vectors, but a thread's share of B is {tile_n * tile_k // threads=}, less than vector_b = {vector_b}",
)  # fmt: skip


def loads_are_whole(c: TileGemm) -> BoolExpr:
    """Whether each thread has a whole vector of A and of B at least."""
    return all_of(
        c.tile_m * c.tile_k // (c.threads * c.vector_a) >= 1,
        c.tile_n * c.tile_k // (c.threads * c.vector_b) >= 1,
    )


@rule(
    "PIPE006", "less-than-one-load-per-thread", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline.isin("compv3", "compv6"),
    says=PART_LOADS,
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v3.hpp, …_comp_v6.hpp: HotLoopScheduler divides by A_Buffer_Load_Inst_Num",
    accepts=[{}], rejects=[{"tile_m": 16, "tile_k": 8},
                            {"tile_m": 16, "tile_k": 32, "vector_a": 16}],
)  # fmt: skip
def hot_loop_has_loads(c: TileGemm) -> BoolExpr:
    """Each thread issues at least one whole vector load of A and of B per K step.

    Why: the hot loop interleaves loads with matrix instructions and divides by the number of
    loads in a constant expression. Other pipelines narrow the vector instead. Before 2026.06 the
    width was the computed one, which always fits.

    Fix: narrow the vector, raise the tile or use fewer waves.
    """
    return loads_are_whole(c)


@rule(
    "PIPE020", "loop-without-loads", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline.isin("compv4", "comp_async") & c.a.sound & c.b.sound,
    says=("{pipeline} schedules by whole vectors, but a thread's shares are {tile_m * tile_k // threads=} "
          "of A and {tile_n * tile_k // threads=} of B, less than vector_a = {vector_a} and vector_b = {vector_b}"),
    source=[f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v4.hpp: HotLoopScheduler divides by num_issue (CK 2026.06, read in ROCm/rocm-libraries @ 498ed36)",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_async.hpp: the same (CK 2026.09, read in ROCm/rocm-libraries @ 01c432e)",
            "compiled with clang 19 and clang 22: a division like it is not a constant integer, though nothing calls it"],
    accepts=[{"pipeline": "compv4", "double_smem_buffer": True},
             {"pipeline": "compv4", "double_smem_buffer": True, **_SMALL, "vector_b": 4}],
    rejects=[{"pipeline": "compv4", "double_smem_buffer": True, **_SMALL}],
)  # fmt: skip
def hot_loop_has_a_load(c: TileGemm) -> BoolExpr:
    """In compv4 and comp_async each thread issues a whole vector load of A or of B per K step.

    Why: the hot loop is scheduled by the number of loads of both, and divides by it in constant
    expressions. Other pipelines narrow the vector instead, or ask for more (PIPE006). Before
    2026.06 the width was the computed one, which always fits.

    Fix: narrow a vector, raise the tile or use fewer waves.
    """
    a = c.tile_m * c.tile_k // (c.threads * c.vector_a)
    b = c.tile_n * c.tile_k // (c.threads * c.vector_b)
    return a + b >= 1


@rule(
    "PIPE007", "compv5-k-not-shared", kind="compile",
    applies=lambda c: c.pipeline == "compv5",
    says=("{pipeline} shares K among half of its {waves} waves: tile_k = {tile_k} is not "
          "a multiple of {waves // 2 * warp_tile_k=}"),
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: static_assert on KPerBlock",
    accepts=[{"pipeline": "compv5", "tile_k": 64}],
    rejects=[{"pipeline": "compv5", "tile_k": 16},
             {"pipeline": "compv5", "wave_m": 1, "wave_n": 1}],
)  # fmt: skip
def compv5_halves_share_k(c: TileGemm) -> BoolExpr:
    """compv5's K is a multiple of half the waves times the warp tile's K.

    Why: half of the waves split K among them; with a single wave the header divides by zero.

    Fix: raise tile_k or use two waves.
    """
    return c.tile_k % (c.waves // 2 * c.warp_tile_k) == 0


@rule(
    "PIPE008", "compv5-with-other-waves", kind="wrong-result",
    applies=lambda c: c.pipeline == "compv5",
    says=["{pipeline} needs wave_m = 1, not {wave_m}",
          "{pipeline} needs wave_n = 1, not {wave_n}",
          "{pipeline} needs wave_k = 2, not {wave_k}",
          "{pipeline} needs num_wave_groups = 2, not {num_wave_groups}"],
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: only waves 0 and 1 compute, each a whole tile",
    accepts=[{"pipeline": "compv5", "wave_m": 1, "wave_n": 1, "wave_k": 2, "num_wave_groups": 2}],
    rejects=[{"pipeline": "compv5"}],
)  # fmt: skip
def compv5_has_two_waves(c: TileGemm) -> BoolExpr:
    """compv5 runs with exactly two waves along K in two wave groups.

    Why: each of the two computes a whole tile over alternate slices of K, and the sums are
    added through LDS; more waves compute nothing right.

    Fix: use waves 1x1x2 with two groups, or another pipeline.
    """
    return all_of(c.wave_m == 1, c.wave_n == 1, c.wave_k == 2, c.num_wave_groups == 2)


def widths_are_direct(c: TileGemm) -> BoolExpr:
    """Whether the GPU moves what a lane loads of A and of B straight to LDS."""
    table = c.facts["direct_to_lds"]
    return all_of(
        rel(table, c.arch, c.a.width * c.element_bytes),
        rel(table, c.arch, c.b.width * c.element_bytes),
    )


@rule(
    "PIPE010", "width-without-direct-load", kind="compile", since="2026.06",
    applies=lambda c: c.has("async_pipelines") & c.loads_to_lds & c.a.sound & c.b.sound,
    says=[("{pipeline} loads A straight to LDS: of bytes a lane {arch} has {table direct_to_lds}, "
          "not {a_width * element_bytes=}"),
          ("{pipeline} loads B straight to LDS: of bytes a lane {arch} has {table direct_to_lds}, "
          "not {b_width * element_bytes=}")],
    source="core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load static_assert on bytes",
    accepts=[{"arch": "gfx950", "pipeline": "basic_async_v1"}],
    rejects=[{"arch": "gfx950", "pipeline": "basic_async_v1", "vector_a": 4}],
)  # fmt: skip
def direct_loads_have_width(c: TileGemm) -> BoolExpr:
    """Loads from global memory straight to LDS move as many bytes a lane as the GPU can.

    Why: the instruction exists for a few widths only (4, 12 and 16 bytes on gfx950). Operands that
    LDS reads transpose go the same way.

    Fix: take a vector of 4 or 16 bytes.
    """
    return widths_are_direct(c)


@rule(
    "PIPE019", "transposed-tiles-straight-to-lds", kind="wrong-result",
    applies=lambda c: c.loads_to_lds,
    says=["{pipeline} transposes no A, and LDS reads of {arch} transpose no {dtype} of warp_tile_k = {warp_tile_k}: M is contiguous in it",
          "{pipeline} transposes no B, and LDS reads of {arch} transpose no {dtype} of warp_tile_k = {warp_tile_k}: N is contiguous in it"],
    source=[f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_async.hpp: a_lds_shape, b_lds_shape, is_a_load_tr_v, is_b_load_tr_v (CK 2025.11: run with GEMMs of gfx942; CK 2026.09: read)",
            f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_async_v1.hpp: the same (CK 2026.06, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[{"pipeline": "comp_async", "double_smem_buffer": True}], rejects=[],
)  # fmt: skip
def direct_tiles_keep_their_order(c: TileGemm) -> BoolExpr:
    """comp_async and basic_async_v1 take operands with K contiguous, or ones that LDS reads transpose.

    Why: what goes straight to LDS passes no registers in which it could be transposed, and is read
    as if it had been. On gfx942, which has no transposing reads, nearly every result was wrong.

    Fix: keep K contiguous, or use compv4.
    """
    return all_of(~c.a_shuffled, ~c.b_shuffled)


@rule(
    "PIPE011", "wavelet-without-cshuffle", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline == "wavelet",
    says="{pipeline} needs epilogue = cshuffle, not {epilogue}",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_wavelet.hpp: the epilogue must offer RunBarrierStub",
    accepts=[{"pipeline": "wavelet"}], rejects=[{"pipeline": "wavelet", "epilogue": "default"}],
)  # fmt: skip
def wavelet_uses_cshuffle(c: TileGemm) -> BoolExpr:
    """wavelet is used with the CShuffle epilogue.

    Why: the loading waves must pass as many barriers as the storing ones, and only CShuffle
    offers the stub for it.

    Fix: set epilogue to cshuffle.
    """
    return c.epilogue == "cshuffle"


@rule(
    "PIPE013", "basic-v1-with-transposed-operand", kind="wrong-result", until="2026.06",
    applies=lambda c: c.pipeline == "basic_v1",
    says="{pipeline} needs K contiguous in A and B: {fault}",
    source=f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_v1.hpp: move_tile_window by {{0, kKPerBlock}} (run)",
    issue="ROCm/composable_kernel#3611, ROCm/rocm-libraries#5115",
    accepts=[{"pipeline": "basic_v1"}],
    rejects=[],
)  # fmt: skip
def basic_v1_steps_along_k(c: TileGemm) -> BoolExpr:
    """basic_v1 reads both operands with K contiguous, that is in forward.

    Why: it moves its windows along the contiguous dimension from one step to the next, which is
    not K for a transposed operand. It compiles. Headers since January 2026 (intrawave) and March
    2026 (interwave) move them along K.

    Fix: use mem or compv3.
    """
    return ~c.a_transposed & ~c.b_transposed


@rule(
    "PIPE014", "compv5-with-transposed-operand", kind="wrong-result",
    applies=lambda c: c.pipeline == "compv5",
    says="{pipeline} needs K contiguous in A and B: {fault}",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5.hpp: offset of the second wave's K slice (CK 2025.11: run)",
    accepts=[{"pipeline": "compv5"}],
    rejects=[],
)  # fmt: skip
def compv5_reads_k_contiguous(c: TileGemm) -> BoolExpr:
    """compv5 reads both operands with K contiguous, that is in forward.

    Why: the second wave starts its slice of K at an offset along the contiguous dimension,
    which is not K for a transposed operand. It compiles.

    Fix: use another pipeline.
    """
    return ~c.a_transposed & ~c.b_transposed


@rule(
    "PIPE016", "basic-v1-without-lds-reads", kind="wrong-result", severity="warning",
    profiles=("fast",), until="2026.06", applies=lambda c: c.pipeline == "basic_v1",
    says=("{pipeline} of CK 2025.11 with {scheduler} multiplies registers that nobody loaded, "
          "unless ckrules generates the kernel"),
    source=["ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: BlockGemmImpl<Intrawave> reads LDS in LocalPrefetch only (run)",
            f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_v1.hpp: LocalPrefetch is never called"],
    issue="ROCm/composable_kernel#3611",
    accepts=[{"pipeline": "basic_v1", "scheduler": "interwave"}],
    rejects=[{"pipeline": "basic_v1"}],
)  # fmt: skip
def basic_v1_reads_lds(c: TileGemm) -> BoolExpr:
    """basic_v1 of 2025.11 has the scheduler interwave.

    Why: with intrawave the block GEMM takes its operands from registers that a call of the
    pipeline has to fill before, and this pipeline never makes that call: every result is zero.
    Upstream's launchers and instances do so; since 2026.06 the pipeline makes it. Kernels of `ckrules generate` pass the scheduler
    Default on to the pipeline instead, whose block GEMM reads LDS by itself, and compute right:
    so such kernels are legal, and the rule is one of the profile `fast` and a warning of
    `ckrules check`.

    Fix: use interwave, or generate the kernel with ckrules.
    """
    return c.scheduler == "interwave"


@rule(
    "PIPE017", "wave-groups-without-a-place", kind="wrong-result",
    applies=lambda c: c.pipeline.isin("compv4", "compv6", "comp_async", "basic_async_v1"),
    says=("{pipeline} computes one wave's part of the tile when waves have groups: "
          "num_wave_groups = {num_wave_groups}, expected 1"),
    source=["ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: UseDefaultScheduler leaves the waves out of the distributions of A, B and C (CK 2025.11: compv4 run)",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_{{v4,v6,async}}_default_policy.hpp: GetBlockGemm",
            f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_async_v1.hpp: Policy (CK 2026.06, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[{"pipeline": "compv4", "double_smem_buffer": True}],
    rejects=[{"pipeline": "compv4", "double_smem_buffer": True, "num_wave_groups": 2},
             {"@ck": "2026.06", "pipeline": "compv6", "num_wave_groups": 2},
             {"@ck": "2026.06", "pipeline": "basic_async_v1", "num_wave_groups": 2}],
)  # fmt: skip
def one_group_in_register_gemm(c: TileGemm) -> BoolExpr:
    """compv4, compv6, comp_async and basic_async_v1 have a single wave group.

    Why: their block GEMM takes several groups for those of compv5, where each wave computes the
    whole tile. All waves then compute the first wave's part, and nobody the others'.

    Fix: set num_wave_groups to 1.
    """
    return c.num_wave_groups == 1


@rule(
    "PIPE015", "compv6-below-64-threads", kind="compile",
    applies=lambda c: c.pipeline == "compv6",
    says="{pipeline} needs at least 64 threads, not {threads=} on {arch}",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v6.hpp: HotLoopScheduler divides by BlockSize / WaveSize, with a WaveSize of 64",
    accepts=[{"pipeline": "compv6"}],
    rejects=[{"pipeline": "compv6", "arch": "gfx1201", "wave_m": 1, "wave_n": 1, "tile_m": 32,
              "tile_n": 32, "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def compv6_has_64_threads(c: TileGemm) -> BoolExpr:
    """compv6 computes with at least 64 threads.

    Why: its schedule counts waves of 64 lanes on every GPU. A single wave of 32 is none, and
    the header divides by that number in a constant expression.

    Fix: use two waves or compv3.
    """
    return c.threads >= 64
