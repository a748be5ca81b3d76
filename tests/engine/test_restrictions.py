"""Kernel Tuner's dictionaries, strings and lambdas become spaces."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from ckrules.adapters.kernel_tuner import source_of, space_of
from ckrules.support.errors import UsageError

PARAMS: dict[str, list[Any]] = {"x": [1, 2, 4, 8], "y": [1, 2, 3], "f": [0.5, 1.0], "p": ["a", "b"]}
LIMIT = 6
ALLOWED = {1, 2, 4}
TABLE = {"a": 2, "b": 1}


def _brute(check: Any) -> int:
    rows = [dict(zip(PARAMS, r, strict=True)) for r in product(*PARAMS.values())]
    return sum(bool(check(r)) for r in rows)


def test_strings() -> None:
    """Texts are read with Python's precedence, words and floats included."""
    space = space_of(PARAMS, ["x * y <= 8 and (x % y == 0 or p == 'b')", "f * x != 2.0"])
    assert space.count() == _brute(
        lambda r: (
            r["x"] * r["y"] <= 8
            and (r["x"] % r["y"] == 0 or r["p"] == "b")
            and r["f"] * r["x"] != 2.0
        )
    )


def test_lambdas_and_functions() -> None:
    """Functions of names, of one dictionary, on one line with others, with closed-over values."""
    bound = 3

    def small(p: Any) -> bool:
        """A docstring is allowed."""
        return bool(p["x"] < LIMIT)

    by_name = lambda x, y: x % y == 0  # noqa: E731
    whole = [lambda p: p["x"] * p["y"] <= LIMIT, lambda p: p["y"] < bound]
    assert source_of(by_name) == "x % y == 0"
    assert [source_of(w) for w in whole] == ["x * y <= 6", "y < 3"]
    assert space_of(PARAMS, [by_name, *whole]).count() == _brute(
        lambda r: r["x"] % r["y"] == 0 and r["x"] * r["y"] <= LIMIT and r["y"] < bound
    )
    assert space_of(PARAMS, small).count() == _brute(small)


def _helper(value: int) -> int:
    return value % 3


def _several(p: Any) -> bool:
    """Assignments, early returns, `get`, and what the module around it holds."""
    size = p["x"] * p["y"]
    size += 1
    a, b = size, p.get("unroll", 3)
    if p["p"] == "a":
        return bool(size <= LIMIT)
    elif a % b == 0:
        return False
    return math.gcd(p["x"], 4) in ALLOWED and "unroll" not in p


def _without_return(p: Any) -> Any:
    if p["x"] > 2:
        return TABLE[p["p"]] < p["y"]


def _loop(p: Any) -> bool:
    total = 0
    for i in range(p["y"]):
        total += i * p["x"]
    return total % 2 == 0


@pytest.mark.parametrize(
    "function",
    [
        _several,
        _without_return,
        _loop,
        lambda p: _helper(p["x"]) == 1,
        lambda p: sum(v for k, v in p.items() if k in "xy") < 6,
        lambda p: len({p["x"], p["y"]}) == 2 and divmod(p["x"], p["y"])[1] == 0,
        lambda p: math.log2(p["x"]).is_integer(),
        lambda p: p["f"] * 2 == 1 or math.isqrt(p["x"]) == p["y"],
        eval("lambda p: p['x'] > 1 and p['p'] == 'b'"),
    ],
)
def test_functions_are_read_or_called(function: Any) -> None:
    """Every function has the points at which Python calls it true."""
    space = space_of(PARAMS, function)
    rows = [dict(zip(PARAMS, r, strict=True)) for r in product(*PARAMS.values())]
    assert [r for r in rows if r in space] == [r for r in rows if function(dict(r))]
    assert space.count() == _brute(function)


def test_values_of_numpy() -> None:
    """Arrays and numbers of numpy are the numbers that they are equal to."""
    limit = np.int64(8)
    params: Any = {
        "x": np.arange(1, 9), "y": [np.int64(2), 3], "f": [np.float32(0.1)], "g": [np.bool_(True)],
    }  # fmt: skip
    space = space_of(params, [lambda p: p["x"] * p["y"] <= limit and p["g"], "x & 1 == 1"])
    assert list(space.to_tuples()) == [
        (x, y, float(np.float32(0.1)), True) for x in (1, 3) for y in (2, 3) if x * y <= 8
    ]
    assert {type(v) for p in space for v in p.values()} == {int, float, bool}


def test_labels() -> None:
    """None, tuples and mixed values are told apart; everything else Python works out."""
    params: dict[str, Any] = {
        "block": [(16, 16), (32, 8), (64, 4)], "opt": [None, "a"], "n": [None, 1, 2.5], "x": [1, 4],
    }  # fmt: skip
    texts = [
        "opt is None or x > 1", "n == 1 or n is None", "block == (16, 16) or opt == 'a'",
        "block[0] * x <= 64", "(n or 4) <= x * 4", "opt in (None, 'b')",
    ]  # fmt: skip
    rows = [dict(zip(params, r, strict=True)) for r in product(*params.values())]
    for text in texts:
        space = space_of(params, [text])
        expected = [r for r in rows if eval(text, {}, r)]
        assert [r for r in rows if r in space] == expected
        assert sorted(map(str, space)) == sorted(map(str, expected))
    space = space_of(params, "opt is None")
    columns = {n: [r[n] for r in rows] for n in params}
    assert space.contains_columns(columns).sum() == space.count() == 18
    assert space.bind(block=(16, 16)).count() == space.bind(n=None).count() == 6
    assert space.counts_by("block") == {(16, 16): 6, (32, 8): 6, (64, 4): 6}


def test_no_restrictions_and_division_by_zero() -> None:
    """Nothing to restrict keeps all; a remainder by zero is false, not an error."""
    assert space_of(PARAMS).count() == 48
    params = {"a": [4, 6], "b": [0, 2, 4]}
    assert space_of(params, "a % b == 0").count() == 3
    assert space_of(params, "b == 0 or a % b == 0").count() == 5


def test_errors_name_the_place() -> None:
    """Unknown names and unreadable functions are clear errors; nothing is evaluated."""
    with pytest.raises(UsageError, match=r"unknown field 'z'"):
        space_of(PARAMS, ["z > 1"])
    with pytest.raises(UsageError):
        space_of(PARAMS, ["__import__('os').system('true')"])
    with pytest.raises(UsageError, match=r"unknown field 'zz'.*give the restriction as text"):
        space_of(PARAMS, [lambda p: p["zz"] > 1])
    with pytest.raises(UsageError, match=r"1,000,000 combinations.*give the restriction as text"):
        space_of({n: range(100) for n in "abc"}, [eval("lambda a, b, c: a + b < c")])
    with pytest.raises(UsageError, match=r"more than 4,096 bits"):
        space_of(PARAMS, [lambda x: x**3000000000 > 1])
    with pytest.raises(UsageError, match="text or a function"):
        space_of(PARAMS, [7])  # type: ignore[list-item]
