"""Fields and derived quantities of a depthwise forward kernel.

Facts: ops/grouped_convolution, CK 2026.06: DepthwiseConvFwdTraits of
utils/grouped_convolution_utils.hpp, DepthwiseConvFwdPipeline of
pipeline/grouped_convolution_forward_depthwise_pipeline.hpp. Tensors are packed NGCHW, GKCYX and
NGKHW; generated kernels use a block of 64 threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ckrules.arch import DTYPES, Gpu
from ckrules.constraints.depthwise.words import LAYOUTS
from ckrules.engine.expr import (
    EnumExpr,
    Expr,
    IntExpr,
    Value,
    ceil_div,
    const,
    ite,
    lookup,
    minimum,
    round_up,
)
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Enum, Int, Role
from ckrules.engine.rules.book import Vocabulary, quantity, quantity_in

KERNEL_DTYPES = ("fp16", "bf16", "fp32")
#: The first headers with a depthwise pipeline.
SINCE = "2026.06"
DEFAULTS: Mapping[str, Value] = {}

BASELINE: Mapping[str, Value] = {
    "variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2,
    "layout": "ngchw", "tile_h": 16, "tile_w": 16, "filter": 3, "stride_h": 1, "stride_w": 1,
    "pad_h": 1, "pad_w": 1, "nbatch": 8, "sub_h": 4, "sub_w": 8, "in_vec": 8, "out_vec": 8,
}  # fmt: skip


#: What changing a field costs in a repair: the window is the problem's, the tile is tuned.
COSTS: Mapping[str, int] = {
    "filter": 20, "stride_h": 20, "stride_w": 20, "pad_h": 20, "pad_w": 20,
    "tile_h": 16, "tile_w": 16, "sub_h": 5, "sub_w": 5, "nbatch": 4, "in_vec": 3, "out_vec": 3,
}  # fmt: skip


class DepthwiseQuantities(Vocabulary):
    """The fields of a depthwise kernel, its facts and derived quantities."""

    variant: EnumExpr
    arch: EnumExpr
    dtype: EnumExpr
    ndim: IntExpr
    layout: EnumExpr
    tile_h: IntExpr
    tile_w: IntExpr
    filter: IntExpr
    stride_h: IntExpr
    stride_w: IntExpr
    pad_h: IntExpr
    pad_w: IntExpr
    nbatch: IntExpr
    sub_h: IntExpr
    sub_w: IntExpr
    in_vec: IntExpr
    out_vec: IntExpr

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        node: IntExpr = lookup(self.facts["wave_size"], self.arch)
        return node

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block; the generator knows only 64."""
        return const(64)

    @quantity_in("bytes")
    def element_bytes(self) -> IntExpr:
        """Size of an element of the input."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity
    def subtiles(self) -> IntExpr:
        """Threads that share one output tile, a sub-tile each."""
        return ceil_div(self.tile_h, self.sub_h) * ceil_div(self.tile_w, self.sub_w)

    @quantity
    def tiles_per_block(self) -> IntExpr:
        """Output tiles that a block computes at once."""
        return self.threads // self.subtiles

    @quantity
    def lds_tile_w(self) -> IntExpr:
        """Columns of the input tile, padding included."""
        return self.tile_w * self.stride_w + 2 * self.pad_w

    @quantity
    def lds_tile_h(self) -> IntExpr:
        """Rows of the input tile, padding included."""
        return self.tile_h * self.stride_h + 2 * self.pad_h

    @quantity
    def lds_stride(self) -> IntExpr:
        """Elements from one row of the input tile in LDS to the next."""
        padded = self.lds_tile_w + self.pad_w
        rounded = round_up(self.lds_tile_w, self.in_vec)
        return ite(rounded >= padded, rounded, round_up(padded, self.in_vec))

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup."""
        return self.lds_tile_h * self.lds_stride * self.tiles_per_block * self.element_bytes

    @quantity
    def store_step(self) -> IntExpr:
        """Elements that a thread stores at once along a row of its sub-tile."""
        return minimum(self.out_vec, 4)


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    size = partial(Int, lo=1, hi=4096)
    shape = partial(size, role=Role.GEOMETRY)
    pad = partial(Int, lo=0, hi=4096, role=Role.GEOMETRY)
    return [
        Enum("variant", ("forward_depthwise",), doc="direction of the convolution",
             role=Role.PURPOSE),
        Enum("arch", archs, doc="GPU", role=Role.PURPOSE),
        Enum("dtype", KERNEL_DTYPES, doc="type of input, weight and output", role=Role.PURPOSE),
        Int("ndim", (2,), lo=1, hi=3, doc="spatial dimensions", role=Role.PURPOSE),
        Enum("layout", tuple(LAYOUTS.values()), doc="layout of input and output"),
        shape("tile_h", (2, 4, 7, 8, 14, 16, 28, 32), doc="output rows of a tile"),
        shape("tile_w", (4, 7, 8, 14, 16, 28, 32, 64), doc="output columns of a tile"),
        shape("filter", (1, 3, 5, 7, 9), doc="filter rows and columns"),
        shape("stride_h", (1, 2, 3, 4), doc="stride along rows"),
        shape("stride_w", (1, 2, 3, 4), doc="stride along columns"),
        pad("pad_h", (0, 1, 2, 3, 4), doc="padding above and below"),
        pad("pad_w", (0, 1, 2, 3, 4), doc="padding left and right"),
        shape("nbatch", (1, 2, 4, 8, 16, 32), doc="images a block goes through"),
        shape("sub_h", (1, 2, 4, 7, 8, 14, 16), doc="output rows of a thread"),
        shape("sub_w", (1, 2, 4, 7, 8, 14, 16), doc="output columns of a thread"),
        size("in_vec", (1, 2, 4, 8), doc="input elements loaded at once"),
        size("out_vec", (1, 2, 4, 8), doc="output elements stored at once"),
    ]  # fmt: skip


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> DepthwiseQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    facts = {
        "wave_size": Table("wave_size", ("arch",), {g.name: g.wave_size for g in gpus}),
        "element_bytes": Table(
            "element_bytes", ("dtype",), {d: DTYPES[d] // 8 for d in KERNEL_DTYPES}
        ),
    }
    words = DepthwiseQuantities(fields([g.name for g in gpus]), facts, ck)
    words.baseline, words.costs = BASELINE, COSTS
    return words
