"""Kernel Tuner's dictionaries, strings and lambdas become spaces."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ckrules.engine.errors import UsageError
from ckrules.engine.restrictions import source_of
from ckrules.engine.space import Space

PARAMS: dict[str, list[Any]] = {"x": [1, 2, 4, 8], "y": [1, 2, 3], "f": [0.5, 1.0], "p": ["a", "b"]}
LIMIT = 6


def _brute(check: Any) -> int:
    rows = [dict(zip(PARAMS, r, strict=True)) for r in product(*PARAMS.values())]
    return sum(bool(check(r)) for r in rows)


def test_strings() -> None:
    """Texts are read with Python's precedence, words and floats included."""
    space = Space.from_restrictions(
        PARAMS, ["x * y <= 8 and (x % y == 0 or p == 'b')", "f * x != 2.0"]
    )
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
    assert Space.from_restrictions(PARAMS, [by_name, *whole]).count() == _brute(
        lambda r: r["x"] % r["y"] == 0 and r["x"] * r["y"] <= LIMIT and r["y"] < bound
    )
    assert Space.from_restrictions(PARAMS, small).count() == _brute(small)


def test_no_restrictions_and_division_by_zero() -> None:
    """Nothing to restrict keeps all; a remainder by zero is false, not an error."""
    assert Space.from_restrictions(PARAMS).count() == 48
    params = {"a": [4, 6], "b": [0, 2, 4]}
    assert Space.from_restrictions(params, "a % b == 0").count() == 3
    assert Space.from_restrictions(params, "b == 0 or a % b == 0").count() == 5


def test_errors_name_the_place() -> None:
    """Unknown names and unreadable functions are clear errors; nothing is evaluated."""
    with pytest.raises(UsageError, match="unknown field 'z'"):
        Space.from_restrictions(PARAMS, ["z > 1"])
    with pytest.raises(UsageError):
        Space.from_restrictions(PARAMS, ["__import__('os').system('true')"])
    with pytest.raises(UsageError, match="give the restriction as text"):
        Space.from_restrictions(PARAMS, [eval("lambda p: p['x'] > 1")])
    with pytest.raises(UsageError, match="text or a function"):
        Space.from_restrictions(PARAMS, [7])  # type: ignore[list-item]
