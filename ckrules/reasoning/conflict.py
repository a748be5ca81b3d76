"""Conflicts: minimal sets of rules, field values and conditions that cannot hold together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.expr.printer import literal, to_text
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rules import Rule
from ckrules.reasoning.decider import Decider, proved
from ckrules.reasoning.oracle import shrink
from ckrules.support.errors import UndecidedError

_NEAR = 4  # fields beside the held ones that a rule may read to be tried on its own
#: What proves a conflict, the plainest first.
PROOFS = ("listing", "compiled", "solver")


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field held to one value, or to one of several."""

    field: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.field} = {literal(self.values[0])}"
        return f"{self.field} in [{', '.join(literal(v) for v in self.values)}]"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A minimal contradiction: leaving out any one part makes the others possible.

    ``proof`` is ``"listing"`` where every combination of the other fields' values was evaluated
    by the pointwise back end; where there are too many to list it is ``"compiled"`` if compiled
    spaces alone proved it, else ``"solver"``.
    """

    rules: tuple[Rule, ...]
    held: tuple[FixedField, ...]
    conditions: tuple[BoolExpr, ...] = field(default=())
    proof: str = "solver"

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the rules."""
        return tuple(r.code for r in self.rules)

    @property
    def size(self) -> int:
        """The number of parts."""
        return len(self.rules) + len(self.held) + len(self.conditions)

    def sentence(self) -> str:
        """The conflict in words.

        >>> gpu = FixedField("arch", ("gfx1201",))
        >>> Conflict((), (gpu, FixedField("pipeline", ("compv4",)))).sentence()
        "arch = 'gfx1201' and pipeline = 'compv4' cannot hold together"
        """
        facts = [*map(str, self.held), *(f"`{to_text(c)}`" for c in self.conditions)]
        rules = ", ".join(f"{r.code} ({r.name})" for r in self.rules)
        if not facts:
            verb = "leaves" if len(self.rules) == 1 else "leave"
            return f"{rules} {verb} no configuration at all"
        verb = "cannot hold" + (" together" if len(facts) > 1 else "")
        return f"{' and '.join(facts)} {verb}" + (f" under {rules}" if rules else "")

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "rules": [
                {"code": r.code, "name": r.name, "kind": r.kind, "sources": list(r.sources)}
                for r in self.rules
            ],
            "fields": {
                h.field: h.values[0] if len(h.values) == 1 else list(h.values) for h in self.held
            },
            "conditions": [to_text(c) for c in self.conditions],
            "sentence": self.sentence(),
            "proof": self.proof,
        }


class Assumptions:
    """Rules, held fields and conditions, each as the condition that an oracle is asked about."""

    def __init__(
        self,
        variables: Mapping[str, Expr],
        *,
        rules: Iterable[Rule] = (),
        held: Iterable[FixedField] = (),
        conditions: Iterable[BoolExpr] = (),
    ) -> None:
        listed = list(held)
        self.variables = dict(variables)
        self.facts = [held_condition(variables[h.field], h.values) for h in listed]
        self.held = {c.id: h for c, h in zip(self.facts, listed, strict=True)}
        self.conditions = {c.id: c for c in conditions}
        self.rules: dict[int, Rule] = {}
        for r in rules:  # a rule that says the same as a fact would only repeat it
            if r.condition.id not in self.held and r.condition.id not in self.conditions:
                self.rules.setdefault(r.condition.id, r)

    @property
    def items(self) -> list[BoolExpr]:
        """Fixed fields, conditions, then rules."""
        return [*self.facts, *self.conditions.values(), *(r.condition for r in self.rules.values())]

    def conflict(self, chosen: Iterable[BoolExpr], decider: Decider) -> Conflict:
        """The conflict of the chosen conditions, with its proof."""
        ids = {c.id for c in chosen}
        found = Conflict(
            tuple(sorted((r for k, r in self.rules.items() if k in ids), key=lambda r: r.code)),
            tuple(h for k, h in self.held.items() if k in ids),
            tuple(c for k, c in self.conditions.items() if k in ids),
            decider.proof,
        )
        listed = proved(list(chosen), decider.domains)
        if listed is False:
            raise UndecidedError(f"listing contradicts the solver: {found.sentence()}")
        return found if listed is None else replace(found, proof="listing")


def minimal(parts: Assumptions, decider: Decider) -> Conflict:
    """A conflict among the parts, which together are impossible; few rules rather than few fields.

    Rules that read few fields beside the held ones are preferred, and a single rule that does.

    Args:
        parts: What conflicts.
        decider: What decides whether conditions can hold.

    Raises:
        UndecidedError: When nothing decides in time.
    """
    test = decider.impossible
    facts = [*parts.facts, *parts.conditions.values()]
    given: set[str] = set().union(*(c.support for c in facts))
    outside = {k: len(r.condition.support - given) for k, r in parts.rules.items()}
    ordered = sorted(parts.rules.items(), key=lambda kr: (outside[kr[0]], kr[1].code))
    rules = [r.condition for _, r in ordered]
    if test(facts) is not None:
        return parts.conflict(_take(facts, shrink(facts, test)), decider)
    for condition in rules:
        if outside[condition.id] <= _NEAR and test([*facts, condition]) is not None:
            items = [condition, *facts]
            return parts.conflict(_take(items, shrink(items, test)), decider)
    items = [*facts, *rules]
    return parts.conflict(_take(items, shrink(items, test)), decider)


def fewest_values(parts: Assumptions, decider: Decider) -> Conflict | None:
    """A conflict among the parts in which no held field can be spared, whatever rules it takes.

    None if the parts can hold together.

    Raises:
        UndecidedError: When nothing decides in time.
    """
    rules = [r.condition for r in parts.rules.values()]
    facts = [*parts.facts, *parts.conditions.values()]

    def given_rules(some: Sequence[BoolExpr]) -> frozenset[int] | None:
        return decider.impossible([*rules, *some])

    if given_rules(facts) is None:
        return None
    kept = _take(facts, shrink(facts, given_rules))
    fewer = Assumptions(
        decider.variables,
        rules=parts.rules.values(),
        held=[parts.held[c.id] for c in kept if c.id in parts.held],
        conditions=[c for c in kept if c.id in parts.conditions],
    )
    return minimal(fewer, decider)


def _take(items: Sequence[BoolExpr], positions: Iterable[int]) -> list[BoolExpr]:
    return [items[k] for k in positions]
