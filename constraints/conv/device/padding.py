"""Convolutions with more channels or groups, which kernels take that load whole vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckrules.constraints.conv.problem import Convolution
from ckrules.kernels.parts import Point

STEPS = (1, 2, 4, 8, 16)
"""What channels are rounded up to multiples of: vectors have at most 16 bytes of 1 byte each."""


class ConvPadding:
    """Channels of a group are padded, and groups for kernels that merge them."""

    def larger(self, problem: Convolution, config: Point) -> Iterator[Convolution]:
        """Problems with more channels of each group, or more groups, least work first.

        >>> from ckrules.constraints.conv.problem import parse
        >>> found = ConvPadding().larger(parse("N=1,C=7,K=8,W=9,X=3"), {"num_groups_to_merge": 1})
        >>> str(next(found))
        'N=1,G=1,C=8,K=8,W=9,X=3'
        """
        groups = problem.groups
        inside = [
            sorted({rounded(total // groups, step) for step in STEPS})
            for total in (problem.in_channels, problem.out_channels)
        ]
        merged = {1, int(config.get("num_groups_to_merge", 1))}
        found = {
            replace(problem, groups=g, in_channels=g * c, out_channels=g * k)
            for g in {rounded(groups, step) for step in merged}
            for c in inside[0]
            for k in inside[1]
        }
        yield from ordered(found, problem)


def rounded(size: int, step: int) -> int:
    """The next multiple of a step.

    >>> rounded(7, 4), rounded(8, 4)
    (8, 8)
    """
    return -(-size // step) * step


def ordered(found: set[Convolution], problem: Convolution) -> list[Convolution]:
    """Problems without one of them, least work first."""
    return sorted(
        found - {problem}, key=lambda p: (p.flops, p.groups, p.in_channels, p.out_channels)
    )
