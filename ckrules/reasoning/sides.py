"""Sides: rule books whose legal points are compared, brought to the same variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ckrules.engine.expr import BoolExpr, Expr, Value, make
from ckrules.engine.expr.traversal import substitute
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.region import Region
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError


@dataclass(frozen=True)
class Aligned:
    """One side over the variables that all sides share.

    ``rules`` are the rules with the condition that each has here; ``extra`` are conditions
    without a rule: held fields, candidates and ``where``; ``dropped`` are the values of the fields
    that were put in.
    """

    title: str
    rules: tuple[tuple[Rule, BoolExpr], ...]
    extra: tuple[BoolExpr, ...]
    dropped: Mapping[str, Value]

    @property
    def conditions(self) -> list[BoolExpr]:
        """Everything that a legal point of the side meets."""
        return [*self.extra, *(c for _, c in self.rules)]

    def clauses(self) -> dict[int, BoolExpr]:
        """The conditions split into their smallest parts, by id."""
        return {p.id: p for c in self.conditions for p in clauses(c)}


@dataclass(frozen=True)
class Alignment:
    """Sides over common variables.

    ``dropped`` are the fields that tell the sides apart; in ``order`` the spaces compile well.
    """

    variables: Mapping[str, Expr]
    sides: tuple[Aligned, ...]
    dropped: tuple[str, ...]
    order: tuple[str, ...] = ()

    def space(self, *which: int) -> Space:
        """The points that are legal on all of the given sides (by position)."""
        seen: dict[int, BoolExpr] = {}
        for k in which:
            seen.update((c.id, c) for c in self.sides[k].conditions)
        return Space(self.variables.values(), seen.values(), order=self.order)

    @property
    def domains(self) -> dict[str, tuple[Any, ...]]:
        """The candidate values of the common variables."""
        return {n: domain_of(v).values for n, v in self.variables.items()}


def region_of(side: RuleBook | Region) -> Region:
    """A side of a comparison: a part of a rule book, or the whole of one.

    Raises:
        UsageError: For anything else.
    """
    return side if isinstance(side, Region) else Region(side)


def align(sides: Sequence[Region]) -> Alignment:
    """The sides over their common fields.

    A field that each side is asked for with one value, not the same for all, is what they differ
    in: it is put in and dropped. Candidates are the union of the sides' candidates, and a side
    whose own are fewer keeps to them.

    Args:
        sides: At least one side.

    Raises:
        UsageError: If there are none, or they have different fields or sorts.

    >>> from ckrules.engine.rules.book import RuleBook, Vocabulary
    >>> from ckrules.engine.expr.variables import Enum, Int
    >>> words = Vocabulary([Enum("gpu", ["a", "b"]), Int("m", [1, 2, 3])])
    >>> r = Rule("AB001", "too-big", "compile", (words.gpu == "a").implies(words.m < 3))
    >>> book = RuleBook("toy", words, [r], check=False)
    >>> both = align([Region(book, {"gpu": ("a",)}), Region(book, {"gpu": ("b",)})])
    >>> both.dropped, both.space(0).count(), both.space(1).count()
    (('gpu',), 2, 3)
    """
    if not sides:
        raise UsageError("no sides are given")
    names = _common(sides)
    dropped: list[str] = []
    listed = frozenset[str]().union(*(s.content for s in sides))
    for name in names:
        if name in listed:
            continue
        held = {s.fixed.get(name) for s in sides}
        if len(held) > 1 and all(h is not None and len(h) == 1 for h in held):
            dropped.append(name)
    variables = {n: _merged(n, sides) for n in names if n not in dropped}
    aligned = tuple(_aligned(s, variables, dropped) for s in sides)
    order = tuple(n for n in sides[0].book.vocabulary.order if n in variables)
    return Alignment(variables, aligned, tuple(dropped), order)


def _common(sides: Sequence[Region]) -> list[str]:
    first, *others = sides
    for other in others:
        differ = set(first.book.fields) ^ set(other.book.fields)
        if differ:
            shown = ", ".join(sorted(differ)[:6])
            raise UsageError(
                f"{first.title} and {other.title} have different fields ({shown}): "
                "only sides with the same fields can be compared"
            )
    return list(first.book.fields)


def _values(side: Region, name: str) -> tuple[Any, ...]:
    held = side.fixed.get(name)
    return domain_of(side.book.fields[name]).values if held is None else held


def _merged(name: str, sides: Sequence[Region]) -> Expr:
    nodes = [s.book.fields[name] for s in sides]
    domains = [domain_of(n) for n in nodes]
    if len({d.sort for d in domains}) > 1:
        raise UsageError(f"{name} has values of different sorts on the two sides")
    values: dict[Any, None] = {}
    for side in sides:
        values.update(dict.fromkeys(_values(side, name)))
    known = [v for v in domains[0].values if v in values]
    merged = (*known, *(v for v in values if v not in known))
    first = domains[0]
    if merged == first.values and all(d == first for d in domains):
        return nodes[0]
    lo, hi = min(d.lo for d in domains), max(d.hi for d in domains)
    domain: Domain = replace(first, values=merged, lo=lo, hi=hi)
    return make(type(nodes[0]), "var", (), domain)


def _aligned(side: Region, variables: Mapping[str, Expr], dropped: Sequence[str]) -> Aligned:
    simple = Simplifier({n: side.fixed[n][0] for n in dropped})

    def here(condition: BoolExpr) -> BoolExpr:
        moved = substitute(condition, lambda n: _moved(n, variables))
        assert isinstance(moved, BoolExpr)
        return simple.condition(moved)  # by the values that all sides have together

    extra = [here(c) for c in side.where]
    for name, node in variables.items():
        values = _values(side, name)
        if set(values) != set(domain_of(node).values):
            extra.append(held_condition(node, values))
    rules = tuple((r, here(r.condition)) for r in side.book.rules)
    return Aligned(side.title, rules, tuple(extra), {n: side.fixed[n][0] for n in dropped})


def _moved(node: Expr, variables: Mapping[str, Expr]) -> Expr | None:
    return variables.get(node.data.name) if node.op == "var" else None
