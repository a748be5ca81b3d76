"""Points within cheap changes of a point, found by repairing one broken condition after another.

Every legal point differs from the start in a field of each condition that the start breaks. So the
search changes the fields of one broken condition in every way, looks at what is then broken, and
goes on, always with the cheapest points that it has: complete, and far smaller than all
combinations of fields. All points of one cost are evaluated at once with numpy.

Points that have all changes of a cheaper legal one are skipped: of the sets of changes that
make the start legal, these are the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import FALSE, TRUE, BoolExpr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rewrite.exact import exact
from ckrules.engine.rewrite.simplify import Simplifier

Array = npt.NDArray[Any]
ROWS = 400_000  # points of one level up to which the search goes on


class Neighbourhood:
    """The points that meet all conditions, in the order of what leads to them from a point costs.

    Without those that have all changes of another.

    Args:
        point: The start.
        domains: Values of each field, the start's own among them.
        conditions: What points must meet.
        costs: What changing a field costs (default 1 each).

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    >>> domains = {"m": (16, 32, 64), "w": (1, 2, 4)}
    >>> near = Neighbourhood({"m": 16, "w": 4}, domains, [m % (w * 16) == 0])
    >>> [(cost, len(points)) for cost, points in near.levels()]
    [(0, 0), (1, 2), (2, 1)]
    """

    def __init__(
        self,
        point: Mapping[str, Any],
        domains: Mapping[str, Sequence[Any]],
        conditions: Sequence[BoolExpr],
        costs: Mapping[str, int] | None = None,
    ) -> None:
        self.names = list(domains)
        self.domains = {n: tuple(v) for n, v in domains.items()}
        simple = Simplifier(candidates=self.domains)
        held = (simple.condition(exact(c, self.domains)) for c in conditions)
        kept = {c.id: c for c in held if c is not TRUE}
        self.impossible = FALSE.id in kept
        self.conditions = list(kept.values())
        sorts = {v.data.name: v.sort for v in walk(*self.conditions) if v.op == "var"}
        self._columns = {n: encode(v, sorts.get(n, "")) for n, v in self.domains.items()}
        place = {n: k for k, n in enumerate(self.names)}
        self._start = np.asarray(
            [self.domains[n].index(point[n]) for n in self.names], dtype=np.int16
        )
        self._costs = [(costs or {}).get(n, 1) for n in self.names]
        self._sizes = np.asarray([len(self.domains[n]) for n in self.names])
        self._reads = np.zeros((len(self.conditions), len(self.names)), dtype=np.bool_)
        for k, c in enumerate(self.conditions):
            self._reads[k, [place[n] for n in c.support]] = True

    def levels(self) -> Iterator[tuple[int, list[Point]]]:
        """Costs in ascending order, each with the smallest repairs at exactly that cost.

        The iteration ends when every field may have changed, or before more than `ROWS` points of
        one cost would have to be looked at; `finished` tells which.
        """
        self.finished = self.impossible
        if self.impossible:
            return
        waiting: dict[int, list[Array]] = {0: [self._start[None, :]]}
        repairs: list[Array] = []
        while waiting:
            cost = min(waiting)
            rows = np.unique(np.concatenate(waiting.pop(cost)), axis=0)
            for repair in repairs:
                fields = np.flatnonzero(repair != self._start)
                rows = rows[(rows[:, fields] != repair[fields]).any(axis=1)]
            if len(rows) > ROWS:
                return
            broken = self._broken(rows)
            legal = ~broken.any(axis=1)
            repairs += list(rows[legal])
            yield cost, [self._point(r) for r in rows[legal]]
            changed = self._changed(rows[~legal], broken[~legal])
            if changed is None:
                return
            for field, pieces in changed.items():
                waiting.setdefault(cost + self._costs[field], []).extend(pieces)
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

    def _changed(self, rows: Array, broken: Array) -> dict[int, list[Array]] | None:
        """Every row with one more field changed, by the field; None if that is too many.

        Each row breaks a condition.
        """
        if not len(rows):
            return {}
        open_fields = (rows == self._start) & (self._sizes > 1)
        ways = open_fields * (self._sizes - 1)
        effort = ways @ self._reads.T  # how many changes each condition allows in each row
        effort[~broken] = np.iinfo(effort.dtype).max
        chosen = effort.argmin(axis=1)
        if int(effort[np.arange(len(rows)), chosen].sum()) > 4 * ROWS:
            return None
        found: dict[int, list[Array]] = {}
        for which in np.unique(chosen).tolist():
            some = rows[chosen == which]
            for field in np.flatnonzero(self._reads[which] & (self._sizes > 1)).tolist():
                free = some[some[:, field] == self._start[field]]
                for code in range(int(self._sizes[field])):
                    if code != self._start[field] and len(free):
                        changed = free.copy()
                        changed[:, field] = code
                        found.setdefault(field, []).append(changed)
        return found

    def _point(self, row: Array) -> Point:
        return {n: self.domains[n][c] for n, c in zip(self.names, row.tolist(), strict=True)}
