"""Numbers worked out at a point: which fields they come from, with the values put in.

``tile_m * tile_k * 2 = 256 * 128 * 2 = 65536``: choices are replaced by the branch that applies,
extremes by the operand that wins, and derived quantities by what they are made of, as far as the
text stays short.
"""

from __future__ import annotations

from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, ENUM, INT, Expr, const
from ckrules.engine.expr.nodes import make
from ckrules.engine.expr.printer import literal, to_text
from ckrules.engine.expr.traversal import substitute

#: Characters of a formula beyond which less is written out.
LONG = 84


def shown(value: object) -> str:
    """A value as messages show it: words without quotes.

    >>> shown("compv4"), shown(True), shown(64)
    ('compv4', 'true', '64')
    """
    return value if isinstance(value, str) else literal(value)


def listed(parts: list[str], last: str = "and") -> str:
    """Words as a list.

    >>> listed(["1", "2", "4"], "or")
    '1, 2 or 4'
    """
    return f" {last} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else "none"


def worked(node: Expr, at: At) -> str:
    """A number or word with how it comes about; only its value where that says it all.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, k = Int("tile_m", [96]), Int("tile_k", [32])
    >>> at = At({"tile_m": 96, "tile_k": 32})
    >>> worked(m * k, at), worked(m, at)
    ('tile_m * tile_k = 96 * 32 = 3072', 'tile_m = 96')
    """
    if node.op == "const":
        return shown(node.data)
    value = at.value(node)
    if value is None and node.op != "var":  # the label None is a value
        return _short(to_text(node))
    formula = _formula(node, at)
    if formula.op == "const" and node.op != "ite":
        return f"{_short(to_text(node))} = {shown(value)}"
    if formula.op == "const":
        return shown(value)
    if formula.op == "lookup":
        return f"{_of(formula, at)} = {shown(value)}"
    parts = [_short(to_text(formula))]
    if formula.op not in ("var", "named"):
        numbers = to_text(_with_values(formula, at))
        parts += [numbers] if len(numbers) <= LONG else []
    return " = ".join(dict.fromkeys([*parts, shown(value)]))


def _of(node: Expr, at: At) -> str:
    """A row of a table: ``lds_capacity of gfx1201``."""
    keys = [shown(at.value(a)) for a in node.args]
    return f"{node.data.name.replace('_', ' ')} of {listed(keys)}"


def _formula(node: Expr, at: At) -> Expr:
    """What a number is made of at the point, opened as far as it stays short."""
    closed = _opened(node, at, 0)
    for depth in range(1, 12):
        deeper = _opened(node, at, depth)
        if deeper is closed or len(to_text(deeper)) > LONG:
            break
        closed = deeper
    return closed


def _opened(node: Any, at: At, depth: int) -> Expr:
    """The node with the choices at the point made, and names opened ``depth`` levels deep."""
    op = node.op
    if op == "named":
        if depth == 0:
            return node  # type: ignore[no-any-return]  # a value of any sort
        body = _opened(node.args[0], at, depth - 1)
        plain = body.op == "lookup" or (body.op == "const" and depth > 1)
        return node if plain else body
    if op == "ite":
        return _opened(node.args[1] if at.holds(node.args[0]) else node.args[2], at, depth)
    if op in ("const", "var", "lookup", "undef") or node.sort == BOOL:
        return node  # type: ignore[no-any-return]  # a value of any sort
    if op in ("min", "max"):
        a, b = (at.value(x) for x in node.args)
        if a is not None and b is not None:
            first = a <= b if op == "min" else a >= b
            return _opened(node.args[0 if first else 1], at, depth)
    args = tuple(_opened(a, at, depth) for a in node.args)
    return _shortened(node, args, at)


def _shortened(node: Any, args: tuple[Expr, ...], at: At) -> Expr:
    """The node over new operands, without what changes nothing."""
    a, b = args
    op = node.op
    if op == "add" and _is(a, 0):
        return b
    if (op in ("add", "sub") and _is(b, 0)) or (op in ("mul", "floordiv") and _is(b, 1)):
        return a
    if op == "mul" and _is(a, 1):
        return b
    if op == "mul" and node.sort == INT and (_is(a, 0) or _is(b, 0)):  # 0 * inf is NaN
        return const(0)
    if op == "mul" and a.op == "ceil_div" and a.args[1] is b:  # rounding up what is round
        value, step = at.value(a.args[0]), at.value(b)
        if value is not None and step and value % step == 0:
            return a.args[0]
    made: Expr = make(type(node), op, args, node.data)
    return made


def _is(node: Expr, number: int) -> bool:
    return node.op == "const" and node.data == number


def _with_values(body: Expr, at: At) -> Expr:
    def replace(node: Expr) -> Expr | None:
        if node.op in ("var", "lookup", "named") and node.sort not in (BOOL, ENUM):
            value = at.value(node)
            if value is not None:
                return const(value)  # type: ignore[no-any-return]  # a value of any sort
        return None

    return substitute(body, replace)


def _short(text: str) -> str:
    half = LONG // 2
    return text if len(text) <= LONG + 16 else f"{text[:half]} … {text[-half:]}"
