"""A search that measures: predicted times, corrected by each measurement, say what comes next.

What measurements are off by is a Gaussian process over the numbers that models read, too
(`ckrules.kernels.timing.Estimate.features`): kernels that are alike are off alike. First comes the
best kernel of each method, since whole methods may be off; then the kernels that may be fastest,
which are those of a short expected time and those of which least is known. The neighbours of the
fastest kernel join the candidates after each round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ckrules.ranking.kernels import KernelTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.kernels.parts import Point
    from ckrules.ranking.ranker import Ranked
    from ckrules.ranking.search import Search

    Floats = NDArray[np.float64]

#: Logarithms to base 2: what all predictions may be off by together, what one may be off by
#: beside that, and what two measurements of a kernel differ by.
_TOGETHER, _ALONE, _NOISE = 0.5, 0.3, 0.03
#: Measurements before a search may end because nothing faster is expected.
_LEAST = 8


class Correction:
    """What measurements are off by, as a function of numbers of kernels; logarithms to base 2.

    >>> near = Correction(np.asarray([[0.0], [1.0]]), np.asarray([0.5, 0.5]))
    >>> mean, spread = near.of(np.asarray([[0.5], [9.0]]))
    >>> bool(mean[0] > 0.45), bool(spread[0] < spread[1])
    (True, True)
    """

    def __init__(self, features: Floats, errors: Floats) -> None:
        self._x, self._y = features, errors
        if len(errors):
            own = self._alike(features, features) + _NOISE**2 * np.eye(len(errors))
            self._inverse = np.linalg.inv(own)

    def of(self, features: Floats) -> tuple[Floats, Floats]:
        """The expected error of each kernel, and its standard deviation."""
        whole = _TOGETHER**2 + _ALONE**2
        if not len(self._y):
            return np.zeros(len(features)), np.full(len(features), np.sqrt(whole))
        near = self._alike(features, self._x)
        mean = near @ self._inverse @ self._y
        rest = whole - np.einsum("ij,jk,ik->i", near, self._inverse, near)
        return mean, np.sqrt(np.maximum(rest, 0.0))

    def _alike(self, a: Floats, b: Floats) -> Floats:
        """The covariance of errors: high for kernels whose numbers are near each other."""
        distance = ((a[:, None, :] - b[None, :, :]) ** 2).mean(axis=2)
        return np.asarray(_TOGETHER**2 + _ALONE**2 * np.exp(-distance / 2))


class Measurer(Protocol):
    """What builds and times kernels on the problem of the search."""

    def before(self) -> Sequence[tuple[Point, float | None]]:
        """Kernels tried in earlier runs, with microseconds; None: it has no time."""

    def measure(self, points: Sequence[Point]) -> Sequence[float | None]:
        """The microseconds of each kernel; None where it cannot be built or is wrong."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A kernel that was measured, or could not be."""

    ranked: Ranked
    microseconds: float | None


@dataclass(frozen=True)
class MeasuredRanking:
    """What a search that measures found: fastest first, and those without a time last."""

    tried: Sequence[Tried]
    known: int
    """How many of them were tried in earlier runs."""
    seconds: float
    ended: str


class MeasuredSearch:
    """One search that measures.

    Args:
        search: A search that has not run.
        measurer: What times kernels.
        batch: How many kernels are built and timed at once.
    """

    def __init__(self, search: Search, measurer: Measurer, batch: int = 4) -> None:
        self.search, self.measurer, self.batch = search, measurer, batch
        self._pool: dict[tuple[Any, ...], Ranked] = {}
        self._tried: dict[tuple[Any, ...], Tried] = {}
        self._first: list[tuple[Any, ...]] = []

    def run(
        self,
        kernels: int,
        sample: int,
        seconds: float | None = None,
        tell: Callable[[Tried], None] | None = None,
    ) -> MeasuredRanking:
        """Measures until a budget is used up or nothing faster is expected.

        Args:
            kernels: How many kernels are tried, those of earlier runs included.
            sample: What the search draws first.
            seconds: No round begins later than so many seconds after the beginning.
            tell: Told of each kernel that was tried.

        Raises:
            UsageError: If nothing is known of the kernels' times.
        """
        began = time.monotonic()
        found = self.search.run(sample, seconds=seconds)
        self._add([*found.ranking.kernels, *self.search.leaders])
        # A quarter of the budget goes to methods, best first.
        self._first = [self._key(r.point) for r in self.search.leaders[: max(1, kernels // 4)]]
        space = self.search.candidates.space
        before = [(p, us) for p, us in self.measurer.before() if p in space]
        for ranked, (_, us) in zip(self._ranked([p for p, _ in before]), before, strict=True):
            self._note(Tried(ranked, us))
        known = len(self._tried)
        while True:
            wanted, ended = self._next(min(self.batch, kernels - len(self._tried)))
            if seconds is not None and time.monotonic() - began > seconds:
                ended = "time"
            if ended:
                break
            times = self.measurer.measure([r.point for r in wanted])
            for ranked, us in zip(wanted, times, strict=True):
                self._note(Tried(ranked, us))
                if tell is not None:
                    tell(self._tried[self._key(ranked.point)])
            self._add(self._neighbours())
        order = sorted(self._tried.values(), key=lambda t: t.microseconds or float("inf"))
        return MeasuredRanking(order, known, time.monotonic() - began, ended)

    def _next(self, count: int) -> tuple[list[Ranked], str]:
        """The kernels that may be fastest, or why there is nothing to measure."""
        left = [r for key, r in self._pool.items() if key not in self._tried]
        if count < 1:
            return [], "kernels"
        if not left:
            return [], "every candidate was measured"
        if first := [self._pool[key] for key in self._first if key not in self._tried]:
            return first[:count], ""
        expected, spread = self._expected(left)
        lowest = expected - spread
        timed = [t.microseconds for t in self._tried.values() if t.microseconds is not None]
        if len(timed) >= _LEAST and lowest.min() > np.log2(min(timed)):
            return [], "no kernel is expected to be faster"
        return [left[i] for i in np.argsort(lowest, kind="stable")[:count]], ""

    def _expected(self, left: Sequence[Ranked]) -> tuple[Floats, Floats]:
        """Logarithms of the expected times, and their standard deviations."""
        timed = [t for t in self._tried.values() if t.microseconds is not None]
        every = self._features([*left, *(t.ranked for t in timed)])
        errors = [np.log2((t.microseconds or 0.0) / t.ranked.microseconds) for t in timed]
        mean, spread = Correction(every[len(left) :], np.asarray(errors)).of(every[: len(left)])
        return np.log2([r.microseconds for r in left]) + mean, spread

    def _features(self, ranked: Sequence[Ranked]) -> Floats:
        """The numbers of kernels, each with mean 0 and standard deviation 1 over all of them."""
        candidates = self.search.candidates
        table = KernelTable.of_points(
            [r.point for r in ranked], candidates.books, self.search.product
        )
        found = np.stack(list(table.estimate(candidates.problem).features.values()), axis=1)
        spread = found.std(axis=0)
        kept = spread > 0
        if not kept.any():
            return np.zeros((len(found), 1))
        return np.asarray((found[:, kept] - found[:, kept].mean(axis=0)) / spread[kept])

    def _neighbours(self) -> Sequence[Ranked]:
        timed = [t for t in self._tried.values() if t.microseconds is not None]
        if not timed:
            return []
        best = min(timed, key=lambda t: t.microseconds or 0.0)
        near = self.search.candidates.space.neighbors(dict(best.ranked.point), "Hamming")
        return self._ranked([p for p in near if self._key(p) not in self._pool])

    def _ranked(self, points: Sequence[Point]) -> list[Ranked]:
        if not points:
            return []
        candidates = self.search.candidates
        table = KernelTable.of_points(points, candidates.books, self.search.product)
        found = self.search.ranker.rank([(table, points)], candidates.problem, len(points))
        of = {self._key(r.point): r for r in found.kernels}
        return [of[self._key(p)] for p in points]

    def _add(self, ranked: Iterable[Ranked]) -> None:
        for each in ranked:
            self._pool.setdefault(self._key(each.point), each)

    def _note(self, tried: Tried) -> None:
        self._tried[self._key(tried.ranked.point)] = tried

    def _key(self, point: Point) -> tuple[Any, ...]:
        return tuple(point[n] for n in self.search.candidates.space.names)
