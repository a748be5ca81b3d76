"""Numbers that floats round: conditions over them have Python's answer, or are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.diagram import problem
from ckrules.engine.expr.variables import Int, Real, domain_of
from ckrules.engine.rewrite.exact import exact
from ckrules.engine.space import Space
from ckrules.support.errors import RuleBookError, UsageError
from tests.fuzz.restrictions import answers

from . import backends

#: Parameters and texts whose answers a rounding of integers, or of their kind, would change.
CASES: list[tuple[dict[str, list[Any]], str]] = [
    ({"a": [2**40 - 1, 3], "b": [8193, 5, 8192], "c": [7, 11]}, "(a * b) / 1 == a * b"),
    ({"a": [2**40 - 1, 3], "b": [8193, 5, 8192], "c": [7, 11]}, "a * b / c != a * b // c"),
    ({"d": [2.0**53]}, "d != 9007199254740993"),
    ({"d": [2.0**53, 1.0]}, "d in [9007199254740993, 1]"),
    ({"d": [9007199254740993, 0.5]}, "d == 9007199254740993"),
    ({"d": [9007199254740993, 0.5, 3]}, "d == 9007199254740993 or d & 1 == 1"),
    ({"d": [2**40, 3], "f": [0.5, 2.0]}, "max(d * d, f) == d ** 2"),
    ({"d": [2**31 - 1, 3], "f": [1.5, 2**31 - 1]}, "d * f == d * int(f)"),
    ({"x": [1, 2, 3, 4, 8]}, "1 << int(math.log2(x)) == x"),
    ({"x": [1, 2, 3, 4, 8]}, "int(x * 0.5) & 1 == 0"),
    ({"x": [1, 2, 3, 4, 8]}, "math.ceil(x * 0.25) | 1 == 1"),
    ({"x": [-3, -1, 1, 3]}, "~math.trunc(x / 2) ^ math.floor(x / 2) == round(x / 2)"),
    ({"x": [1, 2, 0.5]}, "x == 0.5 or x & 1 == 1"),
    ({"x": [1, 2.5, 4]}, "x << 2 == 16 or x // 1 == 2"),
    ({"b": [-0.5, 1.5, 2]}, "b ** b > 0"),
    ({"b": [-0.5, 1.5, 2]}, "pow(b, 0.5) > 1"),
    ({"b": [-8, 8]}, "abs(b ** 0.5) > 2"),
    ({"b": [-2.0, 4]}, "(b, b) != (max(b ** 0.5, 1), 4)"),
    ({"x": [0.1, 0.7, 1.1]}, "x ** 3 == x * x * x"),
    ({"x": [3, 5]}, "x ** 200 > 10 ** 100 and x < 1e300"),
    ({"x": [10, 2**40]}, "x ** 5 % 1000003 == 99 or x ** 5 == 100000"),
    ({"x": [1, 2], "f": [0.1, 0.2, 0.3]}, "float(x) * f + 0.1 == 0.3 or sum([f, f, f]) == 0.6"),
]


@pytest.mark.parametrize(("params", "text"), CASES, ids=[t for _, t in CASES])
def test_python_decides(params: dict[str, list[Any]], text: str) -> None:
    """The compiled space, single points and the solver's terms agree with Python."""
    space = space_of(params, [text])
    asked = answers(text, params)
    rows = [row for row, _ in asked]
    held = [row in space for row in rows]
    for (row, want), found in zip(asked, held, strict=True):  # an `or` goes on after an error
        assert found is bool(want) or (want is None and " or " in text), row
    expected = [row for row, found in zip(rows, held, strict=True) if found]
    assert sorted(map(str, space)) == sorted(map(str, expected))
    assert backends.bits(space.conditions, rows) == [[found] for found in held]


def test_columns_refuse_what_they_would_round() -> None:
    """What is too large to be written out is an error, not a rounded answer."""
    a, b = Int("a", range(2**40 - 600, 2**40)), Int("b", range(8193, 8793))
    with pytest.raises(UsageError, match="rounds integers of more than 53 bits"):
        Space([a, b], [(a * b) / 1 == a * b]).count()
    with pytest.raises(UsageError, match="rounds integers"):
        backends.vector([(a * b) / 1 == a * b], [{"a": 2**40 - 1, "b": 8193}])


def test_what_is_exact_stays_as_it_is() -> None:
    """Nothing is written out that 64-bit columns hold."""
    a, f = Int("a", [1, 2**30]), Real("f", [0.5, 3])
    values = {"a": (1, 2**30), "f": (0.5, 3)}
    for condition in (a * 8 <= f, a * a == 2**60, a / f >= 1, f * f < a):
        assert exact(condition, values) is condition


def test_integers_among_floats_stay_integers() -> None:
    """A value keeps its kind, also beside an equal variable of floats only."""
    mixed, floats = Real("f", [1, 2.5]), Real("f", [1.0, 2.5])
    assert mixed is not floats
    assert [type(v) for v in domain_of(mixed).values] == [int, float]
    assert [type(p["f"]) for p in Space([mixed], [mixed < 9])] == [int, float]
    with pytest.raises(RuleBookError, match="the same number as a float"):
        Real("g", [2**53 + 1, 2.0**53])


def test_integers_beyond_all_floats_are_refused() -> None:
    """Python raises where such a number meets a float; the space says so in one line."""
    a, b, huge = Int("a", [2**40, 2]), Real("b", [0.5, 1.5]), 1
    for _ in range(30):
        huge = a * huge
    with pytest.raises(UsageError, match="reaches an integer beyond what a float can be"):
        Space([a, b], [huge * b > 3]).count()


def test_a_bound_key_of_a_table_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binding a field leaves a constant among integers that floats would round."""
    monkeypatch.setattr(problem, "_DIRECT", -1)
    params = {"b": [5, 8], "c": [0.1, 2**53 + 3, 2.0**53]}
    space = space_of(params, ["not (c > b)", "c < 1", "b * b != 65 or c + b > 3"])
    assert sorted(space.to_tuples()) == [(5, 0.1), (8, 0.1)]
