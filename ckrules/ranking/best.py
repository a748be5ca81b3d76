"""The kernels of a part of a space that are predicted fastest, on a problem or on several.

On several problems a kernel counts by the geometric mean of its times; it must accept all of them.
Kernels that cannot be compared, such as those of two dtypes, come in turn; those of a dtype whose
rate is not known on the GPU are left out where there are others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, product, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.arch.performance import UnknownRateError
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.kernels import KernelTable, timing
from ckrules.ranking.ranker import Ranked, Ranker, Ranking
from ckrules.ranking.search import SAMPLE, Search
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.region import Region
    from ckrules.engine.space import Space
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point

HEARD = 0.5
"""Seconds between what a search says of itself, which takes some hundredths."""


@dataclass(frozen=True)
class Best:
    """The fastest kernels, first the fastest; of kinds that cannot be compared one in turn.

    Args:
        kernels: Each with its predicted time, a geometric mean on several problems.
        looked_at: How many kernels times were predicted of.
        source: Where the times come from, in words.
        problems: What they were compared by.
        accepting: How many kernels accept all of the problems.
    """

    kernels: Sequence[Ranked]
    looked_at: int
    source: str
    problems: Sequence[Any]
    accepting: int

    @property
    def looked(self) -> str:
        """How many were looked at, in words.

        >>> Best([], 26, "", ["a", "b"], 26).looked, Best([], 8000, "", ["a"], 2000000).looked
        ('of 26 kernels that accept them', 'of 2,000,000 kernels that accept it 8,000 looked at')
        """
        it = "it" if len(self.problems) == 1 else "them"
        text = f"of {count(self.accepting, 'kernel')} that accept{'s' * (self.accepting == 1)} {it}"
        return text if self.looked_at == self.accepting else f"{text} {self.looked_at:,} looked at"

    @property
    def points(self) -> list[Point]:
        """The configurations."""
        return [r.point for r in self.kernels]

    @property
    def order(self) -> str:
        """Their order in words."""
        told = kinds(self.points)
        return f"fastest first, in turn for {told}," if told else "fastest first"


def kinds(points: Sequence[Point]) -> str:
    """What kernels of one variant compute, where that differs; empty: the same.

    >>> same = {"variant": "forward", "arch": "gfx942", "ndim": 2}
    >>> kinds([{**same, "dtype": d} for d in ("fp16", "bf16")])
    'dtype = fp16, bf16'
    """
    told = []
    for field in timing(str(points[0]["variant"])).apart if points else ():
        values = dict.fromkeys(str(p[field]) for p in points)
        if len(values) > 1:
            told.append(f"{field} = {', '.join(values)}")
    return "; ".join(told)


def best(
    region: Region,
    books: Books,
    n: int,
    problem: Any = None,
    *,
    ranker: Ranker | None = None,
    sample: int = SAMPLE,
    seed: int = 1,
    told: Callable[[int], None] | None = None,
    heard: Callable[[Best], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Best:
    """The fastest kernels of a region: all are looked at where they are few, else searched.

    Args:
        region: A part of the space of one variant and GPU.
        problem: A problem of the variant; None for the usual ones of its family.
        ranker: What predicts times (default: `Ranker`).
        sample: How many kernels a search begins with.
        told: Called with 1 after each of the `comparable` parts, which may take seconds.
        heard: Called with what has been found until now, at first as soon as there is something
            and then at most every `HEARD` seconds.
        stopped: Asked now and then whether to end with what has been found.

    Raises:
        UsageError: If nothing is known of the times of such kernels, or no kernel is left.

    >>> from ckrules.kernels.books import Books
    >>> from ckrules.kernels.selection import select
    >>> books = Books("2025.11")
    >>> given = {"variant": "forward", "arch": "gfx942", "dtype": "fp16", "tile_k": 64}
    >>> region = select(books, given, ["tile_m == 128 & tile_n == 128 & pipeline == 'compv3'"])
    >>> found = best(region, books, 2, sample=1000)
    >>> len(found.points), len(found.problems)
    (2, 8)
    """
    ranker = Ranker() if ranker is None else ranker
    finding = _Finding(n, heard)
    wholes: dict[tuple[str, ...], Together] = {}
    good: list[Point] = []
    for part in comparable(region):
        asked = tuple(_asked(part.book.space_of((), part.fixed).domains, problem))
        # one space is compiled for all parts that are asked about the same problems
        whole = wholes.setdefault(tuple(map(str, asked)), Together(region, books, asked))
        candidates = Together(part, books, asked, whole.space)
        search = Search(candidates, Means(ranker), seed=seed, limit=n)
        search.stopped, search.improved = stopped, partial(finding.improved, search)
        finding.begins(asked, candidates.space.count())
        own = {n: v[0] for n, v in part.fixed.items() if len(v) == 1}
        try:
            finding.rankings.append(search.run(sample, start=[{**p, **own} for p in good]).ranking)
            good = good or search.followed
        except UnknownRateError as error:
            finding.leaves_out(candidates.space.count(), error)
        if told is not None:
            told(1)
        if stopped():
            break
    return finding.best()


class _Finding:
    """What has been found of some parts until now, and who hears of it."""

    def __init__(self, n: int, heard: Callable[[Best], None] | None) -> None:
        self.n, self.heard, self.last = n, heard, float("-inf")
        self.rankings: list[Ranking] = []
        self.problems: dict[str, Any] = {}
        self.accepting = 0
        self.unknown: dict[str, UnknownRateError] = {}

    def begins(self, problems: Sequence[Any], accepting: int) -> None:
        """Another part is searched."""
        self.problems |= {str(p): p for p in problems}
        self.accepting += accepting

    def leaves_out(self, accepting: int, error: UnknownRateError) -> None:
        """Times of the last part cannot be predicted."""
        self.accepting -= accepting
        self.unknown[str(error)] = error

    def improved(self, search: Search) -> None:
        """The search of the last part may have found better kernels."""
        if self.heard is not None and time.monotonic() - self.last > HEARD:
            self.heard(self.best(search.ranking))
            self.last = time.monotonic()

    def best(self, *more: Ranking) -> Best:
        """The fastest kernels of all parts."""
        found = [*self.rankings, *more]
        if self.unknown and not found:
            raise next(iter(self.unknown.values()))
        rows = zip_longest(*(r.kernels for r in found))
        # the first of each ranking, then the second of each, … until there are enough
        kernels = list(islice((k for row in rows for k in row if k is not None), self.n))
        said = dict.fromkeys(r.source for r in found if r.kernels)
        return Best(
            kernels, sum(r.looked_at for r in found), "; ".join((*said, *self.unknown)),
            list(self.problems.values()), self.accepting,
        )  # fmt: skip


def best_of(
    points: Sequence[Point],
    books: Books,
    n: int,
    problem: Any = None,
    *,
    ranker: Ranker | None = None,
) -> Best:
    """`best` of kernels that are listed; those that do not accept every problem are left out.

    Raises:
        UsageError: If nothing is known of the times of such kernels.
    """
    from ckrules.kernels.applicability import Applicability

    ranker = Ranker() if ranker is None else ranker
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        apart = timing(str(point["variant"])).apart
        groups.setdefault(tuple(point[f] for f in apart), []).append(point)
    finding = _Finding(n, None)
    for members in groups.values():
        values = {k: tuple(dict.fromkeys(p[k] for p in members)) for k in members[0]}
        asked = tuple(_asked(values, problem))
        accepts = [Applicability(str(p), books) for p in asked]
        left = [p for p in members if all(a(p) == [] for a in accepts)]
        finding.begins(asked, len(left))
        tables = [(KernelTable.of_points(left, books), left)] if left else []
        try:
            finding.rankings.append(Means(ranker).rank(tables, asked, n))
        except UnknownRateError as error:
            finding.leaves_out(len(left), error)
    return finding.best()


def comparable(region: Region) -> Iterator[Region]:
    """The parts of a region within which kernels can be compared; one at least, if it is empty.

    Raises:
        UsageError: If it has several variants or GPUs.
    """
    domains = region.book.space_of((), region.fixed).domains
    for name in ("variant", "arch"):
        if len(domains[name]) != 1:
            known = ", ".join(map(str, domains[name][:4]))
            raise UsageError(f"kernels of one {name} are compared: give --{name}, such as {known}")
    apart = [n for n in timing(str(domains["variant"][0])).apart if len(domains[n]) > 1]
    if not apart:
        yield region
        return
    found = region.space.counts_by(*apart)
    told = (k for k in product(*(domains[n] for n in apart)) if found.get(k if k[1:] else k[0]))
    parts = [
        replace(region, fixed={**region.fixed, **{n: (v,) for n, v in zip(apart, k, strict=True)}})
        for k in told
    ]
    yield from parts or [region]


def _asked(values: Mapping[str, Sequence[Any]], problem: Any) -> Sequence[Any]:
    """The problem, or the usual ones of kernels that have these values of fields."""
    if problem is not None:
        return [problem]
    variant = str(values["variant"][0])
    found = timing(variant).usual(values)
    if not found:
        raise UsageError(f"no problems of {variant} kernels are usual: give --problem")
    return found


@dataclass(frozen=True)
class Together(Candidates):
    """The kernels of a region that accept every one of several problems, a tuple.

    Args:
        within: Such kernels of a region that this one is part of, by the values of fields.
    """

    within: Space | None = None

    @cached_property
    def space(self) -> Space:
        """What each problem leaves, taken together."""
        if self.within is not None:
            return self.within.bind(**self.region.fixed)
        space = self.region.space
        for problem in self.problem:
            space = space.where(*self.conditions(problem))
        return space


class Means(Ranker):
    """Ranks by the geometric mean of the times on several problems, a tuple."""

    def __init__(self, ranker: Ranker) -> None:
        super().__init__(ranker.model)

    def ordered(self, table: KernelTable, problem: Any) -> tuple[Any, Mapping[str, str]]:
        """See `Ranker.ordered`."""
        if len(problem) == 1:
            return super().ordered(table, problem[0])
        found = [super(Means, self).ordered(table, p) for p in problem]
        logs = np.mean([np.log(times) for times, _ in found], axis=0)
        return np.exp(logs), {k: v for _, assumed in found for k, v in assumed.items()}

    def _some(
        self, table: KernelTable, points: Sequence[Point], problem: Any, limit: int
    ) -> tuple[list[Ranked], Mapping[str, str]]:
        if len(problem) == 1:
            return super()._some(table, points, problem[0], limit)
        times, assumed = self.ordered(table, problem)
        few = [points[int(i)] for i in np.argsort(times, kind="stable")[:limit]]
        if not few:
            return [], {}
        rows = KernelTable.of_points(few, table.books, table.product.name)
        each = [
            {id(r.point): r for r in super(Means, self)._some(rows, few, p, len(few))[0]}
            for p in problem
        ]
        return [_mean([by[id(point)] for by in each]) for point in few], assumed


def _mean(ranked: Sequence[Ranked]) -> Ranked:
    """A kernel's means over several problems; limit and bounds are those of the slowest one."""
    slowest = max(ranked, key=lambda r: r.microseconds)
    times, low, high = (
        float(np.exp(np.mean(np.log([getattr(r, name) for r in ranked]))))
        for name in ("microseconds", "low", "high")
    )
    return replace(
        slowest, microseconds=times, low=low, high=high, learned=all(r.learned for r in ranked)
    )
