"""QPROB: sums that quantised kernels accept, and compute right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.quant.kernel import ROWCOL, SHUFFLED, B
from ckrules.constraints.quant.problems import QuantProblem
from ckrules.constraints.tile_gemm import tails
from ckrules.constraints.tile_gemm.offsets import within_2_gib
from ckrules.engine.expr import FALSE, BoolExpr, all_of, any_of, ceil_div, implies
from ckrules.engine.rules import rule

_CHECK = "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: QuantGemmKernel::IsSupportedArgument"
_LATER = f"{_CHECK} (CK 2026.09 at 05fca22, read)"
_MEM = "ops/gemm_quant/pipeline/gemm_aquant_pipeline_ag_bg_cr_mem.hpp"
_AS = "ops/gemm_quant/block/block_universal_gemm_as_aquant_bs_cr.hpp"
_MI400: Mapping[str, Any] = {
    "@ck": "2026.06", **ROWCOL, "arch": "gfx1250", "tile_m": 16, "tile_n": 64, "tile_k": 256,
    "wave_m": 1, "wave_n": 4, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 128,
}  # fmt: skip
_EIGHT: Mapping[str, Any] = {"tile_m": 256, "wave_m": 4}


@rule(
    "QPROB001", "scaled-sums-in-parts", kind="launch",
    says=["sums with scales are not split: k_batch = {k_batch}",
          "a quantised kernel computes one product: batch = {batch}",
          "a quantised kernel computes one product: {groups} groups"],
    source=[_CHECK, f"{_CHECK} (CK 2026.06 at ea58c2b, read)"],
    issue="ROCm/composable_kernel#3653",
    accepts=[{}, ROWCOL, {"@ck": "2026.06", **B, "k_batch": 2}],
    rejects=[{"k_batch": 2}, {"batch": 2}, {"@ck": "2025.11", **B, "k_batch": 2}],
)  # fmt: skip
def sums_are_whole(c: QuantProblem) -> BoolExpr:
    """A quantised kernel computes one product, with its sums in one part.

    Why: the argument check refuses other numbers of parts, but since 2026.06 of bquant, unless its
    scales are shuffled. Batches have no kernel here, and groups one of their own, which is not
    covered.

    Fix: use k_batch = 1.
    """
    split = c.k_batch == 1
    if c.since("2026.06"):
        split = any_of(split, (c.variant == "bquant") & ~c.preshuffle_quant)
    return all_of(split, c.batch == 1, c.groups == 1)


@rule(
    "QPROB007", "parts-of-scaled-sums", kind="launch", since="2026.06",
    applies=lambda c: c.k_batch > 1,
    says=tails.faults_of_parts("{group_k}"),
    source=[_LATER, "ops/gemm/pipeline/{gemm_pipeline_ag_bg_cr_comp_v3,wp_pipeline_agmem_bgmem_creg_v2}.hpp: BlockHasHotloop, GetBlockLoopTailNum"],
    accepts=[{**B, "k_batch": 2}, {**B, "pad_k": True, "K": 2432, "k_batch": 5},
             {**SHUFFLED, "pad_k": True, "K": 5504, "k_batch": 9}],
    rejects=[{**B, "k_batch": 4}, {**B, "pad_k": True, "K": 576, "k_batch": 2},
             {**SHUFFLED, "pad_k": True, "K": 2432, "k_batch": 5},
             {**_EIGHT, **B, "pad_k": True, "K": 2432, "k_batch": 5}],
)  # fmt: skip
def parts_of_scaled_sums_are_whole(c: QuantProblem) -> BoolExpr:
    """Parts of a sum with scales have whole groups, two block tiles or more, and like tails.

    Why: the check asks it, of earlier headers for groups alone: scales are shared by a group, loads
    are a tile ahead, and the host chooses one end of the loop for all parts. (SPROB008 says it of
    block scales.)

    Fix: use a smaller k_batch.
    """
    return tails.parts_have_whole_groups(c, c.group_k)


@rule(
    "QPROB009", "scaled-tiles-in-compv3-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.pipeline == "compv3") & tails.scheduled_for_eight(c),
    says=("{pipeline} of eight waves sums wrong where a sum has three block tiles, or, without "
          "padding, one or, without groups, an even number above two: {part_length} products with tile_k = {tile_k}"),
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: BlockHasHotloop and GetBlockLoopTailNum for NumWarps == 8 (CK 2026.09, read in ROCm/rocm-libraries @ 0bb9af6)",
            "ops/gemm_quant/pipeline/gemm_bquant_pipeline_ag_bg_cr_v3.hpp: PipelineImpl, tail_count (CK 2026.09, read in ROCm/rocm-libraries @ 10fead7)"],
    issue="ROCm/rocm-libraries#7669",
    accepts=[{**_EIGHT, "K": 640}, {**_EIGHT, **B, "K": 512}, {**_EIGHT, **ROWCOL, "K": 256}],
    rejects=[{**_EIGHT, "K": 384}, {**_EIGHT, **B, "K": 128}, {**_EIGHT, **ROWCOL, "K": 512}],
)  # fmt: skip
def compv3_of_eight_waves_has_its_tiles(c: QuantProblem) -> BoolExpr:
    """compv3 with eight waves has no sum of three block tiles, and none with a tile too many.

    Why: for eight waves it takes tails that belong to another pipeline (GPROB028). Three tiles skip
    the loop, and only one is summed. A single one gets one too many, which is zero with padding.
    Loops with groups leave two tiles to an even tail; those with one scale for all, or one for each
    row and column, leave one, and sum one too many.

    Fix: use another number of waves, or another tile_k.
    """
    tiles = ceil_div(c.part_length, c.tile_k)
    kept = (tiles > 1) & implies(~c.grouped, (tiles == 2) | (tiles % 2 == 1))
    return (tiles != 3) & implies(~c.pad_k & ~c.a_transposed & ~c.b_transposed, kept)


@rule(
    "QPROB008", "scaled-m-not-whole-tiles", kind="launch", since="2026.09",
    applies=lambda c: ~c.pad_m & ~c.a_transposed & c.c_row & (c.waves != 8),
    says="M = {M} is not a multiple of tile_m = {tile_m}, and the kernel does not pad M",
    source=_LATER, accepts=[{}], rejects=[{"M": 520}],
)  # fmt: skip
def m_is_whole(c: QuantProblem) -> BoolExpr:
    """M is a multiple of tile_m unless it is padded, or the block has eight waves.

    Why: since 2026.09 the check asks it where M is contiguous in neither A nor C, too (GPROB002
    has the others).

    Fix: use a kernel with pad_m.
    """
    return c.M % c.tile_m == 0


@rule(
    "QPROB002", "scales-not-whole-loads", kind="launch", until="2026.06",
    applies=lambda c: c.grouped,
    says="K = {K} has {sum_scales} scales, not a multiple of the vector width {vector_scale}",
    source=[_CHECK, "ops/gemm_quant/pipeline/gemm_group_quant_utils.hpp: GetABQGlobalVectorLoadSize"],
    accepts=[{}, {"group_k": 32}, B], rejects=[{"group_k": 32, "pad_k": True, "K": 528}],
)  # fmt: skip
def scales_are_loaded_whole(c: QuantProblem) -> BoolExpr:
    """The scales along K are a multiple of what is loaded at once.

    Why: the width follows from the tile, and the check asks it of the whole sum. Since 2026.06 it
    asks no longer.

    Fix: use larger groups, or pad K to whole tiles.
    """
    return c.sum_scales % c.vector_scale == 0


@rule(
    "QPROB011", "shuffled-scales-not-whole-tiles", kind="wrong-result",
    applies=lambda c: c.grouped & c.preshuffle_quant & (c.group_k <= c.tile_k),
    says="K = {K} has {sum_scales} scales, and shuffled ones lie by block tiles of {tile_k // group_k=}",
    source=["ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeGemmTensorViews (aq_y = QK_A / KPerBlockAQ, which rounds down; run)",
            "host/tensor_shuffle_utils.hpp: shuffle_aq (throws where the scales do not divide)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeAQBlockWindow (CK 2026.06 at ea58c2b, read)"],
    accepts=[{"preshuffle_quant": True}, {**B, "@ck": "2026.06", "preshuffle_quant": True}],
    rejects=[{"preshuffle_quant": True, "tile_k": 256, "pad_k": True, "K": 384}],
)  # fmt: skip
def shuffled_scales_are_whole_tiles(c: QuantProblem) -> BoolExpr:
    """Shuffled scales are those of whole block tiles along K.

    Why: their view has a row for each whole block tile, so that the scales of a part of one are
    read as zeros, and upstream's host code throws rather than shuffle them.

    Fix: use a smaller tile_k, or scales that are not shuffled.
    """
    return c.sum_scales % (c.tile_k // c.group_k) == 0


@rule(
    "QPROB012", "tensor-of-2-gib", kind="launch", since="2026.09",
    applies=lambda c: ~c.finds_rows_by_64_bits,
    says=["A reaches over {reach_a} elements, 2 GiB or more: M = {M}, K = {K}, stride_a = {stride_a}",
          "B reaches over {reach_b} elements, 2 GiB or more: N = {N}, K = {K}, stride_b = {stride_b}",
          "C reaches over {reach_c} elements, 2 GiB or more: M = {M}, N = {N}, stride_c = {stride_c}"],
    source=f"{_LATER}: is_large_tensor", accepts=[{}, {"M": 131072, "N": 4096}],
    rejects=[{"M": 131072, "N": 8192}, {**ROWCOL, "layout": "crr", "M": 131072, "N": 8192}],
)  # fmt: skip
def tensors_are_small(c: QuantProblem) -> BoolExpr:
    """A, B and C have less than 2 GiB each.

    Why: the check asks it, but of kernels that find the rows of a block with 64 bits, as
    rowcol_quant does. (GPROB048 says what more comes to.)

    Fix: compute parts of M or N on their own.
    """
    return all_of(
        within_2_gib(c.reach_a, c.a_bytes, c.narrow_a),
        within_2_gib(c.reach_b, c.b_bytes, c.narrow_b),
        within_2_gib(c.reach_c, c.output_bytes, FALSE),
    )


@rule(
    "QPROB003", "tiles-left-out-by-mem", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "aquant") & (c.pipeline == "mem"),
    says="{pipeline} has {mem_stages} tiles under way and sums {summed_tiles} of {sum_tiles}",
    source=[f"{_MEM}: the hot loop goes on by PrefetchStages, and the tail has one tile or two",
            f"{_MEM}: GetBlockLoopTailNum (run)"],
    accepts=[{"pipeline": "mem", "K": 256}], rejects=[{"pipeline": "mem", "tile_k": 32,
                                                       "group_k": 32, "K": 96}],
)  # fmt: skip
def mem_sums_every_tile(c: QuantProblem) -> BoolExpr:
    """mem of aquant sums as many tiles as there are.

    Why: after whole rounds of the tiles that are under way it sums one more tile, or two, by
    whether their number is even. That is all of them where two tiles are under way, and for few
    other numbers.

    Fix: use compv3, or a larger tile.
    """
    return c.summed_tiles == c.sum_tiles


@rule(
    "QPROB004", "second-tile-without-barrier", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "aquant") & (c.pipeline == "mem"),
    says=("{pipeline} writes the last of {sum_tiles} tiles to LDS without a barrier: one of {waves} "
          "waves overwrites what another still reads: {waves=}, expected 1"),
    source=f"{_MEM}: TailNumber::Even, LocalPrefill behind LocalPrefetch (run)",
    accepts=[{"pipeline": "mem", "K": 640},
             {"pipeline": "mem", "tile_m": 32, "wave_m": 1, "tile_n": 32, "wave_n": 1, "K": 256}],
    rejects=[{"pipeline": "mem", "K": 256}],
)  # fmt: skip
def mem_waits_before_last_tile(c: QuantProblem) -> BoolExpr:
    """mem of aquant with more than one wave sums an odd number of tiles.

    Why: the tail of two tiles reads the first from LDS and writes the second there, with no
    barrier between. A wave that is ahead writes what the others have not read yet.

    Fix: use compv3, one wave, or another tile_k.
    """
    odd: BoolExpr = c.sum_tiles % 2 == 1
    return odd | (c.waves == 1)


@rule(
    "QPROB005", "tail-without-barriers", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "aquant") & (c.pipeline == "mem"),
    says=("{pipeline} writes the last {tail_tiles - 1} tiles to LDS without a barrier: one of "
          "{waves} waves overwrites what another still reads: {waves=}, expected 1"),
    source=[f"{_MEM}: HotLoopTail, LocalPrefill behind LocalPrefetch (ROCm/rocm-libraries of 2026; read, not run)",
            f"{_AS}: BlockGemmImpl<GemmPipelineScheduler::Interwave> ends with block_sync_lds"],
    issue="ROCm/rocm-libraries#9980",
    accepts=[{"@ck": "2026.06", "pipeline": "mem", "K": 128},
             {"@ck": "2026.06", "pipeline": "mem", "tile_m": 32, "wave_m": 1, "tile_n": 32,
              "wave_n": 1, "K": 256},
             {"@ck": "2026.06", "pipeline": "mem", "scheduler": "interwave", "K": 256}],
    rejects=[{"@ck": "2026.06", "pipeline": "mem", "K": 256}],
)  # fmt: skip
def mem_waits_in_tail(c: QuantProblem) -> BoolExpr:
    """mem of aquant with intrawave and more than one wave sums a single tile behind its rounds.

    Why: each further tile is written to LDS right behind the reads of the one before. The pipeline
    leaves the barrier between them to the block GEMM, and only that of interwave has one.

    Fix: use interwave, compv3, one wave, or another tile_k.
    """
    return any_of(c.tail_tiles == 1, c.waves == 1, c.scheduler == "interwave")


@rule(
    "QPROB006", "row-scales-past-fours", kind="wrong-result", severity="warning", since="2026.06",
    applies=lambda c: (c.variant == "rowcol_quant") & c.has("tdm"),
    says="scales of rows are read in fours: M = {M} is not a multiple of 4",
    source="ops/gemm_quant/kernel/gemm_quant_kernel.hpp: the view of A's scales for RowColQuant (each M that is not a multiple of 4 was wrong in grouped kernels on MI400, and tensor_quant right: ROCm/rocm-libraries#11043)",
    issue="ROCm/rocm-libraries#11043",
    accepts=[{**_MI400, "M": 516}],
    rejects=[{**_MI400, "M": 514}],
)  # fmt: skip
def row_scales_are_whole_fours(c: QuantProblem) -> BoolExpr:
    """On GPUs with a tensor data mover the rows of a product with a scale each are a multiple of 4.

    Why: upstream saw wrong results of grouped kernels on MI400 for every other M, and checks it
    before its launches since. Other GPUs were not seen to do so, and plain kernels, whose scales
    are read in the same way, not tried: so it is a warning.

    Fix: pad M.
    """
    return c.M % 4 == 0
