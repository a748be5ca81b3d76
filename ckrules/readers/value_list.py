"""Lists of values as tuners write them in text: ``[1, 2]``, ``list(range(1, 9))``, comprehensions.

The text is parsed, never executed: what is not plain arithmetic over ranges is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from ckrules.support.errors import UsageError
from ckrules.support.syntax import expression_tree

_MOST = 100_000
_WORK = 1_000_000  # parts worked out, and values listed, for one text
_LARGEST = 1 << 64
_SIGNS: Mapping[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def value_list(text: str) -> list[Any]:
    """The values that a text lists.

    Raises:
        UsageError: For a text that is not a list of values, or one of too many.

    >>> value_list("[2**i for i in range(3)]"), value_list("list(range(0, 10, 4))")
    ([1, 2, 4], [0, 4, 8])
    """
    try:
        tree = expression_tree(text.strip()).body
        found = _List(text).value(tree, {})
    except UsageError:  # of too much work, which is a ValueError too
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError, TypeError):
        raise UsageError(f"{text[:60]!r} is not a list of values") from None
    if not isinstance(found, (list, range)):
        raise UsageError(f"{text[:60]!r} is not a list of values")
    return list(found)


class _List:
    """The values of one text, with the work that they may still take."""

    def __init__(self, text: str) -> None:
        self._text, self._left = text, _WORK

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """What a part of the text means where names have these values."""
        self._charge(1)
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, names)
            case ast.BinOp(left=left, op=sign, right=right):
                return _arithmetic(sign, self.value(left, names), self.value(right, names))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.value(part, names) for part in parts]
            case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
                return list(self._short(self.value(inner, names)))
            case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if arguments:
                return self._short(range(*(self.value(a, names) for a in arguments)))
            case ast.ListComp(elt=inner, generators=[ast.comprehension(ifs=[]) as loop]):
                if isinstance(loop.target, ast.Name):
                    name, values = loop.target.id, self._short(self.value(loop.iter, names))
                    return [self.value(inner, {**names, name: v}) for v in values]
        raise ValueError(ast.unparse(node))

    def _short(self, values: Any) -> Any:
        if len(values) > _MOST:
            raise UsageError(f"more than {_MOST:,} values")
        self._charge(len(values))
        return values

    def _charge(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise UsageError(f"{self._text[:60]!r} takes more than {_WORK:,} steps")


def _arithmetic(sign: ast.operator, left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        raise TypeError(f"{left!r} and {right!r} are not numbers")
    if isinstance(sign, ast.Pow):
        if abs(right) > 64 or abs(left) > _LARGEST:
            raise ValueError("a power that is too large")
        found = left**right
    else:
        if type(sign) not in _SIGNS:
            raise ValueError("another sign")
        found = _SIGNS[type(sign)](left, right)
    if isinstance(found, complex) or abs(found) > _LARGEST:
        raise ValueError("a number that is too large")
    return found
