"""Expressions from expressions: choices, extremes, divisions, tables and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

from ckrules.engine.expr.nodes import (
    BOOL,
    ENUM,
    INT,
    REAL,
    BoolExpr,
    E,
    EnumExpr,
    Expr,
    IntExpr,
    RealExpr,
    Value,
    arith,
    const,
    make,
    to_bool,
    to_number,
)
from ckrules.engine.expr.relation import Table
from ckrules.support.errors import RuleBookError, UsageError
from ckrules.support.plain_values import plain


@dataclass(frozen=True, slots=True)
class Quantity:
    """Name, unit and one-line meaning of a derived quantity."""

    name: str
    unit: str = ""
    doc: str = ""


def undef(like: E) -> E:
    """The term of ``like``'s sort that is undefined everywhere; simplification makes it."""
    return make(type(like), "undef")


@overload
def ite(cond: BoolExpr | bool, then: BoolExpr | bool, other: BoolExpr | bool) -> BoolExpr: ...
@overload
def ite(cond: BoolExpr | bool, then: EnumExpr | str, other: EnumExpr | str) -> EnumExpr: ...
@overload
def ite(cond: BoolExpr | bool, then: IntExpr | float, other: IntExpr | float) -> IntExpr: ...
def ite(cond: BoolExpr | bool, then: Any, other: Any) -> Expr:
    """``then`` where ``cond`` holds, else ``other``; both are numbers, words or conditions."""
    c, then, other = to_bool(cond), plain(then), plain(other)
    if isinstance(then, EnumExpr) or isinstance(other, EnumExpr) or isinstance(then, str):
        a = then if isinstance(then, Expr) else const(then)
        b = other if isinstance(other, Expr) else const(other)
        if not (isinstance(a, EnumExpr) and isinstance(b, EnumExpr)):
            raise UsageError(f"ite needs two words or two numbers, not `{a}` and `{b}`")
        return make(EnumExpr, "ite", (c, a, b))
    if isinstance(then, (BoolExpr, bool)):
        return make(BoolExpr, "ite", (c, to_bool(then), to_bool(other)))
    x, y = to_number(then), to_number(other)
    real = REAL in (x.sort, y.sort)
    return make(RealExpr if real else IntExpr, "ite", (c, x, y))


def minimum(*items: IntExpr | int) -> IntExpr:
    """The least of the items; undefined where any of them is."""
    return _fold("min", items)


def maximum(*items: IntExpr | int) -> IntExpr:
    """The greatest of the items; undefined where any of them is."""
    return _fold("max", items)


def _fold(op: str, items: tuple[IntExpr | int, ...]) -> IntExpr:
    if not items:
        raise UsageError(f"{op} of nothing")
    out = to_number(items[0])
    for item in items[1:]:
        out = arith(op, out, item)
    return out


def ceil_div(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """``a`` divided by ``b``, rounded up; undefined where ``b`` is zero."""
    return arith("ceil_div", a, b)


def round_up(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """The least multiple of ``b`` that is not below ``a``."""
    return ceil_div(a, b) * b


def divides(a: IntExpr | int, b: IntExpr | int) -> BoolExpr:
    """True where ``b`` is a multiple of ``a``; false at ``a = 0``."""
    return arith("mod", b, a) == 0


def is_pow2(a: IntExpr | int) -> BoolExpr:
    """True where ``a`` is 1, 2, 4, 8, …"""
    return make(BoolExpr, "is_pow2", (to_number(a),))


def _key_args(table: Table, args: tuple[Any, ...]) -> tuple[Expr, ...]:
    if not isinstance(table, Table):
        raise RuleBookError(f"{table!r} is not a table")
    if len(args) != len(table.keys):
        raise RuleBookError(
            f"table {table.name} has the keys {', '.join(table.keys)}; got {len(args)} of them"
        )
    nodes = tuple(a if isinstance(a, Expr) else const(a) for a in args)
    for name, sort, node in zip(table.keys, table.key_sorts, nodes, strict=True):
        if sort not in ("", INT if node.sort == REAL else node.sort):
            raise RuleBookError(
                f"table {table.name}: `{node}` cannot be looked up as {name}, which is {sort}"
            )
    return nodes


def rel(table: Table, *args: Any) -> BoolExpr:
    """True where the table has a row with these keys."""
    return make(BoolExpr, "rel", _key_args(table, args), table)


def lookup(table: Table, *args: Any, default: Value | None = None) -> Any:
    """The value of the table's row with these keys; ``default``, or undefined, where none is."""
    keys = _key_args(table, args)
    cls: dict[str, type[Expr]] = {INT: IntExpr, REAL: RealExpr, BOOL: BoolExpr, ENUM: EnumExpr}
    if table.sort == BOOL:
        return rel(table.where_true(), *keys)
    node: Any = make(cls[table.sort], "lookup", keys, table)
    return node if default is None else ite(rel(table, *keys), node, default)


def named(name: str, expr: E, *, unit: str = "", doc: str = "") -> E:
    """The same value as ``expr`` under a name that messages and outputs show."""
    return make(type(expr), "named", (expr,), Quantity(name, unit, doc))
