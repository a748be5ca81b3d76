"""Conditions as Python means them: restriction strings and functions of other tuners.

Numbers and Booleans mix as in Python (`True` is 1, a number is true unless it is zero, ``&`` and
``|`` of numbers work on their bits), so that a text means here what the tuner that it was written
for evaluates. What has no counterpart among the nodes, such as ``a & b``, is tabulated over the
candidate values of the variables that it reads; see `ckrules.engine.lang.tabulate`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.engine import expr as e
from ckrules.engine.expr.traversal import walk
from ckrules.engine.lang.calls import FUNCTIONS, TooLargeError
from ckrules.engine.lang.functions import CALLS
from ckrules.engine.lang.interpret import UnreadableError, dotted
from ckrules.engine.lang.reader import ExpressionError, ExpressionReader, checked, truth_of
from ckrules.engine.lang.tabulate import Tabulator, UnexpressedError
from ckrules.engine.rewrite.bounds import WHOLE, Bounds

_LARGEST = 2**62
_LISTED = 10_000  # values after `in`
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)
_PARTIAL = ("floordiv", "mod", "truediv", "ceil_div", "lookup", "undef")
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)


class LimitError(ExpressionError):
    """A restriction that reaches numbers beyond the limits, or reads too many combinations."""


class PythonReader(ExpressionReader):
    """Reads one expression with Python's meaning; the fields are the tuner's parameters."""

    def __init__(self, text: str, source: str, fields: Mapping[str, Any]) -> None:
        super().__init__(text, source, fields)
        self._tables = Tabulator(self._field)
        self._made_so_far = 0

    def truth(self) -> e.BoolExpr:
        """Where the whole text is true.

        Raises:
            ExpressionError: With the column of what is wrong.
        """
        tree = self.tree()
        try:
            found: e.BoolExpr = self.condition(tree)
        except RecursionError:
            raise self.fail(tree, "nested too deeply") from None
        return found

    def _made(self, make: Callable[[ast.expr], Any], node: Any) -> Any:
        """What the tabulator makes of a part, or its refusal with a place."""
        self._made_so_far += 1
        try:
            return make(node)
        except UnreadableError as error:
            raise self.fail(error.node, str(error)) from None
        except TooLargeError as error:
            problem = f"`{ast.unparse(node)[:80]}` {error}"
            raise LimitError(problem, self.text, self.fail(node, problem).column) from None

    def _table(self, node: ast.AST) -> Any:
        return self._made(self._tables.number, node)

    # -- names and constants -----------------------------------------------------------------

    def _field(self, node: ast.Name) -> Any:
        return super()._name(node)

    def _name(self, node: ast.Name) -> Any:
        value = self._field(node)
        if isinstance(value, e.EnumExpr) and not all(isinstance(v, str) for v in value.symbols):
            raise UnexpressedError(value)  # labels such as None; words are compared by nodes
        return value if isinstance(value, e.Expr) else self._plain(value)

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bytes, complex)) or node.value is ...:
            return super()._constant(node)
        return self._plain(node.value)

    def _plain(self, value: Any) -> Any:
        """A constant, if it is one that nodes hold."""
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, int) and abs(value) <= _LARGEST:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        raise UnexpressedError(value)

    def _unexpressed(self, node: ast.AST) -> Any:
        raise UnexpressedError(node)

    _tuple = _list = _set = _subscript = _attribute = _unexpressed

    # -- numbers -----------------------------------------------------------------------------

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

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.read(node.left), self.read(node.right)
        if self._is_flag(left) and self._is_flag(right) and isinstance(node.op, _LOGIC):
            if isinstance(node.op, ast.BitXor):
                return ~(e.all_of(left) == e.all_of(right))
            return (e.all_of if isinstance(node.op, ast.BitAnd) else e.any_of)(left, right)
        a, b = self._as_number(node.left, left), self._as_number(node.right, right)
        if not isinstance(a, e.Expr) and not isinstance(b, e.Expr):
            return self._table(node)
        if isinstance(node.op, ast.Pow) and type(b) is int and 1 <= b <= 64 and a.sort == e.INT:
            try:
                return self.power(node, a, b)
            except ExpressionError:
                return self._table(node)
        if isinstance(node.op, (*_BITS, ast.Pow)):
            return self._table(node)
        return self.operation(node, a, b)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Invert):
            value = self.read(node.operand)
            if self._is_flag(value):
                raise self.fail(node, "`~` of a condition is never false in Python: write `not`")
            if not isinstance(value, e.IntExpr) or value.sort == e.REAL:
                return self._table(node)
            return -1 - value
        return super()._unaryop(node)

    # -- conditions --------------------------------------------------------------------------

    def condition(self, node: ast.AST) -> Any:
        """A condition; what decides whether `and` and `or` hold is whether their parts do."""
        try:
            if isinstance(node, ast.BoolOp):
                return super()._boolop(node)
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                return ~self.condition(node.operand)
            if isinstance(node, ast.IfExp):
                parts = (node.test, node.body, node.orelse)
                return e.ite(*map(self.condition, parts))
            truth = truth_of(self.read(node))
            if truth is not None:
                return truth
            raise self.fail(node, f"a condition is needed here, not `{ast.unparse(node)[:60]}`")
        except UnexpressedError:
            return self._made(self._tables.condition, node)

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

    def relation(self, node: ast.AST, left: ast.AST, op: ast.cmpop, right: ast.AST) -> Any:
        """One comparison of a chain."""
        before = self._made_so_far
        try:
            if isinstance(op, (ast.In, ast.NotIn)):
                found = self._among(node, left, right)
                return found if isinstance(op, ast.In) else self._denied(found, before)
            if isinstance(op, (ast.Eq, ast.NotEq)) and _same_length(left, right):
                found = self._tuples(node, left, right)
                return found if isinstance(op, ast.Eq) else self._denied(found, before)
            return super().relation(node, left, op, right)
        except UnexpressedError:
            sides: Any = (left, right)
            pair = ast.Compare(sides[0], [op], [sides[1]])
            return self._made(self._tables.condition, ast.copy_location(pair, node))

    def _denied(self, found: e.BoolExpr, before: int) -> e.BoolExpr:
        """Where a condition is defined and does not hold."""
        listed = found.op == "isin"
        whole = all(n.op not in _PARTIAL for n in walk(found))
        if whole and (listed or self._made_so_far == before):
            return ~found
        if listed and found.args[0].sort == e.INT:
            item = found.args[0]
            return ~found & e.make(e.BoolExpr, "eq", (item, item))
        raise UnexpressedError(found)

    def _among(self, node: ast.AST, left: ast.AST, right: ast.AST) -> Any:
        """``left in right`` for a list that is written out, or the value of a constant."""
        if isinstance(right, _DISPLAYS):
            if any(isinstance(x, ast.Starred) for x in right.elts):
                raise self.fail(right, "a list of values is needed after `in`")
            same = isinstance(left, _DISPLAYS)
            if same and not all(_same_length(left, x) for x in right.elts):
                raise UnexpressedError(right)
            eq = ast.Eq()
            listed = [self._literal(x) for x in right.elts]
            if same or None in listed:
                return e.any_of(*(self.relation(node, left, eq, x) for x in right.elts))
        else:
            found = self._made(self._tables.constant, right)
            if not isinstance(found, (list, tuple, set, frozenset, range)) or len(found) > _LISTED:
                raise UnexpressedError(right)
            listed = list(found)
        value = self.read(left)
        words = isinstance(value, (str, e.EnumExpr))
        for x in listed:
            known = isinstance(x, str) if words else isinstance(x, (int, float))
            if self._is_flag(value) or not known or isinstance(x, bool):
                raise UnexpressedError(right)
            self._plain(x)
        return e.isin(_node(value), listed)

    def _literal(self, node: ast.AST) -> Any:
        """A number or word as it is written, None for anything else."""
        sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
        inner = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
        if not isinstance(inner, ast.Constant) or isinstance(inner.value, bool):
            return None
        if isinstance(inner.value, str):
            return inner.value if sign > 0 else None
        return sign * inner.value if isinstance(inner.value, (int, float)) else None

    def _tuples(self, node: ast.AST, left: Any, right: Any) -> Any:
        """``(a, b) == (1, 2)``."""
        pairs = zip(left.elts, right.elts, strict=True)
        return e.all_of(*(self.relation(node, x, ast.Eq(), y) for x, y in pairs))

    def sides(self, op: ast.cmpop, left: ast.AST, right: ast.AST, a: Any, b: Any) -> Any:
        """Both sides of a comparison; conditions beside numbers, or in order, are numbers."""
        same = self._is_flag(a) and self._is_flag(b) and isinstance(op, (ast.Eq, ast.NotEq))
        if same or not (self._is_flag(a) or self._is_flag(b)):
            return a, b
        return self._as_number(left, a), self._as_number(right, b)

    # -- functions ---------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        name = dotted(node.func)
        if name in CALLS and name not in _EXPRESSED:
            return super()._call(node)
        if name not in FUNCTIONS:
            raise self.unknown_call(node)
        if node.keywords:
            raise self.fail(node, f"{name} takes no arguments by name here")
        method = _EXPRESSED.get(name)
        args: list[Any] = node.args
        if name in _OF_SEQUENCES and len(args) == 1:
            args = args[0].elts if isinstance(args[0], _DISPLAYS[:2]) else []
        elif name in ("all", "any"):
            raise self.fail(node, f"{name} takes one list")
        if method is None or not args or not method[0] <= len(args) <= method[1]:
            return self._table(node)
        return method[2](self, node, args)

    def known_calls(self) -> list[str]:
        return [*CALLS, *(n for n in FUNCTIONS if "." not in n)]

    def _abs(self, node: ast.AST, args: list[ast.expr]) -> Any:
        value = self.number(args[0])
        return e.maximum(value, -value) if isinstance(value, e.IntExpr) else self._table(node)

    def _extreme(self, node: ast.Call, args: list[ast.expr]) -> Any:
        function = e.minimum if dotted(node.func) == "min" else e.maximum
        return function(*(self.number(a) for a in args))

    def _sum(self, node: ast.Call, args: list[ast.expr]) -> Any:
        values = [_node(self.number(a)) for a in args]
        if len(node.args) > 1 or any(v.sort == e.REAL for v in values):
            return self._table(node)  # newer Pythons add floats with less rounding
        return sum(values[1:], values[0])

    def _every(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return e.all_of(*map(self.condition, args))

    def _some(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return e.any_of(*map(self.condition, args))

    def _bool(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self.condition(args[0])

    def _float(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return _node(self.number(args[0])) * 1.0

    def _power(self, node: ast.AST, args: list[ast.expr]) -> Any:
        return self.read(ast.copy_location(ast.BinOp(args[0], ast.Pow(), args[1]), node))

    def _whole(self, node: ast.Call, args: list[ast.expr]) -> Any:
        """An integer from a number: itself, or a quotient of integers rounded."""
        value = self.number(args[0])
        if not isinstance(value, e.IntExpr):
            return self._table(node)
        if value.sort == e.INT:
            return value
        name = dotted(node.func).removeprefix("math.")
        if name == "round" or not _quotient(value):
            return self._table(node)
        a, b = (_number(x) for x in value.args)
        if name in ("floor", "ceil"):
            return a // b if name == "floor" else e.ceil_div(a, b)
        return e.ite(value >= 0, a // b, e.ceil_div(a, b))


_OF_SEQUENCES = ("all", "any", "min", "max", "sum")
_MANY = 10_000
#: Least and greatest number of arguments, and what nodes make of them; others are tabulated.
_EXPRESSED: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "abs": (1, 1, PythonReader._abs), "min": (1, _MANY, PythonReader._extreme),
    "max": (1, _MANY, PythonReader._extreme), "sum": (1, _MANY, PythonReader._sum),
    "all": (1, _MANY, PythonReader._every), "any": (1, _MANY, PythonReader._some),
    "bool": (1, 1, PythonReader._bool), "float": (1, 1, PythonReader._float),
    "pow": (2, 2, PythonReader._power),
    **{
        f"{module}{n}": (1, 1, PythonReader._whole)
        for module in ("", "math.") for n in ("floor", "ceil", "trunc")
    },
    "int": (1, 1, PythonReader._whole), "round": (1, 1, PythonReader._whole),
}  # fmt: skip


def _quotient(value: e.Expr) -> bool:
    """True for ``a / b`` of integers that floats divide without rounding up to the next one."""
    if value.op != "truediv" or any(a.sort != e.INT for a in value.args):
        return False
    bounds = Bounds()
    return all(-WHOLE <= x <= WHOLE for a in value.args for x in bounds.of(a))


def _same_length(left: Any, right: Any) -> bool:
    alike = isinstance(left, (ast.Tuple, ast.List)) and type(left) is type(right)
    return alike and len(left.elts) == len(right.elts)


def _number(node: e.Expr) -> e.IntExpr:
    assert isinstance(node, e.IntExpr)
    return node


def _node(value: Any) -> Any:
    return value if isinstance(value, e.Expr) else e.const(value)


def parse_restriction(text: str, fields: Mapping[str, Any]) -> e.BoolExpr:
    """Where ``text`` gives something true as Python means it, as Kernel Tuner does.

    Numbers are true unless zero, and ``&``, ``|`` and ``~`` of numbers work on their bits.

    Args:
        fields: Nodes by name, and constants that the text reads.

    Raises:
        ExpressionError: With the column of what is wrong and the nearest known name.

    >>> from ckrules.engine.expr.variables import Int
    >>> parse_restriction("a % 2 and a > 4", {"a": Int("a", range(8))})
    a % 2 != 0 & a > 4
    """
    return PythonReader(text, checked(text), fields).truth()
