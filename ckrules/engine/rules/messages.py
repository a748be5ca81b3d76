"""Faults: what is wrong with a point, made from the expression that is false there.

``tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64``: the fact with its numbers.
Only the branch that applies is told; tables say what they hold instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, BoolExpr, Expr
from ckrules.engine.expr.printer import to_text
from ckrules.engine.rules import table_text
from ckrules.engine.rules.derivation import listed, shown, worked


def fault(expr: BoolExpr, at: At) -> str:
    """Why ``expr`` is false at the point, in one line; empty if it is true there.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w, x = Int("tile_m", [96]), Int("wave_m", [2]), Int("warp_tile_m", [32])
    >>> fault(m % (w * x) == 0, At({"tile_m": 96, "wave_m": 2, "warp_tile_m": 32}))
    'tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64'
    """
    return "" if at.holds(expr) else _fault(expr, at)


def undefined_part(node: Expr, at: At) -> str:
    """What makes a term undefined at the point; empty if it is defined."""
    while _undefined(node, at):
        if node.op == "ite":
            node = node.args[1] if at.holds(node.args[0]) else node.args[2]
            continue
        inner = [a for a in node.args if a.sort != BOOL and _undefined(a, at)]
        if inner:
            node = inner[0]
        elif node.op == "lookup":
            return _missing(node, at)
        elif node.op == "undef":
            return "a term is undefined"
        else:
            return f"{worked(node.args[1], at)} is used as a divisor"
    return ""


def _undefined(node: Expr, at: At) -> bool:
    """Whether a term has no value; that of a variable may be the label None."""
    return node.op != "var" and at.value(node) is None


def _missing(node: Expr, at: At) -> str:
    """That a table lacks a row: ``schedulers for pipeline = mem: only intrawave, not …``."""
    given = table_text.given(node, at)
    what = node.data.name.replace("_", " ") + (f" for {given}" if given else "")
    return f"{what}: {table_text.held(node, at)}, not {table_text.here(node, at)}"


def _holds(node: Expr, at: At) -> str:
    keys = ", ".join(
        f"{name} = {shown(at.value(arg))}"
        for name, arg in zip(node.data.keys, node.args, strict=True)
    )
    return f"{node.data.name.replace('_', ' ')}: {keys}"


def conjuncts(expr: BoolExpr) -> tuple[Any, ...]:
    """The conditions that a condition joins with and."""
    return expr.args if expr.op == "and" else (expr,)


def _fault(expr: Any, at: At) -> str:
    op = expr.op
    if op == "and":
        return "; ".join(dict.fromkeys(_fault(a, at) for a in expr.args if not at.holds(a)))
    if op == "or":
        return ", and ".join(dict.fromkeys(_fault(a, at) for a in expr.args))
    if op == "implies":
        return f"{_fault(expr.args[1], at)} (where {state(expr.args[0], at)})"
    if op == "not":
        return _denied(expr.args[0], at)
    if op == "named":
        return _fault(expr.args[0], at)
    if op == "ite":
        return _branch(expr, at, _fault)
    for arg in expr.args:
        if arg.sort != BOOL and _undefined(arg, at):
            return undefined_part(arg, at)
    if op in _COMPARE:
        return _comparison(expr, at)
    return _plain_fault(expr, at)


def _denied(expr: Any, at: At) -> str:
    """That a condition holds, which it must not."""
    if expr.op in _COMPARE and not (expr.op in ("eq", "ne") and expr.args[1].op == "const"):
        return _relation(expr, at)
    if expr.op in ("eq", "ne") and not _multiple(expr):
        wanted = "another" if expr.op == "eq" else shown(expr.args[1].data)
        return f"{worked(expr.args[0], at)}, expected {wanted}"
    if expr.op == "isin":
        return f"{worked(expr.args[0], at)}, expected another"
    if expr.op in ("named", "not"):
        inner = expr.args[0]
        return _denied(inner, at) if expr.op == "named" else _fault(inner, at)
    if expr.op == "var":
        return f"{expr.data.name} = true, expected false"
    return state(expr, at)


def _plain_fault(expr: Any, at: At) -> str:
    op = expr.op
    if op == "isin":
        wanted = listed([shown(v) for v in expr.data], "or")
        return f"{worked(expr.args[0], at)}, expected {wanted}"
    if op == "is_pow2":
        return f"{worked(expr.args[0], at)} is not a power of two"
    if op == "rel":
        return _missing(expr, at)
    if op == "iff":
        a, b = (state(x, at) for x in expr.args)
        return f"{a} but {b}"
    if op == "var":
        return f"{expr.data.name} = false, expected true"
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
        x, y = (worked(v, at) for v in parts)
        return f"{x} is {'not ' if expr.op == 'eq' else ''}a multiple of {y}"
    if expr.op == "eq" and b.op == "const":
        return f"{worked(a, at)}, expected {shown(b.data)}"
    if expr.op == "ne" and b.op == "const":
        return f"{worked(a, at)}, expected another"
    verb = "is not equal to" if expr.op == "eq" and a.sort == "int" else _COMPARE[expr.op]
    return f"{worked(a, at)} {verb} {worked(b, at)}"


def _branch(expr: Any, at: At, say: Callable[[Any, At], str]) -> str:
    cond, then, other = expr.args
    return f"{say(then if at.holds(cond) else other, at)} (where {state(cond, at)})"


def state(expr: Any, at: At) -> str:
    """A condition as the fact that it is at the point (``pipeline = mem``)."""
    if expr.op == "not":
        inner = expr.args[0]
        if inner.op == "var":
            return state(inner, at)
        return _fault(inner, at) if not at.holds(inner) else state(inner, at)
    if expr.op == "var":
        return f"{expr.data.name} = {shown(at.holds(expr))}"
    if not at.holds(expr):
        return _fact(expr, at) or _fault(expr, at)
    if expr.op == "and":
        return " and ".join(dict.fromkeys(state(a, at) for a in expr.args))
    if expr.op == "or":
        return next(state(a, at) for a in expr.args if at.holds(a))
    if expr.op == "named":
        return state(expr.args[0], at)
    if expr.op == "iff":
        return " and ".join(state(a, at) for a in expr.args)
    if expr.op == "implies":
        a, b = expr.args
        return state(b, at) if at.holds(a) else _fault(a, at)
    if expr.op == "ite":
        return _branch(expr, at, state)
    if expr.op == "is_pow2":
        return f"{worked(expr.args[0], at)} is a power of two"
    return _fact(expr, at) or _relation(expr, at)


def _fact(expr: Any, at: At) -> str:
    """The value that a comparison with a constant looks at; empty for other conditions."""
    against = expr.op == "isin" or (expr.op in _HOLDS and expr.args[1].op == "const")
    if not against or (expr.op in ("eq", "ne") and _multiple(expr)):
        return ""
    return "" if at.value(expr.args[0]) is None else worked(expr.args[0], at)


def _relation(expr: Any, at: At) -> str:
    if expr.op in ("eq", "ne") and (parts := _multiple(expr)):
        x, y = (worked(v, at) for v in parts)
        return f"{x} is {'not ' if expr.op == 'ne' else ''}a multiple of {y}"
    if expr.op in _HOLDS:
        return f"{worked(expr.args[0], at)} {_HOLDS[expr.op]} {worked(expr.args[1], at)}"
    if expr.op == "rel":
        return _holds(expr, at)
    return f"`{to_text(expr)}`"


_HOLDS = {
    "eq": "equals", "ne": "is not", "lt": "is less than", "le": "is at most",
    "gt": "is more than", "ge": "is at least",
}  # fmt: skip
