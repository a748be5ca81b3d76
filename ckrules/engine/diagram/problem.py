"""Problems: the variables, candidate codes and clauses that a diagram is compiled from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.layers import relation_in
from ckrules.engine.diagram.propagate import propagate
from ckrules.engine.diagram.truth import Grid, Table, join, squeezed
from ckrules.engine.evaluate.vector import Vectors, check_width, encode
from ckrules.engine.expr import FALSE, BoolExpr, all_of
from ckrules.engine.rewrite.bounds import bounds_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.exact import exact
from ckrules.engine.rewrite.lower import Lowering
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]

DENSE = 400_000  # cells up to which a clause is evaluated as one table
_KEPT = 32  # candidates for which the clauses of a condition are kept
_DIRECT = 20_000  # cells up to which a condition is evaluated rather than simplified


@dataclass(frozen=True)
class Variable:
    """A variable with its candidate values and the codes of those that are still possible.

    A code is a position among the candidate values and never changes; filtering only shortens
    ``codes``.
    """

    name: str
    values: tuple[Any, ...]
    codes: tuple[int, ...]

    @property
    def kept(self) -> tuple[Any, ...]:
        """The values that are still possible, in candidate order."""
        return tuple(self.values[c] for c in self.codes)


@dataclass(frozen=True)
class ConstraintProblem:
    """What must hold together: truth tables, and clauses that are too large for a table.

    ``tables`` belong to the codes that ``variables`` are left with; ``empty`` is true if
    filtering alone proves that there is no point.
    """

    variables: Mapping[str, Variable]
    tables: tuple[Table, ...]
    clauses: tuple[BoolExpr, ...]
    empty: bool = False
    #: Blocks that trials of orders have built already, by order; None for what was too hard.
    built: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def scopes(self) -> list[frozenset[str]]:
        """The variables of each table and clause."""
        return [frozenset(n) for n, _ in self.tables] + [c.support for c in self.clauses]

    @cached_property
    def components(self) -> list[list[str]]:
        """Groups of variables that no table or clause connects, in declared order."""
        leader = {n: n for n in self.variables}

        def find(name: str) -> str:
            while leader[name] != name:
                leader[name] = leader[leader[name]]
                name = leader[name]
            return name

        for scope in self.scopes:
            first, *others = sorted(scope)
            for other in others:
                leader[find(other)] = find(first)
        groups: dict[str, list[str]] = {}
        for name in self.variables:
            groups.setdefault(find(name), []).append(name)
        return list(groups.values())


def prepare(
    domains: Mapping[str, Sequence[Any]],
    conditions: Iterable[BoolExpr],
    kept: Mapping[str, Sequence[int]] | None = None,
    tables: Sequence[Table] = (),
) -> ConstraintProblem:
    """The problem of all points of ``domains`` at which every condition holds.

    Conditions are simplified and split; those of one variable filter its candidates, until
    nothing changes.

    Args:
        domains: Candidate values by variable name.
        conditions: What must hold.
        kept: Codes to which a variable is restricted from the start.
        tables: Truth tables over these codes that must hold too.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 24, 32]), Int("w", [1, 2])
    >>> p = prepare({"m": (16, 24, 32), "w": (1, 2)}, [m % 16 == 0, m % (w * 16) == 0, w > 1])
    >>> p.variables["m"].kept, p.variables["w"].kept, p.tables
    ((32,), (2,), ())
    """
    state = _State(domains, kept or {}, tables)
    pending = [exact(c, domains) for c in conditions]
    if state.tabulate(pending):
        return state.problem(()) if state.possible else state.nothing()
    while state.possible:
        simple = Simplifier(candidates=state.values)
        pending = _simplified(pending, simple)
        if any(c is FALSE for c in pending):
            break
        single = [c for c in pending if len(c.support) == 1]
        pending = [c for c in pending if len(c.support) > 1]
        changed = [state.filter_single(c) for c in single]
        if not any(changed) and not state.filter_joint(pending):
            return state.problem(state.large(pending))
    return state.nothing()


def _simplified(conditions: Sequence[BoolExpr], simple: Simplifier) -> list[BoolExpr]:
    parts: dict[int, BoolExpr] = {}
    for condition in conditions:
        parts.update((part.id, part) for part in _parts(condition, simple))
    return propagate(list(parts.values()), simple)


def _parts(condition: BoolExpr, simple: Simplifier) -> tuple[BoolExpr, ...]:
    """The simplified clauses of a condition, kept with it for other spaces of the same rules."""
    values = [simple.candidates[n] for n in sorted(condition.support)]
    key = tuple((type(v[0]), v) for v in values)  # 1, 1.0 and True are equal
    known: dict[Any, tuple[BoolExpr, ...]] = condition.notes.setdefault("clauses", {})
    if key not in known:
        if len(known) >= _KEPT:
            known.clear()
        found = clauses(simple.condition(condition))
        known[key] = tuple(simple.condition(part) for part in found)
    return known[key]


class _State:
    """The codes that are still possible while a problem is prepared, and known truth tables."""

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]],
        kept: Mapping[str, Sequence[int]],
        tables: Sequence[Table],
    ) -> None:
        self.domains = domains
        self.codes = {n: sorted(kept.get(n, range(len(v)))) for n, v in domains.items()}
        # tables of clauses by node id, given ones under negative numbers
        self._known: dict[int, Table] = {-1 - k: t for k, t in enumerate(tables)}
        self.joined: list[Table] = []

    @property
    def possible(self) -> bool:
        """True while every variable has a value."""
        return all(self.codes.values())

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        return {n: tuple(v[c] for c in self.codes[n]) for n, v in self.domains.items()}

    def problem(self, clauses: Sequence[BoolExpr]) -> ConstraintProblem:
        """What is left: the joined tables, and clauses that have none."""
        left = {n: Variable(n, tuple(v), tuple(self.codes[n])) for n, v in self.domains.items()}
        return ConstraintProblem(left, tuple(self.joined), tuple(clauses))

    def nothing(self) -> ConstraintProblem:
        none = {n: Variable(n, tuple(v), ()) for n, v in self.domains.items()}
        return ConstraintProblem(none, (), (), empty=True)

    def tabulate(self, conditions: Sequence[BoolExpr]) -> bool:
        """Evaluate all conditions as they are, if that is less work than simplifying them.

        The small ones come first, since the values that they rule out make others small. If some
        stay too large, what was ruled out stays so and the answer is False.
        """
        if not all(c.support for c in conditions):
            return False
        left, done = list(conditions), list[BoolExpr]()
        while self.possible:
            size = {c.id: prod(len(self.codes[n]) for n in c.support) for c in left}
            small = [c for c in left if size[c.id] <= _DIRECT]
            left = [c for c in left if size[c.id] > _DIRECT]
            try:
                self.filter_joint([*done, *small])
            except UsageError:  # perhaps of numbers that simplification takes away
                left = list(conditions)
                break
            if not left or not small:
                break
            done += small
        if left and self.possible:
            self._known = {k: t for k, t in self._known.items() if k < 0}
            self.joined = []
            return False
        return True

    def keep(self, name: str, mask: Array) -> bool:
        """Drop the codes outside ``mask``, here and in every known table; True if any is."""
        if mask.all():
            return False
        self.codes[name] = [c for c, m in zip(self.codes[name], mask.tolist(), strict=True) if m]
        for key, (names, table) in self._known.items():
            if name in names:
                self._known[key] = names, np.compress(mask, table, axis=names.index(name))
        for k, (names, table) in enumerate(self.joined):
            if name in names:
                self.joined[k] = names, np.compress(mask, table, axis=names.index(name))
        return True

    def filter_single(self, clause: BoolExpr) -> bool:
        (name,) = clause.support
        values = tuple(self.domains[name][c] for c in self.codes[name])
        return self.keep(name, truth_of(clause, {name: values}))

    def filter_joint(self, pending: Sequence[BoolExpr]) -> bool:
        """Drop values that a clause with a small table has no partner for; True if any is."""
        before = sum(map(len, self.codes.values()))
        self._evaluate(pending)
        wanted = {c.id for c in pending}
        tables = [t for k, t in self._known.items() if k in wanted or k < 0]
        self.joined = join(tables, {n: len(c) for n, c in self.codes.items()})
        work = list(range(len(self.joined)))
        while work:
            changed: set[str] = set()
            for k in work:
                for name in self.joined[k][0]:
                    names, table = self.joined[k]
                    others = tuple(i for i, n in enumerate(names) if n != name)
                    if self.keep(name, np.asarray(table.any(axis=others))):
                        changed.add(name)
            work = [k for k, (names, _) in enumerate(self.joined) if changed & set(names)]
        self.joined = [squeezed(t) for t in self.joined if not t[1].all()]
        return sum(map(len, self.codes.values())) < before

    def _evaluate(self, pending: Sequence[BoolExpr]) -> None:
        """Find the truth tables of the small clauses that are not known yet."""
        used = frozenset().union(*(c.support for c in pending))
        names = [n for n in self.domains if n in used]
        grid = Grid(names, self.values)
        grid.check(pending)
        with np.errstate(all="ignore"):
            for clause in pending:
                if clause.id not in self._known and grid.cells(clause) <= DENSE:
                    truth = grid.truth(clause)
                    self._known[clause.id] = tuple(names[a] for a in truth.axes), truth.table

    def large(self, pending: Sequence[BoolExpr]) -> list[BoolExpr]:
        """The clauses without a table, those over the same variables as one.

        Relations stay apart: their rows make small diagrams.
        """
        groups: list[tuple[frozenset[str], list[BoolExpr]]] = []
        rest = [c for c in pending if c.id not in self._known]
        rows = [c for c in rest if relation_in(c) is not None]
        others = (c for c in rest if relation_in(c) is None)
        for clause in sorted(others, key=lambda c: -len(c.support)):
            for support, group in groups:
                if clause.support == support:
                    group.append(clause)
                    break
            else:
                groups.append((clause.support, [clause]))
        return [*rows, *(all_of(*group) for _, group in groups)]


def truth_of(clause: BoolExpr, values: Mapping[str, Sequence[Any]]) -> Array:
    """Truth of a clause over one variable for each of its values."""
    (some,) = values.values()
    bounds = bounds_of(values)
    check_width([clause], bounds)
    low: Lowering[Any] = Lowering(Vectors(lambda v: encode(some, v.sort)), bounds.never_zero)
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(low.bool(clause), dtype=np.bool_), (len(some),))


def part(problem: ConstraintProblem, names: Sequence[str]) -> ConstraintProblem:
    """The problem of some of its components."""
    chosen = set(names)
    return ConstraintProblem(
        {n: problem.variables[n] for n in names},
        tuple(t for t in problem.tables if chosen.issuperset(t[0])),
        tuple(c for c in problem.clauses if c.support <= chosen),
        built=problem.built,
    )


def narrowed(problem: ConstraintProblem, name: str, which: int) -> ConstraintProblem:
    """The problem with one variable fixed to the ``which``-th value that it is left with."""
    variables = dict(problem.variables)
    old = variables[name]
    variables[name] = Variable(name, old.values, (old.codes[which],))
    tables = []
    for names, table in problem.tables:
        if name in names:
            table = table.take([which], axis=names.index(name))
        tables.append((names, table))
    return prepare(
        {n: v.values for n, v in variables.items()},
        problem.clauses,
        {n: v.codes for n, v in variables.items()},
        tables,
    )
