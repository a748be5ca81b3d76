"""Listed points: tables of codes, and slices of a space that are made when they are read."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, overload

from ckrules.engine.codec import Codec, Point
from ckrules.engine.expr import Expr, Value
from ckrules.support import collection
from ckrules.support.errors import UsageError, unknown
from ckrules.support.plain_values import several, whole

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled

CHUNK = 1 << 16


class Listing(ABC):
    """Points that can be gone through: a space, or a slice of one."""

    codec: Codec

    @abstractmethod
    def compile(self) -> Compiled:
        """The compiled form of the whole space (made once); it answers in codes."""

    @property
    def domains(self) -> dict[str, tuple[Any, ...]]:
        """The candidate values of each variable; a code is a position in this list.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.expr.variables import Int
        >>> Space([Int("tile_m", [16, 32, 64])]).bind(tile_m=[64, 16]).domains
        {'tile_m': (16, 64)}
        """
        return dict(self.codec.domains)

    @abstractmethod
    def tables(self, chunk: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Tables of codes in compiled order with their numbers of rows, at most ``chunk`` each."""

    @property
    @abstractmethod
    def vocabulary(self) -> Mapping[str, Expr]:
        """Variables and derived quantities by name: what texts, counts and columns may name."""

    def columns(
        self, chunk: int = CHUNK, *, derived: Sequence[str] = ()
    ) -> Iterator[dict[str, Any]]:
        """All points as tables of at most ``chunk`` rows: numpy arrays by name.

        Variables are codes, positions in `Space.domains`. Derived quantities are values; where
        one is undefined its array is masked (`numpy.ma`). No more than one table is held at a
        time.

        Args:
            chunk: The most rows of a table.
            derived: Derived quantities to have columns for, after the variables.

        Raises:
            UnknownNameError: For a quantity that does not exist, with near matches.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.expr import named
        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32]), Int("waves", [1, 2])
        >>> space = Space([m, w], names={"rows": named("rows", m // w)})
        >>> [{n: c.tolist() for n, c in t.items()} for t in space.columns(chunk=3)]
        [{'tile_m': [0, 0, 1], 'waves': [0, 1, 0]}, {'tile_m': [1], 'waves': [1]}]
        >>> [table["rows"].tolist() for table in space.columns(derived=["rows"])]
        [[16, 8, 32, 16]]
        """
        nodes = self._derived_nodes(derived)
        for table, count in self.tables(_checked(chunk)):
            more = self.codec.derived(nodes, table, count) if nodes else {}
            yield {n: table[n] for n in self.codec.names} | more

    def _derived_nodes(self, names: Sequence[str]) -> dict[str, Expr]:
        known = {n: v for n, v in self.vocabulary.items() if n not in self.codec.variables}
        names = several("derived", names)
        for name in names:
            if name not in known:
                raise unknown("derived quantity", name, known)
        return {name: known[name] for name in names}

    def _rank(self, point: Any) -> int | None:
        """The number of a point in the whole space; None if it is not in it."""
        codes, compiled = self.codec.codes(point), self.compile()
        return None if codes is None else compiled.rank([codes[n] for n in compiled.order])

    def __iter__(self) -> Iterator[Point]:
        for table, count in self.tables(CHUNK):
            yield from self.codec.points(table, count)

    def to_tuples(self) -> list[tuple[Value, ...]]:
        """All points at once, as tuples of values in the order of `Space.names`.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.expr.variables import Int
        >>> Space([Int("tile_m", [16, 32]), Int("waves", [1, 2])]).to_tuples()
        [(16, 1), (16, 2), (32, 1), (32, 2)]
        """
        out: list[tuple[Value, ...]] = []
        with collection.paused():
            for table, count in self.tables(CHUNK):
                out += self.codec.tuples(table, count)
        return out

    def to_arrow_batches(self, chunk: int = CHUNK, *, derived: Sequence[str] = ()) -> Iterator[Any]:
        """All points as Arrow record batches of at most ``chunk`` rows.

        Numbers and Booleans are plain columns, words are dictionary encoded; an undefined
        quantity is null.

        Raises:
            UsageError: Without pyarrow.
        """
        from ckrules.engine.diagram.arrow import Batches

        batches = Batches(self.codec.domains, self._derived_nodes(derived))
        for table in self.columns(chunk, derived=derived):
            yield batches.of(table)

    def to_arrow(self, *, derived: Sequence[str] = ()) -> Any:
        """All points at once as an Arrow table (see `to_arrow_batches`).

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.expr.variables import Enum, Int
        >>> Space([Int("tile_m", [16, 32]), Enum("pipeline", ["mem"])]).to_arrow().to_pydict()
        {'tile_m': [16, 32], 'pipeline': ['mem', 'mem']}
        """
        from ckrules.engine.diagram.arrow import Batches

        batches = Batches(self.codec.domains, self._derived_nodes(derived))
        return batches.table(self.columns(derived=derived))

    def to_pandas(self, *, derived: Sequence[str] = ()) -> Any:
        """All points at once as a pandas data frame; words are categories.

        Raises:
            UsageError: Without pandas or pyarrow.
        """
        from ckrules.engine.diagram.arrow import needed

        needed("pandas")
        return self.to_arrow(derived=derived).to_pandas()


class SpaceSlice(Listing, Sequence[Point]):
    """Consecutive (or every ``step``-th) points of a compiled space.

    >>> from ckrules.engine.space import Space
    >>> from ckrules.engine.expr.variables import Int
    >>> some = Space([Int("tile_m", [16, 32, 64, 128])])[1:3]
    >>> len(some), some[0], some[-1]
    (2, {'tile_m': 32}, {'tile_m': 64})
    """

    def __init__(self, space: Listing, start: int, stop: int, step: int = 1) -> None:
        self.space, self.codec = space, space.codec
        self.start, self.step = start, step
        sign = 1 if step > 0 else -1
        self.size = max(0, (stop - start + step - sign) // step)

    @property
    def vocabulary(self) -> Mapping[str, Expr]:
        """The vocabulary of the space."""
        return self.space.vocabulary

    def compile(self) -> Compiled:
        """The compiled form of the whole space, which a pickled slice makes again."""
        return self.space.compile()

    def __len__(self) -> int:
        if self.size > sys.maxsize:
            raise OverflowError(f"{self.size:,} points are more than len() can return: use size")
        return self.size

    def __bool__(self) -> bool:
        return self.size > 0

    def __reversed__(self) -> Iterator[Point]:
        return iter(self[::-1])

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> SpaceSlice: ...
    def __getitem__(self, at: int | slice) -> Point | SpaceSlice:
        if isinstance(at, slice):
            start, stop, step = slice_bounds(at, self.size)
            first, last = (self.start + k * self.step for k in (start, stop))
            return SpaceSlice(self.space, first, last, step * self.step)
        at = index(at)
        if not -self.size <= at < self.size:
            raise IndexError(f"index {at} is outside the {self.size:,} points")
        compiled = self.compile()
        found = compiled.unrank(self.start + (at % self.size) * self.step)
        return self.codec.point(dict(zip(compiled.order, found, strict=True)))

    def __contains__(self, point: object) -> bool:
        rank = self._rank(point)
        return rank is not None and rank in self._numbers()

    def index(self, point: Any, start: int = 0, stop: int | None = None) -> int:
        """The place of a point among those from ``start`` to before ``stop``.

        Raises:
            UsageError: When the point is not among them.
        """
        rank, numbers = self._rank(point), self._numbers()
        if rank is None or rank not in numbers[start:stop]:
            raise UsageError(f"{dict(point)} is not a point of the slice")
        return (rank - self.start) // self.step

    def _numbers(self) -> range:
        """The numbers of the points in the whole space."""
        return range(self.start, self.start + self.size * self.step, self.step)

    def __repr__(self) -> str:
        return f"SpaceSlice({self.size:,} of {self.compile().count:,} points)"

    def tables(self, chunk: int) -> Iterator[tuple[dict[str, Any], int]]:
        compiled = self.compile()
        for first in range(0, self.size, chunk):
            count = min(chunk, self.size - first)
            start, stop = (self.start + k * self.step for k in (first, first + count))
            if self.step == 1:
                yield compiled.table(start, stop), count
            else:
                yield compiled.unrank_many(range(start, stop, self.step)), count


def _checked(chunk: int) -> int:
    return whole("chunk", chunk, 1)


def slice_bounds(at: slice, count: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice: `slice.indices`, for counts beyond `sys.maxsize` too.

    Raises:
        UsageError: For a step of zero.

    >>> slice_bounds(slice(-3, None), 10**20)[0] == 10**20 - 3
    True
    """
    step = 1 if at.step is None else index(at.step)
    if step == 0:
        raise UsageError("a slice step of zero")
    low, high = (0, count) if step > 0 else (-1, count - 1)

    def place(value: int | None, default: int) -> int:
        if value is None:
            return default
        value = index(value)
        value = value + count if value < 0 else value
        return min(max(value, low), high)

    first, last = (low, high) if step > 0 else (high, low)
    return place(at.start, first), place(at.stop, last), step
