"""Compiled spaces as a way to decide."""

from __future__ import annotations

import warnings
from functools import reduce
from operator import mul

import pytest

from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.expr.variables import Int
from ckrules.engine.space import Space
from ckrules.reasoning.exact import whole


def test_a_hard_space_is_declined_in_silence() -> None:
    """The warning that a space is gone through in parts would be untrue here."""
    xs = [Int(f"x{i}", range(1, 41)) for i in range(8)]
    total = sum((x * (2 * i + 3) for i, x in enumerate(xs[1:], 1)), xs[0] * 3)
    space = Space(xs, [reduce(mul, xs) % 7919 < 40, total % 101 == 5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BudgetExceededError):
            whole(space)
