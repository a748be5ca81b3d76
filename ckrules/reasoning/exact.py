"""Exact answers from compiled spaces, beside the solver.

A compiled space knows the number of its points, so "none" is a proof, and further conditions
restrict it at little cost: the questions about a whole book are quick this way, where a solver
is slow. A space that is too large to be compiled as a whole is left to the solver.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.space import Space
from ckrules.reasoning.oracle import Oracle
from ckrules.reasoning.reduce import equivalence_classes, reduced
from ckrules.reasoning.why import witness_of
from ckrules.support.errors import HardSpaceWarning, UndecidedError

_SAMPLED = 500
_SOLVER = 1.0  # seconds after which a small question goes to a compiled space
_TRIED = 2  # questions of one kind that the solver may give up on
_KEPT = 200  # points that are tried again


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


def checked(point: Point, conditions: Iterable[BoolExpr]) -> Point:
    """The point, if the pointwise back end finds every condition true.

    Raises:
        UndecidedError: If it does not.
    """
    at = At(point)
    for condition in conditions:
        if not at.holds(condition):
            raise UndecidedError(f"the compiled space's point does not meet `{condition}`")
    return point


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
    return found and checked(found, [*space.conditions, *conditions])


class Decider:
    """Whether some conditions can hold together, by whatever decides first.

    Points that are known already are tried, then the solver has a short time, then a compiled
    space over the values that make a difference, and only then the solver has all of its time.

    Args:
        variables: Variable nodes by name.
        domains: The values that each variable may take.
        order: An order of the variables that compiles well.
        timeout: Seconds for the solver.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2, 4])
    >>> decider = Decider({"m": m, "w": w}, {"m": [16, 32], "w": [1, 2]}, timeout=1)
    >>> decider.find([m % (w * 16) == 0, w == 2])
    {'m': 32, 'w': 2}
    """

    def __init__(
        self,
        variables: Mapping[str, Expr],
        domains: Mapping[str, Sequence[Any]],
        *,
        order: Sequence[str] = (),
        timeout: float,
    ) -> None:
        self.variables, self.domains, self.order = variables, domains, order
        self.timeout = timeout
        self._oracle = Oracle(variables, domains, timeout=min(timeout, _SOLVER))
        self._known: deque[At] = deque(maxlen=_KEPT)

    def find(self, conditions: Sequence[BoolExpr]) -> Point | None:
        """A point that meets the conditions, None if there is none.

        Raises:
            UndecidedError: When nothing decides in time.
        """
        try:
            quick = min(self.timeout, _SOLVER)
            return witness_of(conditions, self.variables, self.domains, quick)
        except UndecidedError:
            return self._slowly(conditions)

    def impossible(self) -> Callable[[Sequence[BoolExpr]], frozenset[int] | None]:
        """The question that `ckrules.reasoning.oracle.shrink` asks, which is asked many times.

        Where the solver gave up on conditions, it is not asked about others of that kind.

        Raises:
            UndecidedError: When nothing decides in time (the question does).
        """
        given_up = 0

        def impossible(conditions: Sequence[BoolExpr]) -> frozenset[int] | None:
            nonlocal given_up
            if any(all(at.holds(c) for c in conditions) for at in self._known):
                return None
            core = frozenset(c.id for c in conditions)
            try:
                if given_up >= _TRIED:
                    raise UndecidedError("timeout")
                point = self._oracle.find(conditions)
                core = self._oracle.core if point is None else core
            except UndecidedError:
                given_up += 1
                point = self._slowly(conditions)
            if point is None:
                return core
            self._known.appendleft(At(point))
            return None

        return impossible

    def _slowly(self, conditions: Sequence[BoolExpr]) -> Point | None:
        simpler = reduced(self.domains, conditions)
        if simpler is None:
            return None
        few = equivalence_classes(*simpler)
        space = Space(self.variables.values(), conditions, fixed=few, order=self.order)
        try:
            return _by_parts(space, monotonic() + self.timeout)
        except BudgetExceededError:
            return witness_of(conditions, self.variables, few, self.timeout)


def _by_parts(space: Space, deadline: float) -> Point | None:
    """A point of the space, which is taken apart by one variable after the other if need be."""
    try:
        return point_of(space)
    except BudgetExceededError:
        if monotonic() > deadline:
            raise
    name = next(n for n in space.order if len(space.domains[n]) > 1)
    parts = (space.bind(**{name: value}) for value in space.domains[name])
    return next((p for part in parts if (p := _by_parts(part, deadline)) is not None), None)
