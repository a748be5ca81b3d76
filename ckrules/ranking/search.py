"""The kernel of a whole space that is predicted fastest: a sample, then ever better neighbours.

Billions of kernels cannot be looked at one by one. A uniform sample finds good regions; from the
best of it the search goes to kernels that differ in one field, as long as any is among the best.
Tiles, waves and warp tiles hold each other fast, and so do pipelines and their flags: no one of
them can change alone. So the best of each method (pipeline, scheduler, epilogue) is improved for
itself before, by freeing all sizes together and then all features.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.engine.expr.variables import Role, domain_of
from ckrules.ranking.candidates import PointRows
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.ranker import Ranked, Ranker, Ranking

if TYPE_CHECKING:
    from ckrules.engine.space import Space
    from ckrules.kernels.parts import Point
    from ckrules.ranking.candidates import Candidates

SAMPLE = 20_000
KEPT = 16
_FROM_EACH = 4096
_WIDE = 8192
#: Methods that are followed, of those whose sample holds the fastest kernels.
_METHODS = 12
_LEAST = 500


@dataclass(frozen=True)
class SearchResult:
    """What a search found, and how it went there."""

    ranking: Ranking
    rounds: int
    seconds: float
    ended: str
    """Why it ended: ``no neighbour is faster``, ``all were looked at``, ``time`` or ``kernels``."""


class Search:
    """One search.

    Args:
        candidates: The kernels that accept the problem.
        ranker: What predicts times.
        product: The product of the GPU.
        seed: Of the sample: the same seed finds the same kernel.
        limit: How many of the fastest kernels are kept for the answer.
    """

    def __init__(
        self,
        candidates: Candidates,
        ranker: Ranker,
        *,
        product: str | None = None,
        seed: int = 1,
        limit: int = 10,
    ) -> None:
        self.candidates, self.ranker, self.product = candidates, ranker, product
        self.seed, self.limit = seed, limit
        self.told: Callable[[int], None] = lambda _: None
        """Called with how many more kernels have been looked at."""
        self._looked: set[tuple[Any, ...]] = set()
        self.leaders: list[Ranked] = []
        """The best kernel found of each method, fastest first."""
        self._seen: set[tuple[Any, ...]] = set()
        self._assumed: dict[str, str] = {}
        self._source = ""

    @property
    def looked_at(self) -> int:
        """How many kernels times were predicted of, each counted once."""
        return len(self._looked)

    def run(
        self, sample: int = SAMPLE, kernels: int | None = None, seconds: float | None = None
    ) -> SearchResult:
        """Searches until no neighbour is faster, or a budget is used up.

        Raises:
            UsageError: If nothing is known of the kernels' times.
        """
        began = time.monotonic()

        def budget() -> str:
            if seconds is not None and time.monotonic() - began > seconds:
                return "time"
            return "kernels" if kernels is not None and self.looked_at >= kernels else ""

        best = self._rank(self.candidates.kernels(sample, self.seed, self.product))
        rounds, ended = 0, "no neighbour is faster"
        if self.candidates.space.count() <= sample:
            ended = "all were looked at"
        elif best:
            best = self._merged(best, self._by_method(sample, budget))
        while best and ended != "all were looked at":
            if over := budget():
                ended = over
                break
            found = self._rank(self._table(self._around(best[:KEPT])))
            rounds += 1
            best = self._merged(best, found)
            if not any(f is b for f in found for b in best[:KEPT]):
                break
        ranking = Ranking(best[: self.limit], self.looked_at, self._source, self._assumed)
        return SearchResult(ranking, rounds, time.monotonic() - began, ended)

    def _around(self, best: Sequence[Ranked]) -> list[Point]:
        """Kernels that differ from one of the best in one field and were not looked at."""
        space = self.candidates.space
        found: list[Point] = []
        for ranked in best:
            near = space.neighbors(dict(ranked.point), "Hamming")
            found += [p for p in islice(near, _FROM_EACH) if self._new(p)]
        return found

    def _by_method(self, sample: int, budget: Callable[[], str]) -> list[Ranked]:
        """The best kernel of each method whose sample is among the fastest, improved for itself."""
        space = self.candidates.space
        methods = [n for n in space.names if self._role(n) is Role.METHOD]
        if not methods:
            return []
        leaders = []
        shares = space.counts_by(*methods)
        for values in shares:
            if budget():
                break
            words = values if len(methods) > 1 else (values,)
            part = space.bind(**dict(zip(methods, words, strict=True)))
            leaders += self._part(part, max(_LEAST, sample // len(shares)))[:1]
        leaders.sort(key=self.ranker.order)
        leaders[:_METHODS] = [self._improved(each, budget) for each in leaders[:_METHODS]]
        self.leaders = sorted(leaders, key=self.ranker.order)
        return self.leaders

    def _improved(self, leader: Ranked, budget: Callable[[], str]) -> Ranked:
        """The best kernel of a method that is found by freeing its sizes and features in turn."""
        while not budget():
            before = leader
            for free in (Role.GEOMETRY, Role.FEATURE):
                held = {n: leader.point[n] for n in leader.point if self._role(n) is not free}
                found = self._part(self.candidates.space.bind(**held), _WIDE)
                leader = min([leader, *found[:1]], key=self.ranker.order)
            if self.ranker.order(leader) >= self.ranker.order(before):
                break
        return leader

    def _role(self, name: str) -> Role:
        return domain_of(self.candidates.region.book.fields[name]).role

    def _part(self, part: Space, limit: int) -> list[Ranked]:
        return self._rank(self.candidates.kernels(limit, self.seed, self.product, part))

    def _new(self, point: Mapping[str, Any]) -> bool:
        key = tuple(point[n] for n in self.candidates.space.names)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _table(self, points: list[Point]) -> Iterable[tuple[KernelTable, Sequence[Point]]]:
        if points:
            books = self.candidates.books
            yield KernelTable.of_points(points, books, self.product), points

    def _rank(self, tables: Iterable[tuple[KernelTable, Sequence[Point]]]) -> list[Ranked]:
        ranking = self.ranker.rank(
            map(self._noted, tables), self.candidates.problem, max(KEPT, self.limit) * 4
        )
        self._assumed |= ranking.assumed
        self._source = ranking.source or self._source
        return list(ranking.kernels)

    def _noted(
        self, looked: tuple[KernelTable, Sequence[Point]]
    ) -> tuple[KernelTable, Sequence[Point]]:
        """A table, its kernels being counted unless they were before."""
        names, points = self.candidates.space.names, looked[1]
        before = len(self._looked)
        if isinstance(points, PointRows):
            self._looked.update(zip(*(points.columns[n].rows() for n in names), strict=True))
        else:
            self._looked.update(tuple(p[n] for n in names) for p in points)
        self.told(len(self._looked) - before)
        return looked

    def _merged(self, old: Sequence[Ranked], new: Sequence[Ranked]) -> list[Ranked]:
        """The fastest of both, with as many different times as can be: equal ones are alike."""
        every = sorted([*old, *new], key=self.ranker.order)
        times = np.round(np.log2([r.microseconds for r in every]), 3)
        first = {t: i for i, t in reversed(list(enumerate(times.tolist())))}
        leading = [every[i] for i in sorted(first.values())]
        rest = [r for i, r in enumerate(every) if i not in set(first.values())]
        return [*leading, *rest][: max(KEPT, self.limit) * 4]
