"""Pointwise back end: plain Python values, one point at a time; imports nothing else.

This is the reference that the other back ends are checked against, and the one that single
configurations, messages and rule examples use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.engine.expr import Expr, Value
from ckrules.engine.expr.operators import ARITH, COMPARE
from ckrules.engine.expr.relation import Table
from ckrules.engine.rewrite.lower import Lowering


class MissingFieldError(KeyError):
    """The point lacks a variable that the expression reads."""


class Values:
    """Algebra over Python ints, floats, words and Booleans at one point."""

    def __init__(self, point: Mapping[str, Value]) -> None:
        self.point = point

    def const(self, node: Expr) -> Any:
        return node.data

    def var(self, node: Expr) -> Any:
        try:
            return self.point[node.data.name]
        except KeyError:
            raise MissingFieldError(node.data.name) from None

    def arith(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        return ARITH[op](a, b)

    def compare(self, op: str, a: Any, b: Any, node: Expr) -> bool:
        return bool(COMPARE[op](a, b))

    def isin(self, a: Any, values: tuple[Any, ...], node: Expr) -> bool:
        return a in values

    def is_pow2(self, a: Any, node: Expr) -> bool:
        return is_pow2(a)

    def logic(self, op: str, args: Sequence[bool]) -> bool:
        if op == "and":
            return all(args)
        if op == "or":
            return any(args)
        if op == "not":
            return not args[0]
        return (not args[0] or args[1]) if op == "implies" else args[0] == args[1]

    def select(self, cond: bool, a: Any, b: Any, node: Expr) -> Any:
        return a if cond else b

    def nonzero(self, a: Any, node: Expr) -> bool:
        return bool(a != 0)

    def number(self, value: int, like: Expr) -> Any:
        return value

    def truth(self, value: bool) -> bool:
        return value

    def rel(self, table: Table, keys: Sequence[Any], node: Expr) -> bool:
        return tuple(keys) in table.rows

    def lookup(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        return table.rows.get(tuple(keys), 0)


def is_pow2(a: Any) -> bool:
    """True for 1, 2, 4, 8, … (a float counts if it is whole).

    >>> [n for n in range(-4, 17) if is_pow2(n)]
    [1, 2, 4, 8, 16]
    """
    if isinstance(a, float):
        if not a.is_integer():
            return False
        a = int(a)
    return bool(a > 0 and a & (a - 1) == 0)


class At:
    """Expressions evaluated at one point; shared parts are evaluated once.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b = Int("a", range(9)), Int("b", range(9))
    >>> at = At({"a": 7, "b": 0})
    >>> at.value(a + b), at.value(a // b), at.holds(a % b == 0)
    (7, None, False)

    Raises:
        MissingFieldError: When a variable is read that the point does not have.
    """

    def __init__(self, point: Mapping[str, Value]) -> None:
        self._low: Lowering[Any] = Lowering(Values(point))

    def value(self, node: Expr) -> Any:
        """The value, or None where it is undefined."""
        value, defined = self._low.pair(node)
        return value if defined is None or defined else None

    def holds(self, node: Expr) -> bool:
        """Truth of a Boolean expression."""
        return bool(self._low.pair(node)[0])
