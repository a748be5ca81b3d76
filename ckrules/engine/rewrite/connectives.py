"""Logical connectives of conditions, made without what is plainly superfluous.

Exact whatever the conditions compare: each is true or false, also of NaN and of undefined terms,
and none is ever turned into its opposite (``~(x < y)`` is not ``x >= y`` of NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from ckrules.engine.expr import FALSE, TRUE, BoolExpr, Expr, make
from ckrules.engine.expr.traversal import children


def condition(op: str, args: tuple[Expr, ...], data: Any = None) -> BoolExpr:
    """A Boolean node as it stands."""
    return make(BoolExpr, op, args, data)


def negation(node: Expr) -> BoolExpr:
    """The condition that holds where ``node`` does not, without a double ``~``."""
    if node.op == "const":
        return FALSE if node.data else TRUE
    if node.op == "not":
        return cast(BoolExpr, node.args[0])
    return condition("not", (node,))


def nary(op: str, args: Iterable[Expr]) -> BoolExpr:
    """``and`` or ``or`` of conditions, flat, each once, and decided where one part decides it."""
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    kept: dict[int, Expr] = {}
    for a in children(args, op):
        if a is absorbing:
            return absorbing
        if a is not neutral:
            kept.setdefault(a.id, a)
    if any(a.op == "not" and a.args[0].id in kept for a in kept.values()):
        return absorbing
    parts = tuple(kept.values())
    if len(parts) < 2:
        return cast(BoolExpr, parts[0] if parts else neutral)
    return condition(op, parts)


def implied(args: tuple[Expr, ...]) -> BoolExpr:
    """``implies`` of two conditions, or less where one of them is known."""
    a, b = args
    if a is FALSE or b is TRUE or a is b:
        return TRUE
    if a is TRUE:
        return cast(BoolExpr, b)
    if b is FALSE:
        return negation(a)
    return condition("implies", (a, b))


def equivalent(args: tuple[Expr, ...]) -> BoolExpr:
    """``iff`` of two conditions, or less where one of them is known."""
    a, b = args
    if a is b:
        return TRUE
    for x, y in ((a, b), (b, a)):
        if x.op == "const":
            return cast(BoolExpr, y if x.data else negation(y))
    return condition("iff", (a, b))


def choice(args: tuple[Expr, ...]) -> BoolExpr:
    """``ite`` of three conditions, or less where one of them is known."""
    cond, then, other = args
    if cond.op == "const":
        return cast(BoolExpr, then if cond.data else other)
    if then is other:
        return cast(BoolExpr, then)
    if then.op == "const":
        return nary("or", (cond, other)) if then.data else nary("and", (negation(cond), other))
    if other.op == "const":
        return implied((cond, then)) if other.data else nary("and", (cond, then))
    return condition("ite", (cond, then, other))


CONNECTIVES: dict[str, Callable[[tuple[Expr, ...]], BoolExpr]] = {
    "and": lambda args: nary("and", args),
    "or": lambda args: nary("or", args),
    "not": lambda args: negation(args[0]),
    "implies": implied,
    "iff": equivalent,
    "ite": choice,
}
