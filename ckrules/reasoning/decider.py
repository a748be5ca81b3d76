"""Whether conditions can hold together: the one place that is asked, and every way to know.

| way | decides |
| --- | --- |
| points | known ones, and ones near legal points: what they meet is possible |
| listing | few conditions over few values; a random part of many values can show a point |
| compiling | a compiled space without points is a proof; sure where few values matter |
| solver | anything, where it does so in its time |

Points come first, then listing. Which of the other two is first is the caller's to choose: many
questions about the same few values are best compiled, a single one over all fields is best put to
the solver. What both are undecided about gets each of them once more, with fewer values and more
time. Every point that is returned was checked by the pointwise back end.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ckrules.engine.codec import Point
from ckrules.engine.diagram.compiler import compile_problem
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.problem import prepare
from ckrules.engine.diagram.product import Budget, CompileMeter
from ckrules.engine.diagram.split_block import pieces
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import REAL, BoolExpr, Expr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.reasoning.near import NearPoints
from ckrules.reasoning.oracle import TIMEOUT, SolverOracle
from ckrules.reasoning.reduce import equivalence_classes, reduced
from ckrules.support.errors import UndecidedError, UsageError

_LISTED = 400_000  # combinations that are all evaluated
_DRAWN = 20_000
_FEW = 3  # conditions over several fields up to which listing pays
_PROVED = 20_000  # combinations up to which listing proves a conflict
_QUICK = 1.0  # seconds of the solver before a question is compiled
_TRIED = 2  # questions of one kind that the solver may give up on
_KEPT = 200  # points that are tried again
_WORK = 20_000_000  # of compiling one question (see `CompileMeter`)
_LONG = 20 * _WORK  # where the solver has given up on it
_TAKEN = 8  # points of a compiled space that are kept

Domains = Mapping[str, Sequence[Any]]


class Decider:
    """Whether some conditions can hold together, by whatever decides first.

    Args:
        variables: Variable nodes by name.
        domains: The values that each variable may take (default: its candidates).
        order: An order of the variables that compiles well.
        near: Points that are looked at first.
        compiled: Whether questions are compiled before the solver is asked.
        timeout: Seconds for the solver.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2, 4])
    >>> decider = Decider({"m": m, "w": w}, {"m": [16, 32], "w": [1, 2]}, timeout=1)
    >>> decider.find([m % (w * 16) == 0, w == 2])
    {'m': 32, 'w': 2}
    >>> decider.impossible([w > 1, m < 32, m % (w * 16) == 0]) is None
    False
    """

    def __init__(
        self,
        variables: Mapping[str, Expr],
        domains: Domains | None = None,
        *,
        order: Sequence[str] = (),
        near: NearPoints | None = None,
        compiled: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        self.variables, self.order, self.near = dict(variables), order, near
        self.domains: dict[str, tuple[Any, ...]] = {
            n: tuple((domains or {}).get(n, domain_of(v).values)) for n, v in variables.items()
        }
        self.compiled, self.timeout = compiled, timeout
        #: Who decided what listing did not: "solver", or "compiled" as long as that was enough.
        self.proof = "compiled" if compiled else "solver"
        self._oracle = SolverOracle(variables, self.domains, timeout=min(timeout, _QUICK))
        self._seen: deque[tuple[Point, At]] = deque(maxlen=_KEPT)
        self._given_up = 0

    def find(self, conditions: Sequence[BoolExpr]) -> Point | None:
        """A point that meets every condition, None if there is none.

        Raises:
            UndecidedError: When nothing decides in time.
        """
        quick = min(self.timeout, _QUICK)
        return self._decided(conditions, lambda: self._solved(conditions, self.domains, quick))

    def impossible(self, conditions: Sequence[BoolExpr]) -> frozenset[int] | None:
        """The ids of conditions that cannot hold together, None if all of them can.

        This is the question that `ckrules.reasoning.oracle.shrink` asks, again and again about
        parts of the same conditions: one solver knows them all. Where it gave up, it is not asked
        about others of that kind.

        Raises:
            UndecidedError: When nothing decides in time.
        """
        core = frozenset(c.id for c in conditions)

        def asked() -> Point | None:
            nonlocal core
            if self._given_up >= _TRIED:
                raise UndecidedError("timeout")
            try:
                point = self._oracle.find(conditions)
            except UndecidedError:
                self._given_up += 1
                raise
            core = core if point else self._oracle.core
            return point

        return core if self._decided(conditions, asked) is None else None

    def _decided(
        self, conditions: Sequence[BoolExpr], solve: Callable[[], Point | None]
    ) -> Point | None:
        """What is known, listed, compiled or solved first."""
        if not all(self.domains.values()):
            return None
        known = next((p for p, at in self._seen if all(map(at.holds, conditions))), None)
        if known is not None:
            return known
        point = self.near.find(conditions) if self.near is not None else None
        if point is None:
            whole, point = self._listed(conditions)
            if whole and point is None:
                return None
        if point is not None:
            self._seen.appendleft((point, checked(point, conditions)))
            return point
        if self.compiled:
            try:
                found = self._compiled(conditions, self.domains, _WORK)
                self._seen.extendleft((p, At(p)) for p in found)
                return found[0] if found else None
            except BudgetExceededError:
                point = self._slowly(conditions)
        else:
            try:
                point = solve()
            except UndecidedError:
                point = self._slowly(conditions)
        if point is not None:
            self._seen.appendleft((point, checked(point, conditions)))
        return point

    def _slowly(self, conditions: Sequence[BoolExpr]) -> Point | None:
        """By a compiled space of the values that make a difference, else by a patient solver."""
        simpler = reduced(self.domains, conditions)
        if simpler is None:
            return None
        few = equivalence_classes(*simpler)
        try:
            return next(iter(self._compiled(conditions, few, _LONG)), None)
        except BudgetExceededError:
            self.proof = "solver"
            return self._solved(conditions, few, self.timeout)

    def _solved(
        self, conditions: Sequence[BoolExpr], domains: Domains, timeout: float
    ) -> Point | None:
        """By a solver that knows these conditions alone, simplified together first."""
        simpler = reduced(domains, conditions)
        if simpler is None:
            return None
        left, rest = simpler
        return SolverOracle(self.variables, left, timeout=timeout).find(rest)

    def _compiled(self, conditions: Sequence[BoolExpr], values: Domains, work: int) -> list[Point]:
        """Some points that meet the conditions, over the variables that they read."""
        read = frozenset().union(*(c.support for c in conditions))
        domains = {n: tuple(values[n]) for n in values if n in read}
        try:
            problem = prepare(domains, conditions)
            order = dict.fromkeys((*(n for n in self.order if n in read), *domains))
            whole = compile_problem(problem, list(order), Budget(meter=CompileMeter(work)))
        except UsageError as error:  # numbers beyond 64 bits
            raise BudgetExceededError(str(error)) from None
        compiled = next((p for p in pieces(whole.blocks, whole.sizes) if p.count), None)
        if compiled is None:
            return []
        rng = random.Random(0)
        found = []
        for _ in range(_TAKEN):
            codes = compiled.unrank(rng.randrange(compiled.count))
            pairs = zip(compiled.order, codes, strict=True)
            found.append(self._full({n: domains[n][code] for n, code in pairs}))
            checked(found[-1], conditions)
        return found

    def _listed(self, conditions: Sequence[BoolExpr]) -> tuple[bool, Point | None]:
        """Whether all values were listed, and a point among them that meets the conditions."""
        joint = [c for c in conditions if len(c.support) != 1]
        if len(joint) > _FEW or any(n.sort == REAL for n in walk(*joint)):
            return False, None
        left = _narrowed(conditions, self.domains)
        if not all(left.values()):
            return True, None
        read = sorted(frozenset().union(*(c.support for c in joint)))
        sizes = [len(left[n]) for n in read]
        whole = prod(sizes) <= _LISTED
        count = prod(sizes) if whole else _DRAWN
        rng = np.random.default_rng(0)
        codes: Any = () if whole else [rng.integers(0, s, size=count) for s in sizes]
        if whole and read:
            codes = np.unravel_index(np.arange(count), sizes)
        columns = {
            n: encode(left[n], self.variables[n].sort)[c] for n, c in zip(read, codes, strict=True)
        }
        try:
            with np.errstate(all="ignore"):
                truth = evaluate_columns(joint, columns, count)
        except UsageError:  # numbers beyond 64 bits
            return False, None
        meets = np.logical_and.reduce([np.ones(count, dtype=np.bool_), *truth])
        if not meets.any():
            return whole, None
        at = int(meets.argmax())
        row = {n: left[n][int(c[at])] for n, c in zip(read, codes, strict=True)}
        return whole, self._full({n: values[0] for n, values in left.items()} | row)

    def _full(self, values: Mapping[str, Any]) -> Point:
        """A point with the values; what no condition reads has its first candidate."""
        return {n: values.get(n, candidates[0]) for n, candidates in self.domains.items()}


def checked(point: Point, conditions: Iterable[BoolExpr]) -> At:
    """The point for the pointwise back end, which finds every condition true.

    Raises:
        UndecidedError: If it does not.
    """
    at = At(point)
    for condition in conditions:
        if not at.holds(condition):
            raise UndecidedError(f"the point that was found does not meet `{condition}`")
    return at


def _narrowed(conditions: Sequence[BoolExpr], domains: Domains) -> dict[str, list[Any]]:
    """The values that conditions on one variable alone leave, of each variable that is read."""
    left: dict[str, list[Any]] = {}
    for name in sorted(frozenset().union(*(c.support for c in conditions))):
        own = [c for c in conditions if c.support == {name}]
        left[name] = [v for v in domains[name] if all(At({name: v}).holds(c) for c in own)]
    return left


def proved(conditions: Sequence[BoolExpr], domains: Domains) -> bool | None:
    """True if evaluating every combination of values proves that the conditions conflict.

    False if a combination meets them all; None if there are more than `_PROVED` combinations.

    >>> from ckrules.engine.expr.variables import Int
    >>> x = Int("x", range(4))
    >>> proved([x > 1, x < 2], {"x": range(4)}), proved([x > 1], {"x": range(4)})
    (True, False)
    """
    left = _narrowed(conditions, domains)
    if prod(map(len, left.values())) > _PROVED:
        return None
    holds = compile_function([c for c in conditions if len(c.support) != 1])
    rows = product(*left.values())
    return not any(all(holds(dict(zip(left, row, strict=True)))) for row in rows)
