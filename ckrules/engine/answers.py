"""What spaces answer about all their points: counts, single points, samples, shards, neighbours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ckrules.engine.codec import Point
from ckrules.engine.expr import Value
from ckrules.engine.sampling import drawn
from ckrules.engine.slices import CHUNK, Asked, SpaceSlice
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    pass


class Answers(Asked):
    """The questions about all points of a `Space`, put to its compiled form."""

    def count(self) -> int:
        """The exact number of points.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> Space([Int(f"x{i}", range(100)) for i in range(20)]).count() == 100**20
        True
        """
        return self.compile().count

    def __len__(self) -> int:
        count = self.count()
        if count > sys.maxsize:
            raise OverflowError(f"{count:,} points are more than len() can return: use count()")
        return count

    def __bool__(self) -> bool:
        return self.count() > 0

    def tables(self, chunk: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Tables of codes in compiled order with their numbers of rows, at most ``chunk`` each."""
        from ckrules.engine.diagram.split_block import stream

        for table in stream(self.compile(), chunk):
            yield table, len(next(iter(table.values()))) if table else self.count()

    def tuples(self, table: Mapping[str, Any]) -> Iterator[tuple[Value, ...]]:
        """The rows of a table of codes as tuples of values, in the order of `names`."""
        return iter(self.codec.tuples(table, self.count() if not table else 0))

    def contains_columns(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        """For each row of columns of values whether it is a point, as a numpy array.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.contains_columns({"tile_m": [16, 64, 99], "waves": [2, 4, 1]}).tolist()
        [False, True, False]
        """
        return self.codec.contains(self.compile(), columns)

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> SpaceSlice: ...
    def __getitem__(self, at: int | slice) -> Point | SpaceSlice:
        return SpaceSlice(self, 0, self.count())[at]

    def index(self, point: Mapping[str, Value]) -> int:
        """The number of a point, so that ``space[space.index(point)] == point``.

        Raises:
            UsageError: When the point is not in the space.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> space = Space([Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])])
        >>> space.index({"tile_m": 64, "waves": 1})
        4
        """
        codes = self.codec.codes(point)
        compiled = self.compile()
        rank = None if codes is None else compiled.rank([codes[n] for n in compiled.order])
        if rank is None:
            raise UsageError(f"{dict(point)} is not a point of the space")
        return rank

    def counts_by(self, *fields: str) -> dict[Any, int]:
        """The number of points for each value of a field, or each combination of several.

        Fields may be derived quantities (see `vocabulary`); None is the value of one that is
        undefined at a point. With derived quantities, or more than two fields, the combinations
        are those that points have.

        Raises:
            UnknownNameError: For a field that does not exist, with near matches.
            UsageError: When there are too many combinations to count.

        >>> from ckrules.engine.expr import named
        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])
        >>> space = Space([m, w], [m % (w * 16) == 0], names={"rows": named("rows", m // w)})
        >>> space.counts_by("waves")
        {1: 3, 2: 2}
        >>> space.counts_by("waves", "tile_m")[2, 16]
        0
        >>> space.counts_by("rows")
        {16: 2, 32: 2, 64: 1}
        """
        from ckrules.engine.counting import counts_by

        return counts_by(self, fields)

    def neighbors(self, point: Mapping[str, Value], method: str = "Hamming") -> Iterator[Point]:
        """The points of the space next to a point, which need not be one of them itself.

        Args:
            point: A value for each variable.
            method: As Kernel Tuner names it. ``Hamming``: one variable differs.
                ``Hamming-adjacent``: one differs, by the nearest value below or above that gives a
                point. ``strictly-adjacent``: every variable differs by one candidate at most.
                ``adjacent``: the same, among values that some point has.

        Raises:
            UnknownNameError: For another method, or a variable that does not exist.
            UsageError: For a missing variable, or a value without a place among the candidates.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> [tuple(p.values()) for p in space.neighbors({"tile_m": 64, "waves": 1})]
        [(16, 1), (32, 1), (64, 2), (64, 4)]
        >>> list(space.neighbors({"tile_m": 64, "waves": 1}, "Hamming-adjacent"))
        [{'tile_m': 32, 'waves': 1}, {'tile_m': 64, 'waves': 2}]
        """
        from ckrules.engine.neighbors import neighbors

        return neighbors(self, point, method)

    def sample(self, n: int, seed: int | None = None) -> list[Point]:
        """``n`` different points in random order; all points if n is larger.

        Up to a million, every set of points is equally likely; a larger sample is the beginning
        of a seeded permutation of all points.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> space = Space([Int("tile_m", [16, 32, 64, 128])])
        >>> len(space.sample(2, seed=1)), len(space.sample(9, seed=1))
        (2, 4)
        """
        tables = self.sample_tables(n, seed)
        return [p for table, count in tables for p in self.codec.points(table, count)]

    def sample_indices(self, n: int, seed: int | None = None) -> list[int]:
        """The numbers of the points that `sample` returns, in the same order."""
        return [int(k) for piece in drawn(self.count(), n, seed) for k in piece]

    def sample_tables(
        self, n: int, seed: int | None = None, chunk: int = CHUNK
    ) -> Iterator[tuple[dict[str, Any], int]]:
        """The points that `sample` returns as tables of codes, of at most ``chunk`` rows each.

        No more than one table is held at a time, however many points are drawn.
        """
        for piece in drawn(self.count(), n, seed, chunk):
            yield self.compile().unrank_many(piece), len(piece)

    def shard(self, i: int, n: int) -> SpaceSlice:
        """The ``i``-th of ``n`` consecutive parts, equal to within one point; ``i`` counts from 0.

        The command line counts from 1: ``--shard 1/3`` is ``shard(0, 3)``.

        Raises:
            UsageError: For a part that does not exist.

        >>> from ckrules.engine.expr.variables import Int
        >>> from ckrules.engine.space import Space
        >>> space = Space([Int("x", range(10))])
        >>> [len(space.shard(i, 3)) for i in range(3)]
        [3, 3, 4]
        """
        if n < 1 or not 0 <= i < n:
            near = f" (shards count from 0: the last is shard({n - 1}, {n}))" if i == n > 0 else ""
            known = f"expected 0 to {n - 1}" if n > 0 else "there is at least one shard"
            raise UsageError(f"shard {i} of {n} does not exist: {known}{near}")
        count = self.count()
        return SpaceSlice(self, i * count // n, (i + 1) * count // n)
