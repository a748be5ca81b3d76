"""Long expressions over several lines, for people; what fits a line is as `to_text` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ckrules.engine.expr.nodes import FALSE, TRUE, Expr, all_of, any_of
from ckrules.engine.expr.printer import INFIX, level_of, rounded_up, to_text

WIDTH = 84
_STEP = "  "
_CHAINS = ("add", "sub", "mul", "and", "or")
#: How chains are joined, and what says nothing in them.
_JOINED = {"and": (all_of, TRUE), "or": (any_of, FALSE)}
_CALLS = ("min", "max", "ceil_div", "implies", "is_pow2")
#: What needs no parentheses as an operand.
_ATOMS = ("var", "named", "const", "lookup", "rel", "ite", *_CALLS)


def pretty(node: Expr, width: int = WIDTH) -> list[str]:
    """The expression in lines of about ``width`` characters.

    >>> from ckrules.engine.expr import ite
    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("tile_m", [64]), Int("wave_m", [1, 2])
    >>> pretty(ite(m > 32, m * w, m), 24)
    ['if tile_m > 32', '  tile_m * wave_m', 'else', '  tile_m']
    """
    node = _told(node)
    whole = to_text(node)
    if len(whole) <= width:
        return [whole[1:-1] if node.op == "ite" else whole]
    if node.op == "ite":
        return _choice(node, width)
    if inner := rounded_up(node):
        return _call("round_up", inner, width)
    if node.op in INFIX:
        parts = _chain(node) if node.op in _CHAINS else node.args
        return _joined(INFIX[node.op], parts, level_of(node), width)
    if node.op == "not":
        first, *rest = _operand(node.args[0], level_of(node), width)
        return [f"~{first}", *rest]
    if node.op in _CALLS:
        return _call(node.op, node.args, width)
    return [whole]


def _choice(node: Expr, width: int) -> list[str]:
    out: list[str] = []
    word = "if"
    while node.op == "ite":
        first, *rest = pretty(node.args[0], width)
        out += [f"{word} {first}", *(" " * (len(word) + 1) + line for line in rest)]
        out += _indented(pretty(node.args[1], width))
        node, word = node.args[2], "else if"
    return [*out, "else", *_indented(pretty(node, width))]


def _call(name: str, args: Iterable[Expr], width: int) -> list[str]:
    inside = [pretty(a, width) for a in args]
    for lines in inside[:-1]:
        lines[-1] += ","
    return [f"{name}(", *_indented(line for lines in inside for line in lines), ")"]


def _joined(sign: str, parts: Iterable[Expr], level: int, width: int) -> list[str]:
    first, *others = (_operand(p, level, width) for p in parts)
    out = first
    for head, *rest in others:
        out += [f"{sign} {head}", *rest]
    return out


def _operand(node: Expr, level: int, width: int) -> list[str]:
    lines = pretty(node, width)
    if len(lines) == 1:
        text = to_text(node)
        return [text if level_of(node) > level else f"({text})"]
    if rounded_up(node) or node.op == "not" or (node.op in _ATOMS and node.op != "ite"):
        return lines
    return ["(", *_indented(lines), ")"]


def _told(node: Expr) -> Any:
    """A condition without the parts that say nothing."""
    if node.op == "not":
        return ~_told(node.args[0])
    if node.op not in _JOINED:
        return node
    join, nothing = _JOINED[node.op]
    return join(*(_told(a) for a in node.args if a is not nothing))


def _chain(node: Expr) -> list[Expr]:
    """The operands of a chain of one operation, from the left."""
    if node.op in ("and", "or"):
        return list(node.args)
    op, parts = node.op, list[Expr]()
    while node.op == op and not rounded_up(node):
        parts.append(node.args[1])
        node = node.args[0]
    return [node, *reversed(parts)]


def _indented(lines: Iterable[str]) -> list[str]:
    return [_STEP + line for line in lines]
