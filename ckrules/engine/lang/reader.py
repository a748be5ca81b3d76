"""Expressions from Python's syntax trees: a small list of allowed forms; nothing is evaluated."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.engine import expr as e
from ckrules.engine.expr.operators import ARITH, COMPARE, OF_PYTHON
from ckrules.engine.expr.traversal import walk
from ckrules.engine.lang.functions import CALLS
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.support.errors import UsageError, nearest
from ckrules.support.syntax import expression_tree

Origin = list[tuple[int, int]]
_CONSTANTS = {"true": True, "false": False}
_MAX_LENGTH = 20_000
_MAX_POWER = 1000  # parts of an expression after ** is written out as products
_SHOWN = 80
_FEW = 12  # names that an error may list
_WORD = re.compile(r"'[^']*'|\"[^\"]*\"")
_SLIP = re.compile(r"(?<![=!<>:])=(?!=)|!(?!=)")  # what people write who mean == or not
_REMARKABLE = re.compile(r"\\|\d[A-Za-z]")  # what Python may warn about while it reads


class ExpressionError(UsageError):
    """Text that is not an expression over the known fields; ``column`` counts from 1."""

    def __init__(self, problem: str, text: str, column: int) -> None:
        self.problem, self.text, self.column = problem, text, column
        super().__init__(f"{_around(text, column)!r}, column {column}: {problem}")


def _around(text: str, column: int) -> str:
    """The text, or of a long one the part around the column."""
    if len(text.strip()) <= _SHOWN:
        return text.strip()
    start = max(0, min(column - 1 - _SHOWN // 2, len(text) - _SHOWN))
    end = start + _SHOWN
    return "…" * (start > 0) + text[start:end].strip() + "…" * (end < len(text))


def checked(text: str) -> str:
    """The text in one line, so that a place is a column.

    Raises:
        ExpressionError: If it is too long to be read.
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"longer than {_MAX_LENGTH} characters", text, _MAX_LENGTH)
    return text.replace("\n", " ").replace("\r", " ")


def truth_of(value: Any) -> e.BoolExpr | None:
    """Where a value is true: a condition itself, a number unless it is zero; None for words."""
    if isinstance(value, e.BoolExpr):
        return value
    if isinstance(value, bool):
        return e.TRUE if value else e.FALSE
    if isinstance(value, (int, float)):
        value = e.const(value)
    return value != 0 if isinstance(value, e.IntExpr) else None


def _original(origin: Origin | None, offset: int) -> int:
    if origin is None:
        return offset
    new, old = max((pair for pair in origin if pair[0] <= offset), default=(0, 0))
    return old + offset - new


def _is_zero(value: Any) -> bool:
    """Whether a number is 0, also one that is calculated of numbers alone."""
    if isinstance(value, e.Expr):
        return not value.support and Bounds().of(value) == (0, 0)
    return bool(value == 0)


def _function(op: ast.AST) -> Callable[[Any, Any], Any] | None:
    """What an operator makes of two numbers or nodes, None for one that has no node."""
    name = OF_PYTHON.get(type(op).__name__, "")
    return ARITH.get(name) or COMPARE.get(name)


def _tree(source: str) -> ast.Expression:
    """Python's own reading, without its remarks on odd numbers and backslashes in words."""
    if not _REMARKABLE.search(source):
        return expression_tree(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return expression_tree(source)


class ExpressionReader:
    """Turns Python's syntax tree of a text into an expression."""

    def __init__(
        self, text: str, source: str, fields: Mapping[str, Any], origin: Origin | None = None
    ) -> None:
        self.text, self.origin, self.fields = text, origin, fields
        self.source, self.lead = source, len(source) - len(source.lstrip())

    def expression(self) -> Any:
        """What the whole text says.

        Raises:
            ExpressionError: With the column of what is wrong.
        """
        return self.read(self.tree())

    def tree(self) -> ast.expr:
        """Python's syntax tree of the text.

        Raises:
            ExpressionError: Where it is not an expression.
        """
        try:
            return _tree(self.source.strip() or " ").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            at = (getattr(error, "offset", None) or 1) - 1 + self.lead
            problem = "not an expression"
            slip = _SLIP.search(_WORD.sub(lambda m: "_" * len(m[0]), self.source))
            if slip:
                at = slip.start()
                problem = "compare with ==, not =" if slip[0] == "=" else "write `not`, not !"
            column = max(1, min(_original(self.origin, at) + 1, len(self.text) + 1))
            raise ExpressionError(problem, self.text, column) from None

    def fail(self, node: ast.AST, problem: str) -> ExpressionError:
        raw = source_column(self.source[self.lead :], getattr(node, "col_offset", 0))
        return ExpressionError(problem, self.text, _original(self.origin, raw + self.lead) + 1)

    def read(self, node: ast.AST) -> Any:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.fail(node, f"{type(node).__name__} is not allowed in a rule expression")
        try:
            return method(node)
        except ExpressionError:
            raise
        except RecursionError:
            raise self.fail(node, "nested too deeply") from None
        except (UsageError, LookupError) as error:
            raise self.fail(node, str(error)) from None

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bool, int, float, str)):
            if not isinstance(node.value, str) and not abs(node.value) <= 2**62:
                raise self.fail(node, "the number is too large")
            return node.value
        raise self.fail(node, f"{node.value!r} is not a number, a word or a Boolean")

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.fields:
            return self.fields[node.id]
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        words = [
            f"{n} == {node.id!r}" for n, f in self.fields.items()
            if isinstance(f, e.EnumExpr) and node.id in f.symbols
        ]  # fmt: skip
        if words:
            raise self.fail(
                node, f"{node.id!r} is a value, not a field: put it in quotes, as in {words[0]}"
            )
        raise self.fail(node, f"unknown field {node.id!r}{_meant(node.id, self.fields)}")

    def _binop(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            join = e.all_of if isinstance(node.op, ast.BitAnd) else e.any_of
            return join(self.condition(node.left), self.condition(node.right))
        return self.operation(node, self.number(node.left), self.number(node.right))

    def operation(self, node: ast.BinOp, a: Any, b: Any) -> Any:
        """An operation on two numbers that have been read."""
        if isinstance(node.op, ast.Pow) and isinstance(b, int) and 0 <= b <= 64:
            return self.power(node, a, b)
        function = _function(node.op)
        if function is None:
            raise self.fail(node, f"the operator {type(node.op).__name__} is not allowed")
        divides = isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
        if divides and _is_zero(b):
            raise self.fail(node.right, "a division by 0 has no value")
        if not isinstance(a, e.Expr) and not isinstance(b, e.Expr):
            a = e.const(a)
        return function(a, b)

    def power(self, node: ast.AST, base: Any, exponent: int) -> Any:
        """A product of equal factors; its size is limited, since powers nest."""
        size = _size(base) if isinstance(base, e.Expr) else 1
        out: Any = 1
        for _ in range(exponent):
            out = out * base
            if size * exponent > _MAX_POWER or (not isinstance(out, e.Expr) and abs(out) > 2**62):
                raise self.fail(node, "the power is too large")
        return out

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, (ast.Not, ast.Invert)):
            try:
                return ~self.condition(node.operand)
            except NoConditionError as error:
                if error.node is not node.operand:
                    raise
                meant = f": did you mean `{ast.unparse(node.operand)} == 0`?"
                raise self.fail(node.operand, error.problem + meant) from None
        value = self.number(node.operand)
        return value if isinstance(node.op, ast.UAdd) else -value

    def _boolop(self, node: ast.BoolOp) -> Any:
        join = e.all_of if isinstance(node.op, ast.And) else e.any_of
        parts = []
        for k, value in enumerate(node.values):
            try:
                parts.append(self.condition(value))
            except NoConditionError as error:
                if error.node is not value:
                    raise
                raise self.fail(value, f"{error.problem}{_completed(node, k)}") from None
        return join(*parts)

    def _ifexp(self, node: ast.IfExp) -> Any:
        return e.ite(self.condition(node.test), self.read(node.body), self.read(node.orelse))

    def _compare(self, node: ast.Compare) -> Any:
        sides = [node.left, *node.comparators]
        parts = [self.relation(node, sides[i], op, sides[i + 1]) for i, op in enumerate(node.ops)]
        return e.all_of(*parts)

    def relation(self, node: ast.AST, left: ast.AST, op: ast.cmpop, right: ast.AST) -> Any:
        a = self.read(left)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = e.isin(a if isinstance(a, e.Expr) else e.const(a), self.values(right))
            return found if isinstance(op, ast.In) else ~found
        function = _function(op)
        if function is None:
            raise self.fail(node, "`is` compares objects: write ==")
        a, b = self.sides(op, left, right, a, self.read(right))
        if not isinstance(a, e.Expr) and not isinstance(b, e.Expr):
            a = e.const(a)
        if isinstance(a, e.EnumExpr) or isinstance(b, e.EnumExpr):
            if not isinstance(op, (ast.Eq, ast.NotEq)):
                raise self.fail(node, "words have no order: use ==, != or in")
        elif isinstance(a, e.BoolExpr) or isinstance(b, e.BoolExpr):
            if not isinstance(op, (ast.Eq, ast.NotEq)):
                raise self.fail(node, "conditions have no order: use == or !=")
            a, b = self.as_flag(a, b), self.as_flag(b, a)
        return function(a, b)

    def sides(self, op: ast.cmpop, left: ast.AST, right: ast.AST, a: Any, b: Any) -> Any:
        """Both sides of a comparison, as they are compared."""
        return a, b

    @staticmethod
    def as_flag(side: Any, other: Any) -> Any:
        """A number beside a condition: 0 and 1 mean false and true."""
        if isinstance(other, e.BoolExpr) and not isinstance(side, (bool, e.BoolExpr)):
            return bool(side) if side in (0, 1) else side
        return side

    def values(self, node: ast.AST) -> list[Any]:
        if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            raise self.fail(node, "a list of values is needed after `in`")
        out = [self.read(x) for x in node.elts]
        for x, item in zip(out, node.elts, strict=True):
            if isinstance(x, e.Expr) and x.op != "const":
                raise self.fail(item, "only constant values may be listed after `in`")
        return [x.data if isinstance(x, e.Expr) else x for x in out]

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in CALLS:
            raise self.unknown_call(node)
        arity, function = CALLS[name]
        if node.keywords or (arity is not None and len(node.args) != arity) or not node.args:
            raise self.fail(node, f"{name} takes {arity or 'one or more'} arguments")
        return function(*(self.read(a) for a in node.args))

    def unknown_call(self, node: ast.Call) -> ExpressionError:
        """The error for a function that is not known."""
        names, name = self.known_calls(), ast.unparse(node.func)[:40]
        known = " or ".join(nearest(name, names)) or ", ".join(names)
        return self.fail(node, f"unknown function {name!r}: expected {known}")

    def known_calls(self) -> list[str]:
        """The functions that a text may call."""
        return list(CALLS)

    def number(self, node: ast.AST) -> Any:
        """A number."""
        value = self.read(node)
        if isinstance(value, (bool, str, e.BoolExpr, e.EnumExpr)):
            raise self.fail(node, f"a number is needed here, not `{value}`")
        return value

    def condition(self, node: ast.AST) -> Any:
        """A condition."""
        value = self.read(node)
        if isinstance(value, (bool, e.BoolExpr)):
            return truth_of(value)
        kind = "a word" if isinstance(value, (str, e.EnumExpr)) else "a number"
        shown = ast.unparse(node)
        raise NoConditionError(self.fail(node, f"{shown[:60]} is {kind}, not a condition"), node)


class NoConditionError(ExpressionError):
    """A number or word where a condition is needed."""

    def __init__(self, error: ExpressionError, node: ast.AST) -> None:
        self.node = node
        super().__init__(error.problem, error.text, error.column)


def _completed(node: ast.BoolOp, which: int) -> str:
    """What ``x == 64 or 128`` is meant to say, as far as that can be guessed."""
    value = node.values[which]
    before = [v for v in node.values[:which] if isinstance(v, ast.Compare) and len(v.ops) == 1]
    if not before:
        return f": did you mean `{ast.unparse(value)} != 0`?"
    last = before[-1]
    join = " or " if isinstance(node.op, ast.Or) else " and "
    if isinstance(last.ops[0], ast.Eq):
        join = " or "
    meant: Any = ast.Compare(last.left, last.ops, [value])
    out = f": did you mean `{join.join(map(ast.unparse, (last, meant)))}`"
    if isinstance(last.ops[0], ast.Eq):
        both = ", ".join(map(ast.unparse, (last.comparators[0], value)))
        constant = all(isinstance(x, ast.Constant) for x in (last.comparators[0], value))
        out += f" (or `{ast.unparse(last.left)} in ({both})`)" * constant
    return f"{out}?"


def _meant(name: str, known: Mapping[str, Any]) -> str:
    """Near matches, or all names where they are few."""
    hits = nearest(name, known)
    if hits:
        return f": did you mean {' or '.join(hits)}?"
    return f": known are {', '.join(known)}" if len(known) <= _FEW else ": no name is like it"


def _size(root: e.Expr) -> int:
    """The nodes of an expression, shared ones counted wherever they occur."""
    sizes: dict[int, int] = {}
    for node in walk(root):
        sizes[node.id] = 1 + sum(sizes[a.id] for a in node.args)
    return sizes[root.id]


def source_column(line: str, byte_offset: int) -> int:
    """The character column of a UTF-8 byte offset, which is what `ast` counts in."""
    return len(line.encode()[:byte_offset].decode(errors="ignore"))
