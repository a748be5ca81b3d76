"""Pictures of counts: by the values of a field, and by pairs of values of two.

Counts are exact, whatever the size of the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.output.counts import Group, grouped
from ckrules.pictures.shapes import Bars, HeatMap, Nothing, word

if TYPE_CHECKING:
    from ckrules.engine.space import Space

UNIT = "configurations"
#: So many bars, rows and columns are shown at most.
MOST = 40


def by_value(space: Space, name: str) -> Bars | Nothing:
    """How many points of a space have each value of a field or derived quantity.

    Raises:
        UnknownNameError: For a field that does not exist, with near matches.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])
    >>> bars = by_value(Space([m, w], [m % (w * 32) == 0]), "waves")
    >>> bars.labels, bars.values
    (('1', '2'), (2, 1))
    """
    return bars(name, list(grouped(space, (name,))))


def bars(name: str, groups: Sequence[Group], unit: str = UNIT) -> Bars | Nothing:
    """The picture of counts by the values of one field; of very many values the most frequent."""
    title = f"{unit} by {name}"
    if not groups:
        return Nothing(title, f"there are no {unit}")
    values = [(word(key[0]), n) for key, n in groups]
    text = ""
    if len(values) > MOST:
        kept = set(sorted(range(len(values)), key=lambda i: -values[i][1])[:MOST])
        rest = sum(n for i, (_, n) in enumerate(values) if i not in kept)
        text = f"{len(values) - len(kept):,} other values with {rest:,} {unit} are not shown."
        values = [v for i, v in enumerate(values) if i in kept]
    labels, counts = zip(*values, strict=True)
    return Bars(title, name, unit, tuple(labels), tuple(counts), text)


def pairs(space: Space, x: str, y: str, unit: str = UNIT) -> HeatMap | Nothing:
    """How many points of a space have each pair of values of two fields.

    Raises:
        UnknownNameError: For a field that does not exist, with near matches.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])
    >>> pairs(Space([m, w], [m % (w * 32) == 0]), "tile_m", "waves").cells
    ((1, 1), (None, 1))
    """
    return cells(x, y, list(grouped(space, (y, x))), unit)


def cells(x: str, y: str, groups: Sequence[Group], unit: str = UNIT) -> HeatMap | Nothing:
    """The picture of counts by the values of two fields, ``y`` first; of many the most frequent."""
    title = f"{unit} by {y} and {x}"
    if not groups:
        return Nothing(title, f"there are no {unit}")
    counts = {(key[0], key[1]): n for key, n in groups}
    rows, columns = (_frequent([(key[i], n) for key, n in groups]) for i in (0, 1))
    every = [len({key[i] for key, _ in groups}) for i in (0, 1)]
    left_out = [
        f"{whole - len(kept):,} values of {name} with few {unit} are not shown."
        for name, whole, kept in ((y, every[0], rows), (x, every[1], columns))
        if whole > len(kept)
    ]
    found = tuple(tuple(counts.get((r, c)) for c in columns) for r in rows)
    return HeatMap(
        title, x, y, unit, tuple(map(word, columns)), tuple(map(word, rows)), found,
        said=" ".join(left_out),
    )  # fmt: skip


def _frequent(pairs: Sequence[tuple[object, int]]) -> list[object]:
    """The values, or the most frequent of very many; numbers in their order."""
    totals: dict[object, int] = {}
    for value, n in pairs:
        totals[value] = totals.get(value, 0) + n
    kept = set(sorted(totals, key=lambda v: -totals[v])[:MOST])
    left = [v for v in totals if v in kept]
    numbers = all(isinstance(v, (int, float)) for v in left)
    return sorted(left, key=_order) if numbers else left


def _order(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def telling(space: Space, names: Sequence[str], most: int = 4) -> list[str]:
    """The first fields of which the points of a space have several values.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> telling(Space([Int("a", [1]), Int("b", [1, 2]), Int("c", [1, 2])]), ["a", "b", "c"], 1)
    ['b']
    """
    found: list[str] = []
    for name in names:
        if len(found) < most and len(counted(space, name)) > 1:
            found.append(name)
    return found


def counted(space: Space, name: str) -> Mapping[object, int]:
    """The values of a field that points have, and how many."""
    return {value: n for value, n in space.counts_by(name).items() if n}
