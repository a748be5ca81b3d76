"""Lowering: one walk that turns expressions into the terms of any back end.

A back end is an `Algebra`: total operations on its own terms (Python values, source text, numpy
arrays, z3 terms). Undefinedness is handled here once, so that all back ends agree: each number
or word is lowered to a pair *(value, defined)*, ``defined`` being ``None`` where the term is
defined everywhere, and a Boolean over undefined operands is false.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ckrules.engine.expr import BOOL, OPS, Expr
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import annotate

T = TypeVar("T")
Pair = tuple[Any, Any]


class Algebra(Protocol[T]):
    """What a back end must offer; every operation is total (divisors are never zero)."""

    def const(self, node: Expr) -> T: ...
    def var(self, node: Expr) -> T: ...
    def arith(self, op: str, a: T, b: T, node: Expr) -> T: ...
    def compare(self, op: str, a: T, b: T, node: Expr) -> T: ...
    def isin(self, a: T, values: tuple[Any, ...], node: Expr) -> T: ...
    def is_pow2(self, a: T, node: Expr) -> T: ...
    def logic(self, op: str, args: Sequence[T]) -> T: ...
    def select(self, cond: T, a: T, b: T, node: Expr) -> T: ...
    def nonzero(self, a: T, node: Expr) -> T: ...
    def number(self, value: int, like: Expr) -> T: ...
    def truth(self, value: bool) -> T: ...
    def rel(self, table: Table, keys: Sequence[T], node: Expr) -> T: ...
    def lookup(self, table: Table, keys: Sequence[T], node: Expr) -> T: ...


class Lowering(Generic[T]):
    """Lowers expressions with one algebra, sharing what they share.

    Args:
        algebra: The back end's operations.
        never_zero: Tells which divisors need no guard (default: non-zero constants only).
        seed: Terms of nodes that are known already, by node id.
    """

    def __init__(
        self,
        algebra: Algebra[T],
        never_zero: Callable[[Expr], bool] | None = None,
        seed: Mapping[int, Pair] | None = None,
    ) -> None:
        self.alg = algebra
        self._never_zero = never_zero
        self.memo: dict[int, Pair] = dict(seed or {})

    def bool(self, root: Expr) -> T:
        """The back end's term of a Boolean expression."""
        term: T = self.pair(root)[0]
        return term

    def pair(self, root: Expr) -> Pair:
        """Value and definedness of any expression."""
        return annotate(root, self.memo, self._step)

    def _step(self, node: Expr) -> Pair:
        memo = self.memo
        return _HANDLERS[node.op](self, node, [memo[a.id] for a in node.args])

    def never_zero(self, divisor: Expr) -> builtins.bool:
        """True where the divisor cannot be zero, so that no guard is needed."""
        if divisor.op == "const":
            return builtins.bool(divisor.data != 0)
        return self._never_zero is not None and self._never_zero(divisor)

    def both(self, args: Sequence[Pair], *defined: Any) -> Any:
        """The conjunction of what says whether terms are defined, ``None`` if all always are."""
        known = [d for _, d in args if d is not None]
        known += [d for d in defined if d is not None]
        if len(known) < 2:
            return known[0] if known else None
        return self.alg.logic("and", known)


def _const(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return low.alg.const(node), None


def _undef(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    if node.sort == BOOL:
        return low.alg.truth(False), None
    return low.alg.number(0, node), low.alg.truth(False)


def _var(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return low.alg.var(node), None


def _named(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return args[0]


def _arith(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return low.alg.arith(node.op, args[0][0], args[1][0], node), low.both(args)


def _division(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    (a, _), (b, _) = args
    divisor = node.args[1]
    guard = None
    if not low.never_zero(divisor):
        guard = low.alg.nonzero(b, divisor)
        b = low.alg.select(guard, b, low.alg.number(1, divisor), divisor)
    return low.alg.arith(node.op, a, b, node), low.both(args, guard)


def _guarded(low: Lowering[Any], value: Any, args: list[Pair]) -> Pair:
    defined = low.both(args)
    return (value if defined is None else low.alg.logic("and", [value, defined])), None


def _compare(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return _guarded(low, low.alg.compare(node.op, args[0][0], args[1][0], node), args)


def _isin(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return _guarded(low, low.alg.isin(args[0][0], node.data, node), args)


def _is_pow2(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return _guarded(low, low.alg.is_pow2(args[0][0], node), args)


def _rel(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return _guarded(low, low.alg.rel(node.data, [v for v, _ in args], node), args)


def _lookup(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    keys = [v for v, _ in args]
    present = low.alg.rel(node.data, keys, node)
    return low.alg.lookup(node.data, keys, node), low.both(args, present)


def _logic(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    return low.alg.logic(node.op, [v for v, _ in args]), None


def _ite(low: Lowering[Any], node: Expr, args: list[Pair]) -> Pair:
    (c, _), (a, da), (b, db) = args
    value = low.alg.select(c, a, b, node)
    if da is None and db is None:
        return value, None
    yes = low.alg.truth(True)
    defined = low.alg.select(c, yes if da is None else da, yes if db is None else db, _BOOLEAN)
    return value, defined


class _Boolean:
    """Stands for "a Boolean node" where `select` is asked about definedness."""

    sort = BOOL


_BOOLEAN: Any = _Boolean()

_HANDLERS: dict[str, Callable[[Lowering[Any], Expr, list[Pair]], Pair]] = {
    "const": _const, "undef": _undef, "var": _var, "named": _named, "ite": _ite,
    "add": _arith, "sub": _arith, "mul": _arith, "min": _arith, "max": _arith,
    "floordiv": _division, "mod": _division, "truediv": _division, "ceil_div": _division,
    "eq": _compare, "ne": _compare, "lt": _compare, "le": _compare, "gt": _compare,
    "ge": _compare, "isin": _isin, "is_pow2": _is_pow2, "rel": _rel, "lookup": _lookup,
    "and": _logic, "or": _logic, "not": _logic, "implies": _logic, "iff": _logic,
}  # fmt: skip

if set(_HANDLERS) != set(OPS):  # a new node kind without a handler must not import
    raise RuntimeError(f"no lowering for {set(OPS) ^ set(_HANDLERS)}")
