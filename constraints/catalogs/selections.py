"""Selections that depend on the order of another catalog's list: every n-th, and in turn.

They are not rules over fields: which configuration is the fifth of its category depends on all the
others, so a selected catalog is known only by listing the one it is cut from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ckrules.constraints.catalogs.model import Select
from ckrules.engine.expr import FALSE, BoolExpr, Expr, Value, lookup, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import domain_of

Point = dict[str, Value]
#: Gives the category of a point.
Categorise = Callable[[Mapping[str, Value]], Hashable]


def by_category(points: Sequence[Point], category: Categorise) -> dict[Hashable, list[int]]:
    """The positions of the points by category, in order of first appearance."""
    found: dict[Hashable, list[int]] = {}
    for i, point in enumerate(points):
        found.setdefault(category(point), []).append(i)
    return found


def every_nth(
    points: Sequence[Point], category: Categorise, n: int, cover: Sequence[str]
) -> list[Point]:
    """The n-th, 2n-th, … of each category, the first where there are fewer, and what covers.

    Covering adds the first point of each combination of the ``cover`` fields that has none yet.
    Points of families that lack these fields need no cover. The order stays.

    >>> rows = [{"ndim": 2, "dtype": "fp16", "pipeline": p} for p in "aaaab"]
    >>> [p["pipeline"] for p in every_nth(rows, lambda p: "regular", 3, ["pipeline"])]
    ['a', 'b']
    """
    chosen: set[int] = set()
    for places in by_category(points, category).values():
        chosen.update(places[n - 1 :: n] or places[:1])

    def combination(point: Point) -> tuple[Value, ...] | None:
        return tuple(point[f] for f in cover) if all(f in point for f in cover) else None

    covered = {combination(points[i]) for i in chosen}
    for i, point in enumerate(points):
        if cover and (key := combination(point)) is not None and key not in covered:
            covered.add(key)
            chosen.add(i)
    return [points[i] for i in sorted(chosen)]


def in_turn(points: Sequence[Point], category: Categorise, count: int) -> list[Point]:
    """The first point of every category, then the second of each, … until there are ``count``.

    Every category has its first point, even if these are more than ``count``.

    >>> rows = [{"ndim": 2, "dtype": "fp16", "n": n} for n in range(5)]
    >>> [p["n"] for p in in_turn(rows, lambda p: "odd" if p["n"] % 2 else "even", 3)]
    [0, 1, 2]
    """
    groups = list(by_category(points, category).values())
    chosen = [places[0] for places in groups]
    for rank in range(1, max(map(len, groups), default=0)):
        for places in groups:
            if len(chosen) >= count:
                return [points[i] for i in chosen]
            if rank < len(places):
                chosen.append(places[rank])
    return [points[i] for i in chosen]


def select(rule: Select, points: Sequence[Point], category: Categorise) -> list[Point]:
    """The points that a ``[select]`` table takes from an ordered list."""
    if rule.every is not None:
        return every_nth(points, category, rule.every, rule.cover)
    return in_turn(points, category, rule.in_turn or len(points))


def selected_rows(
    name: str, source: str, fields: Mapping[str, Expr], rows: Sequence[tuple[Value, ...]]
) -> BoolExpr:
    """The condition that a point is one of the rows, whose columns are the fields in order.

    Sizes and the other fields are numbered by a table each, and pairs of numbers make the third,
    so that no table has more columns than the engine can number.
    """
    if not rows:
        return FALSE
    names = list(fields)
    sizes = [i for i, k in enumerate(names) if domain_of(fields[k]).group]
    rest = [
        i for i in range(len(names)) if i not in sizes and len({r[i] for r in rows}) > 1
    ] or [0]  # fmt: skip
    numbers: list[Table] = []
    for part, columns in (("sizes", sizes), ("others", rest)):
        keys = list(dict.fromkeys(tuple(r[i] for i in columns) for r in rows))
        numbered = {k: n for n, k in enumerate(keys)}
        columns_named = [names[i] for i in columns]
        numbers.append(Table(f"{name}_{part}", columns_named, numbered, source=source))
    pairs = [
        tuple(
            t.rows[tuple(r[i] for i in columns)]
            for t, columns in zip(numbers, (sizes, rest), strict=True)
        )
        for r in rows
    ]
    table = Table.relation(f"selected_{name}", ("sizes", "others"), pairs, source=source)
    return rel(table, *(lookup(t, *(fields[k] for k in t.keys)) for t in numbers))
