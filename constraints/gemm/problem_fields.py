"""The sizes of a matrix product as fields, so that rules read them beside those of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.constraints.gemm import vocabulary as gemm
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.tile_gemm.tails import even_part
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    Expr,
    IntExpr,
    Value,
    ceil_div,
    ite,
    maximum,
    minimum,
)
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import quantity

if TYPE_CHECKING:
    from ckrules.arch import Gpu

_COMMON = (1, 16, 64, 128, 256, 512, 1024, 4096)

#: Variants whose host libraries take strides; tensors of the others lie one behind the other.
STRIDED = ("standard", "multi_d", "preshuffle")

#: A product that the baseline of the kernels accepts.
BASELINE: Mapping[str, Value] = {
    "M": 512, "N": 512, "K": 512, "k_batch": 1, "batch": 1, "groups": 1,
    "stride_a": 0, "stride_b": 0, "stride_c": 0,
}  # fmt: skip


def fields() -> list[Expr]:
    """The sizes of a product."""
    wide: Any = {"lo": 1, "hi": 2**31 - 1}
    return [
        Int("M", _COMMON, **wide, doc="rows of C; of groups what divides the rows of each"),
        Int("N", _COMMON, **wide, doc="columns of C; of groups what divides those of each"),
        Int("K", _COMMON, **wide, doc="products of a sum"),
        Int("k_batch", (1, 2, 4, 8), **wide, doc="parts that the sum is split into"),
        Int("batch", (1, 2, 16), **wide, doc="products of these sizes, one behind the other"),
        Int("groups", (1, 2, 8), **wide, doc="products of different sizes, computed together"),
        *(
            Int(f"stride_{x}", (0,), lo=0, hi=2**31 - 1,
                doc=f"elements from a row (column) of {x.upper()} to the next; 0: packed")
            for x in "abc"
        ),
    ]  # fmt: skip


def values(problem: MatrixProduct) -> dict[str, Value]:
    """The values of `fields` for a product."""
    strides = dict(zip(("stride_a", "stride_b", "stride_c"), problem.strides, strict=True))
    return {**problem.sizes(), "groups": len(problem.groups), **strides}


class ProductSizes:
    """The fields of a product."""

    M: IntExpr
    N: IntExpr
    K: IntExpr
    k_batch: IntExpr
    batch: IntExpr
    groups: IntExpr
    stride_a: IntExpr
    stride_b: IntExpr
    stride_c: IntExpr


class GemmProblem(ProductSizes, GemmQuantities):
    """A GEMM configuration and a product."""

    @cached_property
    def strided(self) -> BoolExpr:
        """True where host libraries take tensors whose rows, or columns, lie apart."""
        return self.variant.isin(*STRIDED)

    @quantity
    def checked_vector_a(self) -> IntExpr:
        """Elements of A that must divide its contiguous dimension."""
        return self._checked(self.vector_a, 1)

    @quantity
    def checked_vector_b(self) -> IntExpr:
        """Elements of B that must divide its contiguous dimension."""
        return self._checked(self.vector_b, 1)

    def _checked(self, width: IntExpr, of_problem: IntExpr | int) -> IntExpr:
        # basic_v1 of 2025.11 tells what its problem says: VectorSizeA and VectorSizeB
        own: IntExpr = ite(self.pipeline == "basic_v1", of_problem, width)
        return width if self.since("2026.06") else own

    @quantity
    def checked_vector_d(self) -> IntExpr:
        """Elements of a D that must divide its contiguous dimension."""
        side = ite(self.d_row, self.warp_tile_n * self.wave_n, self.warp_tile_m * self.wave_m)
        wide = minimum(side, 16 // self.output_bytes)
        return ite(self.epilogue == "cshuffle", wide, self.store_width)

    @quantity
    def length_a(self) -> IntExpr:
        """Elements of A that lie side by side: K, or M where columns are contiguous."""
        return ite(self.a_transposed, self.M, self.K)

    @quantity
    def length_b(self) -> IntExpr:
        """Elements of B that lie side by side: K, or N where rows are contiguous."""
        return ite(self.b_transposed, self.N, self.K)

    @quantity
    def length_narrow(self) -> IntExpr:
        """Elements of the int4 operand that lie side by side."""
        return ite(self.narrow_a, self.length_a, self.length_b)

    @quantity
    def length_c(self) -> IntExpr:
        """Elements of C that lie side by side: N, or M where columns are contiguous."""
        return ite(self.c_row, self.N, self.M)

    def _reach(self, rows: IntExpr, stride: IntExpr, length: IntExpr) -> IntExpr:
        return (rows - 1) * ite(stride == 0, length, stride) + length

    @quantity
    def reach_a(self) -> IntExpr:
        """Elements from the first of A to its last."""
        rows: IntExpr = ite(self.a_transposed, self.K, self.M)
        return self._reach(rows, self.stride_a, self.length_a)

    @quantity
    def reach_b(self) -> IntExpr:
        """Elements from the first of B to its last."""
        rows: IntExpr = ite(self.b_transposed, self.K, self.N)
        return self._reach(rows, self.stride_b, self.length_b)

    @quantity
    def reach_c(self) -> IntExpr:
        """Elements from the first of C to its last."""
        return self._reach(ite(self.c_row, self.M, self.N), self.stride_c, self.length_c)

    @property
    def finds_rows_by_64_bits(self) -> BoolExpr:
        """Whether a block shifts the tensors to its rows, so that they may be large."""
        return FALSE

    @quantity
    def part_length(self) -> IntExpr:
        """Products of the first part of a split sum, and of all alike: whole warp tiles.

        Since 2026.06 the warp tiles are dealt out, so that later parts may have one less
        (``short_part``), and what does not fill one is the last part's.
        """
        if not self.deals_warp_tiles:
            return even_part(self)
        dealt = maximum(ceil_div(self.K // self.warp_tile_k, self.k_batch), 1) * self.warp_tile_k
        return ite(self.k_batch == 1, even_part(self), dealt)

    @quantity
    def short_part(self) -> IntExpr:
        """Products of the shortest part but the last."""
        if not self.deals_warp_tiles:
            return self.part_length
        later = (self._longer != 0) & (self._longer < self.k_batch - 1)
        return ite(later, self.part_length - self.warp_tile_k, self.part_length)

    @quantity
    def last_part(self) -> IntExpr:
        """Products of the last part of a split sum; none or less where the others reach K."""
        even = self.K - self.part_length * (self.k_batch - 1)
        if not self.deals_warp_tiles:
            return even
        shorter: IntExpr = ite(self._longer == 0, 0, self.k_batch - 1 - self._longer)
        return even + self.warp_tile_k * shorter

    @property
    def deals_warp_tiles(self) -> bool:
        """Whether parts of a sum differ by one warp tile at most, as of the plain kernels."""
        return self.since("2026.06")

    @property
    def splits_shuffled_b(self) -> BoolExpr:
        """Whether a part of a sum finds its pre-shuffled weights."""
        return FALSE

    @property
    def _longer(self) -> IntExpr:
        # where warp tiles are dealt out, the parts that have one more than others; 0: all are alike
        return self.K // self.warp_tile_k % self.k_batch

    @property
    def parts(self) -> tuple[IntExpr, ...]:
        """Products of the parts of a split sum that differ, the last one among them."""
        shorter = (self.short_part,) if self.deals_warp_tiles else ()
        return self.part_length, *shorter, self.last_part


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> GemmProblem:
    """Fields of kernel and product, with what follows from them."""
    words = GemmProblem([*gemm.fields([g.name for g in gpus]), *fields()], gemm.facts(gpus, ck), ck)
    words.baseline = {**gemm.BASELINE, **BASELINE}
    return words
