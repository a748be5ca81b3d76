"""Fields of a kernel of attention backward and of a problem together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem_fields import ProblemSizes, fitted
from ckrules.constraints.fmha_bwd import vocabulary as kernels
from ckrules.constraints.fmha_bwd.vocabulary import BackwardQuantities

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class BackwardFit(ProblemSizes, BackwardQuantities):
    """A kernel of attention backward and a problem."""


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> BackwardFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(BackwardFit, kernels.vocabulary(ck, gpus))
