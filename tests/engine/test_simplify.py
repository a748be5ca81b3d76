"""Simplification changes the form of a condition and never its truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Enum, Int, Real, domain_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.connectives import negation
from ckrules.engine.rewrite.simplify import Simplifier

from . import spaces as sp

SOME = settings(max_examples=400, deadline=None)


def simplify(
    root: e.BoolExpr,
    bindings: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
) -> e.BoolExpr:
    return Simplifier(bindings, candidates).condition(root)


@SOME
@given(sp.variables(4).flatmap(lambda vs: st.tuples(st.just(vs), sp.conditions(vs))), st.data())
def test_every_form_says_the_same(made: Any, data: Any) -> None:
    """At every point the condition equals its other forms; drawing it is what takes time.

    They are: simplified, with candidates and without; with bound variables, which disappear; and
    its clauses, which hold together.
    """
    vs, condition = made
    plain = simplify(condition)
    tight = simplify(condition, candidates={domain_of(v).name: domain_of(v).values for v in vs})
    names = [domain_of(v).name for v in vs]
    bound = set(data.draw(st.lists(st.sampled_from(names), unique=True))) if names else set()
    parts = [clauses(condition), clauses(plain)]
    for p in sp.grid(vs):
        at = At(p)
        truth = at.holds(condition)
        assert at.holds(plain) == truth
        assert at.holds(tight) == truth
        small = simplify(condition, {n: p[n] for n in bound})
        assert not small.support & bound
        assert at.holds(small) == truth
        for form in parts:
            assert all(map(at.holds, form)) == truth


@SOME
@given(sp.variables(4).flatmap(lambda vs: st.tuples(st.just(vs), sp.numbers(vs))))
def test_total_terms_are_defined_everywhere(made: Any) -> None:
    """`Simplifier.total` never claims too much, and simplified terms keep their values."""
    vs, term = made
    simple = Simplifier(candidates={domain_of(v).name: domain_of(v).values for v in vs})
    small = simple.any(term)
    for p in sp.grid(vs):
        value = At(p).value(term)
        assert not (simple.total(term) and value is None)
        again = At(p).value(small)
        assert again == value or (value != value and again != again)


def test_undefined_constants_make_the_condition_false() -> None:
    """The smallest condition around an undefined term is false, not the whole rule."""
    a = Int("a", [1, 2])
    table = Table("t", ("k",), {1: 5})
    assert simplify(a % 0 == 0) is e.FALSE
    assert simplify(~(a // e.const(0) < 3)) is e.TRUE
    assert simplify(e.lookup(table, 2) == a) is e.FALSE
    assert simplify(e.lookup(table, 1) == 5) is e.TRUE
    assert simplify((a % 0 != 0) | (a == 2)) is (a == 2)


def test_bounds_fold_only_what_is_defined() -> None:
    """A comparison that always holds where it is defined stays if it can be undefined."""
    a, b = Int("a", [8, 16]), Int("b", [0, 4])
    assert simplify(a % b < 100) is not e.TRUE
    assert simplify(a + b <= 20, candidates={"a": (8, 16), "b": (0, 4)}) is e.TRUE
    assert simplify(e.minimum(a, b) == 4, candidates={"a": (8, 16), "b": (0, 4)}) is (b == 4)


def test_only_the_neutral_number_of_an_operation_is_dropped() -> None:
    """What leaves a sum as it is changes a minimum, a remainder or a quotient."""
    a = Int("a", [-5, 2, 7])
    for term in (e.minimum(a, -1), e.maximum(a, -1), a % -1, a - (-1), a * -1, a // -1):
        small = Simplifier().any(term)
        for value in (-5, 2, 7):
            assert At({"a": value}).value(small) == At({"a": value}).value(term)


def test_floats_are_not_rewritten_as_integers_are() -> None:
    """Products of floats underflow, and infinities make NaN, of which no comparison holds."""
    x, y = Real("x", [1e-200, 1e300]), Real("y", [1e-200, 0.0])
    infinite = x * 1e200
    nan = infinite * y
    for condition in (
        x * y != 0, nan >= 0, infinite - infinite <= 0, e.maximum(x, nan) <= 1e300,
        e.maximum(nan, x) > 0, infinite % 3 < 3, ~(nan == 0), nan != 0, nan == 0,
    ):  # fmt: skip
        for known in ({}, {"x": (1e-200, 1e300), "y": (1e-200, 0.0)}, {"x": (1e300,)}):
            small = simplify(condition, candidates=known)
            for p in sp.grid([x, y]):
                if p["x"] in known.get("x", (p["x"],)):
                    assert At(p).holds(small) == At(p).holds(condition), (condition, small, p)


def test_conditions_of_constants_are_decided() -> None:
    """Also where a constant on the way is infinite, which no node holds."""
    huge = e.const(1e308) * 10
    assert simplify(huge > 0) is e.TRUE
    assert simplify(huge - huge == 0) is e.FALSE
    assert simplify(e.is_pow2(huge)) is e.FALSE


def test_words_that_are_no_candidates_fold() -> None:
    """A comparison with a word that was bound away is decided."""
    p = Enum("p", ["mem", "compv3", "compv4"])
    some = {"p": ("mem", "compv3")}
    assert simplify(p == "compv4", candidates=some) is e.FALSE
    assert simplify(p.isin("mem", "compv3"), candidates=some) is e.TRUE
    assert simplify(p.isin("mem", "compv4"), candidates=some) is p.isin("mem")


def test_implications_are_distributed() -> None:
    """Guards go to each part of what they guard; a disjunction of guards is taken apart."""
    g, h = Enum("g", ["a", "b", "c"]), Int("h", range(4))
    rule = e.implies((g == "a") | (g == "b"), (h > 1) & e.implies(h > 2, g == "a"))
    assert [str(c) for c in clauses(rule)] == [
        "implies(g == 'a', h > 1)",
        "implies(g == 'a' & h > 2, g == 'a')",
        "implies(g == 'b', h > 1)",
        "implies(g == 'b' & h > 2, g == 'a')",
    ]
    assert negation(negation(h > 1)) is (h > 1)
