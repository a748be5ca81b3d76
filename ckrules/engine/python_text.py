"""Conditions as Python means them: restriction strings and functions of other tuners.

Numbers and Booleans mix as in Python (`True` is 1, a number is true unless it is zero, ``&`` and
``|`` of numbers work on their bits), so that a text means here what the tuner that it was written
for evaluates. Functions without a counterpart among the nodes, such as ``a & b``, are tabulated
over the candidate values of the variables that they read.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

from ckrules.engine import expr as e
from ckrules.engine.backends.pointwise import At
from ckrules.engine.errors import UsageError
from ckrules.engine.parse import CALLS, Reader
from ckrules.engine.table import Table
from ckrules.engine.traversal import walk

_TABLE_LIMIT = 50_000
_LARGEST = 2**62

_BITS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Pow: operator.pow,
}  # fmt: skip

#: Functions of one number that are tabulated.
_TABULATED: dict[str, Callable[[Any], Any]] = {
    "round": round, "log2": math.log2, "log": math.log, "sqrt": math.sqrt,
}  # fmt: skip
_SEQUENCES = (ast.List, ast.Tuple, ast.Set)
_MODULES = ("math", "np", "numpy")


def tabulated(text: str, function: Callable[..., Any], *args: e.Expr) -> Any:
    """``function`` of numbers as a table over the candidates of the variables they depend on.

    It is undefined where an argument is, where ``function`` raises, and at values that are no
    candidates.

    Raises:
        UsageError: When the variables have too many combinations, or a value leaves 62 bits.

    >>> from ckrules.engine.variables import Int
    >>> a, b = Int("a", [4, 6]), Int("b", [2, 3])
    >>> node = tabulated("a & b", operator.and_, a, b)
    >>> [At({"a": 6, "b": b}).value(node) for b in (2, 3)]
    [2, 2]
    """
    variables = [n for n in walk(*args) if n.op == "var"]
    domains = [v.data.values for v in variables]
    size = prod(map(len, domains))
    if size > _TABLE_LIMIT:
        raise UsageError(f"`{text}` depends on {size:,} combinations of values: too many")
    names = [v.data.name for v in variables]
    rows: dict[tuple[Any, ...], Any] = {}
    for row in product(*domains):
        at = At(dict(zip(names, row, strict=True)))
        values = [at.value(a) for a in args]
        if None in values:
            continue
        try:
            rows[row] = function(*values)
        except (ValueError, TypeError, ArithmeticError):
            continue
    if any(isinstance(v, float) for v in rows.values()):
        rows = {k: float(v) for k, v in rows.items()}
    if any(not abs(v) <= _LARGEST for v in rows.values()):
        raise UsageError(f"`{text}` reaches values that 62 bits do not hold")
    return e.lookup(Table(text, names, rows), *variables) if rows else e.undef(args[0])


class PythonReader(Reader):
    """Reads one expression with Python's meaning; the fields are the tuner's parameters."""

    def _is_flag(self, value: Any) -> bool:
        return isinstance(value, (bool, e.BoolExpr))

    def number(self, node: ast.AST) -> Any:
        """A number; conditions count as 0 and 1."""
        return self._as_number(node, self.read(node))

    def _as_number(self, node: ast.AST, value: Any) -> Any:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, e.BoolExpr):
            return e.ite(value, 1, 0)
        if isinstance(value, (str, e.EnumExpr)):
            raise self.fail(node, f"a number is needed here, not `{value}`")
        return value

    def condition(self, node: ast.AST) -> Any:
        """A condition; what decides whether `and` and `or` hold is whether their parts do."""
        if isinstance(node, ast.BoolOp):
            return super()._boolop(node)
        return super().condition(node)

    def _boolop(self, node: ast.BoolOp) -> Any:
        """``x and y`` of numbers is a number: y where x is not zero, else x."""
        values = [self.read(v) for v in node.values]
        if all(map(self._is_flag, values)):
            return super()._boolop(node)
        *before, out = [self._as_number(n, v) for n, v in zip(node.values, values, strict=True)]
        for value in reversed(before):
            held = _node(value) != 0
            out = (
                e.ite(held, out, value) if isinstance(node.op, ast.And) else e.ite(held, value, out)
            )
        return out

    def _ifexp(self, node: ast.IfExp) -> Any:
        then, other = self.read(node.body), self.read(node.orelse)
        if self._is_flag(then) != self._is_flag(other):
            then, other = self._as_number(node.body, then), self._as_number(node.orelse, other)
        return e.ite(self.condition(node.test), then, other)

    def _binop(self, node: ast.BinOp) -> Any:
        function = _BITS.get(type(node.op))
        if function is None:
            return super()._binop(node)
        left, right = self.read(node.left), self.read(node.right)
        if self._is_flag(left) and self._is_flag(right) and isinstance(node.op, _LOGIC):
            if isinstance(node.op, ast.BitXor):
                return ~(e.all_of(left) == e.all_of(right))
            return (e.all_of if isinstance(node.op, ast.BitAnd) else e.any_of)(left, right)
        a, b = self._as_number(node.left, left), self._as_number(node.right, right)
        if isinstance(node.op, ast.Pow) and isinstance(b, int) and 0 <= b <= 64:
            return self.power(node, a, b)
        if not isinstance(a, e.Expr) and not isinstance(b, e.Expr):
            return self.constant_of(node, function, a, b)
        return tabulated(ast.unparse(node), function, _node(a), _node(b))

    def constant_of(self, node: ast.AST, function: Callable[..., Any], *args: Any) -> Any:
        """The value of a function of constants; it must be a number of ordinary size."""
        if any(abs(a) > 64 for a in args[1:]):
            raise self.fail(node, "the number is too large")
        try:
            value = function(*args)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise self.fail(node, str(error)) from None
        if isinstance(value, complex) or not abs(value) <= _LARGEST:
            raise self.fail(node, "the number is too large")
        return value

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Invert):
            value = self.read(node.operand)
            if self._is_flag(value):
                raise self.fail(node, "`~` of a condition is never false in Python: write `not`")
            return -1 - self._as_number(node.operand, value)
        return super()._unaryop(node)

    def relation(self, node: ast.AST, left: ast.AST, op: ast.cmpop, right: ast.AST) -> Any:
        if isinstance(left, ast.Tuple):
            return self._tuples(node, left, op, right)
        return super().relation(node, left, op, right)

    def sides(self, op: ast.cmpop, left: ast.AST, right: ast.AST, a: Any, b: Any) -> Any:
        """Both sides of a comparison; conditions beside numbers, or in order, are numbers."""
        same = self._is_flag(a) and self._is_flag(b) and isinstance(op, (ast.Eq, ast.NotEq))
        if same or not (self._is_flag(a) or self._is_flag(b)):
            return a, b
        return self._as_number(left, a), self._as_number(right, b)

    def _tuples(self, node: ast.AST, left: ast.Tuple, op: ast.cmpop, right: ast.AST) -> Any:
        """``(a, b) == (1, 2)`` and ``(a, b) in [(1, 2), (2, 4)]``."""
        listed = isinstance(op, (ast.In, ast.NotIn))
        rows = (
            right.elts if listed and isinstance(right, (ast.List, ast.Tuple, ast.Set)) else [right]
        )
        found = []
        for row in rows:
            if not isinstance(row, ast.Tuple) or len(row.elts) != len(left.elts):
                raise self.fail(row, f"a tuple of {len(left.elts)} is needed here")
            pairs = zip(left.elts, row.elts, strict=True)
            found.append(e.all_of(*(self.relation(node, x, ast.Eq(), y) for x, y in pairs)))
        if isinstance(op, (ast.In, ast.Eq)):
            return e.any_of(*found)
        if isinstance(op, (ast.NotIn, ast.NotEq)):
            return ~e.any_of(*found)
        raise self.fail(node, "tuples are compared with ==, != and in only")

    def _call(self, node: ast.Call) -> Any:
        name = _function_name(node.func)
        method = _FUNCTIONS.get(name)
        if method is None or node.keywords:
            return super()._call(node)
        args = node.args
        if len(args) == 1 and isinstance(args[0], _SEQUENCES):
            args = args[0].elts
        arity, function = method
        if not args or (arity is not None and len(args) != arity):
            raise self.fail(node, f"{name} takes {arity or 'one or more'} arguments")
        return function(self, node, args)

    def known_calls(self) -> list[str]:
        """The functions that a text may call."""
        return [*CALLS, *_FUNCTIONS]

    # -- functions ---------------------------------------------------------------------------

    def _abs(self, node: ast.AST, args: list[ast.expr]) -> Any:
        value = self.number(args[0])
        return e.maximum(value, -value) if isinstance(value, e.IntExpr) else abs(value)

    def _extreme(self, node: ast.Call, args: list[ast.expr]) -> Any:
        function = e.minimum if _function_name(node.func) == "min" else e.maximum
        return function(*(self.number(a) for a in args))

    def _sum(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return sum((self.number(a) for a in args[1:]), self.number(args[0]))

    def _every(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return e.all_of(*map(self.condition, args))

    def _some(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return e.any_of(*map(self.condition, args))

    def _bool(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self.condition(args[0])

    def _float(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self.number(args[0])

    def _floor(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self._divided(operator.floordiv, math.floor, args[0])

    def _ceil(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self._divided(e.ceil_div, math.ceil, args[0])

    def _int(self, node: ast.AST, args: list[ast.expr]) -> Any:
        floor, ceil = self._floor(node, args), self._ceil(node, args)
        if not isinstance(floor, e.Expr):
            return floor if floor >= 0 else ceil
        return e.ite(_node(self.number(args[0])) >= 0, floor, ceil)

    def _divided(self, whole: Callable[..., Any], constant: Callable[..., Any], arg: Any) -> Any:
        """A quotient, or another number, rounded to a whole number."""
        value = self.number(arg)
        if not isinstance(value, e.Expr):
            return constant(value)
        if value.sort == e.INT:
            return value
        if value.op == "truediv" and all(a.sort == e.INT for a in value.args):
            return whole(*value.args)
        return whole(value, 1)

    def _power(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self.read(ast.copy_location(ast.BinOp(args[0], ast.Pow(), args[1]), node))

    def _tabulate(self, node: ast.Call, args: list[ast.expr]) -> Any:
        value, function = self.number(args[0]), _TABULATED[_function_name(node.func)]
        if not isinstance(value, e.Expr):
            return self.constant_of(node, function, value)
        return tabulated(ast.unparse(node), function, value)


_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)
_FUNCTIONS: dict[str, tuple[int | None, Callable[..., Any]]] = {
    "abs": (1, PythonReader._abs), "min": (None, PythonReader._extreme),
    "max": (None, PythonReader._extreme), "sum": (None, PythonReader._sum),
    "all": (None, PythonReader._every), "any": (None, PythonReader._some),
    "bool": (1, PythonReader._bool), "float": (1, PythonReader._float),
    "int": (1, PythonReader._int), "floor": (1, PythonReader._floor),
    "ceil": (1, PythonReader._ceil), "pow": (2, PythonReader._power),
    **dict.fromkeys(_TABULATED, (1, PythonReader._tabulate)),
}  # fmt: skip


def _function_name(node: ast.AST) -> str:
    """The name of a function, without the module that it may be taken from."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id in _MODULES else ""
    return node.id if isinstance(node, ast.Name) else ""


def _node(value: Any) -> Any:
    return value if isinstance(value, e.Expr) else e.const(value)
