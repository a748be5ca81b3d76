"""Expressions as text, in the syntax that `parse` reads back."""

from __future__ import annotations

from ckrules.engine.expr.nodes import Expr
from ckrules.engine.expr.operators import SIGNS

#: How operators are written between their operands.
INFIX = {**SIGNS, "and": "&", "or": "|", "iff": "=="}
_LEVEL = {
    "or": 1, "and": 2, "not": 3, "eq": 4, "ne": 4, "lt": 4, "le": 4, "gt": 4, "ge": 4, "iff": 4,
    "isin": 4, "add": 5, "sub": 5, "mul": 6, "floordiv": 6, "mod": 6, "truediv": 6,
}  # fmt: skip
_ATOM = 9


def to_text(node: Expr) -> str:
    """The expression in infix form, with no more parentheses than needed.

    Derived quantities are shown by name.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("tile_m", [64]), Int("wave_m", [1, 2])
    >>> to_text((m % (w * 32) == 0) & ~(m < 16))
    'tile_m % (wave_m * 32) == 0 & ~tile_m < 16'
    """
    texts: dict[int, str] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        shown = () if top.op == "named" else top.args  # what a name stands for is not shown
        missing = [a for a in shown if a.id not in texts]
        if missing:
            stack.extend(missing)
        else:
            texts[stack.pop().id] = _body(top, texts)
    return _place(node, 0, texts)


def literal(value: object) -> str:
    """A value as it is written in expressions: ``'mem'``, ``true``, ``64``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _place(node: Expr, level: int, texts: dict[int, str]) -> str:
    """The text of a node as an operand of something that binds as tightly as ``level``."""
    op, text = node.op, texts[node.id]
    if op == "const":
        negative = not isinstance(node.data, (bool, str)) and node.data < 0
        return f"({text})" if negative and level > 0 else text
    mine = level_of(node)
    return f"({text})" if mine < level or (mine == 4 and level == 4) else text


def rounded_up(node: Expr) -> tuple[Expr, ...]:
    """The operands of ``round_up``, which is a product of a division; empty for other nodes."""
    if node.op == "mul" and node.args[0].op == "ceil_div" and node.args[0].args[1] is node.args[1]:
        return node.args[0].args
    return ()


def level_of(node: Expr) -> int:
    """How tightly the operation of a node binds: operands of a lower level need parentheses."""
    return _ATOM if rounded_up(node) else _LEVEL.get(node.op, _ATOM)


def _body(node: Expr, texts: dict[int, str]) -> str:
    op, mine = node.op, level_of(node)
    if op == "const":
        return literal(node.data)
    if op in ("var", "named"):
        name: str = node.data.name
        return name
    if op == "undef":
        return "undefined"
    if op in ("and", "or"):
        return f" {INFIX[op]} ".join(_place(a, mine + 1, texts) for a in node.args)
    if op == "not":
        return "~" + _place(node.args[0], 3, texts)
    if op == "isin":
        inside = ", ".join(literal(v) for v in node.data)
        return f"{_place(node.args[0], 5, texts)} in [{inside}]"
    if op == "ite":
        cond, then, other = (_place(a, 0, texts) for a in node.args)
        return f"({then} if {cond} else {other})"
    if inner := rounded_up(node):
        return f"round_up({', '.join(_place(a, 0, texts) for a in inner)})"
    if op in INFIX:
        a, b = node.args
        left, right = _place(a, mine if mine > 4 else 5, texts), _place(b, mine + 1, texts)
        return f"{left} {INFIX[op]} {right}"
    listed = ", ".join(_place(a, 0, texts) for a in node.args)
    if op in ("rel", "lookup"):
        return f"{node.data.name.replace(' ', '_')}[{listed}]"
    return f"{op}({listed})"


Expr.__repr__ = to_text  # type: ignore[method-assign, assignment]  # nodes know nothing of their text
