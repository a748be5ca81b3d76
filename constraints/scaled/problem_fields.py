"""The sizes of a product beside the fields of a GEMM with scales, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.constraints.gemm import problem_fields as gemm
from ckrules.constraints.scaled import vocabulary as scaled
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import MICRO
from ckrules.constraints.tile_gemm.tails import end_of_loop, even_part, scheduled_for_eight
from ckrules.engine.expr import BoolExpr, Expr, IntExpr, Value, ceil_div, ite
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import quantity

if TYPE_CHECKING:
    from ckrules.arch import Gpu

#: A product that the baseline of the kernels accepts.
BASELINE: Mapping[str, Value] = {**gemm.BASELINE, "experts": 0, "topk": 0, "widths": 1}


def fields() -> list[Expr]:
    """The sizes of a product, of tokens too."""
    wide: Any = {"lo": 0, "hi": 2**31 - 1}
    return [
        *gemm.fields(),
        Int("experts", (0, 8, 32, 256), **wide, doc="experts, each with weights; 0: one product"),
        Int("topk", (0, 2, 6, 8), **wide, doc="experts that a token meets; 0: one product"),
        Int(
            "widths", (1,), lo=1, hi=2**31 - 1, doc="different numbers of columns that groups have"
        ),
    ]


class ScaledProblem(gemm.ProductSizes, ScaledQuantities):
    """A GEMM with scales and a product; sizes are those of other GEMMs."""

    experts: IntExpr
    topk: IntExpr
    widths: IntExpr

    @cached_property
    def of_tokens(self) -> BoolExpr:
        """True for kernels for experts."""
        return self.variant == "moe_flatmm"

    @cached_property
    def first(self) -> BoolExpr:
        """True for the first GEMM of experts, whose weights hold gate and up halves."""
        return self.stage == 1

    @quantity
    def result_columns(self) -> IntExpr:
        """Columns of C: half of those of the weights where gate and up become one."""
        return ite(self.first, self.N // 2, self.N)

    @quantity
    def result_stride(self) -> IntExpr:
        """Elements from a row of C to the next."""
        return ite(self.stride_c == 0, self.result_columns, self.stride_c)

    @quantity
    def operand_stride(self) -> IntExpr:
        """Elements from a row of A to the next."""
        return ite(self.stride_a == 0, self.K, self.stride_a)

    @quantity
    def operand_rows(self) -> IntExpr:
        """Rows of A: tokens, and in the second GEMM of experts one for each expert of a token."""
        return ite(self.first, self.M, self.M * self.topk)

    @quantity
    def result_rows(self) -> IntExpr:
        """Rows of C: in the first GEMM of experts one for each expert of a token."""
        return ite(self.first, self.M * self.topk, self.M)

    @quantity
    def checked_vector_a(self) -> IntExpr:
        """Elements of A that must divide K."""
        # FlatmmPipelineProblem::VectorSizeA
        wide: IntExpr = ite(self.flat, ite(self.pad_k, 1, self.vector_a), self.vector_a)
        return ite(self.micro, MICRO, wide)

    @quantity
    def checked_vector_b(self) -> IntExpr:
        """Elements of B that must divide K; flatmm asks how N is padded."""
        # FlatmmPipelineProblem::VectorSizeB, for columns of B
        wide: IntExpr = ite(self.pad_n, 1, 16 // self.element_bytes)
        # of 4 bits: GetVectorSizeA, GetVectorSizeB of F16xMXF4FlatmmPipelineAGmemBGmemCRegV1, MXF4…
        wide = ite(self.narrow_b | self.micro, MICRO, wide)
        return ite(self.flat, wide, self.vector_b)

    @quantity
    def part_length(self) -> IntExpr:
        """Products of a part of a split sum, the last part apart: whole warp tiles."""
        return even_part(self)

    @quantity
    def last_part(self) -> IntExpr:
        """Products of the last part of a split sum; none or less where the others reach K."""
        return self.K - self.part_length * (self.k_batch - 1)

    @quantity
    def part_tiles(self) -> IntExpr:
        """Block tiles of a part of a split sum, the last part apart."""
        return ceil_div(self.part_length, self.tile_k)

    @quantity
    def last_tiles(self) -> IntExpr:
        """Block tiles of the last part of a split sum."""
        return ceil_div(self.last_part, self.tile_k)

    @cached_property
    def _eight(self) -> BoolExpr:
        return scheduled_for_eight(self) & ~self.shuffled_b

    @quantity
    def part_end(self) -> IntExpr:
        """How the loop of a part ends, a number for each hot loop and tail; the last part apart."""
        return end_of_loop(self.part_tiles, self._eight, self.shuffled_b)

    @quantity
    def last_end(self) -> IntExpr:
        """How the loop of the last part ends, in the numbers of part_end."""
        return end_of_loop(self.last_tiles, self._eight, self.shuffled_b)


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> ScaledProblem:
    """Fields of kernel and product, with what follows from them."""
    every = [*scaled.fields([g.name for g in gpus]), *fields()]
    words = ScaledProblem(every, scaled.facts(gpus, ck), ck)
    words.baseline = {**scaled.BASELINE, **BASELINE}
    return words
