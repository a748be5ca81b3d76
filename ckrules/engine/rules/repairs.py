"""Repairs of one field, found by trying its candidates: the cheapest change that meets a rule.

This is what the help of ``check``, its ``--fix``, the pages of rules and messages' places agree on.
What a change costs is the vocabulary's (`Vocabulary.cost`). Nothing here needs a solver; repairs
of several fields are `ckrules.reasoning`'s, with the same costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rules.derivation import shown

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook
    from ckrules.engine.rules.rule import Rule

_KEPT = 1 << 14
#: Findings whose repair is sought; later ones look at their own rule only, and behind those of
#: `TARGETED` nothing is tried, so that a file with millions of findings costs what its text costs.
EXACT = 1000
TARGETED = 5000
#: The cost of a change up to which a kernel stays what it is tuned for.
SAFE = 2


@dataclass(frozen=True, slots=True)
class FieldRepair:
    """A field's other value, and whether the configuration is legal with it.

    It is ``safe`` if it keeps what the kernel is tuned for and the rule forces it: the field is a
    cheap feature (`SAFE`; no size, method or vector), and no other value of any feature meets the
    rule without breaking another.
    """

    field: str
    value: Value
    legal: bool
    safe: bool = False

    def __str__(self) -> str:
        tail = (
            "makes the configuration legal" if self.legal else "fixes this and breaks no other rule"
        )
        return f"{self.field} = {shown(self.value)} {tail}"

    @property
    def applicability(self) -> str:
        """``safe`` or ``unsafe``, as reports say it."""
        return "safe" if self.safe else "unsafe"


_Holds = Callable[[Mapping[str, Value]], tuple[bool, ...]]


class Repairs:
    """Repairs by the rules of one book.

    >>> from ckrules.constraints import book
    >>> forward = book("forward")
    >>> point = {**forward.vocabulary.baseline, "pipeline": "compv4"}
    >>> found = Repairs(forward).nearest(point, forward["PIPE003"], {"PIPE003"})
    >>> str(found), found.applicability
    ('double_smem_buffer = true makes the configuration legal', 'safe')
    """

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._codes = [r.code for r in book.rules]
        self._all: _Holds | None = None
        self._one: dict[str, _Holds] = {}
        self._by_field: dict[str, tuple[list[str], _Holds]] = {}
        self._order: dict[str, list[list[str]]] = {}
        self._flat: dict[str, list[str]] = {}
        self._known: dict[tuple[Any, ...], FieldRepair | None] = {}
        self._targets: dict[tuple[Any, ...], str] = {}
        self._asked = 0
        #: Room for what callers work out of `field` and `fields` once a rule.
        self.tried: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def nearest(
        self, point: Mapping[str, Value], rule: Rule, broken: Iterable[str]
    ) -> FieldRepair | None:
        """The change of one field after which the rule holds, and every rule that held before.

        The cheapest field comes first; of equally cheap changes those that make the point legal,
        then those of the fewest steps.
        """
        key = (rule.code, *point.values())
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._nearest(point, rule, frozenset(broken))
        return self._known[key]

    def field(self, point: Mapping[str, Value], rule: Rule, broken: Iterable[str]) -> str:
        """The field that a repair changes, empty if no field does.

        For the first `EXACT` questions it is that of `nearest`, for those up to `TARGETED` that of
        `target`, and beyond them empty.
        """
        self._asked += 1
        if self.seeks and (found := self.nearest(point, rule, broken)) is not None:
            return found.field
        return self.target(point, rule) if self._asked <= TARGETED else ""

    def begin(self) -> None:
        """Counts questions from the start: another text is asked about."""
        self._asked = 0

    @property
    def seeks(self) -> bool:
        """Whether repairs are still sought: there have been no more than `EXACT` questions."""
        return self._asked <= EXACT

    def fields(self, rule: Rule) -> list[str]:
        """The fields of a rule that repairs may change, the cheapest first."""
        if rule.code not in self._flat:
            self._flat[rule.code] = [name for names in self._fields(rule) for name in names]
        return self._flat[rule.code]

    def target(self, point: Mapping[str, Value], rule: Rule) -> str:
        """The cheapest field with a value that meets the rule; empty if no single one does.

        It depends on the values of `Rule.message_fields` only.
        """
        key = (rule.code, *(point[n] for n in rule.message_fields()))
        if key not in self._targets:
            if len(self._targets) >= _KEPT:
                self._targets.clear()
            holds = self._holds(rule)
            found = (
                name
                for name in self.fields(rule)
                if any(holds({**point, name: v})[0] for _, v in self._candidates(name, point[name]))
            )
            self._targets[key] = next(found, "")
        return self._targets[key]

    def every(
        self,
        point: Mapping[str, Value],
        broken: Iterable[str],
        *,
        unsafe: bool = False,
        make: Callable[[FieldRepair], bool] = lambda _: True,
    ) -> list[FieldRepair]:
        """The repairs of the broken rules one after another, each on what those before it made.

        A later one may change a field again.

        Args:
            broken: The codes of the rules to repair.
            unsafe: Whether repairs that are not safe are made as well.
            make: Makes a repair; whether that was possible.
        """
        wanted = set(broken)
        made: list[FieldRepair] = []
        now = dict(point)
        for rule in self._book.rules:
            lost = self.broken(now) if rule.code in wanted else set()
            if rule.code not in lost:
                continue
            found = self.nearest(now, rule, lost)
            if found is not None and (unsafe or found.safe) and make(found):
                made.append(found)
                now[found.field] = found.value
        return made

    def _nearest(
        self, point: Mapping[str, Value], rule: Rule, lost: frozenset[str]
    ) -> FieldRepair | None:
        for names in self._fields(rule):
            found = [f for name in names for f in self._of_field(point, rule, lost, name)]
            if found:
                best = min(found, key=lambda pair: pair[0])[1]
                forced = len(found) == 1 and self._forced(point, rule, lost, best.field)
                return FieldRepair(best.field, best.value, best.legal, forced)
        return None

    def _of_field(
        self, point: Mapping[str, Value], rule: Rule, lost: frozenset[str], name: str
    ) -> Iterator[tuple[tuple[bool, int], FieldRepair]]:
        """Values of a field that meet the rule and break no other, with what orders them."""
        holds = self._holds(rule)
        codes, reading = self._reading(name)
        others = self.broken(point).difference(codes)  # which the field does not touch
        if not others <= lost:
            return
        for steps, value in self._candidates(name, point[name]):
            other = {**point, name: value}
            if not holds(other)[0]:
                continue
            still = others.union(c for c, ok in zip(codes, reading(other), strict=True) if not ok)
            if still <= lost:
                yield (bool(still), steps), FieldRepair(name, value, not still)

    def _forced(
        self, point: Mapping[str, Value], rule: Rule, lost: frozenset[str], name: str
    ) -> bool:
        """Whether no other feature meets the rule, where one value of the feature does."""
        if not self._is_feature(name) or self._book.vocabulary.cost(name) > SAFE:
            return False
        others = [n for n in self.fields(rule) if n != name]
        return not any(
            True for n in others if self._is_feature(n)
            for _ in self._of_field(point, rule, lost, n)
        )  # fmt: skip

    def _is_feature(self, name: str) -> bool:
        return domain_of(self._book.fields[name]).role is Role.FEATURE

    def _holds(self, rule: Rule) -> _Holds:
        if rule.code not in self._one:
            self._one[rule.code] = compile_function([rule.condition])
        return self._one[rule.code]

    def _reading(self, name: str) -> tuple[list[str], _Holds]:
        """The codes of the rules that read a field, and whether they hold."""
        if name not in self._by_field:
            rules = [r for r in self._book.rules if name in r.condition.support]
            holds = compile_function([r.condition for r in rules])
            self._by_field[name] = [r.code for r in rules], holds
        return self._by_field[name]

    def _fields(self, rule: Rule) -> list[list[str]]:
        """The fields of a rule that repairs may change, the cheapest first; equal ones together."""
        if rule.code not in self._order:
            fields = self._book.fields
            open_ = [
                n
                for n in rule.message_fields()
                if n in fields and domain_of(fields[n]).role is not Role.PURPOSE
            ]
            cost = self._book.vocabulary.cost
            ordered = groupby(sorted(open_, key=cost), key=cost)
            self._order[rule.code] = [list(names) for _, names in ordered]
        return self._order[rule.code]

    def broken(self, point: Mapping[str, Value]) -> set[str]:
        """The codes of the rules that a point breaks."""
        if self._all is None:
            self._all = compile_function([r.condition for r in self._book.rules])
        return {c for c, ok in zip(self._codes, self._all(point), strict=True) if not ok}

    def _candidates(self, name: str, own: Value) -> list[tuple[int, Value]]:
        """Other values with their steps from the point's own, nearest first."""
        domain = domain_of(self._book.fields[name])
        if domain.sort in (BOOL, ENUM):
            return [(1, v) for v in domain.values if v != own]
        values = sorted({*domain.values, own})
        at = values.index(own)
        steps = [(abs(i - at), v) for i, v in enumerate(values) if v != own]
        return sorted(steps, key=lambda pair: pair[0])


def advice(rule: Rule) -> str:
    """What the rule's page says about fixing it, in one line."""
    return " ".join(rule.fix.split()).rstrip(".")
