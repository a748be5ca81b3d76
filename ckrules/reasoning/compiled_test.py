"""Whether conditions can hold together, decided by compiling them.

A compiled space without points is a proof, and it needs no luck: where a solver's time runs out,
or many questions are asked about the same few values, this is the sure way.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ckrules.engine.codec import Point
from ckrules.engine.diagram.compiler import compile_problem
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.problem import prepare
from ckrules.engine.diagram.product import Budget, Meter
from ckrules.engine.diagram.split_block import pieces
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import BoolExpr
from ckrules.support.errors import UndecidedError, UsageError

_SEARCH = 20_000_000  # work of one question (see `Meter`)
_POOL = 1 << 14
_KEPT = 64  # points that are remembered: what they meet is possible
_DRAWN = 8


class Pool:
    """Points near legal ones, most of which break few rules: they show what can hold together.

    Args:
        domains: The values that each variable may take.
        legal: Points to start from.
        held: Values that every point of the pool has.

    >>> pool = Pool({"m": (16, 32), "w": (1, 2)}, [{"m": 16, "w": 1}], {"w": 2})
    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2])
    >>> pool.meets([m == 16, w == 2]), pool.meets([w == 1])
    (True, False)
    """

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]],
        legal: Sequence[Point],
        held: Mapping[str, Any],
    ) -> None:
        rng = np.random.default_rng(0)
        self.size = _POOL if legal else 0
        chosen = rng.integers(0, max(1, len(legal)), size=self.size)
        free = [n for n in domains if n not in held]
        # the first rows are as they were, the others have one to three fields changed
        changed = rng.integers(0, len(free) + 1, size=(3, self.size)) if free else ()
        self._columns: dict[str, Any] = {}
        self._truth: dict[int, tuple[BoolExpr, Any]] = {}
        for name, values in domains.items():
            known = encode([*values, *(p[name] for p in legal)])
            rows = known[len(values) + chosen]
            if name in held:
                rows = np.full(self.size, encode([held[name]])[0])
            else:
                drawn = known[rng.integers(0, len(values), size=self.size)]
                mine = np.any([c == free.index(name) for c in changed], axis=0)
                rows = np.where(mine, drawn, rows)
            self._columns[name] = rows

    def meets(self, conditions: Sequence[BoolExpr]) -> bool:
        """True if a point of the pool meets every condition."""
        left = np.ones(self.size, dtype=np.bool_)
        for condition in conditions:
            left &= self._holds(condition)
            if not left.any():
                return False
        return bool(self.size)

    def _holds(self, condition: BoolExpr) -> Any:
        known = self._truth.get(condition.id)
        if known is None:
            try:
                with np.errstate(all="ignore"):
                    (truth,) = evaluate_columns([condition], self._columns, self.size)
            except UsageError:  # numbers beyond 64 bits: nothing is shown
                truth = np.zeros(self.size, dtype=np.bool_)
            known = self._truth[condition.id] = condition, truth
        return known[1]


class CompiledTest:
    """Compiles conditions over the variables that they read.

    Args:
        domains: The values that each variable may take.
        order: An order of the variables that compiles well.
        pool: Points that are looked at first.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2, 4])
    >>> test = CompiledTest({"m": (16, 32), "w": (1, 2, 4)})
    >>> test.possible([m % (w * 16) == 0, w == 2]), test.possible([m % (w * 16) == 0, w == 4])
    (True, False)
    """

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]],
        order: Sequence[str] = (),
        pool: Pool | None = None,
    ) -> None:
        self.domains, self.order, self.pool = domains, order, pool
        self._known: deque[Point] = deque(maxlen=_KEPT)

    def possible(self, conditions: Sequence[BoolExpr]) -> bool:
        """True if some values meet every condition.

        Raises:
            BudgetExceededError: When they are too hard to compile.
        """
        if self.pool is not None and self.pool.meets(conditions):
            return True
        if any(_meets(point, conditions) for point in self._known):
            return True
        found = self.points(conditions)
        self._known.extendleft(found)
        return bool(found)

    def points(self, conditions: Sequence[BoolExpr]) -> list[Point]:
        """Some points that meet every condition, none if there is none.

        Raises:
            BudgetExceededError: When they are too hard to compile.
        """
        read = frozenset().union(*(c.support for c in conditions))
        domains = {n: tuple(self.domains[n]) for n in self.domains if n in read}
        if any(not len(values) for values in self.domains.values()):
            return []
        try:
            problem = prepare(domains, conditions)
            order = dict.fromkeys((*(n for n in self.order if n in read), *domains))
            whole = compile_problem(problem, list(order), Budget(meter=Meter(_SEARCH)))
        except UsageError as error:  # numbers beyond 64 bits
            raise BudgetExceededError(str(error)) from None
        compiled = next((p for p in pieces(whole.blocks, whole.sizes) if p.count), None)
        if compiled is None:
            return []
        rng = random.Random(0)
        first = {n: values[0] for n, values in self.domains.items()}
        found = []
        for _ in range(_DRAWN):
            codes = compiled.unrank(rng.randrange(compiled.count))
            pairs = zip(compiled.order, codes, strict=True)
            found.append(first | {n: domains[n][code] for n, code in pairs})
        if not all(_meets(point, conditions) for point in found):
            raise UndecidedError("a compiled point does not meet every condition")
        return found


def _meets(point: Point, conditions: Sequence[BoolExpr]) -> bool:
    at = At(point)
    return all(at.holds(c) for c in conditions)
