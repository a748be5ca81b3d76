"""PROB: the problems that a grouped-convolution kernel's argument check accepts."""

from __future__ import annotations

from ckrules.constraints.problems import ConvProblem
from ckrules.engine.expr import BoolExpr, all_of, ceil_div, implies
from ckrules.engine.rules import rule

_DIR = "ops/grouped_convolution/kernel/grouped_convolution"
_FORWARD = f"{_DIR}_forward_kernel.hpp: IsSupportedArgument"
_DATA = f"{_DIR}_backward_data_kernel.hpp: IsSupportedArgument"
_WEIGHT = f"{_DIR}_backward_weight_kernel.hpp: IsSupportedArgument"
_ALL = [_FORWARD, _DATA, _WEIGHT]


def _merged_forward(c: ConvProblem) -> BoolExpr:
    """Forward kernels with merged groups, which are checked apart since 2026.06."""
    merged: BoolExpr = c.forward & (c.num_groups_to_merge > 1)
    return merged


def _unmerged(c: ConvProblem) -> BoolExpr:
    """Every kernel that `_merged_forward` leaves."""
    return ~_merged_forward(c) if c.since("2026.06") else c.num_groups_to_merge >= 1


@rule(
    "PROB001", "filter-not-1x1-stride-1", kind="launch",
    applies=lambda c: c.specialization == "filter1x1_stride1_pad0",
    source=_ALL,
    accepts=[{"specialization": "filter1x1_stride1_pad0", "filter_h": 1, "filter_w": 1,
              "left_pad_h": 0, "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0}],
    rejects=[{"specialization": "filter1x1_stride1_pad0"},
             {"specialization": "filter1x1_stride1_pad0", "filter_h": 1, "filter_w": 1,
              "left_pad_h": 0, "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0,
              "conv_stride_w": 2}],
)  # fmt: skip
def pointwise_problem(c: ConvProblem) -> BoolExpr:
    """A kernel for 1x1 filters, stride 1 and no padding is given such a problem.

    Why: it treats the input as a plain matrix.

    Fix: use a kernel with specialization default.
    """
    return all_of(
        c.along("filter", 1), c.along("conv_stride", 1),
        c.along("left_pad", 0), c.along("right_pad", 0),
    )  # fmt: skip


@rule(
    "PROB002", "filter-not-1x1", kind="launch",
    applies=lambda c: c.specialization == "filter1x1_pad0",
    source=_ALL,
    accepts=[{"specialization": "filter1x1_pad0", "filter_h": 1, "filter_w": 1, "left_pad_h": 0,
              "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0, "conv_stride_w": 2}],
    rejects=[{"specialization": "filter1x1_pad0"}],
)  # fmt: skip
def unpadded_1x1_problem(c: ConvProblem) -> BoolExpr:
    """A kernel for 1x1 filters without padding is given such a problem, with any stride.

    Why: it leaves the padding and the filter's axes out of its address arithmetic.

    Fix: use a kernel with specialization default.
    """
    return all_of(c.along("filter", 1), c.along("left_pad", 0), c.along("right_pad", 0))


@rule(
    "PROB003", "filter-not-3-wide", kind="launch",
    applies=lambda c: c.specialization == "filter3x3",
    source=_ALL,
    accepts=[{"specialization": "filter3x3", "C": 1}, {"specialization": "filter3x3", "C": 8, "G": 8}],
    rejects=[{"specialization": "filter3x3"}, {"specialization": "filter3x3", "C": 1, "filter_h": 5}],
)  # fmt: skip
def three_wide_problem(c: ConvProblem) -> BoolExpr:
    """A kernel for 3x3 filters is given filters of 3 along every axis, with one input channel a group.

    Why: it is written for depthwise-like problems.

    Fix: use a kernel with specialization default.
    """
    return (c.group_c == 1) & c.along_own("filter", 3)


@rule(
    "PROB004", "channels-not-whole-vectors-of-a", kind="launch",
    applies=_unmerged,
    source=_ALL,
    accepts=[{}, {"variant": "bwd_data", "C": 63}],
    rejects=[{"C": 60}, {"variant": "bwd_weight", "K": 60}, {"C": 64, "G": 16}],
)  # fmt: skip
def a_channels_divide(c: ConvProblem) -> BoolExpr:
    """The channels of A are a multiple of vector_a: input channels in forward, else output channels.

    Why: a thread loads whole vectors along the channels of one group, and these are not padded.

    Fix: use a kernel with a narrower vector_a.
    """
    return c.a_channels % c.vector_a == 0


@rule(
    "PROB005", "channels-not-whole-vectors-of-b", kind="launch",
    source=_ALL,
    accepts=[{}], rejects=[{"C": 60, "vector_a": 1}, {"variant": "bwd_data", "C": 60}],
)  # fmt: skip
def b_channels_divide(c: ConvProblem) -> BoolExpr:
    """The input channels of a group are a multiple of vector_b.

    Why: B is the weight or the input, and both have input channels contiguous.

    Fix: use a kernel with a narrower vector_b.
    """
    return c.group_c % c.vector_b == 0


@rule(
    "PROB006", "channels-not-whole-vectors-of-c", kind="launch",
    applies=_unmerged,
    source=_ALL,
    accepts=[{}, {"variant": "bwd_data", "K": 72}],
    rejects=[{"K": 60}, {"variant": "bwd_weight", "C": 60, "vector_b": 4}],
)  # fmt: skip
def c_channels_divide(c: ConvProblem) -> BoolExpr:
    """The channels of C are a multiple of vector_c: output channels in forward, else input channels.

    Why: a thread stores whole vectors along the channels of one group, and these are not padded.

    Fix: use a kernel with a narrower vector_c.
    """
    return c.c_channels % c.vector_c == 0


@rule(
    "PROB018", "merged-output-not-whole-vectors", kind="launch", since="2026.06",
    applies=_merged_forward,
    source=_FORWARD,
    accepts=[{"num_groups_to_merge": 8}, {"num_groups_to_merge": 8, "G": 64}],
    rejects=[{"num_groups_to_merge": 8, "K": 12, "G": 4}],
)  # fmt: skip
def merged_output_divides(c: ConvProblem) -> BoolExpr:
    """A forward kernel that merges groups stores whole vectors within a group or across groups.

    Why: either vector_c divides the output channels of a group, or the groups are a multiple of
    the merged groups and of vector_c.

    Fix: use a kernel with a narrower vector_c.
    """
    across = (c.G % c.num_groups_to_merge == 0) & (c.G % c.vector_c == 0)
    return (c.c_channels % c.vector_c == 0) | across


@rule(
    "PROB007", "split-k-not-supported", kind="launch",
    applies=lambda c: c.forward if c.since("2026.06") else ~c.bwd_weight,
    source=[f"{_DIR}_forward_kernel.hpp: IsSplitKSupported",
            f"{_DIR}_backward_data_kernel.hpp: IsSplitKSupported"],
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
    applies=lambda c: c.backward & (c.output_bytes == 2) & (c.vector_c % 2 == 1),
    source=[_DATA, _WEIGHT],
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
    "PROB009", "groups-not-merged-evenly", kind="launch",
    applies=lambda c: (c.num_groups_to_merge > 1) & (c.bwd_weight | _merged_forward(c))
    if c.since("2026.06") else (c.num_groups_to_merge > 1) & c.bwd_weight,
    source=[_FORWARD, _WEIGHT],
    accepts=[{"variant": "bwd_weight", "num_groups_to_merge": 8, "G": 8}],
    rejects=[{"variant": "bwd_weight", "num_groups_to_merge": 8}],
)  # fmt: skip
def merged_groups_divide(c: ConvProblem) -> BoolExpr:
    """The groups are a multiple of the merged groups.

    Why: a workgroup computes so many groups at once. Forward of 2025.11 does not test it.

    Fix: use a kernel that merges fewer groups.
    """
    return c.G % c.num_groups_to_merge == 0


@rule(
    "PROB010", "merged-groups-of-several-channels", kind="launch", since="2026.06",
    applies=_merged_forward,
    source=_FORWARD,
    accepts=[{"num_groups_to_merge": 8, "C": 8, "G": 8, "vector_b": 1}],
    rejects=[{"num_groups_to_merge": 8, "G": 8, "vector_b": 1}],
)  # fmt: skip
def merged_forward_has_one_channel(c: ConvProblem) -> BoolExpr:
    """A forward kernel that merges groups is given groups of one input channel.

    Why: the input is then read along the groups.

    Fix: use a kernel that merges no groups.
    """
    return c.group_c == 1


@rule(
    "PROB011", "too-many-splits", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.output_bytes < 4),
    source=_WEIGHT,
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
    source=_WEIGHT,
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
    source=_WEIGHT,
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
    source=_WEIGHT,
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
    source=[f"{_DIR}_backward_weight_kernel.hpp: MakeKernelArgs gives the partitioner GemmM * GemmBatch rows, RunStreamK and RunStreamKLoop take the group from the tile's number modulo GemmBatch",
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
    "PROB015", "too-many-gemms", kind="launch",
    applies=lambda c: c.variant == "bwd_data",
    source=[f"{_DATA} (gemm_count <= MaxGroupedGemmGroupsNum)",
            "ops/grouped_convolution/utils/transform_conv_bwd_data_to_gemm.hpp: ConvStrideW_ / GcdStrideDilationW_"],
    accepts=[{"variant": "bwd_data", "conv_stride_h": 2, "conv_stride_w": 2}],
    rejects=[{"variant": "bwd_data", "conv_stride_h": 12, "conv_stride_w": 12, "filter_h": 12,
              "filter_w": 12}],
)  # fmt: skip
def gemms_fit_arguments(c: ConvProblem) -> BoolExpr:
    """Backward data becomes at most 128 GEMMs.

    Why: one GEMM is run for each residue of the filter's positions by the stride, and the
    kernel's arguments have room for 128.

    Fix: none within one kernel.
    """
    return c.data_gemms <= 128


@rule(
    "PROB016", "problem-of-other-dimension", kind="launch",
    source=f"{_DIR}_*_kernel.hpp: constructors of the arguments take NDimSpatial sizes",
    accepts=[{}], rejects=[{"problem_ndim": 1, "image_h": 1, "filter_h": 1}, {"ndim": 3, "layout": "ndhwgc"}],
)  # fmt: skip
def dimensions_match(c: ConvProblem) -> BoolExpr:
    """The problem has the kernel's number of spatial dimensions.

    Why: the number is a template parameter.

    Fix: use a kernel with the other ndim.
    """
    return c.problem_ndim == c.ndim


@rule(
    "PROB017", "sum-of-one-tile-in-compv6", kind="wrong-result", since="2026.06",
    applies=lambda c: c.forward & (c.pipeline == "compv6"),
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
    source="ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v4.hpp: hot loop (iCounter) and TailNumber::Three (read, not run)",
    accepts=[{"variant": "bwd_weight", "pipeline": "compv4", "k_batch": 2}],
    rejects=[{"variant": "bwd_weight", "pipeline": "compv4", "k_batch": 2,
              "N": 1, "image_h": 16, "image_w": 24}],
)  # fmt: skip
def compv4_split_is_not_three_tiles(c: ConvProblem) -> BoolExpr:
    """compv4 in a split backward weight does not have exactly three block tiles along each part.

    Why: for three it runs its loop once, two tiles, and then a tail of three. The two tiles too
    many are the next part's, which are summed twice; without a split they are padding.

    Fix: use another split_k or tile_k, or compv3.
    """
    return ceil_div(c.N * c.output_points, c.k_batch * c.tile_k) != 3


@rule(
    "PROB020", "tails-of-several-gemms-in-mem", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "bwd_data") & (c.pipeline == "mem"),
    source=["example/ck_tile/20_grouped_convolution/grouped_convolution_backward_data_invoker.hpp: num_loop, tail_num",
            f"{_DIR}_backward_data_kernel.hpp: RunGemm (num_loop)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_mem.hpp: PrefetchStages, hot loop and tails (read, not run)"],
    accepts=[{"variant": "bwd_data", "pipeline": "mem"},
             {"variant": "bwd_data", "pipeline": "mem", "conv_stride_h": 2, "conv_stride_w": 2,
              "K": 32}],
    rejects=[{"variant": "bwd_data", "pipeline": "mem", "conv_stride_h": 2, "conv_stride_w": 2}],
)  # fmt: skip
def one_tail_serves_all_gemms(c: ConvProblem) -> BoolExpr:
    """mem in backward data has a tail that is long enough for each of its GEMMs.

    Why: one GEMM is run for each residue of the filter by the stride, and each has its own sum,
    but the launcher picks one tail, for the sum over the whole filter. A GEMM whose last round
    has more tiles than that tail leaves out the rest.

    Fix: use compv3 or basic_v1.
    """
    whole = ceil_div(c.group_k * c.filter_taps, c.tile_k)
    stages = c.mem_stages
    served = []
    for taps in c.data_gemm_taps:
        own = ceil_div(c.group_k * taps, c.tile_k)
        served.append((own <= stages) | ((own - 1) % stages <= (whole - 1) % stages))
    return implies(whole > stages, all_of(*served))


@rule(
    "PROB022", "split-k-without-atomics", kind="launch", until="2026.06",
    applies=lambda c: c.bwd_weight & ((c.output_bytes == 4) | (c.vector_c % 2 == 0)),
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
    for split-K does not compile, and the kernel is built without it.

    Fix: set split_k to 1, use cshuffle, or narrow vector_c.
    """
    return c.adds_atomically | (c.k_batch == 1)
