"""Quick answers about one or a few conditions: by listing all values, or by random ones.

Most questions on the way to a conflict concern a single rule. Where its open fields have few value
combinations, evaluating all of them decides; where they have many, a random sample often shows
that the conditions can hold. Only what is left goes to the solver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import REAL, BoolExpr
from ckrules.engine.expr.traversal import walk
from ckrules.reasoning.compiled_test import CompiledTest
from ckrules.reasoning.oracle import Oracle, oracle_test
from ckrules.support.errors import UndecidedError, UsageError

_LISTED = 400_000  # combinations that are all evaluated
_SAMPLED = 20_000
_FEW = 3  # conditions over several fields up to which this pays


class Test:
    """The question that `shrink` asks, put to whatever decides it with the least effort.

    Listing comes first, then the solver, and where that is undecided a compiled space.

    Args:
        oracle: The solver.
        compiled: Compiles conditions. If it is given it is asked before the solver.

    >>> from ckrules.engine.expr.variables import Int
    >>> x, y = Int("x", range(9)), Int("y", range(9))
    >>> oracle = Oracle({"x": x, "y": y})
    >>> Test(oracle)([x + y > 20]) is None, oracle.checks
    (False, 0)
    """

    def __init__(self, oracle: Oracle, compiled: CompiledTest | None = None) -> None:
        self.oracle, self.compiled = oracle, compiled
        self._slow = oracle_test(oracle)
        #: Who decided what listing did not: "solver", or "compiled" as long as that was enough.
        self.proof = "solver" if compiled is None else "compiled"

    def __call__(self, conditions: Sequence[BoolExpr]) -> frozenset[int] | None:
        """The ids of conditions that cannot hold together, None if all of them can.

        Raises:
            UndecidedError: When nothing decides.
        """
        possible = can_hold(conditions, self.oracle.domains)
        if possible is None and self.compiled is not None:
            with contextlib.suppress(BudgetExceededError):
                possible = self.compiled.possible(conditions)
        if possible is None:
            return self._asked(conditions)
        return None if possible else frozenset(c.id for c in conditions)

    def _asked(self, conditions: Sequence[BoolExpr]) -> frozenset[int] | None:
        try:
            found = self._slow(conditions)
        except UndecidedError:
            if self.compiled is not None:  # which was asked before
                raise
            try:
                possible = CompiledTest(self.oracle.domains).possible(conditions)
            except BudgetExceededError:
                possible = None
            if possible is None:
                raise
            return None if possible else frozenset(c.id for c in conditions)
        self.proof = "solver"
        return found


def can_hold(conditions: Sequence[BoolExpr], domains: Mapping[str, Sequence[Any]]) -> bool | None:
    """Whether some values meet all conditions; None if that is not easily seen."""
    joint = [c for c in conditions if len(c.support) != 1]
    if len(joint) > _FEW:
        return None
    left: dict[str, Sequence[Any]] = {}
    for name in sorted(frozenset().union(*(c.support for c in conditions))) if conditions else ():
        own = [c for c in conditions if c.support == {name}]
        values = domains[name]
        left[name] = [v for v in values if all(At({name: v}).holds(c) for c in own)]
        if not left[name]:
            return False
    read = sorted(frozenset().union(*(c.support for c in joint))) if joint else []
    if any(n.sort == REAL for n in walk(*joint)):
        return None
    sizes = [len(left[n]) for n in read]
    whole = prod(sizes) <= _LISTED
    if whole:
        codes = np.unravel_index(np.arange(prod(sizes)), sizes) if read else ()
    else:
        rng = np.random.default_rng(0)
        codes = tuple(rng.integers(0, s, size=_SAMPLED) for s in sizes)
    columns = {n: encode(left[n])[c] for n, c in zip(read, codes, strict=True)}
    size = prod(sizes) if whole else _SAMPLED
    try:
        with np.errstate(all="ignore"):
            found = evaluate_columns(joint, columns, size)
    except UsageError:  # numbers beyond 64 bits
        return None
    if bool(np.logical_and.reduce(found).any() if found else True):
        return True
    return False if whole else None
