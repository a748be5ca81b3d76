"""Every back end in one form: the truth of every root at every point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3

from ckrules.engine.evaluate.bits import BitEncoder
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import BoolExpr, Value
from ckrules.engine.expr.traversal import walk

Points = Sequence[Mapping[str, Value]]


def pointwise(roots: Sequence[BoolExpr], points: Points) -> list[list[bool]]:
    """Plain Python values, one point at a time."""
    return [[at.holds(r) for r in roots] for at in map(At, points)]


def compiled(roots: Sequence[BoolExpr], points: Points) -> list[list[bool]]:
    """One generated Python function."""
    function = compile_function(roots)
    return [list(map(bool, function(p))) for p in points]


def vector(roots: Sequence[BoolExpr], points: Points) -> list[list[bool]]:
    """Columns of all points, with numpy."""
    names = sorted(frozenset().union(*(r.support for r in roots))) if roots else []
    columns = {n: encode([p[n] for p in points]) for n in names}
    found = evaluate_columns(roots, columns, len(points))
    return [[bool(f[i]) for f in found] for i in range(len(points))]


def bits(roots: Sequence[BoolExpr], points: Points) -> list[list[bool]]:
    """The terms that the solver gets, with the values put in, by z3's simplifier."""
    encoder = BitEncoder(widest=512)
    terms = [encoder.bool(r) for r in roots]
    sorts = {n.data.name: n.sort for n in walk(*roots) if n.op == "var"}
    out = []
    for p in points:
        known = encoder.terms.variables.items()
        pairs = {n: (v, _constant(encoder, v, p[n], sorts[n])) for n, v in known}
        own = [[pairs[n] for n in r.support if n in pairs] for r in roots]
        put = (z3.substitute(t, *some) for t, some in zip(terms, own, strict=True))
        out.append([_truth(z3.simplify(term)) for term in put])
    return out


def _constant(encoder: BitEncoder, variable: Any, value: Any, sort: str) -> Any:
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.BitVecVal(encoder.terms.code(value, sort), variable.size())


def _truth(term: Any) -> bool:
    if z3.is_true(term) or z3.is_false(term):
        return bool(z3.is_true(term))
    solver = z3.Solver()
    solver.add(term)
    return bool(solver.check() == z3.sat)


BACKENDS: dict[str, Callable[[Sequence[BoolExpr], Points], list[list[bool]]]] = {
    "bits": bits, "compiled": compiled, "pointwise": pointwise, "vector": vector,
}  # fmt: skip


def names() -> list[str]:
    """The back ends that exist."""
    return list(BACKENDS)


def evaluate(name: str) -> Callable[[Sequence[BoolExpr], Points], list[list[bool]]]:
    """The function of a back end."""
    return BACKENDS[name]
