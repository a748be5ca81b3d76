"""The kernel of a whole space that is predicted fastest: a sample, then ever better neighbours.

Billions of kernels cannot be looked at one by one. A uniform sample finds good regions; from the
best of it the search goes to kernels that differ in one field, as long as any is among the best.
Tiles, waves and warp tiles hold each other fast, and so do pipelines and their flags: no one of
them can change alone. So the best of each method (pipeline, scheduler, epilogue) is improved for
itself before, by freeing all sizes together and then all features.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckrules.engine.expr.variables import Role, domain_of
from ckrules.ranking.candidates import CHUNK
from ckrules.ranking.ranker import Ranked, Ranker, Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.engine.space import Space
    from ckrules.kernels.parts import Point
    from ckrules.ranking.candidates import Candidates

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int32]
    """Kernels, one a row: of each field the place of its value among the search's candidates."""

SAMPLE = 20_000
KEPT = 32
_WIDE = 8192
#: Methods that are followed, of those whose sample holds the fastest kernels.
_METHODS = 12
_LEAST = 500
#: How much less is looked at from kernels that are good elsewhere.
_FEWER = 4


@dataclass(frozen=True)
class SearchResult:
    """What a search found, and how it went there."""

    ranking: Ranking
    rounds: int
    seconds: float
    ended: str
    """Why it ended: ``no neighbour is faster``, ``all were looked at``, ``time``, ``kernels`` or
    ``stopped``."""


class Search:
    """One search.

    Args:
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
        self.improved: Callable[[], None] = lambda: None
        """Called when `ranking` may have become better."""
        self.stopped: Callable[[], bool] = lambda: False
        """Asked whether to end with what has been found."""
        self._space = candidates.space
        self._values = [self._space.codec.domains[n] for n in self._space.names]
        self._weights = np.random.default_rng(0).integers(
            0, 1 << 63, len(self._values), dtype=np.uint64, endpoint=True
        )
        self._found = self._leading = Few.none(len(self._values))
        self._followed = _METHODS
        self._looked: set[int] = set()
        self._most: int | None = None
        self._assumed: dict[str, str] = {}

    @property
    def looked_at(self) -> int:
        """How many kernels times were predicted of, each counted once."""
        return len(self._looked)

    @property
    def ranking(self) -> Ranking:
        """The fastest kernels that were found until now."""
        kernels, source = self._ranked(self._found.rows(slice(self.limit)).sorted().codes)
        return Ranking(kernels, self.looked_at, source, self._assumed)

    @property
    def leaders(self) -> list[Ranked]:
        """The best kernel found of each method, fastest first."""
        return self._ranked(self._leading.codes)[0]

    @property
    def followed(self) -> list[Point]:
        """The configurations of `leaders` and of the fastest kernels."""
        return [self._point(row) for row in (*self._leading.codes, *self._found.codes[:KEPT])]

    def run(
        self,
        sample: int = SAMPLE,
        kernels: int | None = None,
        seconds: float | None = None,
        start: Sequence[Point] = (),
    ) -> SearchResult:
        """Searches until no neighbour is faster, or a budget is used up.

        Args:
            kernels: The maximum number of kernels to look at.
            seconds: No round begins later than this.
            start: Kernels that are good elsewhere; those of this space are looked at first.

        Raises:
            UsageError: If nothing is known of the kernels' times.
        """
        began = time.monotonic()

        def budget() -> str:
            if self.stopped():
                return "stopped"
            if seconds is not None and time.monotonic() - began > seconds:
                return "time"
            return "kernels" if kernels is not None and self.looked_at >= kernels else ""

        self._most = kernels
        sample = sample if kernels is None else min(sample, kernels)
        whole = self._space.count() <= sample
        if start and not whole:  # where good kernels are is known: less has to be looked at
            sample, self._followed = max(sample // _FEWER, 1), _METHODS // _FEWER
        self._found = self._judged(chain(self._own(start), self._drawn(sample)))
        self.improved()
        rounds, ended = 0, "all were looked at" if whole else "no neighbour is faster"
        if not whole and len(self._found.times):
            self._by_method(sample, budget)
        while len(self._found.times) and not whole:
            if over := budget():
                ended = over
                break
            before = self._found.codes[:KEPT].tolist()
            self._merge(self._judged(self._around(self._found.codes[:KEPT])))
            rounds += 1
            if self._found.codes[:KEPT].tolist() == before and self.looked_at != kernels:
                break
        return SearchResult(self.ranking, rounds, time.monotonic() - began, ended)

    def _merge(self, more: Few) -> None:
        """The fastest of both, with as many different times as can be: equal ones are alike."""
        both = self._found.merged(more)
        _, once = np.unique(self._keys(both.codes), return_index=True)
        both = both.rows(np.sort(once)).sorted()
        _, first = np.unique(np.round(np.log2(both.times), 3), return_index=True)
        alike = np.setdiff1d(np.arange(len(both.times)), first)
        self._found = both.rows(np.concatenate([first, alike])[: self._kept])
        self.improved()

    @property
    def _kept(self) -> int:
        return max(KEPT, self.limit) * 4

    def _by_method(self, sample: int, budget: Callable[[], str]) -> None:
        """Looks for the best kernel of each method, and improves the fastest for themselves."""
        methods = [n for n in self._space.names if self._role(n) is Role.METHOD]
        if not methods:
            return
        shares = self._space.counts_by(*methods)
        each = max(_LEAST, sample // max(len(shares), 1))
        at = [self._space.names.index(n) for n in methods]
        parts: dict[tuple[Any, ...], Space] = {}
        drawn = []
        for values in shares:
            if budget():
                break
            words = values if len(methods) > 1 else (values,)
            key = tuple(self._values[i].index(w) for i, w in zip(at, words, strict=True))
            parts[key] = part = self._space.bind(**dict(zip(methods, words, strict=True)))
            alike = self._found.codes[(self._found.codes[:, at] == key).all(axis=1)]
            drawn.append(chain([alike], self._drawn(each, part)))
        found = self._best_of(drawn)
        self._leading = found.rows(np.isfinite(found.times)).sorted()
        self._improve(parts, at, budget)

    def _improve(
        self,
        parts: Mapping[tuple[Any, ...], Space],
        methods: Sequence[int],
        budget: Callable[[], str],
    ) -> None:
        """Replaces leaders by the best that freeing their sizes and features in turn finds.

        Args:
            parts: The space of each method, by the codes of its fields.
            methods: The places of these fields.
            budget: What ends it early.
        """
        names, leading = self._space.names, self._leading
        going = list(range(min(self._followed, len(leading.times))))
        known: set[tuple[Any, ...]] = set()
        while going and not budget():
            before = leading.times.copy()
            for free in (Role.GEOMETRY, Role.FEATURE):
                held = [i for i, n in enumerate(names) if self._role(n) is not free]
                keys = {i: (free, *leading.codes[i, held].tolist()) for i in going}
                asked = [i for i in going if keys[i] not in known]
                known.update(keys.values())
                drawn = []
                for i in asked:
                    given = {names[k]: self._values[k][leading.codes[i, k]] for k in held}
                    of_method = parts[tuple(leading.codes[i, methods].tolist())]
                    drawn.append(self._drawn(_WIDE, of_method.bind(**given)))
                found = self._best_of(drawn)
                for i, time_of, row in zip(asked, found.times, found.codes, strict=True):
                    if time_of < leading.times[i]:
                        leading.times[i], leading.codes[i] = time_of, row
            going = [i for i in going if leading.times[i] < before[i]]
        self._leading = leading.sorted()

    def _best_of(self, parts: Sequence[Iterator[Codes]]) -> Few:
        """The fastest kernel of each part; without end the time of one that is not looked at."""
        found = Few(np.full(len(parts), np.inf), np.zeros((len(parts), len(self._values)), int))
        for every, whose in _together(parts):
            codes = self._allowed(every)
            owners = whose[: len(codes)]
            times = self._times(codes)
            order = np.lexsort((times, owners))
            first = order[np.unique(owners[order], return_index=True)[1]]
            first = first[times[first] < found.times[owners[first]]]
            found.times[owners[first]], found.codes[owners[first]] = times[first], codes[first]
            best = np.argsort(times, kind="stable")[: self._kept]
            self._merge(Few(times[best], codes[best]))
        return found

    def _judged(self, chunks: Iterable[Codes]) -> Few:
        best = Few.none(len(self._space.names))
        for codes in map(self._allowed, chunks):
            best = best.merged(Few(self._times(codes), codes)).sorted().rows(slice(self._kept))
        return best

    def _allowed(self, codes: Codes) -> Codes:
        """The first of some kernels, as many as may still be looked at."""
        return codes if self._most is None else codes[: self._most - self.looked_at]

    def _times(self, codes: Codes) -> Floats:
        """The times of kernels, in which they are ordered; each is counted once."""
        if not len(codes):
            return np.zeros(0)
        before = len(self._looked)
        self._looked.update(self._keys(codes).tolist())
        self.told(len(self._looked) - before)
        table = self.candidates.table(codes, self.product)
        times: Floats
        times, assumed = self.ranker.ordered(table, self.candidates.problem)
        self._assumed |= assumed
        return times

    def _keys(self, codes: Codes) -> NDArray[np.uint64]:
        """A number for each kernel; two have the same one in 64 bits by chance only."""
        return codes.astype(np.uint64) @ self._weights

    def _drawn(self, limit: int, part: Space | None = None) -> Iterator[Codes]:
        return self.candidates.codes(limit, self.seed, part)

    def _own(self, points: Sequence[Point]) -> Iterator[Codes]:
        """Those of some kernels that are in the space."""
        rows = [self._space.codec.codes(p) for p in points]
        found = [[row[n] for n in self._space.names] for row in rows if row is not None]
        if found:
            yield self._legal(np.asarray(found, dtype=np.int32))

    def _legal(self, codes: Codes) -> Codes:
        columns = dict(zip(self._space.names, np.ascontiguousarray(codes.T), strict=True))
        return codes[self._space.compile().contains(columns)]

    def _around(self, best: Codes) -> Iterator[Codes]:
        """Kernels that differ from one of the best in one field and were not looked at."""
        near = []
        for i, values in enumerate(self._values):
            for code in range(len(values)):
                rows = best[best[:, i] != code]
                rows[:, i] = code
                near.append(rows)
        every = np.concatenate(near)
        keys, first = np.unique(self._keys(every), return_index=True)
        new = [i for i, key in zip(first, keys.tolist(), strict=True) if key not in self._looked]
        if new:
            yield from _chunks(self._legal(every[np.sort(new)]))

    def _role(self, name: str) -> Role:
        return domain_of(self.candidates.region.book.fields[name]).role

    def _ranked(self, codes: Codes) -> tuple[list[Ranked], str]:
        """Kernels with all that is predicted of them, in this order, and where that is from."""
        if not len(codes):
            return [], ""
        points = [self._point(row) for row in codes]
        table = self.candidates.table(codes, self.product)
        found = self.ranker.rank([(table, points)], self.candidates.problem, len(points))
        place = {id(point): i for i, point in enumerate(points)}
        return sorted(found.kernels, key=lambda r: place[id(r.point)]), found.source

    def _point(self, row: NDArray[np.int32]) -> Point:
        pairs = zip(self._space.names, self._values, row.tolist(), strict=True)
        return {name: values[code] for name, values, code in pairs}


class Few(NamedTuple):
    """Some kernels with the times by which they are ordered."""

    times: Floats
    codes: Codes

    @classmethod
    def none(cls, fields: int) -> Few:
        """No kernels of so many fields."""
        return cls(np.zeros(0), np.zeros((0, fields), dtype=np.int32))

    def merged(self, other: Few) -> Few:
        """Both, in this order."""
        times, codes = (self.times, other.times), (self.codes, other.codes)
        return Few(np.concatenate(times), np.concatenate(codes))

    def rows(self, at: Any) -> Few:
        """Some of them."""
        return Few(self.times[at], self.codes[at])

    def sorted(self) -> Few:
        """All of them, the fastest first."""
        return self.rows(np.argsort(self.times, kind="stable"))


def _chunks(codes: Codes) -> Iterator[Codes]:
    yield from (codes[i : i + CHUNK] for i in range(0, len(codes), CHUNK))


def _together(parts: Sequence[Iterator[Codes]]) -> Iterator[tuple[Codes, NDArray[np.int64]]]:
    """The kernels of parts, many at once, and the number of the part that each is of."""
    held: list[tuple[Codes, int]] = []
    for number, chunk in ((i, chunk) for i, part in enumerate(parts) for chunk in part):
        held.append((chunk, number))
        if sum(len(codes) for codes, _ in held) >= CHUNK:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(held: Sequence[tuple[Codes, int]]) -> tuple[Codes, NDArray[np.int64]]:
    owners = np.repeat([number for _, number in held], [len(codes) for codes, _ in held])
    return np.concatenate([codes for codes, _ in held]), owners
