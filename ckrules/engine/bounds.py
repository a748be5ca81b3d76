"""Bounds: the least and greatest value that a number can take, from its variables' ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.engine.expr import BOOL, ENUM, REAL, Expr
from ckrules.engine.traversal import walk

Bound = tuple[float, float]
_WIDE: Bound = (-math.inf, math.inf)


class Bounds:
    """Interval arithmetic over interned nodes, remembered per node.

    Args:
        domains: For a variable's name the interval to use instead of its declared range.

    >>> from ckrules.engine.variables import Int
    >>> a, b = Int("a", [1, 8]), Int("b", [0, 3])
    >>> Bounds().of(a * b + 1)
    (1, 25)
    >>> Bounds().never_zero(a), Bounds().never_zero(b)
    (True, False)
    """

    def __init__(self, domains: Mapping[str, Bound] | None = None) -> None:
        self._domains = dict(domains or {})
        self._memo: dict[int, Bound] = {}

    def of(self, root: Expr) -> Bound:
        """Bounds of the value wherever it is defined."""
        if root.id not in self._memo:
            for node in walk(root, known=self._memo):
                try:
                    self._memo[node.id] = self._step(node)
                except OverflowError:  # a whole number beyond what a float can be
                    self._memo[node.id] = _WIDE
        return self._memo[root.id]

    def never_zero(self, root: Expr) -> bool:
        """True if the bounds prove that the value is not zero."""
        lo, hi = self.of(root)
        return lo > 0 or hi < 0

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
            values = list(node.data.rows.values())
            return (min(values), max(values)) if values else (0, 0)
        if node.op == "ite":
            return min(args[1][0], args[2][0]), max(args[1][1], args[2][1])
        if node.sort == REAL and node.op in _REAL:
            return _REAL[node.op](args[0], args[1])
        return _ARITH[node.op](args[0], args[1])


def _safe(value: float) -> float:
    return 0 if value != value else value  # inf * 0


def _corners(a: Bound, b: Bound, f: Any) -> Bound:
    values = [_safe(f(x, y)) for x in a for y in b]
    return min(values), max(values)


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
        return _div(a, b)
    return (0, math.inf) if a[0] >= 0 and b[0] >= 0 else _WIDE


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
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _mul,
    "floordiv": _div,
    "ceil_div": _ceil,
    "truediv": _true,
    "mod": _mod,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
