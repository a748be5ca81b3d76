"""Search: blocks that are too hard to compile whole, taken apart by the values of a variable.

A `SplitBlock` answers like a `Block`, but compiles one part (one value of its first open
variable) at a time and keeps only the last one, so memory stays within the budget of one part.
A part that is still too hard is split again; the Cartesian product is never formed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.numbering import code_type
from ckrules.engine.diagram.product import CompileMeter, Layer

Array = npt.NDArray[Any]


class SplitBlock:
    """The points of consecutive variables, one part for each code of the first open variable.

    Args:
        names: The variables in order.
        codes: The codes that lead to the parts, ascending.
        at: The place of the variable that is split, after variables of one value only.
        compile_part: Compiles the part of a code (an index into ``codes``).
        meter: Counts the work of all parts.
    """

    whole = False

    def __init__(
        self,
        names: Sequence[str],
        codes: Sequence[int],
        at: int,
        compile_part: Callable[[int], Compiled],
        meter: CompileMeter,
    ) -> None:
        self.names = tuple(names)
        self.codes = list(codes)
        self.at = at
        self._compile, self.meter = compile_part, meter
        self._counts: dict[int, int] = {}
        self._last: tuple[int, Compiled] | None = None

    @property
    def edges(self) -> int:
        """The edges held at the moment."""
        return self._last[1].edges if self._last else 0

    def part(self, k: int) -> Compiled:
        """The compiled points with the ``k``-th code."""
        if self._last is None or self._last[0] != k:
            self._last = None  # frees the old part before the new one is made
            self._last = k, self._compile(k)
        return self._last[1]

    def parts(self) -> Iterator[Compiled]:
        """Every part in order, each made when it is asked for."""
        for k in range(len(self.codes)):
            if self._counts.get(k) != 0:
                yield self.part(k)

    def _part_count(self, k: int) -> int:
        """The points of a part, which for a part of parts means to go through them all."""
        if k not in self._counts:
            self._counts[k] = self.part(k).count
        return self._counts[k]

    @cached_property
    def _offsets(self) -> list[int]:
        out = [0]
        for k in range(len(self.codes)):
            out.append(out[-1] + self._part_count(k))
        return out

    @property
    def count(self) -> int:
        """The number of points; the first call compiles every part once."""
        return self._offsets[-1]

    def unrank(self, index: int) -> list[int]:
        """The codes of the point at ``index``."""
        k = bisect_right(self._offsets, index) - 1
        return self.part(k).unrank(index - self._offsets[k])

    def rank(self, codes: Sequence[int]) -> int | None:
        """The index of a point, None if it is not among the points."""
        if codes[self.at] not in self.codes:
            return None
        k = self.codes.index(codes[self.at])
        inner = self.part(k).rank(codes)
        return None if inner is None else self._offsets[k] + inner

    def unrank_many(self, indices: Array) -> list[Array]:
        """Columns of codes of the points at ``indices`` (in any order)."""
        owner = np.asarray([bisect_right(self._offsets, i) - 1 for i in indices.tolist()])
        columns = [np.zeros(len(indices), dtype=np.uint32) for _ in self.names]
        for k in np.unique(owner).tolist():
            rows = np.flatnonzero(owner == k)
            inner = [i - self._offsets[k] for i in indices[rows].tolist()]
            found = self.part(k).unrank_many(inner)
            for column, name in zip(columns, self.names, strict=True):
                column[rows] = found[name]
        return columns

    def contains(self, columns: Sequence[Array], sizes: Sequence[int]) -> Array:
        """For each row of code columns whether it is a point; a code of -1 never is."""
        found = np.zeros(len(columns[0]), dtype=np.bool_)
        for k, code in enumerate(self.codes):
            rows = np.flatnonzero(columns[self.at] == code)
            if len(rows):
                some = {n: c[rows] for n, c in zip(self.names, columns, strict=True)}
                found[rows] = self.part(k).contains(some)
        return found

    def table(self, start: int, stop: int) -> list[Array]:
        """Columns of codes of the points ``start`` to ``stop``."""
        pieces: list[dict[str, Array]] = []
        k = bisect_right(self._offsets, start) - 1
        while start < stop:
            end = min(stop, self._offsets[k + 1])
            if end > start:
                origin = self._offsets[k]
                pieces.append(self.part(k).table(start - origin, end - origin))
            start, k = end, k + 1
        return [np.concatenate([p[n] for p in pieces]) for n in self.names]

    def histogram(self, which: int, size: int) -> Array:
        """Number of points for each code of variable ``which``."""
        out = np.zeros(size, dtype=object)
        for part in self.parts():
            out += np.asarray(part.histogram(self.names[which]), dtype=object)
        return out

    def histogram2(self, first: int, second: int, sizes: tuple[int, int]) -> Array:
        """Number of points for each pair of codes of two variables."""
        out = np.zeros(sizes, dtype=object)
        for part in self.parts():
            pairs = part.histogram2(self.names[first], self.names[second])
            out += np.asarray(pairs, dtype=object)
        return out


def stream(compiled: Compiled, size: int) -> Iterator[dict[str, Array]]:
    """All points in order in tables of at most ``size`` rows, without counting them first."""
    for piece in pieces(compiled.blocks, compiled.sizes):
        yield from piece.chunks(0, piece.count, size)


def pieces(blocks: Sequence[AnyBlock], sizes: dict[str, int]) -> Iterator[Compiled]:
    """The same points as consecutive products of blocks that are all compiled."""
    k = next((i for i, b in enumerate(blocks) if isinstance(b, SplitBlock)), None)
    if k is None:
        yield Compiled(blocks, sizes)
        return
    split = blocks[k]
    assert isinstance(split, SplitBlock)
    before = Compiled(blocks[:k], sizes)
    for row in range(before.count):
        fixed = [single(n, c, sizes) for n, c in zip(before.order, before.unrank(row), strict=True)]
        for part in split.parts():
            for piece in pieces([*fixed, *part.blocks, *blocks[k + 1 :]], sizes):
                yield piece
                if piece.count:
                    split.meter.restart()


def single(name: str, code: int, sizes: dict[str, int]) -> Block:
    """The block of one variable with one value."""
    one = np.ones(1, dtype=np.int64)
    layer = Layer(
        np.asarray([0, 1], dtype=np.int64),
        np.asarray([code], dtype=code_type(sizes[name])),
        np.zeros(1, dtype=np.int32),
    )
    return Block([name], [layer], [one, one])
