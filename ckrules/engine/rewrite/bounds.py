"""Bounds: the least and greatest value that a number can take, from its variables' ranges.

Whole numbers are bounded exactly. Floats are bounded by the operations that evaluate them, which
are monotonous after rounding, overflow and underflow as well; a quotient rounded down beyond
2**51 is not and gets room for its rounding. No bounds hold NaN, which compares like no number:
`Bounds.may_be_nan` says where infinities can make one, and `Bounds.compare` heeds it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ckrules.engine.expr import BOOL, ENUM, INT, REAL, Expr
from ckrules.engine.expr.traversal import annotate

Bound = tuple[float, float]
SAFE = 2**62
WHOLE = 2**53 - 1  # whole numbers up to here are floats, and no others are rounded to them
_WIDE: Bound = (-math.inf, math.inf)
_COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "min", "max"))
_PASSING = frozenset(("add", "sub", "mul", "floordiv", "mod", "ceil_div"))
_COMPUTED = _PASSING | {"truediv"}


class Bounds:
    """Interval arithmetic over interned nodes, remembered per node.

    Args:
        domains: For a variable's name the interval to use instead of its declared range.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b = Int("a", [1, 8]), Int("b", [0, 3])
    >>> Bounds().of(a * b + 1)
    (1, 25)
    >>> Bounds().never_zero(a), Bounds().never_zero(b)
    (True, False)
    """

    def __init__(self, domains: Mapping[str, Bound] | None = None) -> None:
        self._domains = dict(domains or {})
        self._memo: dict[int, Bound] = {}
        self._mixed: set[int] = set()
        self._nan: set[int] = set()
        #: The first node seen that 64-bit integers and floats might not hold as Python does.
        self.too_wide: Expr | None = None

    def of(self, root: Expr) -> Bound:
        """Bounds of the value wherever it is defined and not NaN."""
        return annotate(root, self._memo, self._bound)

    def never_zero(self, root: Expr) -> bool:
        """True if the bounds prove that the value is not zero."""
        lo, hi = self.of(root)
        return lo > 0 or hi < 0

    def may_be_nan(self, root: Expr) -> bool:
        """False if the value is proven to be a number, perhaps infinite, wherever it is defined.

        >>> from ckrules.engine.expr.variables import Real
        >>> x = Real("x", [1.0, 1e300])
        >>> Bounds().may_be_nan(x * x), Bounds().may_be_nan(x * x - x * x)
        (False, True)
        """
        self.of(root)
        return root.id in self._nan

    def compare(self, op: str, a: Expr, b: Expr) -> bool | None:
        """What a comparison of two numbers is wherever both are defined, None if it varies."""
        truth = _interval(op, self.of(a), self.of(b))
        if truth is (op != "ne") and (self.may_be_nan(a) or self.may_be_nan(b)):
            return None  # of a NaN `!=` is true and all else is false
        return truth

    def _bound(self, node: Expr) -> Bound:
        try:
            found = self._step(node)
        except OverflowError:  # an integer beyond what a float can be
            found = _WIDE
        if self._is_mixed(node):
            self._mixed.add(node.id)
        if self._makes_nan(node):
            self._nan.add(node.id)
            if node.op in ("min", "max"):  # the other side may be kept beside a NaN
                found = _union(*(self._memo[a.id] for a in node.args))
        if self.too_wide is None and not self._holds(node, found):
            self.too_wide = node
        return found

    def _is_mixed(self, node: Expr) -> bool:
        """True for a number among floats that may still be an int in Python."""
        if node.sort != REAL:
            return False
        if node.op == "var":
            return bool(node.data.whole)
        if node.op == "lookup":
            return any(isinstance(v, int) for v in node.data.rows.values())
        if node.op in _PASSING:
            return all(a.sort == INT or a.id in self._mixed for a in node.args)
        chosen = node.args[1:] if node.op == "ite" else node.args
        return node.op != "truediv" and any(a.sort == INT or a.id in self._mixed for a in chosen)

    def _makes_nan(self, node: Expr) -> bool:
        if node.sort != REAL:
            return False
        if node.op == "lookup":
            return any(v != v for v in node.data.rows.values())
        if any(a.id in self._nan for a in node.args):
            return True
        ends = (end for a in node.args for end in self._memo[a.id])
        return node.op in _COMPUTED and any(abs(end) == math.inf for end in ends)

    def _holds(self, node: Expr, found: Bound) -> bool:
        """True if int64 and float64 columns give this node the value that Python gives it."""
        if node.sort == INT and not -SAFE <= found[0] <= found[1] <= SAFE:
            return False
        if node.id in self._mixed and not _whole(found):
            return node.op == "var"  # as a key it is only recognised; see `_key_holds`
        wide = [a for a in node.args if a.sort in (INT, REAL) and not _whole(self._memo[a.id])]
        wide = [a for a in wide if a.sort == INT or a.id in self._mixed]
        if node.op in ("rel", "lookup"):
            ids = {a.id for a in wide}
            return all(_key_holds(node, k, a.id in ids) for k, a in enumerate(node.args))
        if not wide:
            return not (
                node.op == "isin" and node.args[0].sort == REAL and any(map(_rounded, node.data))
            )
        if node.id in self._mixed or any(a.sort == REAL for a in wide) or node.op == "truediv":
            return False
        if node.op == "isin":
            return not any(isinstance(v, float) for v in node.data)
        return node.op not in _COMPARED or all(a.sort == INT for a in node.args)

    def _step(self, node: Expr) -> Bound:
        if node.sort in (BOOL, ENUM):
            return (0, 1) if node.sort == BOOL else _WIDE
        args = [self._memo[a.id] for a in node.args]
        if node.op == "const":
            return node.data, node.data
        if node.op == "undef":
            return 0, 0
        if node.op == "var":
            return self._domains.get(node.data.name, (node.data.lo, node.data.hi))
        if node.op == "named":
            return args[0]
        if node.op == "lookup":
            values = [v for v in node.data.rows.values() if v == v]
            return (min(values), max(values)) if values else (0, 0)
        if node.op == "ite":
            return _union(*args[1:])
        if node.sort == REAL and node.op in _REAL:
            return _REAL[node.op](args[0], args[1])
        return _ARITH[node.op](args[0], args[1])


def _union(a: Bound, b: Bound) -> Bound:
    return min(a[0], b[0]), max(a[1], b[1])


def _interval(op: str, a: Bound, b: Bound) -> bool | None:
    """What a comparison of any two numbers of two intervals is, or None if it varies."""
    if op in ("gt", "ge"):
        return _interval("lt" if op == "gt" else "le", b, a)
    if op == "lt":
        return True if a[1] < b[0] else False if a[0] >= b[1] else None
    if op == "le":
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    apart = a[1] < b[0] or b[1] < a[0]
    same = a[0] == a[1] == b[0] == b[1]
    if not (apart or same):
        return None
    return same if op == "eq" else apart


def _whole(bound: Bound) -> bool:
    return -WHOLE <= bound[0] <= bound[1] <= WHOLE


def _rounded(value: Any) -> bool:
    return isinstance(value, int) and not -WHOLE <= value <= WHOLE


def _key_holds(node: Expr, which: int, wide: bool) -> bool:
    """True if columns tell the keys of a table apart as Python does."""
    key = node.args[which]
    if key.sort not in (INT, REAL):
        return True
    column = {k[which] for k in node.data.rows}
    floats = key.sort == REAL or any(isinstance(v, float) for v in column)
    if not floats or not (wide or any(map(_rounded, column))):
        return True
    if key.op == "const":  # a variable that is bound
        return all((float(k) == float(key.data)) == (k == key.data) for k in column)
    return key.op == "var" and column.issubset(key.data.values)


def _safe(value: float) -> float:
    return 0 if value != value else value  # inf * 0


def _corners(a: Bound, b: Bound, f: Any) -> Bound:
    values = [_safe(f(x, y)) for x in a for y in b]
    return min(values), max(values)


def _sum(lo: float, hi: float) -> Bound:
    # infinities that cancel leave NaN, and nothing known
    return -math.inf if lo != lo else lo, math.inf if hi != hi else hi


def _mul(a: Bound, b: Bound) -> Bound:
    return _corners(a, b, lambda x, y: x * y)


def _divisors(b: Bound) -> list[float]:
    out = [v for v in b if v != 0]
    if b[0] <= 1 <= b[1]:
        out.append(1)
    if b[0] <= -1 <= b[1]:
        out.append(-1)
    return out


def _div(a: Bound, b: Bound) -> Bound:
    divisors = _divisors(b)
    if b == (0, 0):
        return 0, 0  # defined nowhere
    if not divisors or not all(map(math.isfinite, (*a, *b))):
        return (0, math.inf) if a[0] >= 0 and b[0] >= 0 else _WIDE
    values = [x // y for x in a for y in divisors]
    return min(values), max(values)


def _ceil(a: Bound, b: Bound) -> Bound:
    lo, hi = _div(a, b)
    return lo, hi + 1


def _true(a: Bound, b: Bound) -> Bound:
    # a real divisor may lie between 0 and 1, so only the sign is known near zero
    if b[0] > 0 and a[0] >= 0 and all(map(math.isfinite, (*a, *b))):
        return a[0] / b[1], a[1] / b[0]
    return (0, math.inf) if a[0] >= 0 and b[0] >= 0 else _WIDE


def _div_real(a: Bound, b: Bound) -> Bound:
    # the quotient grows without limit where the divisor comes close to zero
    if (b[0] > 0 or b[1] < 0) and all(map(math.isfinite, (*a, *b))):
        return _rounded_down(*_div(a, b))
    return (0, math.inf) if a[0] >= 0 and b[0] >= 0 else _WIDE


def _rounded_down(lo: float, hi: float) -> Bound:
    # two roundings before the last: large quotients in order may come out in another one
    if abs(lo) > 2**51:
        lo = min(lo, sys.float_info.max)
        lo -= abs(lo) * 2.0**-50
    if abs(hi) > 2**51:
        hi = max(hi, -sys.float_info.max)
        hi += abs(hi) * 2.0**-50
    return lo, hi


def _ceil_real(a: Bound, b: Bound) -> Bound:
    lo, hi = _div_real(a, b)
    return lo, hi + 1


def _mod_real(a: Bound, b: Bound) -> Bound:
    return min(b[0], 0), max(b[1], 0)


def _mod(a: Bound, b: Bound) -> Bound:
    if b[0] >= 0 and b[1] > 0:
        top = max(0, b[1] - 1)
        return (0, min(top, a[1])) if a[0] >= 0 else (0, top)
    return min(b[0], 0), max(b[1], 0)


_REAL: dict[str, Callable[[Bound, Bound], Bound]] = {
    "floordiv": _div_real, "ceil_div": _ceil_real, "mod": _mod_real,
}  # fmt: skip

_ARITH: dict[str, Callable[[Bound, Bound], Bound]] = {
    "add": lambda a, b: _sum(a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: _sum(a[0] - b[1], a[1] - b[0]),
    "mul": _mul,
    "floordiv": _div,
    "ceil_div": _ceil,
    "truediv": _true,
    "mod": _mod,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def bounds_of(values: Mapping[str, Sequence[Any]]) -> Bounds:
    """Interval bounds over the given values of each number."""
    numbers = {n: v for n, v in values.items() if is_numeric(v)}
    return Bounds({n: (min(v), max(v)) for n, v in numbers.items()})


def is_numeric(values: Sequence[Any]) -> bool:
    """True for values of a number: ints and floats, at least one."""
    return bool(values) and all(type(v) in (int, float) for v in values)
