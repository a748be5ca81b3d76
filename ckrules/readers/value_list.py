"""Lists of values as tuners write them in text: ``[1, 2]``, ``list(range(1, 9))``, comprehensions.

The text is parsed, never executed: what is not plain arithmetic over ranges is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from ckrules.support.errors import UsageError

_MOST = 100_000
_LARGEST = 1 << 64
_SIGNS: Mapping[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def value_list(text: str) -> list[Any]:
    """The values that a text lists.

    Raises:
        UsageError: For a text that is no list of values, or one of too many.

    >>> value_list("[2**i for i in range(3)]"), value_list("list(range(0, 10, 4))")
    ([1, 2, 4], [0, 4, 8])
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        found = _value(tree, {})
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError, TypeError):
        raise UsageError(f"{text[:60]!r} is not a list of values") from None
    if not isinstance(found, (list, range)):
        raise UsageError(f"{text[:60]!r} is not a list of values")
    return list(found)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=sign, right=right):
            return _arithmetic(sign, _value(left, names), _value(right, names))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            return list(_short(_value(inner, names)))
        case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if arguments:
            return _short(range(*(_value(a, names) for a in arguments)))
        case ast.ListComp(elt=inner, generators=[ast.comprehension(ifs=[]) as loop]):
            if isinstance(loop.target, ast.Name):
                name, values = loop.target.id, _short(_value(loop.iter, names))
                return [_value(inner, {**names, name: v}) for v in values]
    raise ValueError(ast.unparse(node))


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


def _short(values: Any) -> Any:
    if len(values) > _MOST:
        raise UsageError(f"more than {_MOST:,} values")
    return values
