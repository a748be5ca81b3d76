"""Every back end decides every expression as the pointwise one does."""

from __future__ import annotations

import pkgutil
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckrules.engine import evaluate
from ckrules.engine import expr as e
from ckrules.engine.evaluate import vector
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At, MissingFieldError
from ckrules.engine.expr import OPS, ceil_div, const, ite, lookup, maximum, named, rel, undef
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import Bool, Enum, Int, Real
from ckrules.engine.space import Space
from ckrules.support.errors import UndecidedError, UsageError

from . import backends
from .strategies import EVERYTHING, VARIABLES, Strategies, points

ALL = backends.names()
OTHERS = [n for n in ALL if n != "pointwise"]

A = Int("a", [-2, 0, 1, 2, 3, 8], lo=-8, hi=64)
B = Int("b", [-3, 0, 1, 2, 4], lo=-8, hi=64)
P, Q = Bool("p"), Bool("q")
W = Enum("w", ["mem", "compv3"])
X = Real("x", [-1.5, 0.0, 0.5, 4.0])
SQUARES = Table("squares", ("n",), {0: 0, 1: 1, 2: 4})
NEXT = Table("next", ("w",), {"mem": "compv3"})
SHARE = Table("share", ("n",), {1: 0.5, 2: 0.0})
KNOWN = Table.relation("known", ("w", "n"), [("mem", 1), ("compv3", 2)])

#: One condition or more for every node kind.
SPECIMENS: dict[str, list[Any]] = {
    "const": [e.TRUE, e.FALSE, const(3) == 3, const(-2) < A, W == "mem", const(0.5) < X],
    "undef": [undef(P), ~undef(P), undef(A) == 0, undef(W) == "mem", undef(X) <= 0, undef(A) != 0],
    "var": [P, Q],
    "named": [named("n", A + 1) == 2, named("both", P & Q), named("z", A // B) != 1],
    "add": [A + B == 3, X + A == 0.5],
    "sub": [A - B == 1, 3 - A == 1, -A == 2, X - 0.5 == 0],
    "mul": [A * B == 2, A * X == 2],
    "floordiv": [A // B == 1, A // B == -1, 7 // A == -4, X // B == 0, A // 2 == -1, A // X == 2],
    "mod": [
        A % B == 0, A % B == 1, A % B == -1, A % -3 == -2, A % B != 0, X % B == 0.5, A % X == 0,
    ],
    "truediv": [A / B == 0.5, A / 2 == 1.5, X / A == 0.25, A / X == 2],
    "ceil_div": [
        ceil_div(A, B) == 1, ceil_div(A, 3) == 1, ceil_div(A, B) == -2, ceil_div(X, 2) == 1,
    ],
    "min": [e.minimum(A, B, 2) == 1, e.minimum(X, A) == 0.5],
    "max": [maximum(A, B, 2) == 3, maximum(X, A) == 0.5, maximum(A // B, 0) == 0],
    "eq": [A == B, W == "mem", lookup(NEXT, W) == W, X == 0.5, A == X],
    "ne": [A != B, W != "mem", A // B != 5, lookup(NEXT, W) != W],
    "lt": [A < B, X < 0.5, A // B < 5],
    "le": [A <= B, X <= A],
    "gt": [A > B, X > A],
    "ge": [A >= B, A % B >= 0],
    "isin": [
        A.isin(1, 2), A.isin(), W.isin("mem"), (A // B).isin(0, 1), ~(A % B).isin(0), X.isin(0.5),
    ],
    "is_pow2": [e.is_pow2(A), e.is_pow2(A // B), e.is_pow2(X), e.is_pow2(A - 3), e.is_pow2(A * X)],
    "and": [P & Q, e.all_of(P, A == 1, B == 2), e.all_of()],
    "or": [P | Q, e.any_of(P, A == 1, B == 2), e.any_of()],
    "not": [~P, ~(A // B == 1), ~~P],
    "implies": [e.implies(P, Q), P.implies(A // B == 1), e.implies(A // B == 1, P)],
    "iff": [P == Q, P != Q, (A // B == 1) == Q, P == True],  # noqa: E712
    "ite": [
        ite(P, A, B) == 2, ite(P, A // B, 7) == 7, ite(A // B == 1, A, B) == 3, ite(P, Q, ~Q),
        ite(P, "mem", W) == "mem", ite(P, X, A) == 0.5, ite(P, lookup(NEXT, W), W) == "compv3",
    ],
    "lookup": [
        lookup(SQUARES, A) == 4, lookup(SQUARES, A) != 4, ~(lookup(SQUARES, A) == 4),
        A // lookup(SQUARES, B) == 2, lookup(SQUARES, A, default=9) == 9,
        lookup(SQUARES, lookup(SQUARES, A)) == 0, lookup(NEXT, W) == "compv3",
        lookup(SHARE, A) == 0.5, A / lookup(SHARE, B) == 4, lookup(SQUARES, A // B) == 1,
    ],
    "rel": [
        rel(KNOWN, W, A), ~rel(KNOWN, W, A), rel(KNOWN, lookup(NEXT, W), A), rel(KNOWN, W, A // B),
    ],
}  # fmt: skip


def everywhere() -> list[dict[str, Any]]:
    """Points at which each term above is defined somewhere and undefined elsewhere."""
    return [
        {"a": a, "b": b, "p": p, "q": q, "w": w, "x": x}
        for i, (a, b) in enumerate((a, b) for a in (-2, 0, 1, 2, 3, 8) for b in (-3, 0, 1, 2, 4))
        for p, q, w, x in [
            (True, False, "mem", 0.5),
            (i % 2 == 0, i % 3 == 0, ("mem", "compv3")[i % 2], (-1.5, 0.0, 0.5, 4.0)[i % 4]),
        ]
    ]


def test_no_back_end_is_missing() -> None:
    modules = {m.name for m in pkgutil.iter_modules(evaluate.__path__)}
    assert modules == set(ALL)


def test_specimens_cover_every_kind() -> None:
    assert set(SPECIMENS) == set(OPS)
    for op, conditions in SPECIMENS.items():
        # a negated, folded or rewritten specimen must still show its kind; all_of() is a constant
        assert any(op in {n.op for n in walk(c)} for c in conditions), op


@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize("op", OPS)
def test_every_kind(backend: str, op: str) -> None:
    roots, where = SPECIMENS[op], everywhere()
    expected = backends.evaluate("pointwise")(roots, where)
    found = backends.evaluate(backend)(roots, where)
    wrong = [
        (str(root), point, want)
        for point, wants, gots in zip(where, expected, found, strict=True)
        for root, want, got in zip(roots, wants, gots, strict=True)
        if want is not got
    ]
    assert wrong == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", [n for n in OTHERS if n != "bits"])
@settings(max_examples=150)
@given(data=st.data())
def test_random_expressions(backend: str, data: st.DataObject) -> None:
    roots = data.draw(st.lists(EVERYTHING.conditions(3), min_size=1, max_size=3))
    where = data.draw(st.lists(points(), min_size=1, max_size=5))
    assert backends.evaluate(backend)(roots, where) == backends.evaluate("pointwise")(roots, where)


@settings(max_examples=100)
@given(Strategies(reals=False).conditions(2), st.lists(points(), min_size=1, max_size=3))
def test_random_expressions_in_z3(root: Any, where: list[dict[str, Any]]) -> None:
    try:
        found = backends.evaluate("bits")([root], where)
    except UndecidedError as error:  # products of products leave the width that z3 is given
        assume("no bounded integer form" not in str(error))
        raise
    assert found == backends.evaluate("pointwise")([root], where)


@settings(max_examples=80, suppress_health_check=[HealthCheck.filter_too_much])
@given(EVERYTHING.conditions(2), st.lists(points(candidates=True), min_size=1, max_size=3))
def test_random_floats_in_z3(root: Any, where: list[dict[str, Any]]) -> None:
    """Floats reach z3 as tables of the candidates, as long as there are not too many."""
    try:
        found = backends.evaluate("bits")([root], where)
    except (UsageError, UndecidedError) as error:
        assume("too many for z3" not in str(error))
        assume("no bounded integer form" not in str(error))
        raise
    assert found == backends.evaluate("pointwise")([root], where)


@settings(max_examples=50)
@given(st.lists(EVERYTHING.conditions(3), min_size=20, max_size=20))
def test_strategies_generate_well_sorted_conditions(roots: list[Any]) -> None:
    for root in roots:
        assert root.sort == e.BOOL
        assert root.support <= VARIABLES.keys()


def test_strategies_generate_every_kind() -> None:
    seen: set[str] = set()

    @settings(max_examples=400, database=None, derandomize=True)
    @given(EVERYTHING.conditions(3))
    def collect(root: Any) -> None:
        seen.update(n.op for n in walk(root))

    collect()
    assert seen == set(OPS)


# -- undefinedness ----------------------------------------------------------------------------

ROW = Table("row", ("n",), {1: 5})

#: Condition, point, truth: an undefined term makes the smallest condition around it false.
UNDEFINED: list[tuple[Any, dict[str, Any], bool]] = [
    (A // B == 0, {"a": 0, "b": 0}, False),
    (A // B != 0, {"a": 0, "b": 0}, False),
    (~(A // B == 0), {"a": 0, "b": 0}, True),
    (~(A // B != 0), {"a": 0, "b": 0}, True),
    (A % B == 0, {"a": 4, "b": 0}, False),
    (A % B != 0, {"a": 4, "b": 0}, False),
    (~(A % B == 0), {"a": 4, "b": 0}, True),
    (A % B >= 0, {"a": 4, "b": 0}, False),
    (A % B < 0, {"a": 4, "b": 0}, False),
    (ceil_div(A, B).isin(0, 1, 2), {"a": 4, "b": 0}, False),
    (~ceil_div(A, B).isin(0), {"a": 4, "b": 0}, True),
    (e.is_pow2(A // B), {"a": 4, "b": 0}, False),
    (A / B == 0.5, {"a": 4, "b": 0}, False),
    (lookup(ROW, A) == 5, {"a": 1, "b": 0}, True),
    (lookup(ROW, A) == 5, {"a": 2, "b": 0}, False),
    (lookup(ROW, A) != 5, {"a": 2, "b": 0}, False),
    (~(lookup(ROW, A) == 5), {"a": 2, "b": 0}, True),
    (lookup(ROW, A, default=7) == 7, {"a": 2, "b": 0}, True),
    (lookup(ROW, A // B, default=7) == 7, {"a": 2, "b": 0}, True),
    (rel(ROW, A), {"a": 2, "b": 0}, False),
    (rel(ROW, A // B), {"a": 1, "b": 0}, False),
    (~rel(ROW, A // B), {"a": 1, "b": 0}, True),
    # undefined is not contagious beyond the smallest condition
    ((A // B == 1) | (A == 4), {"a": 4, "b": 0}, True),
    ((A // B == 1) & (A == 4), {"a": 4, "b": 0}, False),
    (e.implies(A // B == 1, A == 5), {"a": 4, "b": 0}, True),
    ((A // B == 1) == (A == 5), {"a": 4, "b": 0}, True),
    # but it is through numbers, also where the value would not matter
    ((A // B) * 0 == 0, {"a": 4, "b": 0}, False),
    (e.minimum(A // B, 0) <= 0, {"a": 4, "b": 0}, False),
    (named("ratio", A // B) <= 0, {"a": 4, "b": 0}, False),
    # a branch that is not taken is not asked
    (ite(B == 0, 0, A // B) == 0, {"a": 4, "b": 0}, True),
    (ite(B != 0, 0, A // B) == 0, {"a": 4, "b": 0}, False),
    (ite(A // B == 1, 1, 2) == 2, {"a": 4, "b": 0}, True),
    # the signs of floor division are Python's
    (A // B == -4, {"a": 7, "b": -2}, True),
    (A % B == -1, {"a": 7, "b": -2}, True),
    (A // B == -4, {"a": -7, "b": 2}, True),
    (A % B == 1, {"a": -7, "b": 2}, True),
    (ceil_div(A, B) == -3, {"a": 7, "b": -2}, True),
    (ceil_div(A, B) == -3, {"a": -7, "b": 2}, True),
]


@pytest.mark.parametrize("backend", ALL)
@pytest.mark.parametrize(("root", "point", "truth"), UNDEFINED, ids=lambda v: str(v))
def test_undefinedness(backend: str, root: Any, point: dict[str, Any], truth: bool) -> None:
    assert backends.evaluate(backend)([root], [point]) == [[truth]]


# -- single back ends -------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["lookup", "rel"])
def test_tables_of_many_keys_are_looked_up_by_their_rows(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catalogs are relations over all fields, whose combinations of values have no end."""
    monkeypatch.setattr(vector, "_DENSE", 1)
    vector._index.cache_clear()
    try:
        where = everywhere()
        found = backends.evaluate("vector")(SPECIMENS[op], where)
        assert found == backends.evaluate("pointwise")(SPECIMENS[op], where)
    finally:
        vector._index.cache_clear()


def test_a_relation_over_many_fields_compiles() -> None:
    names = [f"x{k}" for k in range(14)]
    fields = [Int(n, range(9)) for n in names]
    rows = [tuple((k * (j + 3)) % 9 for j in range(14)) for k in range(9)]
    space = Space(fields, [rel(Table.relation("some", names, rows), *fields)])
    assert space.count() == len(set(rows))


def test_relations_over_the_same_fields_compile() -> None:
    """As lists of kernels that are compared: joined to one condition, two took minutes."""
    names = [f"x{k}" for k in range(20)]
    fields = [Int(n, range(4)) for n in names]
    rng = random.Random(1)
    rows = [tuple(rng.randrange(4) for _ in names) for _ in range(40)]
    a, b = (rel(Table.relation("some", names, r), *fields) for r in (rows[:30], rows[10:]))
    one, two = set(rows[:30]), set(rows[10:])
    assert (len(one - two), len(one & two)) == (10, 20)
    space = Space(fields, [a])
    assert set(space.to_tuples()) == one
    assert set(Space(fields, [a, b]).to_tuples()) == set(space.where(b).to_tuples()) == one & two
    assert set(Space(fields, [a, ~b]).to_tuples()) == set(space.where(~b).to_tuples()) == one - two


def test_missing_field() -> None:
    with pytest.raises(MissingFieldError, match="b"):
        At({"a": 1}).value(A + B)
    with pytest.raises(KeyError, match="b"):
        compile_function([A + B == 1])({"a": 1})


@pytest.mark.parametrize("backend", ALL)
def test_nothing_to_do(backend: str) -> None:
    evaluate = backends.evaluate(backend)
    assert evaluate([], [{"a": 1}, {"a": 2}]) == [[], []]
    assert evaluate([A == 1], []) == []
    assert evaluate([e.TRUE, e.FALSE], [{}, {}]) == [[True, False]] * 2


@pytest.mark.parametrize("backend", ALL)
def test_deep_expressions(backend: str) -> None:
    """Depth costs no Python stack (z3's own simplifier is asked for less)."""
    depth = 300 if backend == "bits" else 5000
    total: Any = A
    for i in range(depth):
        total = total + i % 7 if i % 2 else e.maximum(total, B)
    flips: Any = P
    for i in range(depth):
        flips = ~flips if i % 2 else flips == Q
    point = {"a": 1, "b": 2, "p": True, "q": False}
    expected = backends.evaluate("pointwise")([total == 5, flips], [point])
    assert backends.evaluate(backend)([total == 5, flips], [point]) == expected


def test_vector_refuses_what_leaves_64_bits() -> None:
    wide = Int("wide", [1], lo=0, hi=2**40)
    with pytest.raises(UsageError, match="64-bit"):
        backends.evaluate("vector")([wide * wide * wide == 1], [{"wide": 2**40}])
    assert backends.evaluate("vector")([wide * wide * wide == 1], [{"wide": 1}]) == [[True]]


def test_integers_beyond_floats_stay_exact() -> None:
    wide = Int("wide", [1], lo=0, hi=2**31)
    table = Table("wide", ("n",), {2**60 + 1: 1, 2**60 - 1: 2})
    roots = [lookup(table, wide * wide + 1) == 1, rel(table, wide * wide)]
    for name in ALL:
        found = backends.evaluate(name)(roots, [{"wide": 2**30}])
        assert found == [[True, False]], name


def test_pointwise_and_compiled_import_nothing_heavy() -> None:
    code = (
        "import sys, ckrules.engine.evaluate.pointwise, ckrules.engine.evaluate.compiled\n"
        "import ckrules.engine.rules.messages, ckrules.engine.rules.book\n"
        "print([m for m in ('z3', 'numpy', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
