"""PROB: sums over K, their parts and tiles: split-K, stream-K, and pipelines that need several tiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.problem_fields import ConvProblem
from ckrules.constraints.conv.problem_rules.citations import DATA, KERNELS, WEIGHT
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, ceil_div, implies
from ckrules.engine.rules import rule

_ADDED: Mapping[str, Any] = {"variant": "bwd_weight", "arch": "gfx1100", "k_batch": 2}
_SCOPED: Mapping[str, Any] = {"variant": "bwd_weight", "arch": "gfx1250", "@ck": "2026.06"}
_PAIR: Mapping[str, Any] = {
    "variant": "bwd_weight", "pipeline": "mem", "wave_n": 1, "num_wave_groups": 2,
}  # fmt: skip
_ASYNC: Mapping[str, Any] = {
    "arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True,
}  # fmt: skip
_COMPV3 = "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp"


@rule(
    "PROB007", "split-k-not-supported", kind="launch",
    applies=lambda c: c.forward if c.since("2026.06") else ~c.bwd_weight,
    says="{variant} does not split the sum: split_k = {k_batch}, expected 1",
    source=[f"{KERNELS}_forward_kernel.hpp: IsSplitKSupported",
            f"{KERNELS}_backward_data_kernel.hpp: IsSplitKSupported"],
    accepts=[{}], rejects=[{"k_batch": 2}],
)  # fmt: skip
def no_split(c: ConvProblem) -> BoolExpr:
    """Forward does not split the sum, nor did backward data before 2026.06.

    Why: these kernels have no split-K.

    Fix: set split_k to 1.
    """
    return c.k_batch == 1


@rule(
    "PROB008", "split-k-with-odd-vector", kind="launch",
    applies=lambda c: c.backward & c.odd_halves,
    says=("{variant} with an odd vector_c of {output_bytes} bytes does not split the sum: "
          "vector_c = {vector_c}, split_k = {k_batch}, expected 1"),
    source=[DATA, WEIGHT],
    accepts=[{"variant": "bwd_weight", "vector_c": 1}],
    rejects=[{"variant": "bwd_weight", "vector_c": 1, "k_batch": 2}],
)  # fmt: skip
def odd_vector_is_not_split(c: ConvProblem) -> BoolExpr:
    """With 16-bit output and an odd vector_c the sum is not split.

    Why: 16-bit values are added atomically two at a time.

    Fix: set split_k to 1, use an even vector_c, or sum in two stages.
    """
    return c.k_batch == 1


@rule(
    "PROB011", "too-many-splits", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.output_bytes < 4),
    says=("{variant} with results of {output_bytes} bytes splits the sum into at most 128 "
          "parts: split_k = {k_batch}"),
    source=WEIGHT,
    accepts=[{"variant": "bwd_weight", "k_batch": 128}],
    rejects=[{"variant": "bwd_weight", "k_batch": 129}],
)  # fmt: skip
def splits_keep_precision(c: ConvProblem) -> BoolExpr:
    """Backward weight that stores 16-bit values splits the sum into at most 128 parts.

    Why: each atomic addition rounds.

    Fix: lower split_k, or sum in two stages.
    """
    return c.k_batch <= 128


@rule(
    "PROB012", "more-splits-than-warp-tiles", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.streamk == "off"),
    says=("{variant} has parts of the sum without work: split_k = {k_batch}, but "
          "{ceil_div(N * output_points, warp_tile_k)} warp tiles along the sum of {N * "
          "output_points}"),
    source=WEIGHT,
    accepts=[{"variant": "bwd_weight", "k_batch": 64}],
    rejects=[{"variant": "bwd_weight", "N": 1, "image_h": 3, "image_w": 3, "k_batch": 2}],
)  # fmt: skip
def splits_have_work(c: ConvProblem) -> BoolExpr:
    """Backward weight has at least one warp tile along the sum for each part.

    Why: the sum runs over images and output positions; a part without any would be empty.

    Fix: lower split_k.
    """
    return ceil_div(c.N * c.output_points, c.warp_tile_k) >= c.k_batch


@rule(
    "PROB013", "sum-too-short-for-compv6", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.pipeline == "compv6"),
    says=("{pipeline} in {variant} needs four block tiles in each part of the sum, not "
          "{ceil_div(N * output_points, k_batch * tile_k)}: a sum of {N * output_points}, "
          "split_k = {k_batch}, tile_k = {tile_k}"),
    source=WEIGHT, issue="ROCm/rocm-libraries#5387, ROCm/rocm-libraries#7936",
    accepts=[{"variant": "bwd_weight", "pipeline": "compv6"}],
    rejects=[{"variant": "bwd_weight", "pipeline": "compv6", "N": 1, "image_h": 8, "image_w": 8}],
)  # fmt: skip
def compv6_has_steps(c: ConvProblem) -> BoolExpr:
    """compv6 in backward weight has at least four block tiles along the sum of each part.

    Why: the pipeline prefetches three tiles ahead.

    Fix: lower split_k or tile_k, or use compv3.
    """
    return ceil_div(c.N * c.output_points, c.k_batch * c.tile_k) >= 4


@rule(
    "PROB014", "stream-k-with-split-k", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.streamk != "off"),
    says=("stream-K of {variant} does not split the sum: split_k = {k_batch}, expected 1 "
          "with streamk = {streamk}"),
    source=WEIGHT,
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"variant": "bwd_weight", "streamk": "tree", "k_batch": 2}],
)  # fmt: skip
def streamk_is_not_split(c: ConvProblem) -> BoolExpr:
    """Stream-K does not split the sum as well.

    Why: it distributes the sum over the workgroups by itself.

    Fix: set split_k to 1.
    """
    return c.k_batch == 1


@rule(
    "PROB021", "stream-k-drops-groups", kind="wrong-result", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.streamk != "off"),
    says=("stream-K of {variant} has too few block tiles along M for its groups: "
          "{ceil_div(group_k * num_groups_to_merge, tile_m)} a group of {group_k * "
          "num_groups_to_merge} rows, tile_m = {tile_m}, G = {G}"),
    source=[f"{KERNELS}_backward_weight_kernel.hpp: MakeKernelArgs gives the partitioner GemmM * GemmBatch rows, RunStreamK and RunStreamKLoop take the group from the tile's number modulo GemmBatch",
            "ops/gemm/kernel/streamk_gemm/streamk_gemm_tile_partitioner_impl.hpp: num_tiles_ (read, not run)"],
    accepts=[{"variant": "bwd_weight", "streamk": "tree"},
             {"variant": "bwd_weight", "streamk": "tree", "G": 4, "C": 256, "K": 512}],
    rejects=[{"variant": "bwd_weight", "streamk": "tree", "G": 4, "C": 256, "K": 256}],
)  # fmt: skip
def streamk_has_tiles_for_all_groups(c: ConvProblem) -> BoolExpr:
    """Stream-K has as many block tiles along M as the groups need.

    Why: it counts the tiles of all groups' rows together, and then gives each group its own
    tiles. Where the rows of a group do not fill their tiles there are too few, and the weights
    of some groups are never written.

    Fix: use a smaller tile_m, or split K instead.
    """
    rows, batch = c.group_k * c.num_groups_to_merge, ceil_div(c.G, c.num_groups_to_merge)
    return ceil_div(rows * batch, c.tile_m) == ceil_div(rows, c.tile_m) * batch


@rule(
    "PROB017", "sum-of-one-tile-in-compv6", kind="wrong-result", since="2026.06",
    applies=lambda c: c.forward & (c.pipeline == "compv6"),
    says=("{pipeline} in {variant} needs two block tiles along the sum, not "
          "{ceil_div(group_c * filter_taps, tile_k)}: {group_c * filter_taps} elements "
          "with tile_k = {tile_k}"),
    source="ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v6.hpp: tails of two tiles and more (read, not run)",
    accepts=[{"pipeline": "compv6"}],
    rejects=[{"pipeline": "compv6", "C": 8, "filter_h": 1, "filter_w": 1}],
)  # fmt: skip
def compv6_forward_has_two_steps(c: ConvProblem) -> BoolExpr:
    """compv6 in forward has at least two block tiles along the sum.

    Why: its shortest tail takes two tiles; the argument check of forward does not look at it.

    Fix: use compv3, or a smaller tile_k.
    """
    two: BoolExpr = ceil_div(c.group_c * c.filter_taps, c.tile_k) >= 2
    return implies(c.num_groups_to_merge == 1, two)


@rule(
    "PROB019", "three-tiles-of-a-split-in-compv4", kind="wrong-result", until="2026.06",
    applies=lambda c: c.bwd_weight & (c.pipeline == "compv4") & (c.k_batch > 1),
    says=("{pipeline} in {variant} sums wrong where a part has exactly three block tiles: "
          "a sum of {N * output_points}, split_k = {k_batch}, tile_k = {tile_k}"),
    source="ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v4.hpp: hot loop (iCounter) and TailNumber::Three (run)",
    issue="ROCm/composable_kernel#3307",
    accepts=[{"variant": "bwd_weight", "pipeline": "compv4", "k_batch": 2}],
    rejects=[{"variant": "bwd_weight", "pipeline": "compv4", "k_batch": 2,
              "N": 1, "image_h": 16, "image_w": 24}],
)  # fmt: skip
def compv4_split_is_not_three_tiles(c: ConvProblem) -> BoolExpr:
    """compv4 in a split backward weight does not have exactly three block tiles along each part.

    Why: for three it runs its loop once, two tiles, and then a tail of three. The two tiles too
    many are the next part's, which are summed twice; without a split they are padding. Since
    2026.06 it has no loop for three.

    Fix: use another split_k or tile_k, or compv3.
    """
    return ceil_div(c.N * c.output_points, c.k_batch * c.tile_k) != 3


def _scheduled_for_eight(c: ConvProblem) -> BoolExpr:
    found = (c.pipeline == "compv3") & (c.waves == 8) & (c.streamk == "off")
    return found & ~c.has("four_wave_schedule") if c.since("2026.09") else found


@rule(
    "PROB023", "tiles-of-a-sum-in-compv3-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=_scheduled_for_eight,
    says=("{pipeline} of {wave_m}x{wave_n}x{wave_k} waves in {variant} sums wrong where a sum has "
          "three block tiles, or a part of one another even number than two or only one: tile_k "
          "= {tile_k}, split_k = {k_batch}"),
    source=[f"{_COMPV3}: BlockHasHotloop and GetBlockLoopTailNum for NumWarps == 8 (read, not run)",
            f"{_COMPV3}: Use8WarpSchedule (CK 2026.09, as ROCm/rocm-libraries#11175 shows it)"],
    issue="ROCm/rocm-libraries#7669, ROCm/rocm-libraries#11161, ROCm/rocm-libraries#11175",
    accepts=[{"wave_m": 4}, {"wave_m": 4, "C": 8, "filter_h": 1, "filter_w": 1},
             {"variant": "bwd_weight", "wave_m": 4}],
    rejects=[{"wave_m": 4, "C": 192, "filter_h": 1, "filter_w": 1, "left_pad_h": 0,
              "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0}],
)  # fmt: skip
def compv3_of_eight_waves_has_its_tiles(c: ConvProblem) -> BoolExpr:
    """compv3 with eight waves has no sum of three block tiles, and no part with a tile too many.

    Why: for eight waves it takes tails that belong to another pipeline. Three tiles skip the loop,
    and only one is summed. A single one and even numbers from four on get one tile too many:
    padding, but where a sum is split the next part's. Since 2026.09 GPUs of the gfx12 family loop
    over eight waves as over four.

    Fix: use another number of waves, another tile_k, or compv4.
    """
    parts = c.k_batch * c.tile_k
    forward = ceil_div(c.group_c * c.filter_taps, parts)
    weight = ceil_div(c.N * c.output_points, parts)
    data = [_right_tails(c, ceil_div(c.group_k * taps, parts)) for taps in c.data_gemm_taps]
    return all_of(
        implies(c.forward, _right_tails(c, forward)),
        implies(c.bwd_weight, _right_tails(c, weight)),
        implies(c.variant == "bwd_data", all_of(*data)),
    )


def _right_tails(c: ConvProblem, tiles: IntExpr) -> BoolExpr:
    whole: BoolExpr = tiles != 3
    kept = (tiles == 0) | (tiles == 2) | ((tiles % 2 == 1) & (tiles > 1))
    return whole & implies(c.k_batch > 1, kept)


@rule(
    "PROB020", "tails-of-several-gemms-in-mem", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "bwd_data") & (c.pipeline == "mem"),
    says=("{pipeline} in {variant} has a tail too short for one of its {data_gemms} "
          "GEMMs: {ceil_div(group_k * filter_taps, tile_k)} block tiles along the whole "
          "sum, {mem_stages} under way at once"),
    source=["example/ck_tile/20_grouped_convolution/grouped_convolution_backward_data_invoker.hpp: num_loop, tail_num",
            f"{KERNELS}_backward_data_kernel.hpp: RunGemm (num_loop)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_mem.hpp: PrefetchStages, hot loop and tails (run)"],
    accepts=[{"variant": "bwd_data", "pipeline": "mem"},
             {"variant": "bwd_data", "pipeline": "mem", "conv_stride_h": 2, "conv_stride_w": 2,
              "K": 32}],
    rejects=[{"variant": "bwd_data", "pipeline": "mem", "conv_stride_h": 2, "conv_stride_w": 2}],
)  # fmt: skip
def one_tail_serves_all_gemms(c: ConvProblem) -> BoolExpr:
    """mem in backward data has a tail that is long enough for each of its GEMMs.

    Why: one GEMM is run for each residue of the filter by the stride, and each has its own sum,
    but the launcher picks one tail, for the sum over the whole filter. A GEMM whose last round
    has more tiles than that tail leaves out the rest. Since 2026.06 the kernel picks a tail for
    each on the device.

    Fix: use compv3.
    """
    whole = ceil_div(c.group_k * c.filter_taps, c.tile_k)
    stages = c.mem_stages
    served = []
    for taps in c.data_gemm_taps:
        own = ceil_div(c.group_k * taps, c.tile_k)
        served.append((own <= stages) | ((own - 1) % stages <= (whole - 1) % stages))
    return implies(whole > stages, all_of(*served))


@rule(
    "PROB024", "parts-stored-over-each-other", kind="wrong-result", since="2026.06",
    applies=lambda c: c.backward & (c.k_batch > 1),
    says="epilogue {epilogue} stores each of split_k = {k_batch} parts of a sum over the others",
    source="ops/epilogue/default_2d_epilogue.hpp: storeOrUpdateTile (the condition is true, that on DstInMemOp is taken out) (CK 2026.06, read)",
    accepts=[{"variant": "bwd_weight", "k_batch": 2}],
    rejects=[{"variant": "bwd_weight", "epilogue": "default", "vector_c": 8, "k_batch": 2}],
)  # fmt: skip
def parts_are_added(c: ConvProblem) -> BoolExpr:
    """The backward directions split the sum with the epilogue cshuffle.

    Why: the default epilogue stores since 2026.06, whatever the window of the result asks for.

    Fix: set split_k to 1, or use cshuffle.
    """
    return c.epilogue != "default"


@rule(
    "PROB022", "split-k-without-atomics", kind="launch", until="2026.06",
    applies=lambda c: c.bwd_weight & ~c.odd_halves,
    says=("{variant} has no atomic addition of {c_width} elements of {output_bytes} bytes "
          "with epilogue {epilogue}, so it does not split the sum: split_k = {k_batch}, "
          "expected 1"),
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_atomic_add static_assert on the width",
            "ops/epilogue/default_2d_epilogue.hpp: update_tile_raw (no overload takes the window)"],
    accepts=[{"variant": "bwd_weight", "k_batch": 2},
             {"variant": "bwd_weight", "epilogue": "default"}],
    rejects=[{"variant": "bwd_weight", "epilogue": "default", "k_batch": 2},
             {"variant": "bwd_weight", "two_stage": True, "vector_c": 8, "k_batch": 2}],
)  # fmt: skip
def split_needs_atomics(c: ConvProblem) -> BoolExpr:
    """Backward weight splits the sum only where its results can be added atomically.

    Why: with the default epilogue, and at widths that have no atomic addition, the instantiation
    for split-K does not compile, and the kernel is built without it. Since 2026.06 kernels always
    have it: EPI009 and PROB024 say what is wrong then.

    Fix: set split_k to 1, use cshuffle, or narrow vector_c.
    """
    return c.adds_atomically | (c.k_batch == 1)


@rule(
    "PROB036", "weights-added-beyond-the-last", kind="wrong-result", since="2026.06",
    applies=lambda c: all_of(
        c.bwd_weight, c.k_batch > 1, c.has("float_atomics_by_address"),
        c.two_stage | c.dtype.isin("fp16", "fp32"),
    ),
    says=("rows of weights beyond the last one are added to memory behind them: K / G = {group_k}, "
          "num_groups_to_merge = {num_groups_to_merge}, tile_m = {tile_m}"),
    source=["core/config.hpp: CK_TILE_USE_AMD_BUFFER_ATOMIC_ADD_FLOAT (CK 2026.06)",
            f"{KERNELS}_backward_weight_kernel.hpp: MakeCBlockWindow, pad_not_contiguous_dim (bf16 alone; CK 2026.09, read)"],
    issue="ROCm/rocm-libraries#5842, ROCm/rocm-libraries#7586",
    accepts=[{**_ADDED, "K": 128}], rejects=[{**_ADDED, "K": 72}],
)  # fmt: skip
def weights_are_whole_tiles(c: ConvProblem) -> BoolExpr:
    """On gfx11 output channels of a split backward weight are whole tiles.

    Why: as of GEMMs (GPROB045), seen there: headers add floats by address, and what a tile has
    beyond the last output channel is added to memory behind the weights. Until 2026.06 weights are
    padded along both sides, and bf16 still is. Backward data has the same code, whose rows are
    those of images.

    Fix: set split_k to 1, or use a tile_m that divides the output channels.
    """
    return (c.group_k * c.num_groups_to_merge) % c.tile_m == 0


@rule(
    "PROB037", "parts-of-weights-that-other-units-miss", kind="wrong-result",
    since="2026.06", until="2026.09",
    applies=lambda c: all_of(
        c.backward, c.has("scoped_atomics"), c.two_stage | c.dtype.isin("fp16", "fp32"),
    ),
    says="compute units add parts to copies of the result of their own: split_k = {k_batch}, expected 1",
    source="core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_atomic_add_impl (0 for the scope; read)",
    issue="ROCm/rocm-libraries#10312",
    accepts=[_SCOPED], rejects=[{**_SCOPED, "k_batch": 2}],
)  # fmt: skip
def parts_reach_other_units(c: ConvProblem) -> BoolExpr:
    """On gfx1250 backward convolutions split no sum of fp16 or fp32.

    Why: as of GEMMs (GPROB046), where upstream saw it.

    Fix: set split_k to 1.
    """
    return c.k_batch == 1


@rule(
    "PROB038", "parts-of-weights-added-by-every-group", kind="wrong-result",
    applies=lambda c: all_of(
        c.backward, c.num_wave_groups > 1, c.epilogue == "cshuffle", c.pipeline != "compv5",
    ),
    says="each of {num_wave_groups} wave groups adds all of a tile to the result: split_k = {k_batch}, expected 1",
    source="ops/epilogue/cshuffle_epilogue.hpp: operator() (a pattern with kNumWaveGroups; run)",
    accepts=[_PAIR], rejects=[{**_PAIR, "k_batch": 2}],
)  # fmt: skip
def one_group_adds_parts(c: ConvProblem) -> BoolExpr:
    """Kernels with several wave groups and CShuffle do not split sums.

    Why: as of GEMMs (GPROB042): every group stores the whole tile, and parts of a split sum are
    added, so that results are as many times as large.

    Fix: set split_k to 1.
    """
    return c.k_batch == 1


@rule(
    "PROB046", "async-loads-under-way-in-epilogue", kind="wrong-result", since="2026.06",
    applies=lambda c: all_of(
        c.pipeline == "comp_async", c.epilogue == "cshuffle", c.waves > 1, c.streamk == "off",
        c.has("async_pipelines"),
    ),
    says=("{pipeline} of {wave_m}x{wave_n}x{wave_k} waves in {variant} leaves loads to LDS under way "
          "where the epilogue writes: a sum has an even number of block tiles, four or more, of "
          "tile_k = {tile_k}, split_k = {k_batch}"),
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp: GlobalPrefetchAsync to window 0, TailNumber::Two behind a loop (CK 2026.09, read in ROCm/rocm-libraries @ 01c432e)",
            f"{KERNELS}_backward_weight_kernel.hpp: RunGemm (pipeline and epilogue with one smem_ptr)"],
    accepts=[_ASYNC, {**_ASYNC, "C": 128, "filter_h": 1, "filter_w": 1, "left_pad_h": 0,
                      "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0}],
    rejects=[{**_ASYNC, "C": 256, "filter_h": 1, "filter_w": 1, "left_pad_h": 0, "left_pad_w": 0,
              "right_pad_h": 0, "right_pad_w": 0}],
)  # fmt: skip
def loads_to_lds_end_before_epilogue(c: ConvProblem) -> BoolExpr:
    """comp_async with cshuffle and several waves sums an odd number of block tiles, or two.

    Why: as of GEMMs (GPROB030): its loop loads one tile more, beyond the sum, straight to the LDS
    that cshuffle writes then. Only the tail of three waits for these loads; a wave that is ahead
    is overwritten by those of another.

    Fix: use another tile_k or split_k, the epilogue default, basic_async_v1 or compv4.
    """
    parts = c.k_batch * c.tile_k
    data = [_loads_end(ceil_div(c.group_k * taps, parts)) for taps in c.data_gemm_taps]
    return all_of(
        implies(c.forward, _loads_end(ceil_div(c.group_c * c.filter_taps, parts))),
        implies(c.bwd_weight, _loads_end(ceil_div(c.N * c.output_points, parts))),
        implies(c.variant == "bwd_data", all_of(*data)),
    )


def _loads_end(tiles: IntExpr) -> BoolExpr:
    return (tiles % 2 == 1) | (tiles <= 2)
