"""Conditions split into conjuncts, which a compiler can push to where they are decided.

Exact for all sorts: only connectives are taken apart, never the comparisons under them.
"""

from __future__ import annotations

from typing import cast

from ckrules.engine.expr import TRUE, BoolExpr, Expr
from ckrules.engine.rewrite.connectives import implied, nary, negation

_MAX_PARTS = 64  # a disjunction is not multiplied out into more conjuncts than this


def clauses(root: BoolExpr) -> list[BoolExpr]:
    """Conditions that together say what ``root`` says, as small as splitting makes them.

    >>> from ckrules.engine.expr.variables import Bool, Int
    >>> g, a, b = Bool("g"), Int("a", range(9)), Int("b", range(9))
    >>> clauses(g.implies((a < 4) & (b < 4)) & (a != b))
    [implies(g, a < 4), implies(g, b < 4), a != b]
    """
    out: dict[int, BoolExpr] = {}
    for part in _split(root):
        out.setdefault(part.id, part)
    return list(out.values())


def _split(node: Expr) -> list[BoolExpr]:
    if node is TRUE:
        return []
    if node.op == "named":
        return _split(node.args[0])
    if node.op == "and":
        return [c for a in node.args for c in _split(a)]
    if node.op == "implies":
        guard, body = node.args
        if guard.op == "or":
            return [c for g in guard.args for c in _split(implied((g, body)))]
        parts = _split(body)
        return [_guarded(guard, p) for p in parts]
    if node.op == "not":
        return _split_not(node)
    if node.op == "ite":
        cond, then, other = node.args
        return _split(implied((cond, then))) + _split(implied((negation(cond), other)))
    if node.op == "or":
        return _split_or(node)
    return [cast(BoolExpr, node)]


def _guarded(guard: Expr, body: BoolExpr) -> BoolExpr:
    if body.op == "implies":
        return implied((nary("and", (guard, body.args[0])), body.args[1]))
    return implied((guard, body))


def _split_not(node: Expr) -> list[BoolExpr]:
    inner = node.args[0]
    if inner.op == "or":
        return [c for a in inner.args for c in _split(negation(a))]
    if inner.op == "implies":
        return _split(inner.args[0]) + _split(negation(inner.args[1]))
    return [cast(BoolExpr, node)]


def _split_or(node: Expr) -> list[BoolExpr]:
    """``x | (a & b)`` as ``x | a`` and ``x | b``, for the first conjunction among the parts."""
    for i, a in enumerate(node.args):
        parts = _split(a) if a.op in ("and", "not", "ite", "implies") else []
        if 1 < len(parts) <= _MAX_PARTS:
            rest = node.args[:i] + node.args[i + 1 :]
            if any(r.op == "and" for r in rest):
                return [cast(BoolExpr, node)]
            return [c for p in parts for c in _split(nary("or", (*rest, p)))]
    return [cast(BoolExpr, node)]
