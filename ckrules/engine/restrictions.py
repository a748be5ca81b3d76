"""Spaces as rule books: what answers questions about rules answers them about any space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ckrules.engine.expr import BOOL, ENUM, FALSE, BoolExpr, Expr, Value, isin, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.engine.rules.rule import Kind, Rule
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError


def book_of(rules: RuleBook | Space, *, bound: bool = True) -> RuleBook:
    """A space's rules as a book; a book is its own.

    Bare conditions become restrictions, numbered by their place as in `Space.violations`.

    Args:
        bound: Whether values to which a variable is bound are one more rule (`bindings`).

    Raises:
        UsageError: For anything else.
    """
    if isinstance(rules, RuleBook):
        return rules
    if not isinstance(rules, Space):
        raise UsageError(f"{rules!r} is not a rule book or space")
    more = bindings(rules) if bound else []
    vocabulary = Vocabulary(rules.codec.variables.values())
    vocabulary.order = rules.hint
    return RuleBook("space", vocabulary, _unique([*rules.numbered, *more]), check=False)


def _unique(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, with names and codes that no two of them share."""
    found: dict[int, Rule] = {}
    for rule in rules:
        found.setdefault(rule.condition.id, rule)
    names: dict[str, int] = {}
    for rule in found.values():
        names[rule.name] = names.get(rule.name, 0) + 1
    twice = {name for name, count in names.items() if count > 1}
    return [_told_apart(r) if r.name in twice else r for r in found.values()]


def _told_apart(rule: Rule) -> Rule:
    name = f"{rule.name} [{rule.code}]"
    return Rule(rule.code, name, rule.kind, rule.expr, rule.applies, sources=rule.sources)


def bindings(space: Space) -> list[Rule]:
    """A rule for each variable that has fewer candidate values than it was declared with."""
    out: list[Rule] = []
    for name, values in space.domains.items():
        node = space.codec.variables[name]
        if values != domain_of(node).values:
            shown = values if len(values) < 9 else (*values[:8], "…")
            text = f"{name} in [{', '.join(map(str, shown))}]"
            bound = held_condition(node, values)
            out.append(Rule(f"BIND{len(out) + 1}", text, Kind.PROFILE, bound, doc=text))
    return out


def held_condition(node: Expr, values: Sequence[Value]) -> BoolExpr:
    """The condition that a variable has one of the values.

    >>> from ckrules.engine.expr.variables import Bool, Int
    >>> held_condition(Int("m", [1, 2]), [2]), held_condition(Bool("p"), [False])
    (m == 2, ~p)
    """
    if not values:
        return FALSE
    domain = domain_of(node)
    if domain.written:  # labels are no words, with which an expression is compared
        listed = Table.relation(
            domain.name, (domain.name,), [(v,) for v in values], key_sorts=[ENUM]
        )
        return rel(listed, node)
    if domain.sort == BOOL:
        either: Any = node
        both = len(set(values)) > 1
        condition: BoolExpr = (either == either) if both else either if values[0] else ~either
        return condition
    if len(values) == 1:
        single: BoolExpr = node == values[0]  # type: ignore[assignment, comparison-overlap]  # expressions compare to expressions
        return single
    return isin(node, list(values))
