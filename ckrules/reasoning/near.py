"""Points near legal ones, which settle many questions about rules before a solver is asked.

A rule that some point breaks fires, one that some point breaks alone is implied by nothing, what
some point meets is possible. Small changes of legal points show almost all of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rules import Rule
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]
_SEEDS = 100  # points whose surroundings are looked at
NEAR = 1 << 14  #: Points near seeds that are enough to shrink one conflict.


class NearPoints:
    """Points that differ from given ones in two fields at most, and random ones.

    Args:
        domains: The values that each variable may take; one that has a single value has it
            in every point.
        seeds: Points to start from; those with other values are left out.
        drawn: How many random points there are beside them.
        most: How many of the points near the seeds are kept.
        within: Conditions that every point must meet.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2])
    >>> near = NearPoints({"m": (16, 32), "w": (2,)}, [{"m": 16, "w": 1}])
    >>> near.find([m == 32, w == 2]), near.find([w == 1])
    ({'m': 32, 'w': 2}, None)
    """

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]],
        seeds: Iterable[Mapping[str, Any]],
        *,
        drawn: int = 0,
        most: int | None = None,
        within: Sequence[BoolExpr] = (),
    ) -> None:
        self.domains = {n: tuple(values) for n, values in domains.items()}
        self._truth: dict[int, tuple[BoolExpr, Array | None]] = {}
        self._show(self._rows(list(seeds), drawn, most))
        if within:
            meets = [t for t in self._holds(within) if t is not None]
            self._show(self._table[np.logical_and.reduce(meets)] if meets else self._table)

    def find(self, conditions: Sequence[BoolExpr]) -> Point | None:
        """One of the points that meets every condition, None if none of them does."""
        left = np.ones(len(self._table), dtype=np.bool_)
        for condition in conditions:
            (truth,) = self._holds([condition])
            if truth is None:
                return None
            left = left & truth
            if not left.any():
                return None
        if not len(left):
            return None
        row = self._table[int(left.argmax())].tolist()
        return {n: self.domains[n][c] for n, c in zip(self.domains, row, strict=True)}

    def broken(self, rules: Sequence[Rule]) -> tuple[set[str], set[str]]:
        """The codes of the rules that some point breaks, and of those that one breaks alone.

        >>> from ckrules.engine.expr.variables import Int
        >>> m = Int("m", range(10))
        >>> rules = [Rule("AB001", "too-big", "compile", m < 6),
        ...          Rule("AB002", "far-too-big", "compile", m < 8)]
        >>> tuple(map(sorted, NearPoints({"m": range(10)}, [{"m": 0}]).broken(rules)))
        (['AB001', 'AB002'], ['AB001'])
        """
        broken = {
            r.code: ~truth
            for r, truth in zip(rules, self._holds([r.condition for r in rules]), strict=True)
            if truth is not None
        }
        unknown = len(rules) - len(broken)  # which may be broken by any point
        count = sum((row.astype(np.int32) for row in broken.values()), start=np.int32(unknown))
        alone = {code for code, row in broken.items() if (row & (count == 1)).any()}
        return {code for code, row in broken.items() if row.any()}, alone

    def _show(self, table: Array) -> None:
        """The points are the rows of a table of codes."""
        self._table = table
        self._truth.clear()
        self._columns: dict[str, Array] = {}

    def _holds(self, conditions: Sequence[BoolExpr]) -> list[Array | None]:
        """Where each condition holds, None for one with numbers beyond 64 bits."""
        new = [c for c in conditions if c.id not in self._truth]
        for node in walk(*new):
            if node.op == "var" and (name := node.data.name) not in self._columns:
                codes = self._table[:, list(self.domains).index(name)]
                self._columns[name] = encode(self.domains[name], node.sort)[codes]
        for some in (new, *([c] for c in new)):
            some = [c for c in some if c.id not in self._truth]
            try:
                with np.errstate(all="ignore"):
                    found = evaluate_columns(some, self._columns, len(self._table)) if some else ()
            except UsageError:
                if len(some) == 1:
                    self._truth[some[0].id] = some[0], None
                continue
            self._truth.update((c.id, (c, t)) for c, t in zip(some, found, strict=True))
        return [self._truth[c.id][1] for c in conditions]

    def _rows(self, seeds: Sequence[Mapping[str, Any]], drawn: int, most: int | None) -> Array:
        places = [
            (n, {v: k for k, v in enumerate(values)}, 0 if len(values) == 1 else None)
            for n, values in self.domains.items()
        ]
        coded = [[place.get(p.get(n), single) for n, place, single in places] for p in seeds]
        known = [row for row in coded if None not in row]
        rng = np.random.default_rng(0)
        sizes = np.asarray([len(values) for values in self.domains.values()])
        pieces = [np.zeros((0, len(sizes)), dtype=np.int16)]
        if drawn and sizes.all() and len(sizes):
            columns = [rng.integers(0, size, size=drawn) for size in sizes]
            pieces.append(np.stack(columns, axis=1).astype(np.int16))
        if known and len(sizes):
            base = np.unique(np.asarray(known, dtype=np.int16), axis=0)
            some = base[np.linspace(0, len(base) - 1, min(_SEEDS, len(base))).astype(int)]
            once = np.concatenate([_changed(some, k, s) for k, s in enumerate(sizes.tolist())])
            twice = once.copy()
            column = rng.integers(0, len(sizes), size=len(twice))
            values = (rng.random(len(twice)) * sizes[column]).astype(np.int16)
            twice[np.arange(len(twice)), column] = values
            close = np.concatenate([base, once, twice])
            pieces.append(close[:: max(1, -(-len(close) // most))] if most else close)
        return np.concatenate(pieces)


def _changed(rows: Array, column: int, size: int) -> Array:
    """Every row with every value in one column."""
    out = np.repeat(rows, size, axis=0)
    out[:, column] = np.tile(np.arange(size, dtype=rows.dtype), len(rows))
    return out
