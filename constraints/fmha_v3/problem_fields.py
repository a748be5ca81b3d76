"""Fields of a kernel with two groups of waves and of a problem together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem_fields import ProblemSizes, fitted
from ckrules.constraints.fmha_v3 import vocabulary as kernels
from ckrules.constraints.fmha_v3.vocabulary import TwoGroupQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, ceil_div, ite, maximum, minimum

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class TwoGroupFit(ProblemSizes, TwoGroupQuantities):
    """A kernel with two groups of waves and a problem."""

    @property
    def masks_tail(self) -> BoolExpr:
        """Whether scores of rows behind K's sequence are set to minus infinity."""
        return self.pad_sk | (self.mask != "no")

    @property
    def seen_left(self) -> IntExpr:
        """Columns before the diagonal that a row sees (make_generic_attention_mask_from_lr_window)."""
        bounded = self.asks("mask", "window") & (self.p_left >= 0)
        return ite(bounded, self.p_left, self.p_seqlen_k - 1)

    @property
    def seen_right(self) -> IntExpr:
        """Columns behind the diagonal that a row sees (make_generic_attention_mask_from_lr_window)."""
        bounded = self.asks("mask", "window") & (self.p_right >= 0)
        rest = ite(self.asks("mask", "causal"), 0, self.p_seqlen_q - 1)
        return ite(bounded, self.p_right, rest)

    @property
    def of_one_length(self) -> BoolExpr:
        """Whether all sequences are as long as the longest: of a batch, or of a group by its totals."""
        totals = all_of(
            self.p_total_q == self.p_batch * self.p_seqlen_q,
            self.p_total_k == self.p_batch * self.p_seqlen_k,
        )
        return any_of(~self.grouped, self.p_batch == 1, totals)

    @property
    def shortest_keys(self) -> IntExpr:
        """Keys that each sequence of more than one tile has at least; 0 or less where not known.

        If all others are as long as the longest, the rest of the total is left to one of them.
        """
        others = self.p_total_k - self.p_seqlen_k
        one_tile = (self.p_total_k >= 0) & (others <= self.tile_n0)
        return ite(one_tile, self.p_seqlen_k, self.p_total_k - (self.p_batch - 1) * self.p_seqlen_k)

    @property
    def masked_two_tiles(self) -> BoolExpr:
        """Whether a block of queries of the longest sequence sees two tiles of K, with a mask.

        Block b sees the tiles from max(b * rows + begin, 0) to min(b * rows + end, seqlen_k)
        (GetTileRangeAlongX). Where tile_n0 divides tile_m0, which it does in every legal kernel,
        these are the least of four numbers: one of all blocks, those of K, what the end leaves,
        which grows with b, and what the begin leaves, which shrinks. Of the blocks that see two or
        more the first or the last sees the fewest.
        """
        rows, columns = self.tile_m0, self.tile_n0
        diagonal = self.p_seqlen_k - self.p_seqlen_q
        begin, end = diagonal - self.seen_left, diagonal + self.seen_right + rows
        tiles = ceil_div(self.p_seqlen_k, columns)
        first = maximum((columns - end) // rows + 1, 0)
        last = minimum((self.p_seqlen_q - 1) // rows, ((tiles - 1) * columns - begin - 1) // rows)
        fewest = minimum(
            minimum(ceil_div(end, columns) - begin // columns, tiles),
            minimum(
                ceil_div(first * rows + end, columns), tiles - (last * rows + begin) // columns
            ),
        )
        return all_of(first <= last, fewest == 2)


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> TwoGroupFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(TwoGroupFit, kernels.vocabulary(ck, gpus))
