"""Restriction texts mean what Python means by them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine.errors import UsageError
from ckrules.engine.parse import ExpressionError
from ckrules.engine.space import Space

PARAMS: dict[str, list[Any]] = {
    "a": [1, 2, 4, 8], "b": [1, 2, 3, 4], "c": [0, 1], "d": ["x", "y"], "f": [0.5, 1.0, 2.0],
    "g": [True, False],
}  # fmt: skip
FUNCTIONS = {"math": math, "ceil": math.ceil, "floor": math.floor}

TEXTS = [
    "a if c else b", "a > 2 if c == 1 else b > 2", "a not in [1, 2]", "not c", "c", "not a % b",
    "a ** 2 <= 16", "2 ** b <= 8", "abs(a - b) <= 1", "int(a / b) == 2", "d == 'x' or a > 2",
    "min(a, b) >= 2", "max(a, b, 3) == 3", "min([a, b]) == 2", "a & b == 0", "(a & (a - 1)) == 0",
    "(a << 1) > 8", "a >> 1 >= 2", "a | c == 1", "a ^ b", "a % b or c", "1 < a <= b < 5",
    "a != b != c", "a / b <= 1.5", "round(a / b) == 2", "float(a) > 2", "g == True", "g and a > 1",
    "sum([a, b, c]) <= 5", "sum((a, b)) <= 5", "all([a > 1, b > 1])", "any([a > 1, b > 1])", "~c",
    "bool(c)", "a * b <= 1e1", "ceil(a / b) == 2", "math.ceil(a / b) == 2", "floor(a / b) == 1",
    "math.log2(a) <= 2", "(a, b) == (1, 2)", "(a, b) in [(1, 2), (2, 3)]", "(a, d) != (1, 'x')",
    "pow(a, 2) <= 16", "a * g > 1", "(a > 2) + (b > 2) + (c == 1) >= 2", "(a > 2) == (b > 2)",
    "a - b", "a * f", "(a > 1) & (b > 1) | (c == 1)", "(a > 1) ^ (b > 1)", "(c or b) == 2",
    "(c and b) == 0", "(a > b) < (b > c)", "c == (a > 1)", "g * 2 == 2", "int(f) == 0",
    "ceil(f) == 1", "math.sqrt(a) == 2", "True", "a and False", "8 >> b", "-a // b == -2",
]  # fmt: skip


def _brute(text: str) -> int:
    rows = (dict(zip(PARAMS, r, strict=True)) for r in product(*PARAMS.values()))
    return sum(bool(eval(text, {**FUNCTIONS}, row)) for row in rows)


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    """A text holds at the points where Python says so."""
    assert Space.from_restrictions(PARAMS, [text]).count() == _brute(text)


def _texts() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b", "c", "f", "g", "0", "1", "3", "(a > 2)", "(b == c)"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, inner)
        joined = st.sampled_from(["+", "-", "*", "and", "or", "<", "<=", "==", "!=", ">"])
        bits = st.tuples(st.sampled_from(["a", "b", "c", "g", "(a > 1)"]),
                         st.sampled_from(["&", "|", "^"]),
                         st.sampled_from(["a", "b", "c", "g", "(b > 2)"]))  # fmt: skip
        return st.one_of(
            st.tuples(two, joined).map(lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"),
            bits.map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(inner, st.sampled_from(["//", "%", "/"]), st.sampled_from("ab")).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
            inner.map(lambda t: f"(not {t})"),
            two.map(lambda t: f"max({t[0]}, {t[1]})"),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(_texts())
def test_random_texts(text: str) -> None:
    """Numbers, Booleans and floats mix as in Python."""
    assert Space.from_restrictions(PARAMS, [text]).count() == _brute(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("len(a) > 1", "unknown function 'len'"),
        ("~(a > 1)", "write `not`"),
        ("d & 1", "a number is needed"),
        ("(a, b) < (1, 2)", "tuples are compared with"),
        ("(a, b) == (1, 2, 3)", "a tuple of 2"),
        ("2 ** 900 > a", "too large"),
        ("1 >> -1 == a", "negative shift count"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, match: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ExpressionError, match=match):
        Space.from_restrictions(PARAMS, [text])


def test_tables_are_limited() -> None:
    """A function of too many combinations is refused, not tabulated for ever."""
    params = {n: list(range(100)) for n in "abc"}
    with pytest.raises(UsageError, match="too many"):
        Space.from_restrictions(params, ["(a & b | c) == 1"])
