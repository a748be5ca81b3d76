"""Every rule book: each operator, CK version and profile that exists."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import compress
from typing import Any

from ckrules.certify.sampling import unusual
from ckrules.constraints import CK_VERSIONS, book
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import family_of, variants
from ckrules.kernels.library import profiles
from ckrules.support.errors import UsageError

#: Points that are tried, and of those that will do how many are compared.
_TRIES, _ENOUGH = 20_000, 30


def books() -> dict[str, RuleBook]:
    """The books by operator, version and profile, such as ``conv-2025.11-legal``."""
    found = {}
    for variant in variants():
        for ck in CK_VERSIONS:
            for profile in profiles():
                key = f"{family_of(variant).name}-{ck}-{profile}"
                if key not in found:
                    try:
                        found[key] = book(variant, ck=ck, profile=profile)
                    except UsageError:  # the operator is younger than these headers
                        continue
    return found


def family_named(name: str) -> str:
    """The family of a book's name."""
    return name.partition("-")[0]


def said(book: RuleBook) -> set[tuple[Any, ...]]:
    """What there is to test of each rule: code, guard, condition and the examples it declares."""
    return {
        (r.code, r.applies, r.expr, *(_rows(book.examples(r, accepted=a)) for a in (True, False)))
        for r in book.rules
    }


def _rows(points: Iterable[Mapping[str, Any]]) -> frozenset[tuple[Any, ...]]:
    return frozenset(tuple(p.items()) for p in points)


def widest(found: dict[str, RuleBook]) -> dict[str, RuleBook]:
    """Those that together hold every rule of every book: none is held by a later one of its family.

    The profile `fast` holds the rules of `legal`, and most rules are the same for all versions, so
    that a test of each rule needs few books.
    """
    kept: dict[str, set[tuple[Any, ...]]] = {}
    for name in reversed(found):
        own = said(found[name])
        if not any(family_named(n) == family_named(name) and own <= b for n, b in kept.items()):
            kept[name] = own
    return {name: found[name] for name in reversed(kept)}


def fresh(found: dict[str, RuleBook]) -> dict[str, list[Rule]]:
    """By book the rules that no book of its family before it has with the same examples."""
    seen: dict[str, set[tuple[Any, ...]]] = {}
    out = {}
    for name, rules in found.items():
        own, known = said(rules), seen.setdefault(family_named(name), set())
        codes = {code for code, *_ in own - known}
        out[name] = [r for r in rules.rules if r.code in codes]
        known |= own
    return out


BOOKS = books()
WIDEST = widest(BOOKS)
FRESH = fresh(WIDEST)


def examples(name: str, code: str, accepted: bool) -> list[dict[str, Any]]:
    """Full points that a book's rule applies to and accepts or rejects.

    Those that it declares; of an inherited rule one that is drawn. It differs from the baseline in
    what the rule reads, and breaks as few other rules as any that are drawn.
    """
    rules = BOOKS[name]
    declared = rules.examples(rules[code], accepted=accepted)
    return declared or [_drawn(_first(family_named(name), rules[code]), code, accepted)]


@cache
def _first(family: str, rule: Rule) -> str:
    """The first book of a family that has a rule, in which examples of it are drawn."""
    fast = (n for n in BOOKS if family_named(n) == family and n.endswith("-fast"))
    return next(n for n in fast if any(r.condition is rule.condition for r in BOOKS[n].rules))


@cache
def _verdicts(name: str) -> Callable[[Mapping[str, Any]], tuple[bool, ...]]:
    """Whether a point meets each rule of a book."""
    return compile_function([r.condition for r in BOOKS[name].rules])


@cache
def _drawn(name: str, code: str, accepted: bool) -> dict[str, Any]:
    rules = BOOKS[name]
    rule = rules[code]
    assert rule.inherited, f"{rule.code} has no example and is not inherited"
    verdict = compile_function([rule.applies, rule.expr if accepted else ~rule.expr])
    others = [r is not rule for r in rules.rules]
    domains = [domain_of(rules.fields[name]) for name in rule.fields()]
    values = {d.name: (*d.values, *unusual(d)) for d in domains}
    dice, found = random.Random(rule.code), []
    for _ in range(_TRIES):
        changed = dice.sample(list(values), dice.randint(0, min(6, len(values))))
        point = {**rules.vocabulary.baseline, **{n: dice.choice(values[n]) for n in changed}}
        if all(verdict(point)):
            broken = sum(not ok for ok in compress(_verdicts(name)(point), others))
            found.append((broken, len(found), point))
            if found[-1][0] == 0 or len(found) > _ENOUGH:
                break
    if found:
        return min(found)[2]
    near = {k: [v] for k, v in rules.vocabulary.baseline.items() if k not in values}
    space = rules.space_of([rule.applies, rule.expr if accepted else ~rule.expr], near)
    assert len(space), f"{rule.code} of {rules.name} has no point with {accepted=}"
    return dict(space[0])
