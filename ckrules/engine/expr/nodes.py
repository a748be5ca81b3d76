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
from threading import Lock
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, overload
from weakref import WeakValueDictionary

from ckrules.support.errors import UsageError, unknown
from ckrules.support.plain_values import plain

Value: TypeAlias = int | float | str | bool
E = TypeVar("E", bound="Expr")

INT, REAL, BOOL, ENUM = "int", "real", "bool", "enum"

#: Every kind of node; each back end must handle each one (tests/engine checks it).
OPS = (
    "const", "undef", "var", "named",
    "add", "sub", "mul", "floordiv", "mod", "truediv", "ceil_div", "min", "max",
    "eq", "ne", "lt", "le", "gt", "ge", "isin", "is_pow2",
    "and", "or", "not", "implies", "iff", "ite", "lookup", "rel",
)  # fmt: skip

#: Nodes by what they are made of, as long as something else holds them.
_nodes: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()
_making = Lock()
_ids = count()  # never used twice, so that an id names a node even after it is gone


class Expr:
    """One interned node: an operation, its operands and what they evaluate to.

    ``notes`` keeps what others worked out about a node as long as the node lives.
    """

    __slots__ = ("__weakref__", "args", "data", "id", "notes", "op", "support")

    op: str
    args: tuple[Expr, ...]
    data: Any
    id: int
    notes: dict[str, Any]
    support: frozenset[str]

    sort: str = ""
    #: Arithmetic of numpy's numbers leaves expressions to themselves.
    __array_ufunc__ = None

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

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.op, self.args, self.data)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self


def _brief(node: Expr) -> str:
    text = str(node)
    return text if len(text) <= 100 else f"{text[:60]} … {text[-37:]}"


def _rebuild(cls: type[E], op: str, args: tuple[Expr, ...], data: Any) -> E:
    return make(cls, op, args, data)


def make(cls: type[E], op: str, args: tuple[Expr, ...] = (), data: Any = None) -> E:
    """The one node of this class, operation, operands and payload (made at the first call)."""
    typed = (type(data), data) if op == "const" else data
    key = (cls, op, tuple(a.id for a in args), typed)
    node = _nodes.get(key)
    if node is None:
        with _making:
            node = _nodes.get(key)
            if node is None:
                node = _nodes[key] = _new(cls, op, args, data)
    return node  # type: ignore[return-value]  # the class is part of the key


def _new(cls: type[Expr], op: str, args: tuple[Expr, ...], data: Any) -> Expr:
    node = object.__new__(cls)
    if op == "var":
        support = frozenset((data.name,))
    elif len(args) == 1:
        support = args[0].support
    else:
        support = frozenset().union(*(a.support for a in args))
    put = object.__setattr__
    put(node, "args", args)
    put(node, "data", data)
    put(node, "id", next(_ids))
    put(node, "notes", {})
    put(node, "op", op)
    put(node, "support", support)
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
        return make(BoolExpr, "not", (self,))

    def implies(self, other: BoolExpr | bool) -> BoolExpr:
        """True unless this holds and ``other`` does not."""
        return implies(self, other)

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
        return make(BoolExpr, "iff", (self, to_bool(other)))

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
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
        return make(BoolExpr, op, (self, _enum(other, self)))

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
        return self._compare("eq", other)

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
        return self._compare("ne", other)

    def isin(self, *values: str | Iterable[str]) -> BoolExpr:
        """True where the value is one of ``values``."""
        return isin(self, *values)

    __hash__ = Expr.__hash__


class IntExpr(Expr):
    """An expression that is an integer (or, as `RealExpr`, a float)."""

    __slots__ = ()
    sort = INT

    def __add__(self, other: IntExpr | int) -> IntExpr:
        return arith("add", self, other)

    def __radd__(self, other: int) -> IntExpr:
        return arith("add", other, self)

    def __sub__(self, other: IntExpr | int) -> IntExpr:
        return arith("sub", self, other)

    def __rsub__(self, other: int) -> IntExpr:
        return arith("sub", other, self)

    def __mul__(self, other: IntExpr | int) -> IntExpr:
        return arith("mul", self, other)

    def __rmul__(self, other: int) -> IntExpr:
        return arith("mul", other, self)

    def __floordiv__(self, other: IntExpr | int) -> IntExpr:
        return arith("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> IntExpr:
        return arith("floordiv", other, self)

    def __mod__(self, other: IntExpr | int) -> IntExpr:
        return arith("mod", self, other)

    def __rmod__(self, other: int) -> IntExpr:
        return arith("mod", other, self)

    def __truediv__(self, other: IntExpr | int) -> IntExpr:
        return arith("truediv", self, other)

    def __rtruediv__(self, other: int) -> IntExpr:
        return arith("truediv", other, self)

    def __neg__(self) -> IntExpr:
        return arith("sub", 0, self)

    def _compare(self, op: str, other: object) -> BoolExpr:
        return make(BoolExpr, op, (self, to_number(other)))

    def __eq__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
        return self._compare("eq", other)

    def __ne__(self, other: object) -> BoolExpr:  # type: ignore[override]  # expressions compare to expressions
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


@overload
def const(value: bool) -> BoolExpr: ...  # type: ignore[overload-overlap]  # a bool is an int
@overload
def const(value: int) -> IntExpr: ...
@overload
def const(value: float) -> RealExpr: ...
@overload
def const(value: str) -> EnumExpr: ...
def const(value: Value) -> Expr:
    """The node that is always ``value`` (an int, float, bool or str)."""
    value = plain(value)
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
    raise UsageError(f"{value!r} is not a number, a string or a Boolean")


TRUE: BoolExpr = const(True)
FALSE: BoolExpr = const(False)


def to_number(value: object) -> IntExpr:
    """A number, or the node of a number.

    Raises:
        UsageError: For anything else.
    """
    if isinstance(value, IntExpr):
        return value
    number = plain(value)
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return const(number)
    raise UsageError(f"`{value!r}` is not a number")


def to_bool(value: object) -> BoolExpr:
    """A condition, or the node of a Boolean.

    Raises:
        UsageError: For anything else, with the comparison that a number needs.
    """
    if isinstance(value, BoolExpr):
        return value
    value = plain(value)
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
    value = plain(value)
    if isinstance(value, str):
        symbols = like.symbols
        if symbols and value not in symbols:
            words = [s for s in symbols if isinstance(s, str)]
            if not words:
                raise UsageError(f"no value of `{like}` is a word: bind it to one of its values")
            raise unknown(f"value of {like}", value, words)
        return const(value)
    raise UsageError(f"`{like}` is a word and cannot be compared with `{value!r}`")


def arith(op: str, a: object, b: object) -> IntExpr:
    """The number that an operation makes of two, real if one of them is."""
    x, y = to_number(a), to_number(b)
    real = op == "truediv" or x.sort == REAL or y.sort == REAL
    return make(RealExpr if real else IntExpr, op, (x, y))


def _symbols(node: EnumExpr) -> tuple[str, ...]:
    if node.op == "const":
        return (node.data,)
    if node.op == "var":
        symbols: tuple[str, ...] = node.data.values
        return symbols
    if node.op == "named":
        return _symbols(node.args[0])  # type: ignore[arg-type]  # the operator says the sorts
    if node.op == "ite":
        both = (*_symbols(node.args[1]), *_symbols(node.args[2]))  # type: ignore[arg-type]  # the operator says the sorts
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
        node = to_bool(part)
        for item in node.args if node.op == op else (node,):
            flat.setdefault(item.id, item)
    args = tuple(flat.values())
    if not args:
        return TRUE if op == "and" else FALSE
    return cast(BoolExpr, args[0]) if len(args) == 1 else make(BoolExpr, op, args)


def implies(a: BoolExpr | bool, b: BoolExpr | bool) -> BoolExpr:
    """True unless ``a`` holds and ``b`` does not."""
    return make(BoolExpr, "implies", (to_bool(a), to_bool(b)))


def isin(item: Expr, *values: Any) -> BoolExpr:
    """True where ``item`` is one of ``values`` (given one by one or as one iterable)."""
    flat: list[Any] = []
    for v in values:
        v = v if isinstance(v, Expr) else plain(v)
        single = isinstance(v, (str, Expr)) or not isinstance(v, Iterable)
        flat.extend((v,) if single else map(plain, v))
    if any(isinstance(v, Expr) for v in flat):
        raise UsageError("isin needs constant values")
    if not isinstance(item, EnumExpr):
        item = to_number(item)
    for v in flat:
        _enum(v, item) if isinstance(item, EnumExpr) else to_number(v)
    kept = tuple(dict.fromkeys(flat))
    return make(BoolExpr, "isin", (item,), kept)
