"""Compiled spaces as a way to decide."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any

import pytest

from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.variables import Enum, Int
from ckrules.engine.rules import Rule
from ckrules.engine.space import Space
from ckrules.reasoning import decider as decider_module
from ckrules.reasoning.decider import Decider
from ckrules.reasoning.near import NearPoints
from ckrules.reasoning.whole import whole


def test_a_hard_space_is_declined_in_silence() -> None:
    """The warning that a space is gone through in parts would be untrue here."""
    xs = [Int(f"x{i}", range(1, 41)) for i in range(8)]
    total = sum((x * (2 * i + 3) for i, x in enumerate(xs[1:], 1)), xs[0] * 3)
    space = Space(xs, [reduce(mul, xs) % 7919 < 40, total % 101 == 5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BudgetExceededError):
            whole(space)


def test_values_that_a_condition_excludes_are_not_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What holds for other GPUs makes no difference within one: the space is small."""
    gpu, m, n = Enum("gpu", list("abc")), Int("m", range(8)), Int("n", range(8))
    domains = {"gpu": tuple("abc"), "m": tuple(range(8)), "n": tuple(range(8))}
    decider = Decider({"gpu": gpu, "m": m, "n": n}, domains, timeout=600)
    told: list[dict[str, int]] = []
    classes = decider_module.equivalence_classes

    def noted(domains: Mapping[str, Sequence[Any]], conditions: Sequence[BoolExpr]) -> Any:
        found = classes(domains, conditions)
        told.append({name: len(values) for name, values in found.items()})
        return found

    monkeypatch.setattr(decider_module, "equivalence_classes", noted)
    region = [gpu == "a", (gpu == "a") | (m * n % 7 == 3)]
    assert decider._slowly([*region, m > 5]) is not None
    assert decider._slowly([*region, gpu == "b"]) is None
    assert told == [{"gpu": 1, "m": 1, "n": 1}]


def test_numbers_beyond_64_bits_show_nothing_of_points() -> None:
    """A rule that columns cannot compute may be broken anywhere: no other is broken alone."""
    a, b = Int("a", [1, 2**40]), Int("b", range(4))
    huge = Rule("AA001", "too-huge", "compile", a * a * a < 2**100)
    small = Rule("AA002", "too-big", "compile", b < 3)
    near = NearPoints({"a": (1, 2**40), "b": range(4)}, [{"a": 1, "b": 0}])
    assert near.find([a * a * a > 1]) is None
    assert near.broken([huge, small]) == ({"AA002"}, set())
    assert near.broken([small]) == ({"AA002"}, {"AA002"})
    found = Decider({"a": a, "b": b}).find([a * a * a > 1, b == 2])
    assert found == {"a": 2**40, "b": 2}


def test_points_near_seeds_keep_single_values_and_leave_out_strangers() -> None:
    b, c = Int("b", range(4)), Int("c", range(3))
    near = NearPoints({"b": (2,), "c": range(3)}, [{"b": 9, "c": 0}, {"b": 2, "c": 7}])
    assert near.find([b == 2, c == 2]) == {"b": 2, "c": 2}
    assert near.find([b != 2]) is None
    assert NearPoints({"b": range(4), "c": ()}, [{"b": 1, "c": 0}], drawn=5).find([b >= 0]) is None
