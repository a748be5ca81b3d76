"""Messages: what is wrong with a point, rendered from the expression that is false there.

``tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64``: the fact, with the values
and the intermediate products. No message is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckrules.engine.backends.pointwise import At
from ckrules.engine.expr import BOOL, BoolExpr, Expr, const
from ckrules.engine.text import literal, to_text
from ckrules.engine.traversal import substitute

_LONG = 100


def fault(expr: BoolExpr, at: At) -> str:
    """Why ``expr`` is false at the point, in one line; empty if it is true there.

    >>> from ckrules.engine.variables import Int
    >>> m, w, x = Int("tile_m", [96]), Int("wave_m", [2]), Int("warp_tile_m", [32])
    >>> fault(m % (w * x) == 0, At({"tile_m": 96, "wave_m": 2, "warp_tile_m": 32}))
    'tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64'
    """
    return "" if at.holds(expr) else _fault(expr, at)


def operand(node: Expr, at: At) -> str:
    """A number or word with its value: ``wave_m * warp_tile_m = 2 * 32 = 64``.

    >>> from ckrules.engine.variables import Int
    >>> operand(Int("tile_k", [32]) // 8, At({"tile_k": 32}))
    'tile_k // 8 = 32 // 8 = 4'
    """
    if node.op == "const":
        return literal(node.data)
    value = at.value(node)
    parts = [to_text(node)]
    body = node.args[0] if node.op == "named" else node
    if body.op in ("ite", "named"):
        body = _chosen(body, at)
    if node.op == "named" and body.op not in ("const", "var", "lookup"):
        parts.append(to_text(body))
    if body.op not in ("const", "var", "lookup", "ite"):
        parts.append(to_text(_with_values(body, at)))
    if value is None:
        return _short(parts[0])
    shown = [p for p in parts if len(p) <= _LONG] or [_short(parts[0])]
    return " = ".join(dict.fromkeys([*shown, literal(value)]))


def _short(text: str) -> str:
    half = _LONG // 2
    return text if len(text) <= _LONG else f"{text[:half]} … {text[-half:]}"


def _chosen(node: Any, at: At) -> Expr:
    while node.op == "ite" or (node.op == "named" and node.args[0].op == "ite"):
        inner = node.args[0] if node.op == "named" else node
        node = inner.args[1] if at.holds(inner.args[0]) else inner.args[2]
    chosen: Expr = node
    return chosen


def _with_values(body: Expr, at: At) -> Expr:
    top = body.id

    def replace(node: Expr) -> Expr | None:
        if node.op in ("var", "lookup", "ite") or (node.op == "named" and node.id != top):
            value = at.value(node)
            if value is not None:
                return const(value)  # type: ignore[no-any-return]
        return None

    return substitute(body, replace)


def undefined_part(node: Expr, at: At) -> str:
    """What makes a term undefined at the point; empty if it is defined."""
    while at.value(node) is None:
        if node.op == "ite":
            node = node.args[1] if at.holds(node.args[0]) else node.args[2]
            continue
        inner = [a for a in node.args if a.sort != BOOL and at.value(a) is None]
        if inner:
            node = inner[0]
        elif node.op == "lookup":
            return f"{node.data.name} has no entry for {_keys(node, at)}"
        elif node.op == "undef":
            return "a term is undefined"
        else:
            return f"{operand(node.args[1], at)} is used as a divisor"
    return ""


def _keys(node: Expr, at: At) -> str:
    return ", ".join(
        f"{name} = {literal(at.value(arg))}" if arg.op == "const" else operand(arg, at)
        for name, arg in zip(node.data.keys, node.args, strict=True)
    )


def _fault(expr: Any, at: At) -> str:
    op = expr.op
    if op == "and":
        return "; ".join(_fault(a, at) for a in expr.args if not at.holds(a))
    if op == "or":
        return ", and ".join(_fault(a, at) for a in expr.args)
    if op == "implies":
        return f"{_fault(expr.args[1], at)} (where {_state(expr.args[0], at)})"
    if op == "not":
        return _state(expr.args[0], at)
    if op == "named":
        return _fault(expr.args[0], at)
    if op == "ite":
        return _branch(expr, at, _fault)
    for arg in expr.args:
        if arg.sort != BOOL and at.value(arg) is None:
            return undefined_part(arg, at)
    if op in _COMPARE:
        return _comparison(expr, at)
    return _plain_fault(expr, at)


def _plain_fault(expr: Any, at: At) -> str:
    op = expr.op
    if op == "isin":
        values = ", ".join(literal(v) for v in expr.data)
        one_of = values if len(expr.data) == 1 else f"one of {values or 'no values'}"
        return f"{operand(expr.args[0], at)} is not {one_of}"
    if op == "is_pow2":
        return f"{operand(expr.args[0], at)} is not a power of two"
    if op == "rel":
        return f"{expr.data.name} has no entry for {_keys(expr, at)}"
    if op == "iff":
        a, b = (_state(x, at) for x in expr.args)
        return f"{a} but {b}"
    if op == "var":
        return f"{expr.data.name} is false"
    return f"`{to_text(expr)}` is false"


_COMPARE = {
    "eq": "is not", "ne": "is", "lt": "is not less than", "le": "is more than",
    "gt": "is not more than", "ge": "is less than",
}  # fmt: skip


def _multiple(expr: Any) -> tuple[Expr, ...]:
    """The operands of ``x % y`` in a comparison of it with zero."""
    a, b = expr.args
    inner = a.args[0] if a.op == "named" else a
    found: tuple[Expr, ...] = inner.args
    return found if inner.op == "mod" and b.op == "const" and b.data == 0 else ()


def _comparison(expr: Any, at: At) -> str:
    a, b = expr.args
    if expr.op in ("eq", "ne") and (parts := _multiple(expr)):
        x, y = (operand(v, at) for v in parts)
        return f"{x} is {'not ' if expr.op == 'eq' else ''}a multiple of {y}"
    verb = _COMPARE[expr.op]
    if expr.op == "eq" and a.sort == "int" and b.op != "const":
        verb = "is not equal to"
    return f"{operand(a, at)} {verb} {operand(b, at)}"


def _branch(expr: Any, at: At, say: Callable[[Any, At], str]) -> str:
    cond, then, other = expr.args
    return f"{say(then if at.holds(cond) else other, at)} (where {_state(cond, at)})"


def _state(expr: Any, at: At) -> str:
    """A condition as the fact that it is at the point (``pipeline = 'mem'``)."""
    if expr.op == "not":
        inner = expr.args[0]
        if inner.op == "var":
            return f"{inner.data.name} is {'true' if at.holds(inner) else 'false'}"
        return _fault(inner, at) if not at.holds(inner) else _state(inner, at)
    if not at.holds(expr):
        return _fault(expr, at)
    if expr.op == "and":
        return " and ".join(_state(a, at) for a in expr.args)
    if expr.op == "or":
        return next(_state(a, at) for a in expr.args if at.holds(a))
    if expr.op == "named":
        return _state(expr.args[0], at)
    if expr.op == "var":
        return f"{expr.data.name} is true"
    if expr.op == "iff":
        return " and ".join(_state(a, at) for a in expr.args)
    if expr.op == "implies":
        a, b = expr.args
        return _state(b, at) if at.holds(a) else _fault(a, at)
    if expr.op == "ite":
        return _branch(expr, at, _state)
    if expr.op == "is_pow2":
        return f"{operand(expr.args[0], at)} is a power of two"
    if expr.op in ("eq", "ne") and (parts := _multiple(expr)):
        x, y = (operand(v, at) for v in parts)
        return f"{x} is {'not ' if expr.op == 'ne' else ''}a multiple of {y}"
    if expr.op == "isin" or (expr.op == "eq" and expr.args[1].op == "const"):
        return operand(expr.args[0], at)
    if expr.op in _HOLDS:
        return f"{operand(expr.args[0], at)} {_HOLDS[expr.op]} {operand(expr.args[1], at)}"
    if expr.op == "rel":
        return f"{expr.data.name} has an entry for {_keys(expr, at)}"
    return f"`{to_text(expr)}`"


_HOLDS = {
    "eq": "equals", "ne": "is not", "lt": "is less than", "le": "is at most",
    "gt": "is more than", "ge": "is at least",
}  # fmt: skip


def constant(value: Any) -> str:
    """A value as messages show it."""
    return to_text(const(value))
