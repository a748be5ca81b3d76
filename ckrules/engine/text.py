"""Expressions as text, in the syntax that `parse` reads back."""

from __future__ import annotations

from ckrules.engine.expr import Expr

_SIGN = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "&", "or": "|", "iff": "==",
}  # fmt: skip
_LEVEL = {
    "or": 1, "and": 2, "not": 3, "eq": 4, "ne": 4, "lt": 4, "le": 4, "gt": 4, "ge": 4, "iff": 4,
    "isin": 4, "add": 5, "sub": 5, "mul": 6, "floordiv": 6, "mod": 6, "truediv": 6,
}  # fmt: skip
_ATOM = 9


def to_text(node: Expr) -> str:
    """The expression in infix form, with no more parentheses than needed.

    Derived quantities are shown by name.

    >>> from ckrules.engine.variables import Int
    >>> m, w = Int("tile_m", [64]), Int("wave_m", [1, 2])
    >>> to_text((m % (w * 32) == 0) & ~(m < 16))
    'tile_m % (wave_m * 32) == 0 & ~tile_m < 16'
    """
    return _text(node, 0)


def literal(value: object) -> str:
    """A value as it is written in expressions: ``'mem'``, ``true``, ``64``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _text(node: Expr, level: int) -> str:
    op = node.op
    if op == "const":
        text = literal(node.data)
        negative = not isinstance(node.data, (bool, str)) and node.data < 0
        return f"({text})" if negative and level > 0 else text
    if op in ("var", "named"):
        name: str = node.data.name
        return name
    if op == "undef":
        return "undefined"
    mine = _LEVEL.get(op, _ATOM)
    text = _body(node, op, mine)
    return f"({text})" if mine < level or (mine == 4 and level == 4) else text


def _body(node: Expr, op: str, mine: int) -> str:
    if op in ("and", "or"):
        return f" {_SIGN[op]} ".join(_text(a, mine + 1) for a in node.args)
    if op == "not":
        return "~" + _text(node.args[0], 3)
    if op == "isin":
        inside = ", ".join(literal(v) for v in node.data)
        return f"{_text(node.args[0], 5)} in [{inside}]"
    if op in _SIGN:
        a, b = node.args
        return f"{_text(a, mine if mine > 4 else 5)} {_SIGN[op]} {_text(b, mine + 1)}"
    if op in ("rel", "lookup"):
        keys = ", ".join(_text(a, 0) for a in node.args)
        return f"{node.data.name.replace(' ', '_')}[{keys}]"
    return f"{op}({', '.join(_text(a, 0) for a in node.args)})"
