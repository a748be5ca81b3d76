"""Restriction texts mean what Python means by them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.lang import reader, tabulate
from ckrules.engine.lang.reader import ExpressionError
from ckrules.support.errors import UsageError

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
    "a - b", "a * f", "a in range(2, 9, 2)",
    "divmod(a, b)[1] == 0", "math.gcd(a, b) == 2",
    "(a > 1) & (b > 1) | (c == 1)", "(a > 1) ^ (b > 1)", "(c or b) == 2",
    "(c and b) == 0", "(a > b) < (b > c)", "c == (a > 1)", "g * 2 == 2", "int(f) == 0",
    "ceil(f) == 1", "math.sqrt(a) == 2", "True", "a and False", "8 >> b", "-a // b == -2",
]  # fmt: skip


def _brute(text: str) -> int:
    rows = (dict(zip(PARAMS, r, strict=True)) for r in product(*PARAMS.values()))
    return sum(bool(eval(text, {**FUNCTIONS}, row)) for row in rows)


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    """A text holds at the points where Python says so."""
    assert space_of(PARAMS, [text]).count() == _brute(text)


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


@settings(max_examples=150, deadline=None)
@given(_texts())
def test_random_texts(text: str) -> None:
    """Numbers, Booleans and floats mix as in Python."""
    assert space_of(PARAMS, [text]).count() == _brute(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("len(a) > 1", r"object of type 'int' has no len\(\)"),
        ("open(a) > 1", "unknown function 'open'"),
        ("a.bit_length() > 1", "unknown function 'a.bit_length'"),
        ("(lambda: a)() > 1", "unknown function"),
        ("~(a > 1)", "write `not`"),
        ("d & 1", "a number is needed"),
        ("2 ** 9000 > a", "more than 4,096 bits"),
        ("b ** 3000000000 > 0", "`b .. 3000000000. reaches a number of more than 4,096 bits"),
        ("b ** (1 << 31) > 0", "more than 4,096 bits"),
        ("(a << 9007199254740993) > 3", "more than 4,096 bits"),
        ("a ** a ** a ** a > 3", "more than 4,096 bits"),
        ("10 ** 4000 * a > 1", "more than 4,096 bits"),
        ("d * 9000000000 == d", "a number is needed"),
        ("(a,) * 9000000000 == d", "repeats a sequence"),
        ("'%99999999999d' % a == d", "a number is needed"),
        ("round(f, -9999999999) == 1", "more than 400 places"),
        ("1 >> -1 == a", "negative shift count"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, match: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ExpressionError, match=match):
        space_of(PARAMS, [text])


def test_tables_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of too many combinations is refused, not tabulated for ever."""
    params = {n: list(range(100)) for n in "abc"}
    with pytest.raises(UsageError, match="1,000,000 combinations of values: at most 50,000"):
        space_of(params, ["(a & b | c) == 1"])
    many = " or ".join(f"(a & b) == {i}" for i in range(9))
    monkeypatch.setattr(tabulate, "WORK", 400_000)
    with pytest.raises(UsageError, match="all parts of the text together have too many"):
        space_of(params, [many])


_DEEP = "a"
for _ in range(60):
    _DEEP = f"round_up({_DEEP} & 7, {_DEEP if len(_DEEP) < 9 else 'b'} | 1)"


@pytest.mark.parametrize(
    "text",
    [
        "(a & b) | max(" + ", ".join(["sum(range(10000))"] * 100) + ") > 5",
        "(a & b) | len([0.5 in range(10000)]) > 5",
        "pow(a + 3, 2**4000 + b, 2**4001 + 1) & b == 1",
        "(a & b) * " + " * ".join(["(2**2000 // (a + 1) % 2**1900)"] * 40) + " == 1",
        "(a & b) | len(" + " + ".join(["list(range(9))", "[a]"] * 99) + ") > sum(range(999))",
    ],
)
def test_the_work_for_a_text_is_bounded(text: str) -> None:
    """What a call receives or makes counts, for all parts of a text together."""
    params = {"a": list(range(120)), "b": list(range(100))}
    with pytest.raises(UsageError, match=r"takes more than 10,000,000 operations|too many$"):
        space_of(params, [text])


def test_arguments_are_worked_out_once() -> None:
    """Not once for each place where a function uses them, which doubles with every call."""
    assert 0 < space_of({"a": [1, 2, 5], "b": [3, 4]}, [f"{_DEEP} > 0"]).count() <= 6


def test_a_long_sum_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is read once, not once for every operation around it."""
    reads = 0
    plain = reader.ExpressionReader.read

    def counted(self: reader.ExpressionReader, node: Any) -> Any:
        nonlocal reads
        reads += 1
        return plain(self, node)

    monkeypatch.setattr(reader.ExpressionReader, "read", counted)
    params = {f"x{i}": [0, 1] for i in range(12)}
    assert space_of(params, [" + ".join(params) + " == 5"]).count() == math.comb(12, 5)
    assert reads <= 30
