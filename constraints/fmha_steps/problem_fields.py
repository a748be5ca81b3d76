"""Fields of a kernel before or after attention and of a problem together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem_fields import ProblemSizes, fitted
from ckrules.constraints.fmha_steps import vocabulary as kernels
from ckrules.constraints.fmha_steps.vocabulary import StepQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, ite

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class StepFit(ProblemSizes, StepQuantities):
    """A kernel before or after attention and a problem."""

    @property
    def columns_of_v(self) -> BoolExpr:
        """Whether the columns of V are contiguous."""
        return self.v_layout == "col"

    @property
    def paged(self) -> BoolExpr:
        """Whether K and V lie in pages."""
        return self.paged_kv

    @property
    def held_rows(self) -> IntExpr:
        """Rows of K and V that one tensor has: of a sequence or a page."""
        return ite(self.paged_kv, self.p_page, self.p_seqlen_k)


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> StepFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(StepFit, kernels.vocabulary(ck, gpus))
