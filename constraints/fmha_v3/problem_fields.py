"""Fields of a kernel with two groups of waves and of a problem together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem_fields import ProblemSizes, fitted
from ckrules.constraints.fmha_v3 import vocabulary as kernels
from ckrules.constraints.fmha_v3.vocabulary import TwoGroupQuantities
from ckrules.engine.expr import BoolExpr

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class TwoGroupFit(ProblemSizes, TwoGroupQuantities):
    """A kernel with two groups of waves and a problem."""

    @property
    def masks_tail(self) -> BoolExpr:
        """Whether scores of rows behind K's sequence are set to minus infinity."""
        return self.pad_sk | (self.mask != "no")


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> TwoGroupFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(TwoGroupFit, kernels.vocabulary(ck, gpus))
