"""Random small spaces for property tests, and the brute force that they are checked against."""

from __future__ import annotations

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


@st.composite
def variables(draw: st.DrawFn, most: int = 5) -> list[Any]:
    """Up to ``most`` variables of all sorts with few values."""
    sorts = ["int"] * 5 + ["bool", "enum", "real", "extreme"]
    kinds = draw(st.lists(st.sampled_from(sorts), max_size=most))
    out = []
    for i, kind in enumerate(kinds):
        values = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
        out.append(_variable(kind, f"x{i}", values))
    return out


def numbers(vs: list[Any]) -> st.SearchStrategy[Any]:
    """Numeric terms over the number variables, undefined ones included."""
    pool = [v for v in vs if v.sort in (e.INT, e.REAL)]
    few = st.integers(-2, 8).map(e.const)
    leaves = st.one_of(*[st.sampled_from(pool)] * 3, few) if pool else few
    ints = [v for v in pool if v.sort == e.INT]
    table = Table("facts", ("k",), {i: (i * 7) % 5 for i in range(0, 9, 2)})

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        two = st.tuples(inner, inner)
        out = [
            two.map(lambda p: p[0] + p[1]),
            two.map(lambda p: p[0] - p[1]),
            two.map(lambda p: p[0] * p[1]),
            two.map(lambda p: p[0] // p[1]),
            two.map(lambda p: p[0] % p[1]),
            two.map(lambda p: p[0] / p[1]),
            two.map(lambda p: e.ceil_div(*p)),
            two.map(lambda p: e.minimum(*p)),
            two.map(lambda p: e.maximum(*p)),
            two.map(lambda p: e.ite(p[0] < p[1], p[0], p[1] + 1)),
            inner.map(lambda a: e.named("q", a)),
        ]
        if ints:
            out.append(st.sampled_from(ints).map(lambda a: e.lookup(table, a)))
        return st.one_of(*out)

    return st.recursive(leaves, grow, max_leaves=5)


def conditions(vs: list[Any]) -> st.SearchStrategy[e.BoolExpr]:
    """Conditions of every kind."""
    number = numbers(vs)
    two = st.tuples(number, number)
    flags = [v for v in vs if v.sort == e.BOOL]
    words = [v for v in vs if v.sort == e.ENUM]
    table = Table.relation("pairs", ("a", "b"), [(i, (3 * i) % 7) for i in range(8)])
    leaves = [
        two.map(lambda p: p[0] == p[1]),
        two.map(lambda p: p[0] != p[1]),
        two.map(lambda p: p[0] < p[1]),
        two.map(lambda p: p[0] <= p[1]),
        two.map(lambda p: p[0] % p[1] == 0),
        number.map(e.is_pow2),
        number.map(lambda a: e.isin(a, 1, 2, 5)),
        two.map(lambda p: e.rel(table, *p)),
    ]
    if flags:
        leaves.append(st.sampled_from(flags))
    if words:
        leaves.append(
            st.sampled_from(words).flatmap(
                lambda w: st.sampled_from(w.symbols).map(lambda s: w == s)
            )
        )

    def grow(inner: st.SearchStrategy[e.BoolExpr]) -> st.SearchStrategy[e.BoolExpr]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda p: p[0] & p[1]),
            pair.map(lambda p: p[0] | p[1]),
            pair.map(lambda p: e.implies(*p)),
            pair.map(lambda p: p[0] == p[1]),
            inner.map(lambda a: ~a),
            st.tuples(inner, inner, inner).map(lambda t: e.ite(*t)),
        )

    return st.recursive(st.one_of(*leaves), grow, max_leaves=6)


@st.composite
def spaces(draw: st.DrawFn, most: int = 5) -> tuple[list[Any], list[e.BoolExpr]]:
    """Variables and rules of a small space."""
    vs = draw(variables(most))
    return vs, draw(st.lists(conditions(vs), max_size=4))


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
