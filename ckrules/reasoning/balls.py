"""Points within few changes of a point, found by repairing one broken condition after another.

Every legal point at ``k`` changes differs from the start in a field of each condition that the
start breaks. So the search changes the fields of one broken condition in every way, looks at what
is then broken, and goes on: complete, and far smaller than all combinations of ``k`` fields. All
points of a level are evaluated at once with numpy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.backends.vector import encode, evaluate_columns
from ckrules.engine.expr import FALSE, TRUE, BoolExpr
from ckrules.engine.points import Point
from ckrules.engine.simplify import Simplifier

Array = npt.NDArray[Any]
ROWS = 400_000  # points of one level up to which the search goes on


class Balls:
    """The points at 0, 1, 2, … changes from a point that meet all conditions.

    Args:
        point: The start.
        domains: Values of each field, the start's own among them.
        conditions: What points must meet.

    >>> from ckrules.engine.variables import Int
    >>> m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    >>> balls = Balls({"m": 16, "w": 4}, {"m": (16, 32, 64), "w": (1, 2, 4)}, [m % (w * 16) == 0])
    >>> [len(level) for level in balls.levels()]
    [0, 2, 4]
    """

    def __init__(
        self,
        point: Mapping[str, Any],
        domains: Mapping[str, Sequence[Any]],
        conditions: Sequence[BoolExpr],
    ) -> None:
        self.names = list(domains)
        self.domains = {n: tuple(v) for n, v in domains.items()}
        simple = Simplifier(candidates=self.domains)
        kept = {c.id: c for c in map(simple.condition, conditions) if c is not TRUE}
        self.impossible = FALSE.id in kept
        self.conditions = list(kept.values())
        self._columns = {n: encode(v) for n, v in self.domains.items()}
        place = {n: k for k, n in enumerate(self.names)}
        self._start = np.asarray(
            [self.domains[n].index(point[n]) for n in self.names], dtype=np.int16
        )
        self._sizes = np.asarray([len(self.domains[n]) for n in self.names])
        self._reads = np.zeros((len(self.conditions) + 1, len(self.names)), dtype=np.bool_)
        for k, c in enumerate(self.conditions):
            self._reads[k, [place[n] for n in c.support]] = True
        self._reads[-1] = True  # stands for "nothing is broken": any field may change

    def levels(self) -> Iterator[list[Point]]:
        """For 0, 1, 2, … changes all points at exactly that distance, while they can be listed.

        The iteration ends when every field may have changed, or before a level of more than
        `ROWS` points; `finished` tells which.
        """
        self.finished = self.impossible
        if self.impossible:
            return
        rows = self._start[None, :]
        while len(rows):
            broken = self._broken(rows)
            yield [self._point(r) for r in rows[~broken.any(axis=1)]]
            wider = self._expanded(rows, broken)
            if wider is None:
                return
            rows = wider
        self.finished = True

    def _broken(self, rows: Array) -> Array:
        """For each row and condition whether the row breaks it."""
        columns = {n: self._columns[n][rows[:, k]] for k, n in enumerate(self.names)}
        with np.errstate(all="ignore"):
            found = evaluate_columns(self.conditions, columns, len(rows))
        out = np.zeros((len(rows), len(self.conditions)), dtype=np.bool_)
        for k, holds in enumerate(found):
            out[:, k] = ~holds
        return out

    def _expanded(self, rows: Array, broken: Array) -> Array | None:
        """Every row with one more field changed; None if that is too many."""
        open_fields = (rows == self._start) & (self._sizes > 1)
        ways = open_fields * (self._sizes - 1)
        effort = ways @ self._reads.T  # how many changes each condition allows in each row
        effort[:, :-1][~broken] = np.iinfo(effort.dtype).max
        chosen = effort.argmin(axis=1)
        if int(effort[np.arange(len(rows)), chosen].sum()) > 4 * ROWS:
            return None
        pieces: list[Array] = []
        for which in np.unique(chosen).tolist():
            some = rows[chosen == which]
            for field in np.flatnonzero(self._reads[which] & (self._sizes > 1)).tolist():
                free = some[some[:, field] == self._start[field]]
                for code in range(int(self._sizes[field])):
                    if code != self._start[field] and len(free):
                        changed = free.copy()
                        changed[:, field] = code
                        pieces.append(changed)
        if not pieces:
            return rows[:0]
        found = np.unique(np.concatenate(pieces), axis=0)
        return found if len(found) <= ROWS else None

    def _point(self, row: Array) -> Point:
        return {n: self.domains[n][c] for n, c in zip(self.names, row.tolist(), strict=True)}
