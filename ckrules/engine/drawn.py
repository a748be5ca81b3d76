"""Counts under conditions that are too hard to count, estimated from drawn points.

The points of the space without the conditions are drawn uniformly, and the share of them that
meets the conditions is what is left of its exact counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.engine.diagram.facets import Facets
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.sampling import drawn

if TYPE_CHECKING:
    from ckrules.engine.codec import Point
    from ckrules.engine.expr import BoolExpr
    from ckrules.engine.space import Space

DRAWN = 40_000
"""Points that are drawn for each field that is held, and for the others."""


@dataclass(frozen=True)
class DrawnCounts:
    """Estimated counts, as `Facets.under` gives exact ones; None where no drawn point has a value.

    Args:
        by: For each variable the points of each code, 0 where there is none for certain.
        met: How many of the drawn points meet the conditions.
    """

    total: int
    by: Mapping[str, Sequence[int | None]]
    met: int
    drawn: int

    @property
    def spread(self) -> float:
        """What ``total`` is off by in two of three draws, as a share of it."""
        return sqrt((1 - self.met / self.drawn) / self.met) if self.met else float("inf")


class DrawnFacets:
    """Estimates of the points of a space that meet conditions, under any choice of values.

    Args:
        space: The points without the conditions, compiled as a whole.
        conditions: What they have to meet.

    Raises:
        UsageError: If the space itself is too hard to be compiled.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
    >>> facets = DrawnFacets(Space([m, w]), [m % (w * 16) == 0])
    >>> found = facets.under({"waves": [1]})
    >>> found.total, found.by
    (2, {'tile_m': [0, 1, 1], 'waves': [3, 2, 1]})
    """

    def __init__(self, space: Space, conditions: Sequence[BoolExpr], size: int = DRAWN) -> None:
        self._space, self._conditions, self._size = space, list(conditions), size
        self._whole = Facets(space.compile())

    def under(self, chosen: Mapping[str, Sequence[int]]) -> DrawnCounts:
        """The counts under a choice of codes; those of a field are without its own choice."""
        whole, _ = self._whole.under(chosen)
        table, n = self._meeting(chosen, 1)
        met = _rows(table)
        by: dict[str, Sequence[int | None]] = {}
        for name, column in table.items():
            by[name] = self._scaled(name, column, chosen, n)
        for name in chosen:
            others = {k: v for k, v in chosen.items() if k != name}
            some, drawn_here = self._meeting(others, 1)
            by[name] = self._scaled(name, some[name], others, drawn_here)
        return DrawnCounts(_about(whole, met, n), by, met, n)

    def points(self, chosen: Mapping[str, Sequence[int]], n: int, seed: int) -> list[Point]:
        """At most so many points under a choice, drawn uniformly; fewer where few were found."""
        table, _ = self._meeting(chosen, seed)
        few = {name: column[:n] for name, column in table.items()}
        return list(self._space.codec.points(few, min(n, _rows(table))))

    def _scaled(
        self, name: str, column: Any, chosen: Mapping[str, Sequence[int]], n: int
    ) -> list[int | None]:
        whole, before = self._whole.under(chosen)
        hits = np.bincount(column, minlength=len(before[name])).tolist()
        return [
            0 if not possible else _about(whole, k, n) if k or n == whole else None
            for possible, k in zip(before[name], hits, strict=True)
        ]

    def _meeting(
        self, chosen: Mapping[str, Sequence[int]], seed: int
    ) -> tuple[dict[str, Any], int]:
        """The drawn points that meet the conditions, as codes, and how many were drawn."""
        domains = self._space.domains
        held = {name: [domains[name][c] for c in codes] for name, codes in chosen.items()}
        compiled = self._space.bind(**held).compile() if held else self._space.compile()
        numbers = [i for piece in drawn(compiled.count, self._size, seed) for i in piece]
        table = compiled.unrank_many(numbers) if numbers else {}
        codes = {
            name: np.asarray(sorted(chosen[name]), dtype=np.int64)[table[name]]
            if name in chosen and numbers
            else np.asarray(table.get(name, ()), dtype=np.int64)
            for name in self._space.names
        }
        sorts = {n: v.sort for n, v in self._space.codec.variables.items()}
        names = frozenset().union(*(c.support for c in self._conditions))
        read = {n: encode(domains[n], sorts[n])[codes[n]] for n in names}
        good = np.ones(len(numbers), dtype=np.bool_)
        for truth in evaluate_columns(self._conditions, read, len(numbers)):
            good &= truth
        return {name: column[good] for name, column in codes.items()}, len(numbers)


def _rows(table: Mapping[str, Any]) -> int:
    return len(next(iter(table.values())))


def _about(whole: int, hits: int, n: int) -> int:
    """The share of a count, exact where every point was looked at, else to two digits."""
    if n >= whole:
        return hits
    return int(float(f"{whole * hits / n:.2g}"))
