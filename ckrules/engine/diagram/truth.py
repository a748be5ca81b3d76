"""Truth tables: clauses evaluated on the open grid of their variables' values.

Every variable has an axis of its own and every sub-expression is evaluated on the axes of its own
variables only, once for all clauses that share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.backends.vector import Vectors, check_width, encode
from ckrules.engine.diagram.problem import bounds_of
from ckrules.engine.expr import BoolExpr
from ckrules.engine.lower import Lowering

Array = npt.NDArray[Any]
_MAX_AXES = 30  # numpy 1.26 has 32
_KEEP_CELLS = 1 << 16


@dataclass
class Truth:
    """Where a condition holds: one axis per variable, axes in ascending position order."""

    axes: tuple[int, ...]
    table: Array


class Grid:
    """Evaluates conditions over the positions 0, 1, … of an ordered list of variables.

    Args:
        names: Variables in order.
        values: The values of each.
    """

    def __init__(self, names: Sequence[str], values: Mapping[str, Sequence[Any]]) -> None:
        self.names = list(names)
        self.place = {n: i for i, n in enumerate(self.names)}
        self.columns = [encode(values[n]) for n in self.names]
        self.sizes = [len(c) for c in self.columns]
        self.bounds = bounds_of({n: values[n] for n in self.names})
        self._shared: Lowering[Any] | None = None

    def cells(self, clause: BoolExpr) -> int:
        """The number of value combinations of the clause's variables."""
        return prod(self.sizes[self.place[n]] for n in clause.support)

    def truth(self, clause: BoolExpr) -> Truth:
        """The clause's truth table (of `cells` cells)."""
        axes = tuple(sorted(self.place[n] for n in clause.support))
        if len(self.names) <= _MAX_AXES:
            low = self._shared = self._shared or self._lowering(range(len(self.names)))
            rank = len(self.names)
            where = axes
        else:
            low, rank, where = self._lowering(axes), len(axes), tuple(range(len(axes)))
        shape = [1] * rank
        for a, w in zip(axes, where, strict=True):
            shape[w] = self.sizes[a]
        found = np.broadcast_to(np.asarray(low.bool(clause), dtype=np.bool_), shape)
        low.memo = {k: p for k, p in low.memo.items() if np.size(p[0]) <= _KEEP_CELLS}
        return Truth(axes, found.reshape([self.sizes[a] for a in axes]))

    def _lowering(self, axes: Iterable[int]) -> Lowering[Any]:
        chosen = list(axes)
        rank = len(chosen)
        arrays = {
            self.names[a]: self.columns[a].reshape((1,) * i + (-1,) + (1,) * (rank - i - 1))
            for i, a in enumerate(chosen)
        }
        return Lowering(Vectors(arrays.__getitem__), self.bounds.never_zero)

    def check(self, clauses: Iterable[BoolExpr]) -> None:
        """Refuse clauses that 64-bit integers cannot hold (see `check_width`)."""
        check_width(list(clauses), self.bounds)


def widen(truth: Truth, axes: tuple[int, ...]) -> Array:
    """The table with axes of length one where ``axes`` has variables that it lacks."""
    shape = iter(truth.table.shape)
    return truth.table.reshape([next(shape) if a in truth.axes else 1 for a in axes])


def absorb(truths: Sequence[Truth], sizes: Sequence[int], room: int) -> list[Truth]:
    """The same conjunction in fewer tables.

    A table whose variables another table has too is merged into it, and tables whose joint size
    stays below ``room`` cells are merged with each other.
    """
    left = sorted(truths, key=lambda t: (t.table.size, t.axes))
    out: list[Truth] = []
    while left:
        small = left.pop(0)
        best: tuple[float, int, tuple[int, ...]] | None = None
        for k, other in enumerate(left):
            joint = tuple(sorted({*small.axes, *other.axes}))
            size = prod(sizes[a] for a in joint)
            if not set(small.axes) & set(other.axes):
                continue
            if size == other.table.size:
                best = (0, k, joint)
                break
            if size <= room and (best is None or size < best[0]):
                best = (size, k, joint)
        if best is None:
            out.append(small)
            continue
        other = left.pop(best[1])
        merged = Truth(best[2], widen(small, best[2]) & widen(other, best[2]))
        at = next((i for i, t in enumerate(left) if t.table.size >= merged.table.size), len(left))
        left.insert(at, merged)
    return sorted(out, key=lambda t: t.axes)
