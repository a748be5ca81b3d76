"""The fields of a depthwise kernel and of a convolution together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.conv import problem_fields
from ckrules.constraints.conv.problem_fields import Sizes
from ckrules.constraints.depthwise import vocabulary as depthwise
from ckrules.constraints.depthwise.vocabulary import DepthwiseQuantities

if TYPE_CHECKING:
    from ckrules.arch import Gpu


class DepthwiseProblem(DepthwiseQuantities, Sizes):
    """A depthwise configuration and a problem."""


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> DepthwiseProblem:
    """Fields of kernel and problem, with what follows from them."""
    facts = {**depthwise.vocabulary(ck, gpus).facts, "residues": problem_fields.RESIDUES}
    fields = [*depthwise.fields([g.name for g in gpus]), *problem_fields.fields()]
    words = DepthwiseProblem(fields, facts, ck)
    words.baseline = {**depthwise.BASELINE, **problem_fields.BASELINE, "G": 64}
    return words
