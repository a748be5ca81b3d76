"""Cache of compiled spaces."""

from __future__ import annotations

from collections.abc import Sequence

from ckrules.engine.diagram.compiled import Compiled
from ckrules.engine.diagram.compiler import compile_problem
from ckrules.engine.diagram.problem import Problem
from ckrules.engine.diagram.product import Budget


def compile_cached(problem: Problem, order: Sequence[str]) -> Compiled:
    """The compiled form of a problem."""
    return compile_problem(problem, order, Budget())
