"""The sizes of a product beside the fields of a GEMM with scales, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.gemm import problem_fields as gemm
from ckrules.constraints.scaled import vocabulary as scaled
from ckrules.constraints.scaled.vocabulary import ScaledQuantities
from ckrules.engine.expr import IntExpr, Value, ceil_div, ite
from ckrules.engine.rules.book import quantity

if TYPE_CHECKING:
    from ckrules.arch import Gpu

#: A product that the baseline of the kernels accepts.
BASELINE: Mapping[str, Value] = gemm.BASELINE


class ScaledProblem(ScaledQuantities):
    """A GEMM with scales and a product; sizes are those of other GEMMs."""

    M: IntExpr
    N: IntExpr
    K: IntExpr
    k_batch: IntExpr
    batch: IntExpr
    groups: IntExpr
    stride_a: IntExpr
    stride_b: IntExpr
    stride_c: IntExpr

    @quantity
    def checked_vector_a(self) -> IntExpr:
        """Elements of A that must divide K."""
        # FlatmmPipelineProblem::VectorSizeA
        return ite(self.flat, ite(self.pad_k, 1, self.vector_a), self.vector_a)

    @quantity
    def checked_vector_b(self) -> IntExpr:
        """Elements of B that must divide K; flatmm asks how N is padded."""
        # FlatmmPipelineProblem::VectorSizeB, for columns of B
        wide: IntExpr = ite(self.pad_n, 1, 16 // self.element_bytes)
        return ite(self.flat, wide, self.vector_b)

    @quantity
    def store_width(self) -> IntExpr:
        """Elements of C that the argument check counts as stored at once."""
        plain: IntExpr = ite(self.transpose_c, self.lane_rows, 1)
        return ite(self.epilogue == "cshuffle", self.vector_c, plain)

    @quantity
    def part_length(self) -> IntExpr:
        """Products of a part of a split sum, the last part apart: whole warp tiles."""
        return ceil_div(self.K, self.k_batch * self.warp_tile_k) * self.warp_tile_k

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


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> ScaledProblem:
    """Fields of kernel and product, with what follows from them."""
    every = [*scaled.fields([g.name for g in gpus]), *gemm.fields()]
    words = ScaledProblem(every, scaled.facts(gpus, ck), ck)
    words.baseline = {**scaled.BASELINE, **BASELINE}
    return words
