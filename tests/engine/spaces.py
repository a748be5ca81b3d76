"""Random small spaces for property tests, and the brute force that they are checked against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Real, domain_of
from ckrules.engine.space import Space

WORDS = ("mem", "compv3", "compv4")
#: Floats whose sums, products and quotients underflow, overflow, round or cancel.
EXTREMES = (
    -0.0, 1.0, -1.0, 0.1, 0.3, -3.0, 5e-324, -5e-324, 1e-320, 1e-200, 1e-17, 1e200, -1e308,
    1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 2.2250738585072014e-308,
)  # fmt: skip


def _variable(kind: str, name: str, values: list[int]) -> Any:
    if kind == "int":
        return Int(name, values)
    if kind == "bool":
        return Bool(name)
    if kind == "enum":
        return Enum(name, WORDS[: 1 + values[0] % 3])
    if kind == "extreme":
        return Real(name, [EXTREMES[(3 * v + len(values)) % len(EXTREMES)] for v in values])
    return Real(name, [v / 2 for v in values])


_SORTS = ("int",) * 5 + ("bool", "enum", "real", "extreme")
_FACTS = Table("facts", ("k",), {i: (i * 7) % 5 for i in range(0, 9, 2)})
_PAIRS = Table.relation("pairs", ("a", "b"), [(i, (3 * i) % 7) for i in range(8)])
_TERMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a // b,
    lambda a, b: a % b, lambda a, b: a / b, e.ceil_div, e.minimum, e.maximum,
    lambda a, b: e.ite(a < b, a, b + 1),
)  # fmt: skip
_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b,
    lambda a, b: a % b == 0, lambda a, b: e.rel(_PAIRS, a, b),
)  # fmt: skip
_CONNECTIVES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda p, q: p & q, lambda p, q: p | q, e.implies, lambda p, q: p == q,
)  # fmt: skip


class _Choices:
    """Makes variables, terms and conditions by the bytes of a string.

    A string is one choice of hypothesis. With a strategy for each part of an expression, drawing
    took nine tenths of the tests' time. Bytes that are missing are zero, the simplest choice.
    """

    def __init__(self, data: bytes) -> None:
        self.rest = iter(data)

    def below(self, n: int) -> int:
        return next(self.rest, 0) % n

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]

    def variables(self, most: int) -> list[Any]:
        made = []
        for i in range(self.below(most + 1)):
            kind, values = self.of(_SORTS), [self.below(10) for _ in range(1 + self.below(4))]
            made.append(_variable(kind, f"x{i}", list(dict.fromkeys(values))))
        return made

    def number(self, vs: list[Any], leaves: int = 5) -> Any:
        """A numeric term of so many leaves at most."""
        pool = [v for v in vs if v.sort in (e.INT, e.REAL)]
        if leaves == 1 or (kind := self.below(12)) < 6:
            return self.of(pool) if pool and self.below(4) else e.const(self.below(11) - 2)
        ints = [v for v in pool if v.sort == e.INT]
        if kind == 6 and ints:
            return e.lookup(_FACTS, self.of(ints))
        first = self.number(vs, leaves // 2)
        if kind == 7:
            return e.named("q", first)
        return self.of(_TERMS)(first, self.number(vs, leaves - leaves // 2))

    def condition(self, vs: list[Any], leaves: int = 6) -> Any:
        """A condition of so many comparisons at most."""
        if leaves == 1 or (kind := self.below(10)) < 5:
            return self._comparison(vs)
        if kind == 5:
            return ~self.condition(vs, leaves)
        if kind == 6 and leaves > 2:
            return e.ite(*(self.condition(vs, leaves // 3) for _ in range(3)))
        first = self.condition(vs, leaves // 2)
        return self.of(_CONNECTIVES)(first, self.condition(vs, leaves - leaves // 2))

    def _comparison(self, vs: list[Any]) -> Any:
        kind = self.below(10)
        if kind == 9 and (flags := [v for v in vs if v.sort == e.BOOL]):
            return self.of(flags)
        if kind == 8 and (words := [v for v in vs if v.sort == e.ENUM]):
            word = self.of(words)
            return word == self.of(word.symbols)
        first = self.number(vs)
        if kind in (6, 7):
            return e.is_pow2(first) if kind == 6 else e.isin(first, 1, 2, 5)
        return self.of(_COMPARISONS)(first, self.number(vs))


def _made(make: Callable[[_Choices], Any], size: int) -> st.SearchStrategy[Any]:
    return st.binary(min_size=size, max_size=size).map(lambda data: make(_Choices(data)))


def variables(most: int = 5) -> st.SearchStrategy[list[Any]]:
    """Up to ``most`` variables of all sorts with few values."""
    return _made(lambda some: some.variables(most), 6 * most + 1)


def numbers(vs: list[Any]) -> st.SearchStrategy[Any]:
    """Numeric terms over the number variables, undefined ones included."""
    return _made(lambda some: some.number(vs), 24)


def conditions(vs: list[Any]) -> st.SearchStrategy[e.BoolExpr]:
    """Conditions of every kind."""
    return _made(lambda some: some.condition(vs), 100)


def spaces(most: int = 5) -> st.SearchStrategy[tuple[list[Any], list[e.BoolExpr]]]:
    """Variables and rules of a small space."""

    def make(some: _Choices) -> tuple[list[Any], list[e.BoolExpr]]:
        vs = some.variables(most)
        return vs, [some.condition(vs) for _ in range(some.of((0, 1, 1, 2, 2, 3, 4)))]

    return _made(make, 300)


def grid(vs: list[Any]) -> list[dict[str, Any]]:
    """Every combination of candidate values, in declared order."""
    names = [domain_of(v).name for v in vs]
    return [
        dict(zip(names, row, strict=True)) for row in product(*(domain_of(v).values for v in vs))
    ]


def brute(vs: list[Any], rules: list[e.BoolExpr]) -> list[dict[str, Any]]:
    """The legal points by evaluation of every combination."""
    return [p for p in grid(vs) if all(map(At(p).holds, rules))]


def in_order(space: Space, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points sorted as the space documents it: by codes, in `Space.order`."""
    place = {n: {v: i for i, v in enumerate(vs)} for n, vs in space.domains.items()}
    return sorted(points, key=lambda p: [place[n][p[n]] for n in space.order])
