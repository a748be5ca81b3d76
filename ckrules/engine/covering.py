"""Covering arrays: points of a space in which every pair of levels occurs that some point has.

Which pairs can occur follows from exact counts. Points are chosen greedily, from a uniform sample
and from the points that have the rarest pair still open; so every pair is met, however rare.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.codec import Point
from ckrules.engine.expr import Value

if TYPE_CHECKING:
    from ckrules.engine.space import Space

Array = npt.NDArray[Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]
"""Two factors with a level each."""

_POOL = 4096  # points drawn from the whole space
_AIMED = 256  # points drawn from those with the rarest open pair
_ALIKE = 1024  # points with all levels in common, of which one is preferred


@dataclass(frozen=True)
class Factor:
    """What each point has one level of: a field's value, or what some fields' values make.

    Args:
        name: What it is called in pairs.
        fields: The fields that it reads; by default the one of its name.
        level: The level by these fields' values; by default the value, or all of them.
    """

    name: str
    fields: tuple[str, ...] = ()
    level: Callable[..., Any] | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that it reads."""
        return self.fields or (self.name,)

    def at(self, point: Mapping[str, Value]) -> Any:
        """The level of a point."""
        return self.of([point[n] for n in self.reads])

    def of(self, values: Sequence[Value]) -> Any:
        """The level by the values of what it reads."""
        if self.level is not None:
            return self.level(*values)
        return values[0] if len(values) == 1 else tuple(values)


@dataclass(frozen=True)
class PairCoverage:
    """Which pairs some points have, of those that a point of the space has."""

    feasible: int
    uncovered: tuple[Pair, ...]

    @property
    def covered(self) -> int:
        """How many pairs the points have."""
        return self.feasible - len(self.uncovered)


class Pairs:
    """The pairs of levels of two factors that points of a space have.

    Args:
        factors: Factors, or names of fields.

    >>> from ckrules.engine.expr.variables import Bool, Int
    >>> from ckrules.engine.space import Space
    >>> m, flags = Int("m", [16, 32]), [Bool(n) for n in "abcd"]
    >>> space = Space([m, *flags], [(m == 16) | ~flags[0]])
    >>> pairs = Pairs(space, space.names)
    >>> points = list(pairs.cover(seed=1))
    >>> space.count(), len(points) <= 8, pairs.coverage(points)
    (24, True, PairCoverage(feasible=39, uncovered=()))
    >>> pairs.coverage([{**points[0], "m": 32, "a": True}]).covered
    9
    """

    def __init__(self, space: Space, factors: Iterable[Factor | str]) -> None:
        self.space = space
        self.factors = [Factor(f) if isinstance(f, str) else f for f in factors]
        self._levels = [_Levels(space, f) for f in self.factors]
        self._places = list(combinations(range(len(self.factors)), 2))
        sizes = [len(x.names) for x in self._levels]
        ends = np.cumsum([0, *(sizes[i] * sizes[j] for i, j in self._places)])
        self._starts = [int(e) for e in ends[:-1]]
        counts: list[int] = []
        for i, j in self._places:
            counts += self._counted(i, j)
        self._feasible = np.asarray([n > 0 for n in counts], dtype=np.bool_)
        self._rarest = sorted(np.flatnonzero(self._feasible).tolist(), key=lambda k: counts[k])

    def _counted(self, i: int, j: int) -> list[int]:
        """How many points have each pair of levels of two factors."""
        one, two = self._levels[i], self._levels[j]
        found = [0] * (len(one.names) * len(two.names))
        for a, b, _, number in self._combinations(one, two):
            found[one.place[a] * len(two.names) + two.place[b]] += number
        return found

    def _combinations(self, one: _Levels, two: _Levels) -> Iterator[tuple[Any, Any, Point, int]]:
        """Each combination of values that two factors read: levels, values, how many points."""
        read = tuple(dict.fromkeys((*one.factor.reads, *two.factor.reads)))
        for key, number in _counts(self.space, read).items():
            if number:
                values = dict(zip(read, key, strict=True))
                yield one.factor.at(values), two.factor.at(values), values, number

    def _with(self, number: int, dice: random.Random) -> Space:
        """A part of the space whose points all have a pair."""
        (one, a), (two, b) = self._split(number)
        wanted = one.names[a], two.names[b]
        values = [v for *have, v, _ in self._combinations(one, two) if tuple(have) == wanted]
        return self.space.bind(**dice.choice(values))

    def __len__(self) -> int:
        return int(self._feasible.sum())

    def __iter__(self) -> Iterator[Pair]:
        return map(self._pair, np.flatnonzero(self._feasible).tolist())

    def coverage(self, points: Iterable[Mapping[str, Value]]) -> PairCoverage:
        """Which of the pairs occur in the points, and which do not."""
        left = np.flatnonzero(self._open(points)).tolist()
        return PairCoverage(len(self), tuple(map(self._pair, left)))

    def cover(
        self,
        seed: int,
        *,
        prefer: Callable[[Sequence[Point]], Point] | None = None,
        given: Iterable[Mapping[str, Value]] = (),
    ) -> Iterator[Point]:
        """Points until every pair occurs, those first that add many pairs.

        Args:
            seed: The same seed gives the same points.
            prefer: Chooses among points that have all levels in common, such as the smallest.
            given: Points that are there already: what they have need not occur again.
        """
        still, dice = self._open(given), random.Random(seed)
        if not still.any():
            return
        pool = _Rows(self, self.space, _POOL, dice)
        for target in self._rarest:
            while still[target]:
                aimed = _Rows(self, self._with(target, dice), _AIMED, dice)
                drawn = (rows.best(still) for rows in (aimed, pool))
                _, rows, at = max(drawn, key=lambda found: found[0])
                still[rows.pairs[at]] = False
                yield self._preferred(rows.point(at), prefer, dice)

    def _preferred(
        self, point: Point, prefer: Callable[[Sequence[Point]], Point] | None, dice: random.Random
    ) -> Point:
        if prefer is None:
            return point
        read = {n for f in self.factors for n in f.reads}
        alike = self.space.bind(**{n: point[n] for n in read})
        return prefer(alike.sample(_ALIKE, dice.getrandbits(32)))

    def _open(self, points: Iterable[Mapping[str, Value]]) -> Array:
        """For each pair whether it can occur and none of the points has it."""
        still = self._feasible.copy()
        for point in points:
            at = [x.place.get(x.factor.at(point)) for x in self._levels]
            for start, (i, j) in zip(self._starts, self._places, strict=True):
                a, b = at[i], at[j]
                if a is not None and b is not None:
                    still[start + a * len(self._levels[j].names) + b] = False
        return still

    def numbers(self, table: Mapping[str, Array]) -> Array:
        """For rows of codes of the space the numbers of their pairs, a column for two factors."""
        at = [x.numbers(table) for x in self._levels]
        columns = [
            start + at[i] * len(self._levels[j].names) + at[j]
            for start, (i, j) in zip(self._starts, self._places, strict=True)
        ]
        return np.stack(columns, axis=1)

    def _split(self, number: int) -> tuple[tuple[_Levels, int], tuple[_Levels, int]]:
        which = int(np.searchsorted(self._starts, number, side="right")) - 1
        one, two = (self._levels[k] for k in self._places[which])
        a, b = divmod(number - self._starts[which], len(two.names))
        return (one, a), (two, b)

    def _pair(self, number: int) -> Pair:
        (one, a), (two, b) = self._split(number)
        return (one.factor.name, one.names[a]), (two.factor.name, two.names[b])


class _Levels:
    """The levels of a factor that points have, numbered, and the number by codes of its fields."""

    def __init__(self, space: Space, factor: Factor) -> None:
        self.factor = factor
        self._sizes = [len(space.domains[n]) for n in factor.reads]
        self.place: dict[Any, int] = {}
        counts = _counts(space, factor.reads)
        self._numbers = np.full(prod(self._sizes), -1, dtype=np.int64)
        for k, values in enumerate(product(*(space.domains[n] for n in factor.reads))):
            if counts.get(values):
                self._numbers[k] = self.place.setdefault(factor.of(values), len(self.place))
        self.names = list(self.place)

    def numbers(self, table: Mapping[str, Array]) -> Array:
        """The level of each row of codes."""
        at: Array = np.zeros(1, dtype=np.int64)
        for name, size in zip(self.factor.reads, self._sizes, strict=True):
            at = at * size + table[name]
        return self._numbers[at]


class _Rows:
    """Points drawn from a part of the space, and the pairs that they have."""

    def __init__(self, pairs: Pairs, part: Space, n: int, dice: random.Random) -> None:
        self._part = part
        tables = part.sample_tables(n, dice.getrandbits(32))
        self._table = next(table for table, _ in tables)
        whole = pairs.space.domains
        same = {
            name: np.asarray([whole[name].index(v) for v in part.domains[name]])[column]
            for name, column in self._table.items()
        }
        self.pairs = pairs.numbers(same)

    def best(self, still: Array) -> tuple[int, _Rows, int]:
        """How many open pairs the best of the rows adds, and which it is."""
        gains = still[self.pairs].sum(axis=1)
        at = int(gains.argmax())
        return int(gains[at]), self, at

    def point(self, at: int) -> Point:
        (found,) = self._part.codec.points({n: c[at : at + 1] for n, c in self._table.items()}, 1)
        return found


def _counts(space: Space, fields: tuple[str, ...]) -> dict[tuple[Value, ...], int]:
    """How many points have each combination of values of some fields; none where it is left out."""
    found = space.counts_by(*fields)
    return {(k,): n for k, n in found.items()} if len(fields) == 1 else found
