"""Propagation: clauses simplified by what the other clauses of the same problem say.

Rules are often guarded by other rules, so that a message appears once only. Where all of them
must hold together, such a guard adds nothing but variables: in the presence of ``a``, the clause
``implies(a & g, b)`` is ``implies(g, b)``. Exact for all sorts: conditions replace the very same
conditions, and the numbers under them are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ckrules.engine.expr import BOOL, FALSE, TRUE, BoolExpr, Expr, make
from ckrules.engine.expr.traversal import children, substitute, walk
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.connectives import negation
from ckrules.engine.rewrite.simplify import Simplifier

_ROUNDS = 3


@dataclass(frozen=True)
class _Implication:
    """A clause as conjuncts of a guard (none: always) and a body."""

    guard: Mapping[int, Expr]
    body: Expr

    @classmethod
    def of(cls, clause: BoolExpr) -> _Implication:
        if clause.op != "implies":
            return cls({}, clause)
        parts = children((clause.args[0],), "and")
        return cls({p.id: p for p in parts}, clause.args[1])


def propagate(given: Sequence[BoolExpr], simple: Simplifier) -> list[BoolExpr]:
    """Clauses whose conjunction is that of ``given``, each simplified by the others.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b, c = (Int(n, range(9)) for n in "abc")
    >>> fits = a % c == 0
    >>> propagate([fits, (fits & (b > 1)).implies(b < c)], Simplifier())
    [a % c == 0, implies(b > 1, b < c)]
    """
    current = list(given)
    for _ in range(_ROUNDS):
        known = [_Implication.of(c) for c in current]
        by_body: dict[int, list[int]] = {}
        for k, item in enumerate(known):
            by_body.setdefault(item.body.id, []).append(k)
        changed = False
        for k in range(len(current)):
            new = _weaken(k, current[k], known, by_body)
            if new is current[k]:
                continue
            changed = True
            simpler = simple.condition(new)
            # from here on this clause may be used in its new form only
            by_body[known[k].body.id].remove(k)
            current[k], known[k] = simpler, _Implication.of(simpler)
            by_body.setdefault(known[k].body.id, []).append(k)
        if not changed:
            break
        parts = (p for c in current for p in clauses(c))
        current = list({p.id: p for p in parts}.values())
    return current


def _weaken(
    k: int, clause: BoolExpr, known: Sequence[_Implication], by_body: Mapping[int, list[int]]
) -> BoolExpr:
    """Clause ``k`` without what the other clauses guarantee."""
    mine = known[k]
    guard = dict(mine.guard)

    def follows(node: Expr, facts: Mapping[int, Expr]) -> bool:
        """True if the other clauses and ``facts`` say that ``node`` holds."""
        if node.id in facts:
            return True
        others = (known[j] for j in by_body.get(node.id, ()) if j != k)
        if any(o.guard.keys() <= facts.keys() for o in others):
            return True
        if node.op == "and":
            return all(follows(a, facts) for a in node.args)
        if node.op == "implies":
            return follows(node.args[1], _with(facts, node.args[0]))
        if node.op == "ite" and node.sort == BOOL:
            cond, then, other = node.args
            against = _with(facts, negation(cond))
            return follows(then, _with(facts, cond)) and follows(other, against)
        return False

    def truth(facts: Mapping[int, Expr], node: Expr) -> Expr | None:
        if node.sort != BOOL or node.op == "const":
            return None
        if follows(node, facts):
            return TRUE
        return FALSE if follows(negation(node), facts) else None

    for node in list(guard.values()):
        rest = {i: g for i, g in guard.items() if i != node.id}
        if follows(node, rest):
            guard = rest
    reduced: list[Expr] = []
    for node in guard.values():
        before = {g.id: g for g in reduced}
        reduced.append(_substituted(node, partial(truth, before)))
    body = _substituted(mine.body, partial(truth, guard))
    if len(guard) == len(mine.guard) and body is mine.body and _same(reduced, guard):
        return clause
    if not reduced:
        return body  # type: ignore[return-value]  # the same sort as what came in
    left = reduced[0] if len(reduced) == 1 else make(BoolExpr, "and", tuple(reduced))
    return make(BoolExpr, "implies", (left, body))


def _same(reduced: Sequence[Expr], guard: Mapping[int, Expr]) -> bool:
    return all(a is b for a, b in zip(reduced, guard.values(), strict=True))


def _with(facts: Mapping[int, Expr], condition: Expr) -> dict[int, Expr]:
    return {**facts, **{p.id: p for p in children((condition,), "and")}}


def _substituted(root: Expr, truth: Callable[[Expr], Expr | None]) -> Expr:
    if not any(truth(n) is not None for n in walk(root)):
        return root
    return substitute(root, truth)
