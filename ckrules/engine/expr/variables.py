"""Variables with finite candidate values and, for numbers, a wider documented range."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ckrules.engine.expr.nodes import (
    BOOL,
    ENUM,
    INT,
    REAL,
    BoolExpr,
    EnumExpr,
    IntExpr,
    RealExpr,
    Value,
    make,
)
from ckrules.support.errors import RuleBookError, UsageError, unknown
from ckrules.support.plain_values import PLAIN, plain


class Role(StrEnum):
    """What a field is for: what may change it, and where it is shown, follow from it."""

    PURPOSE = "purpose"
    """What is wanted; no repair changes it."""
    GEOMETRY = "geometry"
    """Sizes: how the work is divided."""
    METHOD = "method"
    """The way of the computation."""
    FEATURE = "feature"
    """Everything else: a repair in place may change it."""


#: What changing a field costs in a repair where its vocabulary does not say: flags are cheap.
COSTS = {Role.FEATURE: 1, Role.METHOD: 3, Role.GEOMETRY: 4, Role.PURPOSE: 100}


@dataclass(frozen=True, slots=True)
class Domain:
    """Name, sort and values of a variable.

    ``values`` are the candidates that enumeration goes through, in declared order. An integer
    may also take any other value from ``lo`` to ``hi``: such a point is outside the candidates
    and still checked by the rules.
    """

    name: str
    sort: str
    values: tuple[Any, ...]
    lo: int | float = 0
    hi: int | float = 0
    doc: str = ""
    role: Role = Role.FEATURE
    group: str = ""
    """Fields of one group, such as the three sizes of a tile, are shown as one: 64x64x32."""
    whole: tuple[int, ...] = ()
    """Places of the ints among floats, which are equal to floats but not the same values."""
    written: str = ""
    """Labels as Python writes them: 1 and True are equal but not the same label."""

    def accept(self, value: Any) -> Value:
        """``value`` if the variable can take it, as a plain value of Python.

        Raises:
            UsageError: For a value of the wrong sort or outside the range.
            UnknownNameError: For a word that is not in the list, with near matches.
        """
        if type(value) not in PLAIN:
            value = plain(value)
        if self.sort == BOOL:
            if isinstance(value, bool):
                return value
            raise UsageError(f"{self.name} = {_show(value)} is not true or false")
        if self.sort == ENUM:
            if value in self.values:
                return value  # type: ignore[no-any-return]  # a domain's own values
            if not isinstance(value, str):
                raise UsageError(f"{self.name} = {_show(value)} is not a string")
            raise unknown(self.name, value, map(str, self.values))
        number = isinstance(value, int) if self.sort == INT else isinstance(value, (int, float))
        if isinstance(value, bool) or not number:
            kind = "an integer" if self.sort == INT else "a number"
            raise UsageError(f"{self.name} = {_show(value)} is not {kind}")
        if self.sort == REAL and value not in self.values:
            shown = ", ".join(map(repr, self.values[:12])) + ", …" * (len(self.values) > 12)
            raise UsageError(f"{self.name} = {_show(value)} is not one of {shown}")
        if not self.lo <= value <= self.hi:
            raise UsageError(
                f"{self.name} = {_show(value)} is out of range: expected {self.lo} to {self.hi}"
            )
        return value  # type: ignore[no-any-return]  # a domain's own values


def _show(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int with more digits than Python prints
        return "a number with more than 4,300 digits"
    return text if len(text) <= 40 else text[:37] + "…"


def domain_of(node: Any) -> Domain:
    """The domain of a variable node.

    >>> domain_of(Int("tile_m", [16, 32])).values
    (16, 32)
    """
    if getattr(node, "op", None) != "var":
        raise UsageError(f"`{node}` is not a variable")
    domain: Domain = node.data
    return domain


def _checked(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """The values as a tuple; those of numpy and of enumerations as plain ones."""
    if not isinstance(name, str) or not name.isidentifier():
        raise RuleBookError(f"{_show(name)} cannot name a variable: letters, digits and _ only")
    if name in ("True", "False", "None"):  # which texts read as the value
        raise RuleBookError(f"{_show(name)} cannot name a variable: it is a value")
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise RuleBookError(f"variable {name}: {_show(values)} is not a list of values")
    out = tuple(map(plain, values))
    if not out:
        raise RuleBookError(f"variable {name} has no values")
    try:
        distinct = set(out)
    except TypeError:
        raise RuleBookError(f"variable {name}: values must be hashable") from None
    if len(distinct) != len(out):
        seen: set[Any] = set()
        twice = next(v for v in out if v in seen or seen.add(v))  # type: ignore[func-returns-value]  # `add` returns None
        raise RuleBookError(f"variable {name} lists {twice!r} twice")
    return out


def _role(name: str, role: Role) -> Role:
    if role not in list(Role):
        raise unknown(f"role of {name}", role, [r.value for r in Role])
    return Role(role)


#: Numbers outside +-2**40 are refused everywhere, so that products of a few fields fit 64 bits
#: in the vectorised back end or are caught by its bounds check.
LIMIT = 2**40


def Int(  # noqa: N802 - reads as the type of the variable
    name: str,
    values: Iterable[int],
    *,
    lo: int | None = None,
    hi: int | None = None,
    doc: str = "",
    role: Role = Role.FEATURE,
    group: str = "",
) -> IntExpr:
    """An integer variable with the given candidate values.

    Args:
        name: A Python identifier.
        values: The candidates, in the order in which points are listed.
        lo, hi: The range that a point outside the candidates may use (default: the candidates').
        doc, role, group: What the field is, and what it is for.

    Raises:
        RuleBookError: For no values, a value listed twice or one outside the range.

    >>> Int("tile_m", [16, 32, 64])
    tile_m
    """
    out = _checked(name, values)
    bounds = [plain(bound) for bound in (lo, hi) if bound is not None]
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in (*out, *bounds)):
        raise RuleBookError(f"variable {name}: every value must be an integer")
    low, high = min(out) if lo is None else plain(lo), max(out) if hi is None else plain(hi)
    if not (-LIMIT <= low <= min(out) and max(out) <= high <= LIMIT):
        raise RuleBookError(
            f"variable {name}: the values must lie in {low} to {high}, within ±2**40"
        )
    return make(
        IntExpr, "var", (), Domain(name, INT, out, low, high, doc, _role(name, role), group)
    )


def Real(name: str, values: Iterable[float], *, doc: str = "") -> RealExpr:  # noqa: N802
    """A variable whose candidates are floats, or floats and ints; it takes no other values.

    An int among them stays one, so that bit operations and products see it as Python does.

    >>> Real("f", [0.5, 1.0])
    f
    """
    given = _checked(name, values)
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in given):
        raise RuleBookError(f"variable {name}: every value must be a number")
    if not all(abs(v) <= sys.float_info.max for v in given):
        raise RuleBookError(f"variable {name}: every value must be finite")
    out = tuple(given)
    if len(set(map(float, out))) < len(out):
        raise RuleBookError(f"variable {name}: two values are the same number as a float")
    whole = tuple(i for i, v in enumerate(out) if isinstance(v, int))
    domain = Domain(name, REAL, out, min(out), max(out), doc, whole=whole)
    return make(RealExpr, "var", (), domain)


def Bool(  # noqa: N802
    name: str,
    values: Iterable[bool] = (False, True),
    *,
    doc: str = "",
    role: Role = Role.FEATURE,
    group: str = "",
) -> BoolExpr:
    """A Boolean variable.

    >>> ~Bool("persistent")
    ~persistent
    """
    out = _checked(name, values)
    if not all(isinstance(v, bool) for v in out):
        raise RuleBookError(f"variable {name}: every value must be true or false")
    return make(BoolExpr, "var", (), Domain(name, BOOL, out, 0, 0, doc, _role(name, role), group))


def Enum(  # noqa: N802
    name: str, values: Iterable[str], *, doc: str = "", role: Role = Role.FEATURE, group: str = ""
) -> EnumExpr:
    """A variable that takes one of the given words.

    >>> Enum("pipeline", ["mem", "compv3"]) == "mem"
    pipeline == 'mem'
    """
    out = _checked(name, values)
    if not all(isinstance(v, str) for v in out):
        raise RuleBookError(f"variable {name}: every value must be a string")
    return make(EnumExpr, "var", (), Domain(name, ENUM, out, 0, 0, doc, _role(name, role), group))


def labels(name: str, values: Iterable[Any]) -> EnumExpr:
    """A variable of any values, such as None and tuples, that are only told apart.

    >>> domain_of(labels("block", [None, (16, 16)])).values
    (None, (16, 16))

    Raises:
        RuleBookError: For a value that cannot be hashed.
    """
    out = _checked(name, values)
    return make(EnumExpr, "var", (), Domain(name, ENUM, out, written=repr(out)))


def variable(name: str, values: Iterable[Any]) -> IntExpr | BoolExpr | EnumExpr:
    """The variable whose sort is that of its values: integers, floats, words or Booleans.

    >>> domain_of(variable("x", [1, 2])).sort, domain_of(variable("y", [1, 2.5])).sort
    ('int', 'real')

    Raises:
        RuleBookError: For values of mixed sorts.
    """
    out = _checked(name, values)
    if all(isinstance(v, bool) for v in out):
        return Bool(name, out)
    if all(isinstance(v, int) and not isinstance(v, bool) for v in out):
        return Int(name, out)
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in out):
        return Real(name, out)
    if all(isinstance(v, str) for v in out):
        return Enum(name, out)
    raise RuleBookError(
        f"variable {name}: the values must be all numbers, all words or all Booleans"
    )
