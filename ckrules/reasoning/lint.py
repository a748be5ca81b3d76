"""Lint: what is wrong with a rule book itself, found by asking what its rules leave.

| code    | finding |
| ---     | ---     |
| LINT001 | rules contradict each other: several together leave nothing of some values |
| LINT002 | a single rule leaves nothing of some values |
| LINT003 | a rule never fires: it holds for every candidate |
| LINT004 | a rule is implied by the others |
| LINT005 | a guard cannot hold |
| LINT006 | a divisor can be zero where the rule applies |
| LINT007 | no rule reads a field |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import FALSE, TRUE, BoolExpr, Expr, Value, all_of
from ckrules.engine.expr.printer import to_text
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.restrictions import bindings, book_of, held_condition
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.conditions import condition_over
from ckrules.engine.space import Space
from ckrules.reasoning.codes import CODES
from ckrules.reasoning.conflict import PROOFS, Assumptions, Conflict, FixedField, minimal
from ckrules.reasoning.decider import Decider
from ckrules.reasoning.findings import Finding, LintReport
from ckrules.reasoning.near import NEAR, NearPoints
from ckrules.reasoning.oracle import TIMEOUT, shrink
from ckrules.reasoning.reduce import reduced
from ckrules.reasoning.whole import point_of, whole
from ckrules.support.errors import CkrulesError, UndecidedError, unknown
from ckrules.support.plain_values import seconds, several

#: Findings that are looked for together, in this order.
_TOGETHER = (
    ("LINT001", "LINT002"), ("LINT006",), ("LINT003", "LINT005"), ("LINT004",), ("LINT007",),
)  # fmt: skip
#: How often `lint` calls ``told``.
KINDS = len(_TOGETHER)
_SAMPLED = 500  # legal points drawn from a compiled space
_RANDOM = 20_000  # candidates beside the points near them


def lint(
    book: RuleBook | Space,
    *,
    keys: Sequence[str] = (),
    conditions: Sequence[BoolExpr | str] = (),
    codes: Iterable[str] = tuple(CODES),
    every_value: bool = True,
    timeout: float = TIMEOUT,
    told: Callable[[int], None] | None = None,
) -> LintReport:
    """What is wrong with a rule book, within a region if conditions are given.

    Args:
        book: The rules, or a space.
        keys: Fields whose combinations of values must all have points.
        conditions: The region; every question is asked within it.
        codes: Which findings to look for.
        every_value: Whether each value of each field must have points, not only the keys'.
        timeout: Seconds for each question to the solver.
        told: Called with 1 after each kind of question, which may take a minute.

    Raises:
        UnknownNameError: For a field or a finding that does not exist.
        UsageError: For what is not a condition.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.expr.variables import Enum, Int
    >>> words = Vocabulary([Enum("gpu", ["a", "b"]), Int("k", [16, 32]), Int("m", [1, 2])])
    >>> small = Rule("AA001", "k-above-16", "hardware", words.k == 16, words.gpu == "a")
    >>> large = Rule("AA002", "k-below-32", "profile", words.k >= 32)
    >>> for f in lint(RuleBook("toy", words, [small, large], check=False)).findings:
    ...     print(f.code, f.message)
    LINT001 gpu = 'a' cannot hold under AA001 (k-above-16), AA002 (k-below-32)
    LINT002 k = 16 cannot hold under AA002 (k-below-32)
    LINT007 no rule reads m
    """
    wanted, timeout = set(several("codes", codes)), seconds(timeout)
    for code in sorted(wanted - set(CODES), key=str):
        raise unknown("finding", code, CODES)
    fields = book_of(book, bound=False)
    keys, conditions = several("keys", keys), several("conditions", conditions)
    for name in keys:
        if name not in fields.fields:
            raise unknown("field", name, fields.fields)
    names = book.vocabulary if isinstance(book, Space) else fields.vocabulary.names()
    region = [condition_over(c, names, fields.fields) for c in conditions]
    if isinstance(book, Space):
        region += [r.condition for r in bindings(book)]
    state = _Lint(fields, region, timeout)
    steps: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: state.empty_regions(keys, every_value),
        state.zero_divisors,
        state.idle_rules,
        state.implied_rules,
        state.unread_fields,
    )
    found: list[Finding] = []
    for mine, step in zip(_TOGETHER, steps, strict=True):
        if wanted.intersection(mine):
            found += [f for f in step() if f.code in wanted]
        if told is not None:
            told(1)
    found.sort(key=lambda f: f.code)
    return LintReport(tuple(found), tuple(state.undecided))


class _Lint:
    """The questions, put to a compiled space of the whole book, or to a solver that knows it."""

    def __init__(self, book: RuleBook, region: list[BoolExpr], timeout: float) -> None:
        self.book, self.region, self.timeout = book, region, timeout
        self.domains = {n: domain_of(v).values for n, v in book.fields.items()}
        self.undecided: list[str] = []
        self.idle: set[str] = set()
        self.seen: list[Point] = []
        self._counts: dict[str, dict[Any, int]] = {}

    def _space(self, rules: Iterable[Rule]) -> Space | None:
        """The compiled space of the region under some rules, None if that is too hard."""
        conditions = [*self.region, *(r.condition for r in rules)]
        fields = self.book.fields.values()
        try:
            return whole(Space(fields, conditions, order=self.book.vocabulary.order))
        except BudgetExceededError:
            return None

    @cached_property
    def legal(self) -> Space | None:
        """The compiled space of the region under all rules."""
        space = self._space(self.book.rules)
        if space is not None:
            self.seen += space.sample(_SAMPLED, seed=0)
        return space

    @cached_property
    def within(self) -> Mapping[str, Sequence[Any]]:
        """The values that the region leaves each field, all of them where it leaves a field none.

        For questions that are asked within the region: those of a narrow one are small then.
        """
        narrowed = reduced(self.domains, self.region)
        return self.domains if narrowed is None else narrowed[0]

    @cached_property
    def near(self) -> NearPoints:
        """Points of the region near legal ones, and random ones."""
        if self.legal is None and not self.seen:
            found = self._ask([r.condition for r in self.book.rules], "any point")
            self.seen += [found] if isinstance(found, dict) else []
        seeds = [*_examples(self.book), *self.seen]
        return NearPoints(self.within, seeds, drawn=_RANDOM, within=self.region)

    @cached_property
    def broken(self) -> tuple[set[str], set[str]]:
        """The codes of rules that one of these points breaks, and that one breaks alone."""
        return self.near.broken(self.book.rules)

    @cached_property
    def about_all(self) -> Decider:
        """For questions about most of the rules, within the region."""
        order = self.book.vocabulary.order
        return Decider(self.book.fields, self.within, order=order, timeout=self.timeout)

    @cached_property
    def about_few(self) -> Decider:
        """For questions about few rules, which are best compiled."""
        fields, order, near = self.book.fields, self.book.vocabulary.order, self.near
        return Decider(
            fields, self.within, order=order, near=near, compiled=True, timeout=self.timeout
        )

    def _ask(
        self, conditions: Sequence[BoolExpr], what: str, decider: Decider | None = None
    ) -> Point | bool | None:
        """A point of the region, None if there is none, False if undecided (which is noted)."""
        try:
            return (decider or self.about_all).find([*self.region, *conditions])
        except UndecidedError as error:
            self.undecided.append(f"{what}: {error}")
            return False

    # -- regions that are empty --------------------------------------------------------------

    def empty_regions(self, keys: Sequence[str], every_value: bool) -> Iterator[Finding]:
        """Single values of any field, then combinations of the keys' values, without points."""
        conflicts: list[Conflict] = []
        alone = self.book.fields if every_value else keys
        singles = [{n: v} for n in alone for v in domain_of(self.book.fields[n]).values]
        values = [domain_of(self.book.fields[k]).values for k in keys]
        several = [dict(zip(keys, row, strict=True)) for row in product(*values)] if keys else []
        for region in [{}, *singles, *several]:
            if any(_covers(c, region) for c in conflicts) or self._is_outside(region):
                continue
            conflict = self._conflict(region, conflicts) if self._is_empty(region) else None
            if conflict is not None:
                conflicts.append(conflict)  # without rules: outside the region that was asked for
                if not conflict.held:
                    break
        yield from (_empty(c) for c in _merged([c for c in conflicts if c.rules]))

    def _is_outside(self, region: Mapping[str, Value]) -> bool:
        """True if the conditions that were asked for exclude these values, whatever rules say.

        That needs no question, so a narrow region is not asked why other values are empty.
        """
        if not region or not self.region:
            return False
        return Simplifier(region).condition(all_of(*self.region)) is FALSE

    def _is_empty(self, region: Mapping[str, Value]) -> bool:
        """True if no legal point has these values; False also if that is undecided."""
        space = self.legal
        if any(region.items() <= p.items() for p in self.seen):
            return False
        if space is not None:
            if len(region) == 1:
                ((name, value),) = region.items()
                if name not in self._counts:
                    self._counts[name] = space.counts_by(name)
                return not self._counts[name][value]
            return not space.bind(**region).count()
        held = [held_condition(self.book.fields[n], [v]) for n, v in region.items()]
        rules = [r.condition for r in self.book.rules]
        answer = self._ask([*held, *rules], f"whether {region} has points")
        if isinstance(answer, dict):
            self.seen += self._neighbours(answer)
        return answer is None

    def _neighbours(self, point: Point) -> list[Point]:
        near = [point]
        for name, values in self.domains.items():
            near += [{**point, name: v} for v in values if v != point[name]]
        return [p for p in near if all(self._holds(p))]

    @cached_property
    def _holds(self) -> Callable[[Mapping[str, Value]], tuple[bool, ...]]:
        return compile_function([*self.region, *(r.condition for r in self.book.rules)])

    def _conflict(
        self, region: Mapping[str, Value], conflicts: Sequence[Conflict]
    ) -> Conflict | None:
        held = [FixedField(n, (v,)) for n, v in region.items()]
        single = {n: (v,) for n, v in region.items()}
        decider = Decider(
            self.book.fields,
            order=self.book.vocabulary.order,
            near=NearPoints(self.domains | single, self.seen, most=NEAR),
            compiled=True,
            timeout=self.timeout,
        )
        rules: Sequence[Rule] = self.book.rules
        try:
            for known in conflicts:  # neighbours are often empty for the same reason
                if not all(h.field in region for h in known.held):
                    continue
                same = [FixedField(h.field, (region[h.field],)) for h in known.held]
                parts = Assumptions(
                    self.book.fields, rules=known.rules, held=same, conditions=known.conditions
                )
                if decider.impossible(parts.items) is not None:
                    if _each_needed(parts.items, decider):
                        return parts.conflict(parts.items, decider)
                    rules = known.rules
                    break
            parts = Assumptions(self.book.fields, rules=rules, held=held, conditions=self.region)
            return minimal(parts, decider)
        except UndecidedError as error:
            self.undecided.append(f"why {region} has no points: {error}")
            return None

    # -- single rules ------------------------------------------------------------------------

    def idle_rules(self) -> Iterator[Finding]:
        """Rules that reject no candidate, and guards that hold for none."""
        for r in self.book.rules:
            if r.applies is not TRUE:
                holds = r.code in self.broken[0]
                if not holds and self._witness(r.applies, f"the guard of {r.code}") is None:
                    self.idle.add(r.code)
                    text = f"{r.code} ({r.name}) never applies: `{to_text(r.applies)}` cannot hold"
                    yield Finding("LINT005", r.code, text, (r,))
                    continue
            fires = r.code in self.broken[0]
            if not fires and self._witness(~r.condition, f"whether {r.code} fires") is None:
                self.idle.add(r.code)
                yield Finding("LINT003", r.code, f"{r.code} ({r.name}) rejects no candidate", (r,))

    def _witness(self, condition: BoolExpr, what: str) -> Point | bool | None:
        """A candidate that meets the condition, None if there is none, False if undecided."""
        return self._ask([condition], what, self.about_few)

    def implied_rules(self) -> Iterator[Finding]:
        """Rules that reject nothing which the others do not reject."""
        left = [r for r in self.book.rules if r.code not in self.idle]
        needed = [r for r in left if r.code in self.broken[1]]
        unsure = [r for r in left if r.code not in self.broken[1]]
        base = self._space(needed) if unsure else None
        for r in list(unsure):
            others = [x for x in unsure if x is not r]
            if self._implied(r, base, needed, others):
                by = self._implied_by(r, [*needed, *others])
                named = ", ".join(x.code for x in by or ()) or "the region"
                named = "the other rules" if by is None else named
                text = f"{r.code} ({r.name}) is implied by {named}"
                unsure.remove(r)
                yield Finding("LINT004", r.code, text, (r, *(by or ())))

    def _implied(
        self, r: Rule, base: Space | None, needed: Sequence[Rule], others: Sequence[Rule]
    ) -> bool:
        """Whether no point breaks the rule alone; ``base`` is the space of the needed rules."""
        conditions = [x.condition for x in others]
        if base is not None:
            try:
                return point_of(base.where(~r.condition), conditions) is None
            except BudgetExceededError:
                pass
        conditions += [x.condition for x in needed]
        return self._ask([~r.condition, *conditions], f"what implies {r.code}") is None

    def _implied_by(self, r: Rule, others: Sequence[Rule]) -> tuple[Rule, ...] | None:
        """A minimal set of the other rules that implies the rule, None if that is undecided."""
        own = r.condition.support
        ordered = sorted(others, key=lambda x: (len(x.condition.support - own), x.code))
        conditions = [x.condition for x in ordered]
        fixed = [*self.region, ~r.condition]

        def asked(some: Sequence[BoolExpr]) -> frozenset[int] | None:
            if self.near.find([~r.condition, *some]) is not None:
                return None
            return self.about_all.impossible([*fixed, *some])

        try:
            kept = shrink(conditions, asked)
        except UndecidedError:
            return None
        return tuple(sorted((ordered[k] for k in kept), key=lambda x: x.code))

    def zero_divisors(self) -> Iterator[Finding]:
        """Divisors that are zero at some candidate to which the rule applies."""
        bounds = Bounds(
            {
                n: (min(d.values), max(d.values))
                for n, v in self.book.fields.items()
                if (d := domain_of(v)).sort in ("int", "real")
            }
        )
        asked: list[tuple[Rule, Expr, BoolExpr]] = []
        for r in self.book.rules:
            for divisor in _divisors(r.expr):
                if not bounds.never_zero(divisor):
                    zero: BoolExpr = divisor == 0  # type: ignore[assignment, comparison-overlap]  # expressions compare to expressions
                    asked.append((r, divisor, all_of(r.applies, zero)))
        for r, divisor, condition in asked:
            point = self._witness(condition, f"whether {to_text(divisor)} is 0 in {r.code}")
            if isinstance(point, dict):
                text = (
                    f"{r.code} ({r.name}) divides by `{to_text(divisor)}`, which can be 0; "
                    "the condition around it counts as false there"
                )
                yield Finding("LINT006", r.code, text, (r,), None, point)

    def unread_fields(self) -> Iterator[Finding]:
        read = set().union(*(r.condition.support for r in self.book.rules))
        for name in self.book.fields:
            if name not in read:
                yield Finding("LINT007", name, f"no rule reads {name}")


def _empty(conflict: Conflict) -> Finding:
    code = "LINT001" if len(conflict.rules) > 1 else "LINT002"
    subject = " ".join(map(str, conflict.held)) or "book"
    return Finding(code, subject, conflict.sentence(), conflict.rules, conflict)


def _merged(conflicts: Sequence[Conflict]) -> list[Conflict]:
    """Conflicts of the same rules that differ in the value of one field, as one."""
    groups: dict[Any, list[Conflict]] = {}
    for c in conflicts:
        fields = tuple(h.field for h in c.held)
        rest = c.held[:-1]
        groups.setdefault((c.codes, fields, rest, c.conditions), []).append(c)
    out = []
    for (_, _, rest, _), some in groups.items():
        first = some[0]
        if len(some) == 1 or not first.held:
            out.append(first)
            continue
        values = tuple(v for c in some for v in c.held[-1].values)
        proof = max((c.proof for c in some), key=PROOFS.index)
        held = (*rest, FixedField(first.held[-1].field, values))
        out.append(Conflict(first.rules, held, first.conditions, proof))
    return out


def _each_needed(items: Sequence[BoolExpr], decider: Decider) -> bool:
    """True if leaving out any one of the conditions makes the others possible."""
    rests = ([*items[:k], *items[k + 1 :]] for k in range(len(items)))
    return all(decider.impossible(rest) is None for rest in rests)


def _covers(conflict: Conflict, region: Mapping[str, Value]) -> bool:
    """True if the region is empty for the reason of the conflict."""
    return all(h.field in region and region[h.field] in h.values for h in conflict.held)


def _divisors(root: Expr) -> list[Expr]:
    found: dict[int, Expr] = {}
    for node in walk(root):
        if node.op in ("floordiv", "mod", "truediv", "ceil_div"):
            divisor = node.args[1]
            if divisor.op != "const":
                found.setdefault(divisor.id, divisor)
    return list(found.values())


def _examples(book: RuleBook) -> list[Point]:
    found: list[Point] = []
    for r in book.rules:
        for accepted in (True, False):
            try:
                found += book.examples(r, accepted=accepted)
            except CkrulesError:
                continue
    return found
