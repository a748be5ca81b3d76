"""Ranges of points: a slice or shard of a space, as a sequence that is made when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from ckrules.engine.errors import UsageError
from ckrules.engine.expr import Value

if TYPE_CHECKING:
    from ckrules.engine.space import Space

Point = dict[str, Value]
CHUNK = 1 << 16


class Points(Sequence[Point]):
    """Consecutive (or every ``step``-th) points of a space.

    >>> from ckrules.engine.space import Space
    >>> from ckrules.engine.variables import Int
    >>> some = Space([Int("tile_m", [16, 32, 64, 128])])[1:3]
    >>> len(some), some[0], some[-1]
    (2, {'tile_m': 32}, {'tile_m': 64})
    """

    def __init__(self, space: Space, start: int, stop: int, step: int = 1) -> None:
        self.space, self.start, self.step = space, start, step
        sign = 1 if step > 0 else -1
        self.size = max(0, (stop - start + step - sign) // step)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> Points: ...
    def __getitem__(self, at: int | slice) -> Point | Points:
        if isinstance(at, slice):
            start, stop, step = at.indices(self.size)
            first = self.start + start * self.step
            return Points(self.space, first, self.start + stop * self.step, step * self.step)
        if not -self.size <= at < self.size:
            raise IndexError(f"index {at} is outside the {self.size:,} points")
        return self.space[self.start + (at % self.size) * self.step]

    def __iter__(self) -> Iterator[Point]:
        for rows in self.rows():
            names = self.space.names
            for row in rows:
                yield dict(zip(names, row, strict=True))

    def __repr__(self) -> str:
        return f"Points({self.size:,} of {self.space!r})"

    def columns(self, chunk: int = CHUNK) -> Iterator[dict[str, Any]]:
        """Tables of codes, at most ``chunk`` rows each, as in `Space.columns`."""
        check_chunk(chunk)
        compiled = self.space.compile()
        if self.step == 1:
            tables = compiled.chunks(self.start, self.start + self.size, chunk)
        else:
            indices = range(self.start, self.start + self.size * self.step, self.step)
            tables = (
                compiled.unrank_many(indices[k : k + chunk]) for k in range(0, self.size, chunk)
            )
        for table in tables:
            yield {n: table[n] for n in self.space.names}

    def rows(self, chunk: int = CHUNK) -> Iterator[Iterator[tuple[Value, ...]]]:
        """Chunks of points as tuples of values, in the order of `Space.names`."""
        for table in self.columns(chunk):
            yield self.space.tuples(table)

    def to_arrow_batches(self, chunk: int = CHUNK) -> Iterator[Any]:
        """The points as Arrow record batches (see `Space.to_arrow_batches`)."""
        for table in self.columns(chunk):
            yield self.space.record_batch(table)


def check_chunk(chunk: int) -> None:
    """Refuse a chunk size that is not positive."""
    if chunk < 1:
        raise UsageError(f"a chunk of {chunk} rows is not possible: expected 1 or more")


def slice_bounds(at: slice, count: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice: `slice.indices`, for counts beyond `sys.maxsize` too.

    Raises:
        UsageError: For a step of zero.

    >>> slice_bounds(slice(-3, None), 10**20)[0] == 10**20 - 3
    True
    """
    step = 1 if at.step is None else int(at.step)
    if step == 0:
        raise UsageError("a slice step of zero")
    low, high = (0, count) if step > 0 else (-1, count - 1)

    def place(value: int | None, default: int) -> int:
        if value is None:
            return default
        value = value + count if value < 0 else value
        return min(max(value, low), high)

    first, last = (low, high) if step > 0 else (high, low)
    return place(at.start, first), place(at.stop, last), step
