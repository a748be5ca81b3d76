"""Expressions: immutable, interned, typed nodes over integer, enumeration and Boolean variables.

Two structurally equal expressions are one object, so identity is equality, a node can key a
dictionary, and every back end visits a shared sub-expression once.

Semantics that hold in every back end:

* ``//`` and ``%`` are floor division and its remainder, as in Python, for operands of any sign.
* A term is *undefined* where a divisor is zero or a table has no such row. An undefined term
  makes the smallest Boolean expression around it false (relational semantics), so
  ``~(128 % v == 0)`` is true at ``v = 0`` whereas ``128 % v != 0`` is false there.
* ``/`` is Python's float division; it exists for restrictions of other tuners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NoReturn, TypeAlias

from ckrules.engine.errors import RuleBookError, UsageError, unknown
from ckrules.engine.table import Table

Value: TypeAlias = int | float | str | bool

INT, REAL, BOOL, ENUM = "int", "real", "bool", "enum"

#: Every kind of node; each back end must handle each one (tests/engine checks it).
OPS = (
    "const", "undef", "var", "named",
    "add", "sub", "mul", "floordiv", "mod", "truediv", "ceil_div", "min", "max",
    "eq", "ne", "lt", "le", "gt", "ge", "isin", "is_pow2",
    "and", "or", "not", "implies", "iff", "ite", "lookup", "rel",
)  # fmt: skip

_nodes: dict[tuple[Any, ...], Expr] = {}
_ids = count()  # a node that loses a race between two threads wastes its number


class Expr:
    """One interned node: an operation, its operands and what they evaluate to."""

    __slots__ = ("args", "data", "id", "op", "support")

    op: str
    args: tuple[Expr, ...]
    data: Any
    id: int
    support: frozenset[str]

    sort: str = ""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"`{self}` cannot be changed: expressions are immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"`{self}` cannot be changed: expressions are immutable")

    def __hash__(self) -> int:
        return self.id

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"the truth of `{_brief(self)}` is not known while a rule is being written: "
            "use & for and, | for or, ~ for not, implies(a, b) or ite(cond, a, b) for if, "
            "and (a <= b) & (b <= c) for a chained comparison"
        )

    def __iter__(self) -> Iterator[Any]:
        raise UsageError(f"`{_brief(self)}` is an expression, not a list of values")

    def __repr__(self) -> str:
        from ckrules.engine.text import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.op, self.args, self.data)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self


def _brief(node: Expr) -> str:
    text = str(node)
    return text if len(text) <= 100 else f"{text[:60]} … {text[-37:]}"


def _rebuild(cls: type[Expr], op: str, args: tuple[Expr, ...], data: Any) -> Expr:
    node: Expr = make(cls, op, args, data)
    return node


def make(cls: type[Any], op: str, args: tuple[Expr, ...] = (), data: Any = None) -> Any:
    """The one node of this class, operation, operands and payload (made at the first call)."""
    typed = (type(data), data) if op == "const" else data
    key = (cls, op, tuple(a.id for a in args), typed)
    node = _nodes.get(key)
    if node is None:
        node = object.__new__(cls)
        if op == "var":
            support = frozenset((data.name,))
        elif len(args) == 1:
            support = args[0].support
        else:
            support = frozenset().union(*(a.support for a in args))
        for slot, value in zip(Expr.__slots__, (args, data, next(_ids), op, support), strict=True):
            object.__setattr__(node, slot, value)
        node = _nodes.setdefault(key, node)
    return node


class BoolExpr(Expr):
    """An expression that is true or false."""

    __slots__ = ()
    sort = BOOL

    def __and__(self, other: BoolExpr | bool) -> BoolExpr:
        return all_of(self, other)

    def __rand__(self, other: bool) -> BoolExpr:
        return all_of(other, self)

    def __or__(self, other: BoolExpr | bool) -> BoolExpr:
        return any_of(self, other)

    def __ror__(self, other: bool) -> BoolExpr:
        return any_of(other, self)

    def __invert__(self) -> BoolExpr:
        node: BoolExpr = make(BoolExpr, "not", (self,))
        return node

    def implies(self, other: BoolExpr | bool) -> BoolExpr:
        """True unless this holds and ``other`` does not."""
        return implies(self, other)

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]
        node: BoolExpr = make(BoolExpr, "iff", (self, _bool(other)))
        return node

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]
        return ~(self == other)

    __hash__ = Expr.__hash__


class EnumExpr(Expr):
    """An expression whose values are words of a fixed list (``symbols``)."""

    __slots__ = ()
    sort = ENUM

    @property
    def symbols(self) -> tuple[str, ...]:
        """The words that this expression can take, in declared order."""
        return _symbols(self)

    def _compare(self, op: str, other: object) -> BoolExpr:
        node: BoolExpr = make(BoolExpr, op, (self, _enum(other, self)))
        return node

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]
        return self._compare("eq", other)

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]
        return self._compare("ne", other)

    def isin(self, *values: str | Iterable[str]) -> BoolExpr:
        """True where the value is one of ``values``."""
        return isin(self, *values)

    __hash__ = Expr.__hash__


class IntExpr(Expr):
    """An expression that is a whole number (or, as `RealExpr`, a float)."""

    __slots__ = ()
    sort = INT

    def __add__(self, other: IntExpr | int) -> IntExpr:
        return _arith("add", self, other)

    def __radd__(self, other: int) -> IntExpr:
        return _arith("add", other, self)

    def __sub__(self, other: IntExpr | int) -> IntExpr:
        return _arith("sub", self, other)

    def __rsub__(self, other: int) -> IntExpr:
        return _arith("sub", other, self)

    def __mul__(self, other: IntExpr | int) -> IntExpr:
        return _arith("mul", self, other)

    def __rmul__(self, other: int) -> IntExpr:
        return _arith("mul", other, self)

    def __floordiv__(self, other: IntExpr | int) -> IntExpr:
        return _arith("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> IntExpr:
        return _arith("floordiv", other, self)

    def __mod__(self, other: IntExpr | int) -> IntExpr:
        return _arith("mod", self, other)

    def __rmod__(self, other: int) -> IntExpr:
        return _arith("mod", other, self)

    def __truediv__(self, other: IntExpr | int) -> IntExpr:
        return _arith("truediv", self, other)

    def __rtruediv__(self, other: int) -> IntExpr:
        return _arith("truediv", other, self)

    def __neg__(self) -> IntExpr:
        return _arith("sub", 0, self)

    def _compare(self, op: str, other: object) -> BoolExpr:
        node: BoolExpr = make(BoolExpr, op, (self, _num(other)))
        return node

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]
        return self._compare("eq", other)

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]
        return self._compare("ne", other)

    def __lt__(self, other: IntExpr | int) -> BoolExpr:
        return self._compare("lt", other)

    def __le__(self, other: IntExpr | int) -> BoolExpr:
        return self._compare("le", other)

    def __gt__(self, other: IntExpr | int) -> BoolExpr:
        return self._compare("gt", other)

    def __ge__(self, other: IntExpr | int) -> BoolExpr:
        return self._compare("ge", other)

    def isin(self, *values: int | Iterable[int]) -> BoolExpr:
        """True where the value is one of ``values``."""
        return isin(self, *values)

    __hash__ = Expr.__hash__


class RealExpr(IntExpr):
    """A number that may have a fraction: a float variable, or the result of ``/``."""

    __slots__ = ()
    sort = REAL


def _const(value: Value) -> Any:
    if isinstance(value, bool):
        return make(BoolExpr, "const", (), value)
    if isinstance(value, int):
        return make(IntExpr, "const", (), value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise UsageError(f"{value} is not a finite number")
        return make(RealExpr, "const", (), value)
    if isinstance(value, str):
        return make(EnumExpr, "const", (), value)
    raise UsageError(f"{value!r} is neither a number, a word nor a Boolean")


def const(value: Value) -> Any:
    """The node that is always ``value`` (an int, float, bool or str)."""
    return _const(value)


def undef(like: Expr) -> Any:
    """The term of ``like``'s sort that is undefined everywhere; simplification makes it."""
    return make(type(like), "undef")


TRUE: BoolExpr = _const(True)
FALSE: BoolExpr = _const(False)


def _num(value: object) -> IntExpr:
    if isinstance(value, IntExpr):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        node: IntExpr = _const(value)
        return node
    raise UsageError(f"`{value!r}` is not a number")


def _bool(value: object) -> BoolExpr:
    if isinstance(value, BoolExpr):
        return value
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, IntExpr):
        raise UsageError(
            f"`{value}` is a number where a condition is needed: compare it, as in `{value} != 0`"
        )
    raise UsageError(f"`{value!r}` is not a condition")


def _enum(value: object, like: EnumExpr) -> EnumExpr:
    if isinstance(value, EnumExpr):
        return value
    if isinstance(value, str):
        symbols = like.symbols
        if symbols and value not in symbols:
            raise unknown(f"value of {like}", value, symbols)
        node: EnumExpr = _const(value)
        return node
    raise UsageError(f"`{like}` is a word and cannot be compared with `{value!r}`")


def _arith(op: str, a: object, b: object) -> IntExpr:
    x, y = _num(a), _num(b)
    real = op == "truediv" or x.sort == REAL or y.sort == REAL
    node: IntExpr = make(RealExpr if real else IntExpr, op, (x, y))
    return node


def _symbols(node: EnumExpr) -> tuple[str, ...]:
    if node.op == "const":
        return (node.data,)
    if node.op == "var":
        symbols: tuple[str, ...] = node.data.values
        return symbols
    if node.op == "named":
        return _symbols(node.args[0])  # type: ignore[arg-type]
    if node.op == "ite":
        both = (*_symbols(node.args[1]), *_symbols(node.args[2]))  # type: ignore[arg-type]
        return tuple(dict.fromkeys(both))
    if node.op == "lookup":
        return tuple(dict.fromkeys(str(v) for v in node.data.rows.values()))
    return ()


def all_of(*parts: BoolExpr | bool) -> BoolExpr:
    """True where every part is true; ``a & b`` for more than two parts."""
    return _nary("and", parts)


def any_of(*parts: BoolExpr | bool) -> BoolExpr:
    """True where at least one part is true; ``a | b`` for more than two parts."""
    return _nary("or", parts)


def _nary(op: str, parts: Iterable[BoolExpr | bool]) -> BoolExpr:
    flat: dict[int, Expr] = {}
    for part in parts:
        node = _bool(part)
        for item in node.args if node.op == op else (node,):
            flat.setdefault(item.id, item)
    args = tuple(flat.values())
    if not args:
        return TRUE if op == "and" else FALSE
    result: BoolExpr = args[0] if len(args) == 1 else make(BoolExpr, op, args)  # type: ignore[assignment]
    return result


def implies(a: BoolExpr | bool, b: BoolExpr | bool) -> BoolExpr:
    """True unless ``a`` holds and ``b`` does not."""
    node: BoolExpr = make(BoolExpr, "implies", (_bool(a), _bool(b)))
    return node


def ite(cond: BoolExpr | bool, then: Any, other: Any) -> Any:
    """``then`` where ``cond`` holds, else ``other``; both are numbers, words or conditions."""
    c = _bool(cond)
    if isinstance(then, EnumExpr) or isinstance(other, EnumExpr) or isinstance(then, str):
        a = then if isinstance(then, Expr) else _const(then)
        b = other if isinstance(other, Expr) else _const(other)
        if not (isinstance(a, EnumExpr) and isinstance(b, EnumExpr)):
            raise UsageError(f"ite needs two words or two numbers, not `{a}` and `{b}`")
        return make(EnumExpr, "ite", (c, a, b))
    if isinstance(then, (BoolExpr, bool)):
        return make(BoolExpr, "ite", (c, _bool(then), _bool(other)))
    x, y = _num(then), _num(other)
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
    out = _num(items[0])
    for item in items[1:]:
        out = _arith(op, out, item)
    return out


def ceil_div(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """``a`` divided by ``b``, rounded up; undefined where ``b`` is zero."""
    return _arith("ceil_div", a, b)


def round_up(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """The least multiple of ``b`` that is not below ``a``."""
    return ceil_div(a, b) * b


def divides(a: IntExpr | int, b: IntExpr | int) -> BoolExpr:
    """True where ``b`` is a multiple of ``a``; false at ``a = 0``."""
    return _arith("mod", b, a) == 0


def is_pow2(a: IntExpr | int) -> BoolExpr:
    """True where ``a`` is 1, 2, 4, 8, …"""
    node: BoolExpr = make(BoolExpr, "is_pow2", (_num(a),))
    return node


def isin(item: Expr, *values: Any) -> BoolExpr:
    """True where ``item`` is one of ``values`` (given one by one or as one iterable)."""
    flat: list[Any] = []
    for v in values:
        single = isinstance(v, (str, Expr)) or not isinstance(v, Iterable)
        flat.extend((v,) if single else v)
    if any(isinstance(v, Expr) for v in flat):
        raise UsageError("isin needs constant values")
    if not isinstance(item, EnumExpr):
        item = _num(item)
    for v in flat:
        _enum(v, item) if isinstance(item, EnumExpr) else _num(v)
    kept = tuple(dict.fromkeys(flat))
    node: BoolExpr = make(BoolExpr, "isin", (item,), kept)
    return node


def _key_args(table: Table, args: tuple[Any, ...]) -> tuple[Expr, ...]:
    if len(args) != len(table.keys):
        raise RuleBookError(
            f"table {table.name} has the keys {', '.join(table.keys)}; got {len(args)} of them"
        )
    nodes = tuple(a if isinstance(a, Expr) else _const(a) for a in args)
    for name, sort, node in zip(table.keys, table.key_sorts, nodes, strict=True):
        if sort not in ("", INT if node.sort == REAL else node.sort):
            raise RuleBookError(
                f"table {table.name}: `{node}` cannot be looked up as {name}, which is {sort}"
            )
    return nodes


def rel(table: Table, *args: Any) -> BoolExpr:
    """True where the table has a row with these keys."""
    node: BoolExpr = make(BoolExpr, "rel", _key_args(table, args), table)
    return node


def lookup(table: Table, *args: Any, default: Value | None = None) -> Any:
    """The value of the table's row with these keys; ``default``, or undefined, where none is."""
    keys = _key_args(table, args)
    cls: dict[str, type[Expr]] = {INT: IntExpr, REAL: RealExpr, BOOL: BoolExpr, ENUM: EnumExpr}
    if table.sort == BOOL:
        return rel(table.where_true(), *keys)
    node = make(cls[table.sort], "lookup", keys, table)
    return node if default is None else ite(rel(table, *keys), node, _const(default))


def named(name: str, expr: Any, *, unit: str = "", doc: str = "") -> Any:
    """The same value as ``expr`` under a name that messages and outputs show."""
    return make(type(expr), "named", (expr,), Quantity(name, unit, doc))


class Quantity:
    """Name, unit and one-line meaning of a derived quantity."""

    __slots__ = ("doc", "name", "unit")

    def __init__(self, name: str, unit: str = "", doc: str = "") -> None:
        self.name, self.unit, self.doc = name, unit, doc

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity, (self.name, self.unit, self.doc)
