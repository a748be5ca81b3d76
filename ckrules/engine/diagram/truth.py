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

from ckrules.engine.evaluate.vector import Vectors, check_width, encode
from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.rewrite.bounds import bounds_of
from ckrules.engine.rewrite.lower import Lowering

Array = npt.NDArray[Any]
Table = tuple[tuple[str, ...], Array]  # names of the axes, truth
_MAX_AXES = 60 if int(np.__version__.split(".")[0]) > 1 else 30  # numpy allows 64, or 32
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
        self.values = {n: values[n] for n in self.names}
        self.sizes = list(map(len, self.values.values()))
        self.bounds = bounds_of(self.values)
        self._columns: dict[str, Array] = {}
        self._shared: Lowering[Any] | None = None

    def column(self, variable: Expr) -> Array:
        """The encoded values of a variable."""
        name = variable.data.name
        if name not in self._columns:
            self._columns[name] = encode(self.values[name], variable.sort)
        return self._columns[name]

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
        if found.size > _KEEP_CELLS:  # parts are no larger than the whole
            low.memo = {k: p for k, p in low.memo.items() if np.size(p[0]) <= _KEEP_CELLS}
        return Truth(axes, found.reshape([self.sizes[a] for a in axes]))

    def _lowering(self, axes: Iterable[int]) -> Lowering[Any]:
        chosen = list(axes)
        rank = len(chosen)
        shapes = {
            self.names[a]: (1,) * i + (-1,) + (1,) * (rank - i - 1) for i, a in enumerate(chosen)
        }

        def column(variable: Expr) -> Array:
            return self.column(variable).reshape(shapes[variable.data.name])

        return Lowering(Vectors(column), self.bounds.never_zero)

    def check(self, clauses: Iterable[Expr]) -> None:
        """Refuse expressions that 64-bit integers cannot hold (see `check_width`)."""
        check_width(list(clauses), self.bounds)


def join(tables: Sequence[Table], sizes: Mapping[str, int], room: int = 30_000) -> list[Table]:
    """The same conjunction in fewer tables.

    A table whose variables another table has too is merged into it, and tables whose joint size
    stays below ``room`` cells are merged with each other.
    """
    left = sorted(tables, key=lambda t: (t[1].size, t[0]))
    out: list[Table] = []
    while left:
        small = left.pop(0)
        best: tuple[int, int] | None = None
        for k, (names, table) in enumerate(left):
            extra = [n for n in small[0] if n not in names]
            if not extra:
                best = 0, k
                break
            if len(extra) < len(small[0]):
                size = table.size * prod(sizes[n] for n in extra)
                if size <= room and (best is None or size < best[0]):
                    best = size, k
        if best is None:
            out.append(small)
            continue
        merged = conjunction(small, left.pop(best[1]), sizes)
        at = next((i for i, t in enumerate(left) if t[1].size >= merged[1].size), len(left))
        left.insert(at, merged)
    return out


def conjunction(a: Table, b: Table, sizes: Mapping[str, int]) -> Table:
    """Where both tables hold, over the variables of both."""
    names = b[0] + tuple(n for n in a[0] if n not in b[0])
    by_place = sorted(range(len(a[0])), key=lambda i: names.index(a[0][i]))
    shape = [sizes[n] if n in a[0] else 1 for n in names]
    wide = a[1].transpose(by_place).reshape(shape)
    return names, wide & b[1].reshape(b[1].shape + (1,) * (len(names) - len(b[0])))


def squeezed(table: Table) -> Table:
    """The table without the variables that have one value only."""
    names, truth = table
    if 1 not in truth.shape:
        return table
    kept = tuple(n for n, size in zip(names, truth.shape, strict=True) if size > 1)
    return kept, truth.reshape([s for s in truth.shape if s > 1])
