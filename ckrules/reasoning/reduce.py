"""Reduction: fewer values and smaller conditions before a solver is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import FALSE, BoolExpr
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.simplify import Simplifier

Domains = dict[str, tuple[Any, ...]]


def reduced(
    domains: Mapping[str, Sequence[Any]], conditions: Iterable[BoolExpr]
) -> tuple[Domains, list[BoolExpr]] | None:
    """The same points with values that a condition of one variable rules out removed.

    None if that leaves a variable without values.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 24, 32]), Int("w", [1, 2])
    >>> reduced({"m": (16, 24, 32), "w": (1, 2)}, [m % (w * 16) == 0, w > 1])
    ({'m': (32,), 'w': (2,)}, [])
    """
    left: Domains = {n: tuple(v) for n, v in domains.items()}
    pending = list(conditions)
    while all(left.values()):
        simple = Simplifier(candidates=left)
        parts: dict[int, BoolExpr] = {}
        for condition in pending:
            for part in clauses(simple.condition(condition)):
                parts.setdefault(part.id, part)
        if FALSE.id in parts:
            return None
        pending = [c for c in parts.values() if len(c.support) > 1]
        before = {n: len(v) for n, v in left.items()}
        for condition in parts.values():
            if len(condition.support) == 1:
                (name,) = condition.support
                left[name] = tuple(v for v in left[name] if At({name: v}).holds(condition))
        if all(len(v) == before[n] for n, v in left.items()):
            return left, pending
    return None


def equivalence_classes(
    domains: Mapping[str, Sequence[Any]], conditions: Sequence[BoolExpr]
) -> Domains:
    """One value of each group that makes no difference to any of the conditions.

    Two values of a variable are alike if the conditions become the same expressions with
    either; then there is a point with one exactly if there is a point with the other.

    >>> from ckrules.engine.expr.variables import Enum, Int
    >>> gpu, m = Enum("gpu", ["a", "b", "c"]), Int("m", [1, 2])
    >>> equivalence_classes({"gpu": ("a", "b", "c"), "m": (1, 2)}, [(gpu == "b").implies(m > 1)])
    {'gpu': ('a', 'b'), 'm': (1, 2)}
    """
    left: Domains = {n: tuple(v) for n, v in domains.items()}
    for name, values in left.items():
        # the nodes are kept as long as their ids are compared
        groups: dict[tuple[int, ...], tuple[Any, list[BoolExpr]]] = {}
        for value in values:
            simple = Simplifier(candidates={**left, name: (value,)})
            nodes = [simple.condition(c) for c in conditions]
            groups.setdefault(tuple(n.id for n in nodes), (value, nodes))
        left[name] = tuple(value for value, _ in groups.values())
    return left
