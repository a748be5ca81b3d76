"""The numbers of a conflict: what its rules say of points of the region that was asked for.

Where a rule compares two numbers, they are those of the point that breaks it least: "even then".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.rules import Rule, violation
from ckrules.engine.rules.messages import conjuncts
from ckrules.reasoning.conflict import Assumptions, Conflict
from ckrules.reasoning.oracle import SolverOracle
from ckrules.reasoning.reduce import reduced
from ckrules.support.errors import UndecidedError

_SIDES = {"le": (0, 1), "lt": (0, 1), "ge": (1, 0), "gt": (1, 0)}


def numbers_of(
    conflict: Conflict, asked: Assumptions, domains: Mapping[str, Sequence[Any]], timeout: float
) -> tuple[str, ...]:
    """A line for each rule of a conflict; none for a rule about which the solver is undecided.

    The numbers are those of a point of the region asked for that meets every other rule, or if
    there is none every other rule of the conflict.

    Args:
        conflict: What cannot hold together.
        asked: All that was asked for, of which the conflict is a part.
        domains: The values of each field.
        timeout: Seconds for each question to the solver.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.reasoning.conflict import FixedField
    >>> m, n = Int("m", [16, 32]), Int("n", [2, 4])
    >>> fits = Rule("LDS001", "too-large", "hardware", m * n <= 40)
    >>> held = [FixedField("m", (32,))]
    >>> asked = Assumptions({"m": m, "n": n}, rules=[fits], held=held)
    >>> numbers_of(Conflict((fits,), tuple(held)), asked, {"m": (16, 32), "n": (2, 4)}, 10)
    ('LDS001: even at the least, m * n = 32 * 2 = 64 is more than 40',)
    """
    region = [*asked.facts, *asked.conditions.values()]
    lines: list[str] = []
    for rule in conflict.rules:
        for others in (asked.rules.values(), conflict.rules):
            rest = [r.condition for r in others if r.condition is not rule.condition]
            told = _told(rule, [*region, *rest], asked.variables, domains, timeout)
            if told:
                lines.append(f"{rule.code}: {told}")
                break
    return tuple(lines)


def _told(
    rule: Rule,
    rest: Sequence[BoolExpr],
    variables: Mapping[str, Expr],
    domains: Mapping[str, Sequence[Any]],
    timeout: float,
) -> str:
    """What a rule says of a point that meets the rest; nothing if none is found."""
    smaller = reduced(domains, rest)
    if smaller is None:
        return ""
    kept, left = smaller
    held = {name for name, values in kept.items() if len(values) == 1}
    if rule.condition.support <= held and not _compares(rule):
        # every point says the same, and a conflict's rules are met somewhere without one of them
        point = {name: values[0] for name, values in kept.items()}
        found = violation(rule, At(point), point)
        return found.message if found is not None else ""
    try:
        return _line(rule, left, held, SolverOracle(variables, kept, timeout=timeout))
    except UndecidedError:
        return ""


def _compares(rule: Rule) -> bool:
    """Whether a rule is one comparison of two numbers."""
    return len(parts := conjuncts(rule.expr)) == 1 and parts[0].op in _SIDES


def _line(rule: Rule, rest: Sequence[BoolExpr], held: set[str], oracle: SolverOracle) -> str:
    point = oracle.find(rest)
    if point is None:
        return ""
    if _compares(rule):
        (compared,) = conjuncts(rule.expr)
        large, small = (compared.args[i] for i in _SIDES[compared.op])
        if small.support <= held and large.sort == "int":
            point = _least(large, rest, point, oracle)
            found = violation(rule, At(point), point)
            return f"even at the least, {found.message}" if found is not None else ""
    found = violation(rule, At(point), point)
    if found is None:
        return ""
    return found.message if set(found.named) <= held else f"for example, {found.message}"


def _least(term: Any, rest: Sequence[BoolExpr], point: Point, oracle: SolverOracle) -> Point:
    """A point that meets the conditions at which the number is least.

    Fields are changed one by one while that lowers it; then the solver says whether it can be
    lower still.
    """
    found: Point | None = point
    while found is not None:
        point = _lowered(term, rest, found, oracle.domains)
        best = At(point).value(term)
        found = None if best is None else oracle.find([*rest, term < best])
    return point


def _lowered(
    term: Any, rest: Sequence[BoolExpr], point: Point, domains: Mapping[str, Sequence[Any]]
) -> Point:
    best = At(point).value(term)
    names = sorted(term.support)
    left = list(names)
    while left and best is not None:
        name = left.pop(0)
        for value in domains[name]:
            at = At({**point, name: value})
            now = at.value(term)
            if now is not None and now < best and all(at.holds(c) for c in rest):
                point, best, left = {**point, name: value}, now, list(names)
    return point
