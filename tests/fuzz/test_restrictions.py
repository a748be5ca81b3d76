"""Restrictions hold where Python says so, in every back end; CKRULES_FUZZ=long asks for more."""

from __future__ import annotations

import ast
import os
import warnings
from collections import Counter
from random import Random
from typing import Any

import pytest

from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.space import Space
from ckrules.support.errors import CkrulesError, RuleBookError, UndecidedError, UsageError
from tests.engine import backends

from .restrictions import Texts, answers, domains

pytestmark = pytest.mark.whole

LONG = os.environ.get("CKRULES_FUZZ") == "long"
CHUNKS = 25
EACH = 2400 if LONG else 80
SOLVED = 20  # one text in so many is asked of the solver's terms too
_LOGIC = (ast.BoolOp, ast.Not, ast.IfExp, ast.BitAnd, ast.BitOr, ast.BitXor)


def _strict(text: str) -> bool:
    """True for one comparison: where Python raises an error, it does not hold."""
    nodes = list(ast.walk(ast.parse(text, mode="eval")))
    called = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    comparisons = [n for n in nodes if isinstance(n, ast.Compare)]
    one = len(comparisons) == 1 and comparisons[0] is nodes[1]
    negative = any(isinstance(n, (*_LOGIC, ast.NotIn)) for n in nodes)
    return one and not negative and not called & {"all", "any", "bool"}


def _differences(space: Space, text: str, given: Any, solve: bool) -> list[str]:
    """What is wrong with a space, in words."""
    (condition,) = space.conditions
    asked = answers(text, given)
    points = [p for p, _ in asked]
    ours = [found for (found,) in backends.pointwise([condition], points)]
    strict = _strict(text)
    out = [
        f"{text} at {p}: {found}, Python {want}"
        for (p, want), found in zip(asked, ours, strict=True)
        if (want is not None and want is not found) or (want is None and strict and found)
    ]
    expected = [p for p, found in zip(points, ours, strict=True) if found]
    for name in ("compiled", "vector", "bits") if solve else ("compiled", "vector"):
        try:
            theirs = [f for (f,) in backends.evaluate(name)([condition], points)]
        except (UsageError, UndecidedError):  # refused loudly
            continue
        if theirs != ours:
            out.append(f"{text} over {given}: {name} differs")
    listed = list(space)
    if space.count() != len(expected) or not all(p in listed for p in expected):
        out.append(f"{text} over {given}: {space.count()} points, expected {len(expected)}")
    kinds = [[type(v) for v in p.values()] for p in listed]
    where = [points[points.index(p)] for p in listed if p in points]
    if kinds != [[type(v) for v in p.values()] for p in where]:
        out.append(f"{text} over {given}: values change their kind")
    return out


def _run(seed: int, count: int) -> tuple[Counter[str], list[str]]:
    random, seen, wrong = Random(seed), Counter[str](), []
    for k in range(count):
        given = domains(random)
        text = Texts(random, given).condition()
        seen["made"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                space = space_of(given, [text])
                space.count()
        except RuleBookError:
            seen["no variables"] += 1
            continue
        except CkrulesError as error:
            seen["refused"] += 1
            seen[str(error).split(": ")[-1][:60] if LONG else ""] += 1
            continue
        seen["compared"] += 1
        seen["with points"] += bool(space.count())
        wrong += _differences(space, text, given, k % SOLVED == 0)
    return seen, wrong


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_restrictions_are_python(chunk: int) -> None:
    """Every text that is not refused has Python's answer at each point, in each back end."""
    seen, wrong = _run(chunk + 1000 * LONG, EACH)
    assert wrong == []
    assert seen["compared"] > seen["made"] // 3
    assert seen["with points"] > seen["made"] // 10
