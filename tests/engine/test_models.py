"""Counts equal the number of models that z3 finds."""

from __future__ import annotations

from typing import Any

import pytest
import z3
from hypothesis import assume, given, settings

from ckrules.engine.evaluate.bits import BitEncoder
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError

from . import spaces as sp

pytestmark = pytest.mark.usefixtures("ways")


def _models(variables: list[Any], rules: list[Any]) -> int | None:
    """How many models z3 finds when each is blocked in turn; None if it gives up."""
    encoder = BitEncoder()
    solver = z3.Solver()
    solver.set("timeout", 2000)
    solver.add([encoder.within(v, v.data.values) for v in variables])
    solver.add([encoder.bool(r) for r in rules])
    terms = [encoder.terms.var(v) for v in variables]
    found = 0
    while (answer := solver.check()) == z3.sat:
        model = solver.model()
        found += 1
        solver.add(z3.Or([t != model.eval(t, model_completion=True) for t in terms]))
    return found if answer == z3.unsat else None


@settings(max_examples=60, deadline=None)
@given(sp.spaces(4))
def test_counts_equal_the_models_of_z3(made: Any) -> None:
    """A space counts as many points as z3 finds models."""
    variables, rules = made
    try:
        models = _models(variables, rules)
    except UsageError as error:  # floats reach z3 as tables, which can be too large
        assume("too many for z3" not in str(error))
        raise
    assume(models is not None)
    assert Space(variables, rules).count() == models
