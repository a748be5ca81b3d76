"""Exact answers from the compiled space of a whole rule book.

A compiled space knows the number of its points, so "none" is a proof, and further conditions
restrict it at little cost: the questions about a whole book are quick this way, where a solver
is slow. A space that is too large to be compiled as a whole is left to others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ckrules.engine.codec import Point
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BoolExpr
from ckrules.engine.space import Space
from ckrules.reasoning.decider import checked
from ckrules.support.errors import HardSpaceWarning

_SAMPLED = 500


def whole(space: Space) -> Space:
    """The space, compiled.

    Raises:
        BudgetExceededError: If it is too large to be compiled in one piece.

    >>> from ckrules.engine.expr.variables import Int
    >>> whole(Space([Int("m", [1, 2])])).count()
    2
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HardSpaceWarning)  # nothing is gone through here
        compiled = space.compile()
    if not compiled.whole:
        raise BudgetExceededError("the space is not compiled as a whole")
    return space


def point_of(space: Space, conditions: Sequence[BoolExpr] = ()) -> Point | None:
    """A point of the space that meets the conditions too, None if there is none.

    Random points are tried first, so that most conditions need not be compiled.

    Raises:
        BudgetExceededError: If the space or what the conditions leave is too hard to compile.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2, 4])
    >>> space = Space([m, w], [m % (w * 16) == 0])
    >>> point_of(space, [w == 2]), point_of(space, [w == 4])
    ({'m': 32, 'w': 2}, None)
    """
    if not whole(space).count():
        return None
    holds = compile_function(list(conditions))
    tried = space.sample(_SAMPLED if conditions else 1, seed=0)
    found = next((p for p in tried if all(holds(p))), None)
    if found is None:
        rest = whole(space.where(*conditions))
        found = rest[0] if rest.count() else None
    if found is not None:
        checked(found, [*space.conditions, *conditions])
    return found
