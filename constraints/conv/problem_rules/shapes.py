"""PROB: filters, channels and groups that a kernel's argument check accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.problem_fields import ConvProblem
from ckrules.constraints.conv.problem_rules.citations import ALL, DATA, FORWARD, KERNELS, WEIGHT
from ckrules.constraints.tile_gemm.offsets import VIEW, within_offsets
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_EXPLICIT: Mapping[str, Any] = {
    "explicit_gemm": True, "specialization": "filter1x1_stride1_pad0", "filter_h": 1, "filter_w": 1,
    "left_pad_h": 0, "left_pad_w": 0, "right_pad_h": 0, "right_pad_w": 0,
}  # fmt: skip


def _merged_forward(c: ConvProblem) -> BoolExpr:
    """Forward kernels with merged groups, which are checked apart since 2026.06."""
    return c.forward & (c.num_groups_to_merge > 1)


def _unmerged(c: ConvProblem) -> BoolExpr:
    """Every kernel that `_merged_forward` leaves."""
    return ~_merged_forward(c) if c.since("2026.06") else c.num_groups_to_merge >= 1


@rule(
    "PROB001", "filter-not-1x1-stride-1", kind="launch",
    applies=lambda c: c.specialization == "filter1x1_stride1_pad0",
    says=("the kernel is for 1x1 filters with stride 1 and no padding, {specialization}: "
          "{fault}"),
    source=ALL,
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
    says="the kernel is for 1x1 filters without padding, {specialization}: {fault}",
    source=ALL,
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
    says=("the kernel is for 3x3 filters and one input channel a group, {specialization}: "
          "{fault}"),
    source=ALL,
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
    says=("vector_a = {vector_a} does not divide the channels of A in {variant}: "
          "{a_channels=}"),
    source=ALL,
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
    says=("vector_b = {vector_b} does not divide the input channels of a group: "
          "{group_c=}"),
    source=ALL,
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
    says=("vector_c = {vector_c} does not divide the channels of C in {variant}: "
          "{c_channels=}"),
    source=ALL,
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
    says="{variant} with merged groups stores no whole vectors: {fault}",
    source=FORWARD,
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
    "PROB009", "groups-not-merged-evenly", kind="launch",
    applies=lambda c: (c.num_groups_to_merge > 1) & (c.bwd_weight | _merged_forward(c))
    if c.since("2026.06") else (c.num_groups_to_merge > 1) & c.bwd_weight,
    says=("the groups of {variant} are not merged evenly: G = {G} is not a multiple of "
          "num_groups_to_merge = {num_groups_to_merge}"),
    source=[FORWARD, WEIGHT],
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
    says=("{variant} with num_groups_to_merge = {num_groups_to_merge} takes one input "
          "channel a group: {group_c=}"),
    source=FORWARD,
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
    "PROB039", "images-beyond-offsets", kind="wrong-result",
    says=["{viewed_images} images with C = {C} channels reach over 2**31 elements or 4 GiB, beyond offsets of 32 bits",
          "{viewed_images} images with K = {K} channels reach over 2**31 elements or 4 GiB, beyond offsets of 32 bits",
          "{viewed_filters} filters with {group_c} channels reach over 2**31 elements or 4 GiB, beyond offsets of 32 bits"],
    source=[*VIEW, "ops/grouped_convolution/utils/transform_conv_bwd_weight_to_gemm.hpp: TransformConvBwdWeightToGemm (SplitN is false; read, not run)",
            "ops/grouped_convolution/utils/transform_conv_{fwd,bwd_data}_to_gemm.hpp: GetSplitedNSize (of one group, in float; a single image at least; read, not run; so in ROCm/rocm-libraries @ 03a2920, read)",
            f"{KERNELS}_forward_kernel.hpp: operator(), a_grid_desc_m_k and c_grid_desc_m_n with EnableSplitImage, too (read; so in ROCm/rocm-libraries @ 937543e, read)",
            f"{KERNELS}_backward_weight_kernel.hpp: ConvToGemmTransformer (CK 2026.09, read in ROCm/rocm-libraries @ 0074c06)",
            "ops/elementwise/kernel/elementwise_kernel.hpp: ElementWiseKernel (the workspace of two stages; read)"],
    accepts=[{}, {"N": 4096}, {"variant": "bwd_weight", "N": 2048, "C": 256}, {"split_image": True},
             {"variant": "bwd_weight", "two_stage": True, "G": 64, "C": 65536, "N": 1}],
    rejects=[{"variant": "bwd_weight", "N": 4096, "C": 256}, {"image_h": 65536, "image_w": 65536},
             {"variant": "bwd_weight", "dtype": "fp32", "N": 2048, "C": 256},
             {"split_image": True, "image_h": 65536, "image_w": 65536},
             {"variant": "bwd_weight", "split_image": True, "N": 4096, "C": 256},
             {"N": 16384, "G": 64}, {"variant": "bwd_data", "N": 16384, "G": 64},
             {"C": 32768, "K": 32768},
             {"variant": "bwd_weight", "two_stage": True, "G": 32, "C": 65536, "K": 65536, "N": 1,
              "image_h": 7, "image_w": 7}],
)  # fmt: skip
def images_are_within_offsets(c: ConvProblem) -> BoolExpr:
    """The images and weights that a block views have fewer than 2**31 elements and less than 4 GiB.

    Why: headers count a view's elements and bytes in 32 bits. Backward weight views all images;
    the others split them where those of one group, in fp32, are beyond 2 GiB, but view all groups of
    what is left, and one image at least. Split images have the views of whole ones. The second of
    two stages views the weights of all groups.

    Fix: compute parts of the images on their own.
    """
    size = c.element_bytes
    return all_of(
        within_offsets(c.viewed_images * c.input_points * c.C, size),
        within_offsets(c.viewed_images * c.output_points * c.K, size),
        within_offsets(c.viewed_filters * c.filter_taps * c.group_c, c.output_bytes),
    )


@rule(
    "PROB045", "explicit-gemm-of-first-images", kind="wrong-result", since="2026.06",
    applies=lambda c: c.forward & c.explicit_gemm,
    says="of {N} images, which are split for their size, an explicit GEMM computes the first ones",
    source=[f"{KERNELS}_forward_kernel.hpp: CallExplicitGemm (GemmM of n_per_split images), GridSize (n_splits along z; ROCm/rocm-libraries @ 937543e, read)",
            "ops/gemm/kernel/batched_gemm_kernel.hpp: operator() (i_splitk is blockIdx.z; ROCm/rocm-libraries @ 6d2b7e2, read)"],
    accepts=[{**_EXPLICIT, "N": 32}, {**_EXPLICIT, "N": 1, "image_h": 4096, "image_w": 4096}],
    rejects=[{**_EXPLICIT, "N": 4096}],
)  # fmt: skip
def explicit_gemm_has_all_images(c: ConvProblem) -> BoolExpr:
    """An explicit GEMM of forward is given images that are not split for their size.

    Why: images of a group beyond 2 GiB in fp32 are split among blocks along z, which the kernel of
    batched GEMMs takes for parts of the sum. It multiplies the rows of the first part, and no more.

    Fix: compute parts of the images on their own, or use a kernel without explicit_gemm.
    """
    return ~c.images_are_split


@rule(
    "PROB015", "too-many-gemms", kind="launch",
    applies=lambda c: c.variant == "bwd_data",
    says="{variant} becomes {data_gemms} GEMMs, more than 128: {data_gemms=}",
    source=[f"{DATA} (gemm_count <= MaxGroupedGemmGroupsNum)",
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
    says="the kernel has ndim = {ndim}, the problem {problem_ndim} spatial dimensions",
    source=f"{KERNELS}_*_kernel.hpp: constructors of the arguments take NDimSpatial sizes",
    accepts=[{}], rejects=[{"problem_ndim": 1, "image_h": 1, "filter_h": 1}, {"ndim": 3, "layout": "ndhwgc"}],
)  # fmt: skip
def dimensions_match(c: ConvProblem) -> BoolExpr:
    """The problem has the kernel's number of spatial dimensions.

    Why: the number is a template parameter.

    Fix: use a kernel with the other ndim.
    """
    return c.problem_ndim == c.ndim
