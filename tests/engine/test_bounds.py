"""Bounds contain the value wherever it is defined."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import OPS, ceil_div, const, ite, lookup
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import Bool, Int, Real
from ckrules.engine.rewrite.bounds import Bounds

from .strategies import EVERYTHING, points
from .test_backends import SPECIMENS

A, B = Int("a", [1, 8]), Int("b", [0, 3])
N = Int("n", [-5, 7])
P = Bool("p")
X = Real("x", [0.25, 2.0])
WIDE = Int("wide", [0], lo=-(2**40), hi=2**40)


@settings(max_examples=500)
@given(EVERYTHING.numbers(3), points())
def test_values_are_within_bounds(node: Any, point: dict[str, Any]) -> None:
    bounds, at = Bounds(), At(point)
    for part in walk(node):
        if part.sort in (e.INT, e.REAL):
            value = at.value(part)
            lo, hi = bounds.of(part)
            assert value is None or value != value or lo <= value <= hi
            assert not (bounds.never_zero(part) and value == 0)


@settings(max_examples=200)
@given(EVERYTHING.numbers(3), points())
def test_bounds_of_a_point_are_the_value(node: Any, point: dict[str, Any]) -> None:
    """With variables narrowed to a point the bounds still hold the value."""
    narrow = {k: (v, v) for k, v in point.items() if type(v) in (int, float)}
    value = At(point).value(node)
    lo, hi = Bounds(narrow).of(node)
    assert value is None or value != value or lo <= value <= hi


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (A + B, (1, 11)),
        (A - B, (-2, 8)),
        (A * N, (-40, 56)),
        (N * N, (-35, 49)),
        (A // 3, (0, 2)),
        (N // 2, (-3, 3)),
        (A // B, (0, 8)),
        (A // N, (-8, 8)),
        (7 // A, (0, 7)),
        (A % 4, (0, 3)),
        (A % B, (0, 2)),
        (A % 100, (0, 8)),
        (N % 3, (0, 2)),
        (A % N, (-5, 7)),
        (e.minimum(A, B), (0, 3)),
        (e.maximum(A, B), (1, 8)),
        (ite(P, A, 20), (1, 20)),
        (e.named("q", A * 2), (2, 16)),
        (lookup(Table("t", ("n",), {1: 4, 2: -1}), A), (-1, 4)),
        (A / 2, (0.5, 4.0)),
        (const(5) // const(0), (0, 0)),
        (e.undef(A), (0, 0)),
        (A / X, (0.5, 32.0)),
    ],
    ids=str,
)
def test_exact(node: Any, expected: tuple[float, float]) -> None:
    assert Bounds().of(node) == expected


def test_ceil_div_is_off_by_one_at_most() -> None:
    lo, hi = Bounds().of(ceil_div(A, 3))
    assert lo <= 1 <= 3 <= hi <= 3


def test_never_zero() -> None:
    assert Bounds().never_zero(A)
    assert Bounds().never_zero(-A)
    assert not Bounds().never_zero(B)
    assert not Bounds().never_zero(N)
    assert Bounds({"b": (1, 3)}).never_zero(B)


def test_large_numbers_are_exact() -> None:
    """Quotients of numbers beyond 2**53 are not rounded through floats."""
    big = WIDE * WIDE + 1
    at = At({"wide": 2**40})
    lo, hi = Bounds({"wide": (2**40, 2**40)}).of(big // 3)
    assert lo <= at.value(big // 3) <= hi
    assert hi - lo == 0


def test_numbers_beyond_floats_have_no_bound() -> None:
    huge: Any = WIDE
    for _ in range(6):
        huge = huge * huge
    assert Bounds().of(huge / 3) == (-math.inf, math.inf)
    assert Bounds().of(huge * X) == (-math.inf, math.inf)


def test_floats_near_zero_divide_without_bound() -> None:
    near = X - 0.25
    assert Bounds().of(A // near)[1] == math.inf
    assert Bounds().of(A / near)[1] == math.inf
    assert Bounds().of(ceil_div(A, near))[1] == math.inf


@pytest.mark.parametrize("op", OPS)
def test_every_kind_has_bounds(op: str) -> None:
    bounds = Bounds()
    for condition in SPECIMENS[op]:
        for node in walk(condition):
            lo, hi = bounds.of(node)
            assert lo <= hi
