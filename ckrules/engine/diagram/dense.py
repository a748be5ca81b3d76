"""Dense blocks: few combinations, kept as one truth table instead of layers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.numbering import code_type
from ckrules.engine.diagram.problem import ConstraintProblem

Array = npt.NDArray[Any]

#: Combinations up to which a block is one truth table.
CELLS = 1 << 19


class DenseBlock:
    """Points of consecutive variables, in lexicographic order of their codes.

    It answers like a `Block`, and is made many times faster where there are few combinations.

    Args:
        names: The variables in order.
        codes: The codes of each variable, ascending: what its axis of the table stands for.
        sizes: The number of candidate values of each variable.
        truth: Which combinations are points.
        layers: Makes the same points as a `Block`, for what needs layers.
    """

    whole = True

    def __init__(
        self,
        names: Sequence[str],
        codes: Sequence[Sequence[int]],
        sizes: Sequence[int],
        truth: Array,
        layers: Callable[[], Block],
    ) -> None:
        self.names = tuple(names)
        self._codes, self._sizes, self._layers = codes, sizes, layers
        self._truth = truth
        self.count = int(np.count_nonzero(truth))

    @cached_property
    def layered(self) -> Block:
        """The same points as layers."""
        return self._layers()

    @property
    def edges(self) -> int:
        """The number of points, which is what memory depends on."""
        return self.count

    @cached_property
    def _cells(self) -> Array:
        """The cell of each point in the flat table."""
        return np.flatnonzero(self._truth)

    @cached_property
    def _quick(self) -> tuple[Any, list[tuple[int, Sequence[int]]]]:
        steps = [prod(self._truth.shape[i + 1 :]) for i in range(len(self.names))]
        return memoryview(self._cells.data), list(zip(steps, self._codes, strict=True))

    def unrank(self, index: int) -> list[int]:
        """The codes of the point at ``index``."""
        cells, steps = self._quick
        cell = cells[index]
        out = []
        for step, codes in steps:
            at, cell = divmod(cell, step)
            out.append(codes[at])
        return out

    def rank(self, codes: Sequence[int]) -> int | None:
        """The index of a point, None if it is not among the points."""
        cells, steps = self._quick
        cell = 0
        for code, (step, mine) in zip(codes, steps, strict=True):
            at = bisect_left(mine, code)
            if at == len(mine) or mine[at] != code:
                return None
            cell += at * step
        index = bisect_left(cells, cell)
        return index if index < self.count and cells[index] == cell else None

    def unrank_many(self, indices: Array) -> list[Array]:
        """Columns of codes of the points at ``indices`` (in any order)."""
        return self._columns(self._cells[indices])

    def table(self, start: int, stop: int) -> list[Array]:
        """Columns of codes of the points ``start`` to ``stop``."""
        return self._columns(self._cells[start:stop])

    def _columns(self, cells: Array) -> list[Array]:
        places = np.unravel_index(cells, self._truth.shape)
        return [t.take(p) for t, p in zip(self._tables, places, strict=True)]

    @cached_property
    def _tables(self) -> list[Array]:
        pairs = zip(self._codes, self._sizes, strict=True)
        return [np.asarray(codes, dtype=code_type(size)) for codes, size in pairs]

    def contains(self, columns: Sequence[Array], sizes: Sequence[int]) -> Array:
        """For each row of (signed) code columns whether it is a point; a code of -1 never is."""
        cells = np.zeros(len(columns[0]), dtype=np.int64)
        known = np.ones(len(columns[0]), dtype=np.bool_)
        for column, size, codes in zip(columns, sizes, self._codes, strict=True):
            place = np.full(size + 1, -1, dtype=np.int64)  # a code of -1 reads the last entry
            place[list(codes)] = np.arange(len(codes))
            at = place[column]
            known &= at >= 0
            cells = cells * len(codes) + at
        found = np.zeros(len(cells), dtype=np.bool_)
        found[known] = self._truth.reshape(-1)[cells[known]]
        return found

    def histogram(self, which: int, size: int) -> Array:
        """Number of points for each code of variable ``which``."""
        out = np.zeros(size, dtype=np.int64)
        out[list(self._codes[which])] = self._sums(which)
        return out

    def histogram2(self, first: int, second: int, sizes: tuple[int, int]) -> Array:
        """Number of points for each pair of codes of two variables, ``first`` before ``second``."""
        out = np.zeros(sizes, dtype=np.int64)
        rows, columns = list(self._codes[first]), list(self._codes[second])
        out[np.ix_(rows, columns)] = self._sums(first, second)
        return out

    def _sums(self, *kept: int) -> Array:
        lost = tuple(i for i in range(len(self.names)) if i not in kept)
        return np.asarray(self._truth.sum(axis=lost, dtype=np.int64))


def cells(problem: ConstraintProblem, names: Sequence[str]) -> int:
    """The number of combinations of some variables."""
    return prod(len(problem.variables[n].codes) for n in names)


def truth_table(problem: ConstraintProblem) -> Array:
    """Where all tables of a problem hold, one axis a variable in the problem's order."""
    place = {n: i for i, n in enumerate(problem.variables)}
    shape = [len(v.codes) for v in problem.variables.values()]
    whole = np.ones(shape, dtype=np.bool_)
    for names, table in problem.tables:
        axes = sorted(range(len(names)), key=lambda i: place[names[i]])
        wide = [1] * len(shape)
        for i in axes:
            wide[place[names[i]]] = table.shape[i]
        whole &= table.transpose(axes).reshape(wide)
    return whole
