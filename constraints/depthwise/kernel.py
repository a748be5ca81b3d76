"""DW: what a depthwise forward kernel asserts, and what it refuses or computes wrongly."""

from __future__ import annotations

from ckrules.constraints.depthwise.vocabulary import DepthwiseQuantities
from ckrules.engine.expr import BoolExpr, ceil_div, is_pow2, minimum
from ckrules.engine.rules import rule

_PIPELINE = (
    "ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp: "
    "DepthwiseConvFwdPipeline"
)
_TRAITS = "ops/grouped_convolution/utils/grouped_convolution_utils.hpp: DepthwiseConvFwdTraits"
_ARGS = "grouped_convolution_forward_kernel.hpp: IsSupportedArgument, depthwise branch"
_RUN = (
    "ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp: written "
    "again for the headers of 2025.11 and run for gfx942 (CK 2026.06, read in "
    "ROCm/rocm-libraries @ 0d16821)"
)
_ONE_COLUMN = {"sub_w": 1, "tile_w": 8, "tile_h": 4, "out_vec": 1}


@rule(
    "DW001", "depthwise-dtype", kind="compile", until="2026.09",
    says="depthwise kernels exist for fp16 and fp32, not for {dtype}",
    source=f"{_TRAITS}, depthwise_inner_product knows half2, float2 and float (bf16, too, since 2026.09)",
    accepts=[{}, {"dtype": "fp32", "in_vec": 4, "out_vec": 4}], rejects=[{"dtype": "bf16"}],
)  # fmt: skip
def depthwise_types(c: DepthwiseQuantities) -> BoolExpr:
    """Depthwise kernels exist for fp16 and fp32.

    Why: the inner product is written for these types only before 2026.09, which has bf16.

    Fix: use fp16 or fp32, or a GEMM-based kernel.
    """
    return c.dtype.isin("fp16", "fp32")


@rule(
    "DW002", "depthwise-dimensions", kind="compile",
    says="depthwise kernels are two-dimensional: ndim = {ndim}, expected 2",
    source="ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: GroupedConvFwdKernelArgs, the constructor of depthwise kernels, static_assert NDimSpatial == 2",
    accepts=[{}], rejects=[{"ndim": 3}],
)  # fmt: skip
def two_dimensional(c: DepthwiseQuantities) -> BoolExpr:
    """Depthwise kernels are two-dimensional.

    Why: the arguments assert it.

    Fix: use a GEMM-based kernel.
    """
    return c.ndim == 2


@rule(
    "DW003", "more-subtiles-than-threads", kind="compile",
    says=("a tile has {subtiles} sub-tiles, more than the {threads} threads of a block: "
          "{subtiles=}"),
    source=f"{_TRAITS} static_assert on the sub-tiles of a tile",
    accepts=[{}], rejects=[{"sub_h": 1, "sub_w": 1}],
)  # fmt: skip
def subtiles_fit_block(c: DepthwiseQuantities) -> BoolExpr:
    """A tile has no more sub-tiles than the block has threads.

    Why: each thread computes one sub-tile.

    Fix: raise sub_h or sub_w.
    """
    return c.subtiles <= c.threads


@rule(
    "DW004", "even-filter", kind="compile",
    says="the filter's side must be odd: filter = {filter}",
    source=f"{_TRAITS} static_assert on FilterH and FilterW",
    accepts=[{"filter": 5, "pad_h": 2, "pad_w": 2}], rejects=[{"filter": 4}],
)  # fmt: skip
def odd_filter(c: DepthwiseQuantities) -> BoolExpr:
    """The filter's side is odd.

    Why: asserted, as are equal sides and no dilation.

    Fix: use an odd filter.
    """
    return c.filter % 2 == 1


@rule(
    "DW005", "subtile-beyond-tile", kind="compile",
    says=["a sub-tile is larger than its tile: sub_h = {sub_h}, tile_h = {tile_h}",
          "a sub-tile is larger than its tile: sub_w = {sub_w}, tile_w = {tile_w}"],
    source=f"{_TRAITS} static_assert SubTileH <= TileH, SubTileW <= TileW",
    accepts=[{}], rejects=[{"sub_h": 32}],
)  # fmt: skip
def subtile_within_tile(c: DepthwiseQuantities) -> BoolExpr:
    """A sub-tile is not larger than the tile.

    Why: asserted.

    Fix: lower sub_h or sub_w.
    """
    return (c.sub_h <= c.tile_h) & (c.sub_w <= c.tile_w)


@rule(
    "DW006", "vector-not-power-of-two", kind="compile",
    says=["in_vec = {in_vec} is not a power of two",
          "out_vec = {out_vec} is not a power of two"],
    source=f"{_TRAITS} static_assert on InVec and OutVec",
    accepts=[{}], rejects=[{"in_vec": 3}],
)  # fmt: skip
def vectors_are_powers(c: DepthwiseQuantities) -> BoolExpr:
    """in_vec and out_vec are powers of two.

    Why: asserted.

    Fix: use 1, 2, 4 or 8.
    """
    return is_pow2(c.in_vec) & is_pow2(c.out_vec)


@rule(
    "DW007", "no-column-padding", kind="compile",
    says="depthwise kernels pad the columns: pad_w = {pad_w}, expected at least 1",
    source=f"{_PIPELINE}: ext_vector_t<In, PadW>",
    accepts=[{}], rejects=[{"pad_w": 0}],
)  # fmt: skip
def columns_are_padded(c: DepthwiseQuantities) -> BoolExpr:
    """pad_w is at least 1.

    Why: the zeros beside a row are written as a vector of pad_w elements, and there is no
    vector of none.

    Fix: use a GEMM-based kernel for unpadded problems.
    """
    return c.pad_w >= 1


@rule(
    "DW008", "subtile-columns-dropped", kind="wrong-result",
    applies=lambda c: is_pow2(c.out_vec),
    says=("the last columns of a sub-tile are never stored: sub_w = {sub_w} is not a "
          "multiple of the {store_step} that a store writes"),
    source=f"{_PIPELINE}: stores SubTileW / min(OutVec, 4) vectors",
    accepts=[{}], rejects=[{"sub_w": 7, "tile_w": 14, "sub_h": 2}],
)  # fmt: skip
def stores_cover_subtile(c: DepthwiseQuantities) -> BoolExpr:
    """A sub-tile's columns are a multiple of the store width.

    Why: the number of stores is a truncating division, so the last columns are never written.

    Fix: make sub_w a multiple of min(out_vec, 4).
    """
    return c.sub_w % c.store_step == 0


@rule(
    "DW009", "filter-below-stride", kind="compile",
    says="the filter is lower than the stride: filter = {filter}, stride_h = {stride_h}",
    source=f"{_PIPELINE}: static_for from 0 to FilterH - StrideH",
    accepts=[{}], rejects=[{"filter": 1, "stride_h": 2, "stride_w": 2}],
)  # fmt: skip
def filter_reaches_stride(c: DepthwiseQuantities) -> BoolExpr:
    """The filter is at least as high as the stride.

    Why: the pipeline keeps the rows that consecutive filter positions share, and their number is
    the length of a compile-time loop, which cannot be negative.

    Fix: use a GEMM-based kernel.
    """
    return c.filter >= c.stride_h


@rule(
    "DW010", "odd-column-stride", kind="wrong-result",
    says=("input is read in pairs: stride_w = {stride_w} and sub_w = {sub_w}, expected an even "
          "stride_w, 1 with a sub_w of at least 2, or another with a sub_w of 1"),
    source=[f"{_PIPELINE}: wo * StrideW / 2 indexes pairs of elements", _RUN],
    accepts=[{}, {"stride_w": 2, "stride_h": 2},
             {**_ONE_COLUMN, "filter": 5, "stride_w": 3, "in_vec": 1, "@ck": "2026.06"}],
    rejects=[{"stride_w": 3, "@ck": "2026.06"}, {**_ONE_COLUMN, "@ck": "2026.09"}],
)  # fmt: skip
def columns_come_in_pairs(c: DepthwiseQuantities) -> BoolExpr:
    """stride_w is even; or it is 1 and a sub-tile has two columns, or more and it has one.

    Why: input is read in pairs. Later columns of a sub-tile read the wrong pair with odd strides
    above 1, which do not compile since 2026.09 (DW016). A single column with stride 1 reads the
    right pairs, but the last of them ends behind the thread's copy of the input.

    Fix: use a GEMM-based kernel or a wider sub-tile.
    """
    if c.since("2026.09"):
        return (c.stride_w != 1) | (c.sub_w >= 2)
    alone = (c.stride_w > 1) & (c.sub_w == 1)
    return (c.stride_w % 2 == 0) | ((c.stride_w == 1) & (c.sub_w >= 2)) | alone


@rule(
    "DW016", "odd-column-stride-asserted", kind="compile", since="2026.09",
    says="input is read in pairs: stride_w = {stride_w}, expected 1 or an even one",
    source=f"{_PIPELINE}::RunConvolution static_assert StrideW == 1 or StrideW % 2 == 0 (CK 2026.09, read)",
    accepts=[{}, {"stride_w": 2, "stride_h": 2}], rejects=[{"stride_w": 3}],
)  # fmt: skip
def column_stride_is_even(c: DepthwiseQuantities) -> BoolExpr:
    """stride_w is 1 or even.

    Why: asserted since 2026.09; before, such kernels computed wrong (DW010).

    Fix: use a GEMM-based kernel.
    """
    return (c.stride_w == 1) | (c.stride_w % 2 == 0)


@rule(
    "DW017", "odd-subtile-in-steps-of-two", kind="compile",
    applies=lambda c: c.stride_w == 1,
    says="a thread computes two columns at once: sub_w = {sub_w}, expected 1 or an even one",
    source=[f"{_PIPELINE}::RunConvolution, WoStep",
            "core/utility/functional.hpp: static_for static_assert on its steps (CK 2025.11: compiled with clang 19; ROCm/rocm-libraries @ 40dbbda, read)"],
    accepts=[{}, _ONE_COLUMN], rejects=[{"sub_w": 7, "tile_w": 14, "sub_h": 2, "out_vec": 1}],
)  # fmt: skip
def columns_come_in_steps(c: DepthwiseQuantities) -> BoolExpr:
    """With stride 1 along the columns a sub-tile has one column or an even number.

    Why: its columns are a compile-time loop in steps of two, whose length must be a multiple.

    Fix: use an even sub_w.
    """
    return (c.sub_w == 1) | (c.sub_w % 2 == 0)


@rule(
    "DW018", "lanes-behind-tiles", kind="wrong-result",
    applies=lambda c: c.tiles_per_block >= 1,
    says=("a block of {threads} threads computes {tiles_per_block} tiles, which do not share "
          "them evenly: {tiles_per_block=}"),
    source=[f"{_TRAITS}: TilePerWave, ThreadPerTile", f"{_PIPELINE}: tile_idx", _RUN],
    accepts=[{}, {"sub_h": 1, "sub_w": 4}],
    rejects=[{"tile_h": 8, "tile_w": 20, "sub_h": 2, "sub_w": 4, "nbatch": 3},
             {"tile_h": 12, "sub_h": 4, "sub_w": 4, "nbatch": 5}],
)  # fmt: skip
def tiles_share_threads(c: DepthwiseQuantities) -> BoolExpr:
    """The tiles that a block computes at once divide its threads.

    Why: a tile has as many threads as the rounded quotient. What is left over is taken for a
    further tile, so it stores to an image of the next block, or behind the result.

    Fix: change sub_h or sub_w, so that a block has a power of two of tiles.
    """
    return c.threads % c.tiles_per_block == 0


@rule(
    "DW019", "padding-of-three-columns", kind="wrong-result",
    applies=lambda c: (c.tiles_per_block == 1) & (c.dtype != "fp32"),
    says="zeros of pad_w = {pad_w} columns are stored as four, over the first column of {dtype}",
    source=[f"{_PIPELINE}: ClearLdsBoundaryPadding, HorizontalPaddingVector",
            "clang 19 and 22: a vector of three elements of 16 bits is stored as one of four", _RUN],
    accepts=[{"sub_h": 2, "sub_w": 2}, {"sub_h": 2, "sub_w": 2, "filter": 5, "pad_h": 2, "pad_w": 2}],
    rejects=[{"sub_h": 2, "sub_w": 2, "filter": 7, "pad_h": 3, "pad_w": 3}],
)  # fmt: skip
def zeros_are_as_wide_as_padding(c: DepthwiseQuantities) -> BoolExpr:
    """A kernel that computes one tile at once does not pad by three columns.

    Why: the zeros beside a row are a vector of pad_w elements, written when the row is there. The
    compiler stores a vector of three as one of four, and the fourth is the row's first element. So
    does clang 19 with fp32, but clang 22 does not. Kernels of several tiles clear LDS beforehand.

    Fix: use a kernel with several tiles a block, or a GEMM-based one.
    """
    return c.pad_w != 3


@rule(
    "DW011", "depthwise-on-wave32", kind="wrong-result",
    says="depthwise kernels need waves of 64 lanes, {arch} has {wave_size}",
    source="ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: BlockSize() halves the launch on wave32, the pipeline does not",
    accepts=[{}], rejects=[{"arch": "gfx1201"}],
)  # fmt: skip
def waves_have_64_lanes(c: DepthwiseQuantities) -> BoolExpr:
    """Depthwise kernels run on wave64.

    Why: on wave32 half as many threads are launched as the pipeline counts on.

    Fix: use a GEMM-based kernel.
    """
    return c.wave_size == 64


@rule(
    "DW012", "batch-not-shared", kind="launch",
    applies=lambda c: c.tiles_per_block >= 1,
    says=("nbatch = {nbatch} is not a multiple of the {tiles_per_block} tiles that a "
          "block computes at once: {tiles_per_block=}"),
    source=f"{_ARGS}: NBatch % TilePerWave",
    accepts=[{}], rejects=[{"nbatch": 1}],
)  # fmt: skip
def batch_fills_block(c: DepthwiseQuantities) -> BoolExpr:
    """nbatch is a multiple of the tiles that a block computes at once.

    Why: otherwise the kernel accepts no problem.

    Fix: raise nbatch or lower sub_h and sub_w.
    """
    return c.nbatch % c.tiles_per_block == 0


@rule(
    "DW013", "subtile-splits-input-vector", kind="launch",
    applies=lambda c: is_pow2(c.in_vec),
    says="a sub-tile's input {sub_w * stride_w=} is not a multiple of {min(in_vec, 4)}",
    source=f"{_ARGS}: SubTileW * StrideW % min(InVec, 4)",
    accepts=[{}], rejects=[{"sub_w": 2, "tile_w": 8}],
)  # fmt: skip
def subtile_holds_input_vectors(c: DepthwiseQuantities) -> BoolExpr:
    """A sub-tile's input columns are a multiple of the load width.

    Why: otherwise the kernel accepts no problem.

    Fix: widen sub_w or narrow in_vec.
    """
    return c.sub_w * c.stride_w % minimum(c.in_vec, 4) == 0


@rule(
    "DW014", "row-beyond-block", kind="launch",
    applies=lambda c: is_pow2(c.in_vec),
    says=("a row of the input tile takes {ceil_div(lds_tile_w, in_vec)} loads, more than "
          "the {threads} threads of a block: {lds_tile_w=}, in_vec = {in_vec}"),
    source=f"{_ARGS}: ceil(LdsTileW / InVec) <= BlockSize",
    accepts=[{}], rejects=[{"tile_w": 64, "in_vec": 1, "sub_w": 16}],
)  # fmt: skip
def row_fits_block(c: DepthwiseQuantities) -> BoolExpr:
    """The block loads a row of the input tile with one vector per thread at most.

    Why: otherwise the kernel accepts no problem.

    Fix: widen in_vec or lower tile_w.
    """
    return ceil_div(c.lds_tile_w, c.in_vec) <= c.threads


@rule(
    "DW015", "depthwise-lds-overflow", kind="hardware",
    applies=lambda c: (c.subtiles <= c.threads) & is_pow2(c.in_vec),
    says=(
        "LDS: {lds_bytes} bytes, more than the 65536 that the argument check allows, for "
        "{tiles_per_block} tiles of {lds_tile_h=} rows and {lds_tile_w=} columns"
    ),
    source=[f"{_ARGS}: LDS bytes <= 65536, the host's value on every GPU", f"{_PIPELINE}: LdsStride"],
    accepts=[{}],
    rejects=[{"tile_h": 32, "tile_w": 64, "stride_h": 4, "stride_w": 4, "sub_h": 16, "sub_w": 16}],
)  # fmt: skip
def depthwise_lds_fits(c: DepthwiseQuantities) -> BoolExpr:
    """The input tiles of a block fit 65536 bytes of LDS.

    Why: the argument check compares with the host's constant, also on GPUs with more.

    Fix: lower the tile.
    """
    return c.lds_bytes <= 65536
