"""The numbers of a conflict: which points they are of, and when none is sought."""

from __future__ import annotations

import pytest

from ckrules.engine.expr.variables import Enum, Int
from ckrules.engine.rules import Rule
from ckrules.reasoning import numbers
from ckrules.reasoning.conflict import Assumptions, Conflict, FixedField


def test_a_rule_whose_fields_are_fixed_needs_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver took two seconds for a point of which nothing is said."""
    pipeline, buffers, m = Enum("pipeline", ["a", "b"]), Int("buffers", [1, 2]), Int("m", [1, 2])
    rule = Rule("PIPE001", "single", "compile", (pipeline == "b").implies(buffers == 2))
    other = Rule("TILE001", "small", "compile", m > buffers)
    held = [FixedField("pipeline", ("b",)), FixedField("buffers", (1,))]
    variables = {"pipeline": pipeline, "buffers": buffers, "m": m}
    asked = Assumptions(variables, rules=[rule, other], held=held)
    domains = {"pipeline": ("a", "b"), "buffers": (1, 2), "m": (1, 2)}
    conflict = Conflict((rule,), tuple(held))
    with monkeypatch.context() as patch:
        patch.setattr(numbers, "SolverOracle", lambda *_, **__: pytest.fail("a point is sought"))
        (line,) = numbers.numbers_of(conflict, asked, domains, 10)
    assert line.startswith("PIPE001: ")
    assert "buffers = 1" in line
    assert "for example" not in line
