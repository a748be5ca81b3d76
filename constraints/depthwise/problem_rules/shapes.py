"""PROB: the problems that a depthwise forward kernel's argument check accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.depthwise.problem_fields import DepthwiseProblem
from ckrules.engine.expr import (
    BoolExpr,
    IntExpr,
    all_of,
    ceil_div,
    implies,
    ite,
    maximum,
    minimum,
    round_up,
)
from ckrules.engine.rules import rule

_ARGS = "ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: IsSupportedArgument, depthwise branch"
_PIPELINE = (
    "ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp: "
    "DepthwiseConvFwdPipeline"
)
_RUN = (
    "ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp: written "
    "again for the headers of 2025.11 and run for gfx942 (CK 2026.06, read in "
    "ROCm/rocm-libraries @ 0d16821)"
)
_SINGLE: Mapping[str, Any] = {"sub_h": 1, "sub_w": 4, "nbatch": 1}
_EVEN: Mapping[str, Any] = {**_SINGLE, "image_h": 14, "image_w": 14}
_FOUR: Mapping[str, Any] = {
    "tile_h": 32, "tile_w": 32, "sub_h": 8, "sub_w": 8, "nbatch": 4,
}  # fmt: skip


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


def _reached(outputs: IntExpr, stride: IntExpr, taps: IntExpr) -> IntExpr:
    """Positions of the padded input from which so many outputs are computed."""
    return (outputs - 1) * stride + taps


def _last_rows(c: DepthwiseProblem) -> IntExpr:
    """Rows of the image from which on the last tile of its height is loaded."""
    start = (c.output_h - 1) // c.tile_h * c.tile_h * c.stride_h - c.pad_h
    node: IntExpr = c.image_h - maximum(start, 0)
    return node


@rule(
    "PROB040", "window-beyond-loaded-tile", kind="wrong-result", since="2026.06",
    says=[("outputs of a tile need more than the {lds_tile_h} rows that are loaded for it: "
           "{lds_tile_h=}, image_h = {image_h}, output_h = {output_h}"),
          ("outputs of a tile need more than the {lds_tile_w} columns that are loaded for it: "
           "{lds_tile_w=}, image_w = {image_w}, output_w = {output_w}")],
    source=[f"{_PIPELINE}: LdsTileH, LdsTileW, global_h_end, global_w_end", _RUN],
    accepts=[{}, {"filter": 5, "filter_h": 5, "filter_w": 5, "image_h": 16, "image_w": 16}],
    rejects=[{"filter": 5, "filter_h": 5, "filter_w": 5},
             {"filter": 5, "filter_h": 5, "filter_w": 5, "image_h": 18, "image_w": 18}],
)  # fmt: skip
def tile_holds_window(c: DepthwiseProblem) -> BoolExpr:
    """The input that is loaded for a tile has all rows and columns that its outputs need.

    Why: a tile is loaded with the padding on both sides, stride * tile + 2 * pad. Where the filter
    is larger than the stride and twice the padding, the last outputs of a whole tile need more.

    Fix: use a kernel with a larger tile, or a GEMM-based one.
    """
    rows, columns = minimum(c.tile_h, c.output_h), minimum(c.tile_w, c.output_w)
    return all_of(
        (c.image_h <= c.tile_h * c.stride_h + c.pad_h)
        | (_reached(rows, c.stride_h, c.filter) <= c.lds_tile_h),
        (c.image_w <= c.tile_w * c.stride_w + c.pad_w)
        | (_reached(columns, c.stride_w, c.filter) <= c.lds_tile_w),
    )


@rule(
    "PROB041", "zeros-beyond-padding", kind="wrong-result", since="2026.06",
    applies=lambda c: c.tiles_per_block == 1,
    says=[("outputs need more zeros right of the image than pad_w = {pad_w} columns: output_w = "
           "{output_w}, image_w = {image_w}"),
          ("the last tile begins right of the image: output_w = {output_w}, tile_w = {tile_w}, "
           "image_w = {image_w}"),
          ("outputs need more zeros below the image than pad_h = {pad_h} rows, and image_w = "
           "{image_w} is not a multiple of in_vec = {in_vec}: output_h = {output_h}, image_h = "
           "{image_h}")],
    source=[f"{_PIPELINE}: ClearLdsBoundaryPadding, LoadDataFromGlobal (src_virtual_size)", _RUN],
    accepts=[_EVEN, {**_EVEN, "right_pad_h": 0, "right_pad_w": 0},
             {**_SINGLE, "image_h": 8, "image_w": 8, "right_pad_h": 3}],
    rejects=[{**_EVEN, "right_pad_w": 3},
             {**_SINGLE, "image_h": 13, "image_w": 13, "right_pad_h": 3},
             {**_SINGLE, "filter": 1, "filter_h": 1, "filter_w": 1, "image_w": 15}],
)  # fmt: skip
def zeros_are_within_padding(c: DepthwiseProblem) -> BoolExpr:
    """Outputs need no more zeros behind the image than the kernel's padding.

    Why: a kernel that computes one tile at once writes pad_w columns and pad_h rows of zeros behind
    the image. What lies behind them are elements of other rows, or what LDS held before. Rows are
    zeros all the same where reads behind the image end at its size, which is counted in whole
    vectors. The argument check lets the right padding be larger.

    Fix: pad alike on both sides, or use a GEMM-based kernel.
    """
    down, across = (
        _reached(c.output_h, c.stride_h, c.filter),
        _reached(c.output_w, c.stride_w, c.filter),
    )
    counted = round_up(c.image_w, c.in_vec) - c.image_w
    rows = minimum(_last_rows(c), c.lds_tile_h)
    return all_of(
        across <= c.image_w + 2 * c.pad_w,
        (c.output_w - 1) // c.tile_w * c.tile_w * c.stride_w - c.pad_w < c.image_w,
        (down <= c.image_h + 2 * c.pad_h) | (c.pad_h * c.image_w >= rows * counted),
    )


@rule(
    "PROB042", "row-loaded-behind-image", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.tiles_per_block > 1) & (ceil_div(c.lds_tile_w, c.in_vec) <= c.threads),
    says=("threads that a row leaves over load the row behind the image: "
          "{ceil_div(lds_tile_w, in_vec)} threads a row, image_h = {image_h}"),
    source=[f"{_PIPELINE}: LoadGlobalToLdsWithPadding (num_groups, y_offset)", _RUN],
    accepts=[{"image_h": 14, "image_w": 14}, {**_FOUR, "image_h": 23, "image_w": 24},
             {**_FOUR, "image_h": 24, "image_w": 24, "right_pad_h": 0}],
    rejects=[{**_FOUR, "image_h": 24, "image_w": 24}],
)  # fmt: skip
def rows_end_with_image(c: DepthwiseProblem) -> BoolExpr:
    """The rows of an image are not a multiple of those that are loaded at once with threads left.

    Why: a kernel that computes several tiles at once loads as many rows as threads allow. Where
    threads are left over, they load the next row, too, which after the last is another image's and
    stands where the padding should be.

    Fix: use a kernel whose threads a row divide the block, or a GEMM-based one.
    """
    row = ceil_div(c.lds_tile_w, c.in_vec)
    below = _reached(c.output_h, c.stride_h, c.filter) - c.pad_h > c.image_h
    whole = (c.threads % row != 0) & (c.image_h % (c.threads // row) == 0)
    return implies(whole, ~below)


@rule(
    "PROB043", "image-smaller-than-vector", kind="wrong-result", since="2026.06",
    applies=lambda c: c.tiles_per_block == 1,
    says=("the last vector of an image of {image_w} columns begins before it: in_vec = {in_vec}, "
          "image_h = {image_h}, tile_h = {tile_h}"),
    source=[f"{_PIPELINE}: LoadDataFromGlobal (shift_amount)", _RUN],
    accepts=[_EVEN, {**_SINGLE, "image_h": 2, "image_w": 4}, {**_SINGLE, "image_h": 1, "image_w": 8}],
    rejects=[{**_SINGLE, "image_h": 2, "image_w": 2}, {**_SINGLE, "image_h": 1, "image_w": 5}],
)  # fmt: skip
def last_vector_is_in_image(c: DepthwiseProblem) -> BoolExpr:
    """The rows that are loaded for a tile have at least in_vec elements.

    Why: the last vector is loaded from so far to the left that it ends with the image. Where it
    begins before the first row of the tile, nothing is loaded.

    Fix: use a kernel with a narrower in_vec.
    """
    found: BoolExpr = (c.image_w >= c.in_vec) | (_last_rows(c) * c.image_w >= c.in_vec)
    return found


@rule(
    "PROB044", "column-never-written", kind="wrong-result", severity="warning", since="2026.06",
    applies=lambda c: c.tiles_per_block == 1,
    says=("a column of LDS that nobody wrote is multiplied by zero, which gives NaN if it holds "
          "one: output_w = {output_w}, image_w = {image_w}, in_vec = {in_vec}"),
    source=[f"{_PIPELINE}: RunConvolution (pairs of columns), ClearLdsBoundaryPadding", _RUN],
    accepts=[_EVEN, {**_SINGLE, "image_h": 17, "image_w": 5}, _SINGLE],
    rejects=[{**_SINGLE, "image_h": 17, "image_w": 7}],
)  # fmt: skip
def pairs_are_written(c: DepthwiseProblem) -> BoolExpr:
    """Every column that is read of LDS was written.

    Why: input is read in pairs, and filters are odd, so that the last column of a pair is multiplied
    by zero. Behind the image and the padding it is what LDS held before: a NaN or an infinity
    there, which other kernels may have left, makes the output a NaN.

    Fix: use a kernel with a wider in_vec, or one with several tiles a block.
    """
    outputs = minimum(c.tile_w, c.output_w)
    last = ite(c.stride_w == 1, (outputs - 1) // 2 * 2, outputs - 1)
    read = last * c.stride_w + c.filter
    loaded = minimum(c.image_w, c.tile_w * c.stride_w + c.pad_w)
    cleared = loaded + 2 * c.pad_w
    return (read < cleared) | (read < c.pad_w + round_up(loaded, c.in_vec))
