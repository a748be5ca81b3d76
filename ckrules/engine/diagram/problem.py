"""Problems: the variables, candidate codes and clauses that a diagram is compiled from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.backends.vector import Vectors, check_width, encode
from ckrules.engine.bounds import Bounds
from ckrules.engine.expr import FALSE, BoolExpr
from ckrules.engine.lower import Lowering
from ckrules.engine.simplify import Simplifier, clauses

Array = npt.NDArray[Any]


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
class Problem:
    """Variables by name in declared order, and simplified clauses of two or more variables.

    ``empty`` is true if filtering alone proves that there is no point.
    """

    variables: Mapping[str, Variable]
    clauses: tuple[BoolExpr, ...]
    empty: bool = False


def prepare(
    domains: Mapping[str, Sequence[Any]],
    conditions: Iterable[BoolExpr],
    kept: Mapping[str, Sequence[int]] | None = None,
) -> Problem:
    """The problem of all points of ``domains`` at which every condition holds.

    Conditions are simplified and split; those of one variable filter its candidates, until
    nothing changes.

    Args:
        domains: Candidate values by variable name.
        conditions: What must hold.
        kept: Codes to which a variable is restricted from the start.

    >>> from ckrules.engine.variables import Int
    >>> m, w = Int("m", [16, 24, 32]), Int("w", [1, 2])
    >>> p = prepare({"m": (16, 24, 32), "w": (1, 2)}, [m % 16 == 0, m % (w * 16) == 0, w > 1])
    >>> p.variables["m"].kept, p.variables["w"].kept, p.clauses
    ((32,), (2,), ())
    """
    codes = {n: list(range(len(v))) for n, v in domains.items()}
    for name, some in (kept or {}).items():
        codes[name] = sorted(some)
    pending = list(conditions)
    while True:
        values = {n: tuple(domains[n][c] for c in codes[n]) for n in domains}
        if not all(values.values()):
            return _empty(domains)
        pending, changed = _round(pending, values, codes)
        if not changed:
            break
    if any(c is FALSE for c in pending):
        return _empty(domains)
    variables = {n: Variable(n, tuple(domains[n]), tuple(codes[n])) for n in domains}
    return Problem(variables, tuple(pending))


def _empty(domains: Mapping[str, Sequence[Any]]) -> Problem:
    return Problem({n: Variable(n, tuple(v), ()) for n, v in domains.items()}, (), empty=True)


def _round(
    pending: list[BoolExpr], values: Mapping[str, tuple[Any, ...]], codes: dict[str, list[int]]
) -> tuple[list[BoolExpr], bool]:
    """One pass: simplify, split, and let single-variable clauses filter ``codes``."""
    simple = Simplifier(candidates=values)
    parts: dict[int, BoolExpr] = {}
    for condition in pending:
        for part in clauses(simple.condition(condition)):
            again = simple.condition(part)
            parts.setdefault(again.id, again)
    rest: list[BoolExpr] = []
    masks: dict[str, Array] = {}
    for part in parts.values():
        if len(part.support) == 1:
            (name,) = part.support
            truth = truth_of(part, {name: values[name]})
            masks[name] = masks[name] & truth if name in masks else truth
        elif part.support:
            rest.append(part)
        elif part is FALSE:
            return [FALSE], False
    changed = False
    for name, mask in masks.items():
        if not mask.all():
            codes[name] = [c for c, m in zip(codes[name], mask.tolist(), strict=True) if m]
            changed = True
    return rest, changed


def truth_of(clause: BoolExpr, values: Mapping[str, Sequence[Any]]) -> Array:
    """Truth of a clause over one variable for each of its values."""
    (some,) = values.values()
    column = encode(some)
    bounds = bounds_of(values)
    check_width([clause], bounds)
    low: Lowering[Any] = Lowering(Vectors(lambda _: column), bounds.never_zero)
    return np.broadcast_to(np.asarray(low.bool(clause), dtype=np.bool_), (len(some),))


def bounds_of(values: Mapping[str, Sequence[Any]]) -> Bounds:
    """Interval bounds over the given values of each number."""
    numbers = {n: v for n, v in values.items() if v and not isinstance(v[0], (str, bool))}
    return Bounds({n: (min(v), max(v)) for n, v in numbers.items()})


def components(problem: Problem) -> list[tuple[list[str], list[BoolExpr]]]:
    """Groups of variables that no clause connects, each with its clauses, in declared order."""
    leader = {n: n for n in problem.variables}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for clause in problem.clauses:
        first, *others = sorted(clause.support)
        for other in others:
            leader[find(other)] = find(first)
    groups: dict[str, tuple[list[str], list[BoolExpr]]] = {}
    for name in problem.variables:
        groups.setdefault(find(name), ([], []))[0].append(name)
    for clause in problem.clauses:
        groups[find(min(clause.support))][1].append(clause)
    return list(groups.values())
