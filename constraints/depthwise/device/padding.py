"""Depthwise convolutions with more channels, which are groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckrules.constraints.conv.device.padding import STEPS, ordered, rounded
from ckrules.constraints.conv.problem import Convolution
from ckrules.kernels.parts import Point


class DepthwisePadding:
    """Channels are padded."""

    def larger(self, problem: Convolution, config: Point) -> Iterator[Convolution]:
        """Problems with more groups of the same channels, least work first.

        >>> from ckrules.constraints.conv.problem import parse
        >>> found = DepthwisePadding().larger(parse("N=1,G=3,C=3,K=3,H=9,W=9,Y=3,X=3"), {})
        >>> str(next(found))
        'N=1,G=4,C=4,K=4,H=9,W=9,Y=3,X=3'
        """
        c, k = problem.in_channels // problem.groups, problem.out_channels // problem.groups
        found = {
            replace(problem, groups=g, in_channels=g * c, out_channels=g * k)
            for g in {rounded(problem.groups, step) for step in STEPS}
        }
        yield from ordered(found, problem)
