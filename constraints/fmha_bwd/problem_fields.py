"""Fields of a kernel of attention backward and of a problem together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem_fields import ProblemSizes, fitted, whole_tiles
from ckrules.constraints.fmha_bwd import vocabulary as kernels
from ckrules.constraints.fmha_bwd import words as w
from ckrules.constraints.fmha_bwd.vocabulary import BackwardQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, any_of, ite
from ckrules.engine.rules.book import quantity_in

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class BackwardFit(ProblemSizes, BackwardQuantities):
    """A kernel of attention backward and a problem."""

    def tile_rows(self, name: str) -> IntExpr:
        """Rows of a sequence that have offsets: those of whole tiles, since none is padded."""
        if name in "qo":
            return whole_tiles(self.p_seqlen_q, self.tile_m0)
        return whole_tiles(self.p_seqlen_k, self.tile_n0)

    def reach(self, name: str) -> IntExpr:
        """Bytes from the first element of a head of Q, K, V or dO to its last that has an offset."""
        return self.spanned(name, self.tile_rows(name)) * self.element_bytes

    def gradient_reach(self, name: str) -> IntExpr:
        """The same of dK or dV, which have all heads of Q, packed in the order of K and V."""
        columns = self.columns(name)
        row = ite(self.asks(f"order_{name}", "bhsd"), columns, self.p_heads * columns)
        return ((self.tile_rows(name) - 1) * row + columns) * self.element_bytes

    def gradient_step(self, name: str) -> IntExpr:
        """Elements of dK or dV from a head to the next."""
        columns = self.columns(name)
        rows = self.lying_rows(name) * columns
        return ite(self.asks(f"order_{name}", "bhsd"), rows, columns)

    def gradient_batch_step(self, name: str) -> IntExpr:
        """The same from a sequence of a batch to the next."""
        return self.p_heads * self.p_seqlen_k * self.columns(name)

    @property
    def scores_apart(self) -> BoolExpr:
        """Whether a tensor has a number for each score: biases, their gradients or random bytes."""
        return any_of(self.bias == "bias", self.dbias, self.stores_random)

    @property
    def scores_of_a_head(self) -> IntExpr:
        """Elements of such a tensor from a head to the next; of a group a head has all sequences."""
        return self.lying_rows("q") * self.p_seqlen_k

    @property
    def scores_reach(self) -> IntExpr:
        """Bytes from the first of them of a head of a sequence to the last that has an offset."""
        size = ite(any_of(self.bias == "bias", self.dbias), self.element_bytes, 1)
        return self.tile_rows("q") * self.p_seqlen_k * size

    @property
    def part_of_dq(self) -> IntExpr:
        """Elements from a block's part of dQ to the next block's: all sequences and heads."""
        sequences = ite(self.grouped, 1, self.p_batch)
        return sequences * self.p_heads * self.lying_rows("q") * self.p_hdim

    @property
    def stores_random(self) -> BoolExpr:
        """Whether the random bytes by which probabilities are dropped are a result."""
        return self.dropout.isin(*w.STORED)

    @property
    def summed_reach(self) -> IntExpr:
        """Bytes of what a head of dQ is summed in, in fp32; of one tile of Q it is not."""
        sums = self.tile_rows("q") * self.p_hdim * 4
        return ite(self.max_seqlen_q == 0, sums, 0)

    @quantity_in("columns")
    def seen_keys(self) -> IntExpr:
        """Columns of K from the first tile on that a window shows of one tile of Q, of all sequences."""
        return self.p_seqlen_k - ite(self.several, 0, self.first_tile(0, self.tile_n0))


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> BackwardFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(BackwardFit, kernels.vocabulary(ck, gpus))
