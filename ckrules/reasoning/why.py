"""Why not: the rules that a configuration breaks, and the values and rules that conflict.

`why` explains one point, `why_region` a part of the space that may be empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.expr import BoolExpr, Value
from ckrules.engine.expr.traversal import children
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.restrictions import book_of
from ckrules.engine.rules import Rule, Violation
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.region import Region
from ckrules.engine.space import Space
from ckrules.reasoning.conflict import Assumptions, Conflict, FixedField, fewest_values, minimal
from ckrules.reasoning.decider import Decider
from ckrules.reasoning.near import NEAR, NearPoints
from ckrules.reasoning.numbers import numbers_of
from ckrules.reasoning.oracle import TIMEOUT
from ckrules.support.plain_values import seconds
from ckrules.support.tables import html_table

_NUMBERS = 4.0  # seconds for what the rules of a conflict say; it is left out where that is long
_SMALL = 200_000  # value combinations of a rule's fields up to which its conflict is sharpened


@dataclass(frozen=True, slots=True)
class WhyPoint:
    """Why a configuration is not legal.

    ``conflicts`` has one entry for each violated rule: the values that cannot stand beside it.
    ``core`` is the one with the fewest values; other rules over the same fields may sharpen it.
    Where a rule of severity error is violated, it is one of errors.
    """

    point: Mapping[str, Value]
    violations: tuple[Violation, ...]
    conflicts: tuple[Conflict, ...]
    core: Conflict | None

    @property
    def legal(self) -> bool:
        """True if no rule of severity error is violated: warnings make nothing illegal."""
        return all(v.rule.severity != "error" for v in self.violations)

    def _repr_html_(self) -> str:
        """The configuration as notebooks show it: its fields, above them what it breaks."""
        broken = "; ".join(f"{v.code}: {v.message}" for v in self.violations)
        rows = [["field", "value"], *([n, str(v)] for n, v in self.point.items())]
        return html_table(rows, broken or "legal")

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "legal": self.legal,
            "configuration": dict(self.point),
            "violations": [v.to_dict() for v in self.violations],
            "conflicts": [c.to_dict() for c in self.conflicts],
            "core": self.core.to_dict() if self.core else None,
        }


@dataclass(frozen=True, slots=True)
class WhyRegion:
    """Why a part of the space is empty, or a point that shows that it is not."""

    witness: Point | None
    conflict: Conflict | None
    numbers: tuple[str, ...] = ()
    """What the conflict's rules say of points that meet the rest of it."""

    @property
    def empty(self) -> bool:
        """True if no legal point lies in the region."""
        return self.witness is None

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        conflict = self.conflict.to_dict() if self.conflict else None
        numbers = list(self.numbers)
        return {
            "empty": self.empty,
            "witness": self.witness,
            "conflict": conflict,
            "numbers": numbers,
        }


def why(
    book: RuleBook | Space,
    point: Mapping[str, Any],
    *,
    deep: bool = False,
    timeout: float = TIMEOUT,
) -> WhyPoint:
    """Every rule that a point breaks, and what in it conflicts.

    Args:
        book: The rules, or a space, whose restrictions are then named.
        point: A full point.
        deep: Look for the fewest values that no legal point has together, whatever rules of
            the book that takes; without it only rules over the fields of a violated one help.
        timeout: Seconds for each question to the solver.

    Raises:
        UsageError: For a point that lacks a field or has a value that the field cannot take.
        UndecidedError: When the solver does not decide in time.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("m", [16, 32]), Int("w", [1, 2, 4]), Int("k", [8, 16])])
    >>> fits = Rule("TILE001", "not-covered", "compile", words.m % (words.w * 16) == 0)
    >>> found = why(RuleBook("toy", words, [fits], check=False), {"m": 16, "w": 2, "k": 8})
    >>> found.violations[0].message
    'm = 16 is not a multiple of w * 16 = 2 * 16 = 32'
    >>> found.core.sentence()
    'm = 16 and w = 2 cannot hold together under TILE001 (not-covered)'
    """
    book = book_of(book)
    full = book.point(point)
    violations = tuple(book.violations(full))
    if not violations:
        return WhyPoint(full, (), (), None)
    decider = Decider(book.fields, widened(book, full), timeout=seconds(timeout))
    conflicts = tuple(_one_rule(v.rule, full, decider) for v in violations)
    rules, broken = list(book.rules), [v.rule for v in violations]
    if any(map(_is_error, broken)):
        rules, broken = list(filter(_is_error, rules)), list(filter(_is_error, broken))
    plain = [c for v, c in zip(violations, conflicts, strict=True) if v.rule in broken]
    found = [_sharper(rule, rules, full, decider) for rule in broken]
    if deep:
        found.append(_deepest(broken, rules, full, decider))
    sharp = [c for c in found if c is not None]
    return WhyPoint(full, violations, conflicts, _best([*plain, *sharp]))


def _is_error(rule: Rule) -> bool:
    return rule.severity == "error"


def _sharper(
    r: Rule, rules: Iterable[Rule], point: Mapping[str, Value], decider: Decider
) -> Conflict | None:
    """The conflict of fewest values among the rules that read no other fields than ``r``."""
    support = r.condition.support
    if prod(len(decider.domains[n]) for n in support) > _SMALL:
        return None
    near = [x for x in rules if x.condition.support <= support]
    held = [FixedField(n, (point[n],)) for n in r.fields()]
    return fewest_values(Assumptions(decider.variables, rules=near, held=held), decider)


def _deepest(
    violated: Sequence[Rule], rules: Iterable[Rule], point: Mapping[str, Value], decider: Decider
) -> Conflict | None:
    first = dict.fromkeys(name for r in violated for name in r.fields())
    held = [FixedField(n, (point[n],)) for n in [*first, *(n for n in point if n not in first)]]
    return fewest_values(
        Assumptions(decider.variables, rules=related(rules, first), held=held), decider
    )


def _one_rule(r: Rule, point: Mapping[str, Value], decider: Decider) -> Conflict:
    held = [FixedField(n, (point[n],)) for n in r.fields()]
    return minimal(Assumptions(decider.variables, rules=[r], held=held), decider)


def _best(found: Sequence[Conflict]) -> Conflict:
    return min(found, key=lambda c: (len(c.held), len(c.rules)))


def widened(book: RuleBook, point: Mapping[str, Value]) -> dict[str, tuple[Any, ...]]:
    """The candidates of every field, with the point's own values where they are none of them."""
    out: dict[str, tuple[Any, ...]] = {}
    for name, node in book.fields.items():
        values = domain_of(node).values
        own = point[name]
        out[name] = values if own in values else tuple(sorted((*values, own)))
    return out


def related(rules: Iterable[Rule], fields: Iterable[str]) -> list[Rule]:
    """The rules that share fields with the given ones, directly or through other rules.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b, c, d = (Int(n, [1, 2]) for n in "abcd")
    >>> r = [Rule("AB001", "x-y", "compile", a < b), Rule("CD001", "z-w", "compile", c < d)]
    >>> [x.code for x in related(r, ["a"])]
    ['AB001']
    """
    pending = list(rules)
    reached = set(fields)
    found: list[Rule] = []
    while True:
        near = [r for r in pending if r.condition.support & reached]
        if not near:
            return sorted(found, key=lambda r: r.code)
        found += near
        pending = [r for r in pending if not r.condition.support & reached]
        reached = reached.union(*(r.condition.support for r in near))


def why_region(
    book: RuleBook | Space,
    held: Mapping[str, Value | Sequence[Value]] | None = None,
    conditions: Sequence[BoolExpr | str] = (),
    *,
    empty: bool = False,
    seen: Sequence[Point] = (),
    timeout: float = TIMEOUT,
) -> WhyRegion:
    """Why no legal point has the held values and meets the conditions, or a point that does.

    Args:
        book: The rules, or a space.
        held: Values that fields are held to, one or several.
        conditions: Further conditions over fields and derived quantities, or texts of them.
        empty: Whether the region is known to be empty, as exact counts say: that is not proved
            again, and parts of the rules are compiled before a solver is asked, which decides in
            seconds what may take a solver minutes.
        seen: Some legal points, which show at once what is possible.
        timeout: Seconds for each question to the solver.

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
        UsageError: For a value that a field cannot take, and what is not a condition.
        UndecidedError: When nothing decides in time.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("m", [16, 32]), Int("w", [1, 2, 4])])
    >>> fits = Rule("TILE001", "not-covered", "compile", words.m % (words.w * 16) == 0)
    >>> book = RuleBook("toy", words, [fits], check=False)
    >>> why_region(book, {"w": [4]}).conflict.sentence()
    'w = 4 cannot hold under TILE001 (not-covered)'
    >>> why_region(book, {"w": [2]}).witness
    {'m': 32, 'w': 2}
    """
    book, timeout = book_of(book), seconds(timeout)
    region = Region(book, held or {}, conditions)  # type: ignore[arg-type]  # it reads the values
    facts, conditions = [FixedField(n, v) for n, v in region.fixed.items()], region.where
    domains = {n: tuple(domain_of(v).values) for n, v in book.fields.items()}
    for fact in facts:  # values outside the candidates are asked about too
        domains[fact.field] = tuple(dict.fromkeys((*domains[fact.field], *fact.values)))
    split = list(children(conditions, "and"))
    parts = Assumptions(book.fields, rules=book.rules, held=facts, conditions=split)  # type: ignore[arg-type]  # conditions are expressions here
    single = {f.field: f.values for f in facts if len(f.values) == 1}
    decider = Decider(
        book.fields,
        domains,
        order=book.vocabulary.order,
        near=NearPoints(domains | single, seen, most=NEAR) if seen else None,
        compiled=empty,
        timeout=timeout,
    )
    witness = None if empty else decider.find(parts.items)
    if witness is not None:
        return WhyRegion(witness, None)
    found = minimal(parts, decider)
    each = min(timeout, _NUMBERS / max(len(found.rules), 1)) if empty else timeout
    return WhyRegion(None, found, numbers_of(found, parts, domains, each))
