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
from ckrules.engine.space import Space
from ckrules.reasoning import decider as decider_module
from ckrules.reasoning.decider import Decider
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
    gpu, m, n = Enum("gpu", "abc"), Int("m", range(8)), Int("n", range(8))
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
