"""PROB: the problems that a depthwise forward kernel's argument check accepts."""

from __future__ import annotations

from ckrules.constraints.depthwise.problem_fields import DepthwiseProblem
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_ARGS = "ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: IsSupportedArgument, depthwise branch"


@rule(
    "PROB031", "not-a-depthwise-problem", kind="launch", since="2026.06",
    says=["a depthwise problem has one input channel a group: {group_c=}",
          "a depthwise problem has one output channel a group: {group_k=}"],
    source=_ARGS,
    accepts=[{}], rejects=[{"G": 32}],
)  # fmt: skip
def one_channel_a_group(c: DepthwiseProblem) -> BoolExpr:
    """A depthwise problem has one input and one output channel in each group.

    Why: the kernel has no sum over channels.

    Fix: use a GEMM-based kernel.
    """
    return (c.group_c == 1) & (c.group_k == 1)


@rule(
    "PROB032", "filter-of-other-size", kind="launch", since="2026.06",
    says="the kernel is made for another window: {fault}",
    source=_ARGS,
    accepts=[{}], rejects=[{"filter_h": 5, "filter_w": 5}, {"conv_stride_h": 2}, {"left_pad_w": 0},
                            {"conv_dilation_h": 2}],
)  # fmt: skip
def window_matches(c: DepthwiseProblem) -> BoolExpr:
    """Filter, strides and left padding are those that the kernel is made for; dilation is 1.

    Why: they are template parameters. The right padding is free.

    Fix: use a kernel made for the problem's window.
    """
    return all_of(
        c.axis("filter")[1] == c.filter, c.axis("filter")[2] == c.filter,
        c.axis("conv_stride")[1] == c.stride_h, c.axis("conv_stride")[2] == c.stride_w,
        c.axis("left_pad")[1] == c.pad_h, c.axis("left_pad")[2] == c.pad_w,
        c.along("conv_dilation", 1),
    )  # fmt: skip


@rule(
    "PROB033", "images-not-a-multiple", kind="launch", since="2026.06",
    says="the images are not a multiple of nbatch: N = {N}, nbatch = {nbatch}",
    source=_ARGS,
    accepts=[{}], rejects=[{"N": 12}],
)  # fmt: skip
def images_divide(c: DepthwiseProblem) -> BoolExpr:
    """The images are a multiple of nbatch.

    Why: a block goes through nbatch images, and their number is not padded.

    Fix: use a kernel with a smaller nbatch.
    """
    return c.N % c.nbatch == 0


@rule(
    "PROB034", "output-beyond-one-tile", kind="launch", since="2026.06",
    applies=lambda c: c.tiles_per_block != 1,
    says=[("the kernel takes outputs of at most one tile: output_h = {output_h}, tile_h = "
          "{tile_h}"),
          ("the kernel takes outputs of at most one tile: output_w = {output_w}, tile_w = "
          "{tile_w}")],
    source=_ARGS,
    accepts=[{"image_h": 14, "image_w": 14}], rejects=[{}],
)  # fmt: skip
def output_is_one_tile(c: DepthwiseProblem) -> BoolExpr:
    """A kernel that computes several tiles at once is given outputs of at most one tile.

    Why: the tiles of a block are of different images.

    Fix: use a kernel with a larger tile.
    """
    return (c.output_h <= c.tile_h) & (c.output_w <= c.tile_w)


@rule(
    "PROB035", "depthwise-problem-of-other-dimension", kind="launch", since="2026.06",
    says=("depthwise kernels are two-dimensional, the problem has {problem_ndim} spatial "
          "dimensions"),
    source=_ARGS,
    accepts=[{}], rejects=[{"problem_ndim": 1, "image_h": 1}],
)  # fmt: skip
def two_dimensional_problem(c: DepthwiseProblem) -> BoolExpr:
    """A depthwise problem is two-dimensional.

    Why: the kernel is.

    Fix: use a GEMM-based kernel.
    """
    return c.problem_ndim == 2
