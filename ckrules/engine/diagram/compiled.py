"""Compiled spaces: independent blocks multiplied, with exact answers about all points.

Points are ordered lexicographically by their codes in the compiled variable order; an index is a
mixed-radix number with one digit per block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_WHOLE = 1 << 16  # a block of at most this many points is expanded once and then gathered from


class AnyBlock(Protocol):
    """What a product needs of the points of consecutive variables (see `Block`)."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def whole(self) -> bool: ...
    @property
    def count(self) -> int: ...
    @property
    def edges(self) -> int: ...
    def unrank(self, index: int) -> list[int]: ...
    def rank(self, codes: Sequence[int]) -> int | None: ...
    def unrank_many(self, indices: Array) -> list[Array]: ...
    def contains(self, columns: Sequence[Array], sizes: Sequence[int]) -> Array: ...
    def table(self, start: int, stop: int) -> list[Array]: ...
    def histogram(self, which: int, size: int) -> Array: ...
    def histogram2(self, first: int, second: int, sizes: tuple[int, int]) -> Array: ...


class Compiled:
    """The points of a space as a product of blocks.

    Args:
        blocks: Blocks of consecutive variables; together they hold every variable once.
        sizes: Number of candidate values by variable name.
    """

    def __init__(self, blocks: Sequence[AnyBlock], sizes: dict[str, int]) -> None:
        self.blocks = list(blocks)
        self.order = tuple(n for b in self.blocks for n in b.names)
        self.sizes = sizes
        self._tables: dict[int, list[Array]] = {}

    @cached_property
    def count(self) -> int:
        """The number of points, exact."""
        return prod(b.count for b in self.blocks)

    @cached_property
    def inner(self) -> list[int]:
        """For each block, the number of points of the blocks after it."""
        out = [1]
        for block in reversed(self.blocks):
            out.append(out[-1] * block.count)
        return out[-2::-1] if self.blocks else []

    @property
    def whole(self) -> bool:
        """False if some points are compiled part by part, when they are asked for."""
        return all(b.whole for b in self.blocks)

    @property
    def edges(self) -> int:
        """The number of edges of all blocks."""
        return sum(b.edges for b in self.blocks)

    def unrank(self, index: int) -> list[int]:
        """The codes, in `order`, of the point at ``index`` (0 to ``count - 1``)."""
        digits = []
        for block in reversed(self.blocks):
            index, digit = divmod(index, block.count)
            digits.append(digit)
        digits.reverse()
        return [c for block, d in zip(self.blocks, digits, strict=True) for c in block.unrank(d)]

    def rank(self, codes: Sequence[int]) -> int | None:
        """The index of the point with these codes (in `order`), None if it is not a point."""
        index = at = 0
        for block in self.blocks:
            digit = block.rank(codes[at : at + len(block.names)])
            if digit is None:
                return None
            index = index * block.count + digit
            at += len(block.names)
        return index

    def unrank_many(self, indices: Sequence[int]) -> dict[str, Array]:
        """Columns of codes of the points at ``indices``."""
        rest: Array = np.asarray(indices, dtype=np.int64 if self.count < 1 << 62 else object)
        columns: dict[str, Array] = {}
        for block in reversed(self.blocks):
            digit = rest % block.count
            rest = rest // block.count
            if block.count < 1 << 62:
                digit = digit.astype(np.int64)
            columns.update(zip(block.names, block.unrank_many(digit), strict=True))
        return {n: columns[n] for n in self.order}

    def contains(self, columns: dict[str, Array]) -> Array:
        """For each row of code columns whether it is a point; a code of -1 never is."""
        found: Array | None = None
        if not self.blocks:
            raise ValueError("no columns")
        for block in self.blocks:
            mine = [columns[n] for n in block.names]
            signed = [c if c.dtype.kind == "i" else c.astype(np.int32) for c in mine]
            here = block.contains(signed, [self.sizes[n] for n in block.names])
            found = here if found is None else found & here
        assert found is not None
        return found

    def table(self, start: int, stop: int) -> dict[str, Array]:
        """Columns of codes of the points ``start`` to ``stop - 1``."""
        out: dict[str, Array] = {}
        for k, (block, inner) in enumerate(zip(self.blocks, self.inner, strict=True)):
            if block.count == 1:
                one = self._whole(k, block)
                columns = [np.repeat(c, stop - start) for c in one]
                out.update(zip(block.names, columns, strict=True))
                continue
            if block.count <= _WHOLE and (period := block.count * inner) <= stop - start:
                columns = [
                    _cycle(np.repeat(c, inner) if inner > 1 else c, start % period, stop - start)
                    for c in self._whole(k, block)
                ]
            else:
                columns = self._part(k, block, inner, start, stop)
            out.update(zip(block.names, columns, strict=True))
        return out

    def _part(self, which: int, block: AnyBlock, inner: int, start: int, stop: int) -> list[Array]:
        """A block's columns of `table` where they do not come round within it."""
        first, last = start // inner, (stop - 1) // inner + 1
        columns = self._digits(which, block, first, last)
        return _repeat(columns, first, last, inner, start, stop) if inner > 1 else columns

    def chunks(self, start: int, stop: int, size: int) -> Iterator[dict[str, Array]]:
        """`table` in pieces of at most ``size`` rows, each made when it is asked for."""
        while start < stop:
            end = min(stop, start + size)
            yield self.table(start, end)
            start = end

    def _digits(self, which: int, block: AnyBlock, first: int, last: int) -> list[Array]:
        """The block's columns for the digits ``first`` to ``last`` (modulo its count)."""
        if block.count <= _WHOLE and block.count < last - first:
            offset = first % block.count
            rows = (np.arange(last - first) + offset) % block.count
            return [c[rows] for c in self._whole(which, block)]
        parts: list[list[Array]] = []
        while first < last:
            low = first % block.count
            high = min(block.count, low + last - first)
            parts.append(block.table(low, high))
            first += high - low
        if len(parts) == 1:
            return parts[0]
        return [np.concatenate(p) for p in zip(*parts, strict=True)]

    def _whole(self, which: int, block: AnyBlock) -> list[Array]:
        if which not in self._tables:
            self._tables[which] = block.table(0, block.count)
        return self._tables[which]

    # -- histograms --------------------------------------------------------------------------

    def _place(self, name: str) -> tuple[int, int]:
        for k, block in enumerate(self.blocks):
            if name in block.names:
                return k, block.names.index(name)
        raise KeyError(name)

    def histogram(self, name: str) -> list[int]:
        """Number of points for each code of a variable, exact."""
        k, at = self._place(name)
        factor = self.count // self.blocks[k].count if self.count else 0
        return [int(x) * factor for x in self.blocks[k].histogram(at, self.sizes[name]).tolist()]

    def histogram2(self, first: str, second: str) -> list[list[int]]:
        """Number of points for each pair of codes of two variables, exact."""
        (k, at), (m, to) = self._place(first), self._place(second)
        if k != m:
            rest = self.count // (self.blocks[k].count * self.blocks[m].count) if self.count else 0
            a = self.blocks[k].histogram(at, self.sizes[first]).tolist()
            b = self.blocks[m].histogram(to, self.sizes[second]).tolist()
            return [[int(x) * int(y) * rest for y in b] for x in a]
        factor = self.count // self.blocks[k].count if self.count else 0
        low, high = min(at, to), max(at, to)
        sizes = (self.sizes[first], self.sizes[second])
        both = self.blocks[k].histogram2(low, high, sizes if at < to else sizes[::-1])
        rows = (both if at < to else both.T).tolist()
        return [[int(x) * factor for x in row] for row in rows]


def _cycle(period: Array, offset: int, size: int) -> Array:
    """``size`` entries of an endlessly repeated column, from ``offset`` on."""
    out = np.empty(size, dtype=period.dtype)
    head = min(size, len(period) - offset)
    out[:head] = period[offset : offset + head]
    whole = (size - head) // len(period)
    end = head + whole * len(period)
    out[head:end].reshape(whole, len(period))[:] = period
    out[end:] = period[: size - end]
    return out


def _repeat(
    columns: list[Array], first: int, last: int, inner: int, start: int, stop: int
) -> list[Array]:
    """Every digit repeated ``inner`` times, cut to the rows ``start`` to ``stop``."""
    if last - first == 1:
        return [np.repeat(c, stop - start) for c in columns]
    times = np.full(last - first, min(inner, stop - start), dtype=np.int64)
    times[0] = min((first + 1) * inner, stop) - start
    times[-1] = stop - (last - 1) * inner
    return [np.repeat(c, times) for c in columns]
