"""How good picks are: the speed of the kernel picked, against that of the best one measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EfficiencyFigures:
    """Efficiencies over problems: shortest measured time / time of the kernel picked, in percent.

    ``top1`` and ``top5`` are the shares of problems whose best kernel is the first, or among the
    first five, of the ranking; kernels as fast as the best count as it.
    """

    mean: float
    p10: float
    median: float
    min: float
    top1: float
    top5: float
    problems: int

    def as_dict(self) -> dict[str, float]:
        """The figures by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Pick:
    """One problem's ranking compared with its times."""

    efficiency: float
    rank_of_best: int
    """Place of the fastest kernel in the ranking, from 0."""


def judge(predicted: Sequence[float] | NDArray[np.float64], measured: Sequence[float]) -> Pick:
    """The pick of the smallest prediction; the first of equal ones is picked.

    >>> judge([3.0, 1.0, 2.0], [10.0, 12.0, 10.0])
    Pick(efficiency=0.8333333333333334, rank_of_best=1)
    """
    order = np.argsort(np.asarray(predicted), kind="stable")
    times = np.asarray(measured)[order]
    best = float(times.min())
    return Pick(best / float(times[0]), int(np.flatnonzero(times == best)[0]))


def figures(picks: Iterable[Pick]) -> EfficiencyFigures:
    """The figures of many problems.

    >>> figures([Pick(1.0, 0), Pick(0.5, 7)]).mean
    75.0

    Raises:
        ValueError: Without a problem.
    """
    found = list(picks)
    if not found:
        raise ValueError("no problems")
    values = np.asarray([p.efficiency for p in found]) * 100
    places = np.asarray([p.rank_of_best for p in found])
    return EfficiencyFigures(
        float(values.mean()),
        float(np.percentile(values, 10)),
        float(np.median(values)),
        float(values.min()),
        float((places < 1).mean() * 100),
        float((places < 5).mean() * 100),
        len(found),
    )
