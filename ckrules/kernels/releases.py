"""What changed in the rules between two CK versions, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.kernels import problem_books
from ckrules.kernels.families import family_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckrules.engine.rules.book import RuleBook
    from ckrules.engine.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that only one of two versions has, or that asks for something else in the newer."""

    rule: Rule
    kind: str
    """``added``, ``removed`` or ``changed``."""
    of_problems: bool = False
    """Whether it is about the problem that a kernel computes, not about the kernel alone."""

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        found = {"code": self.rule.code, "name": self.rule.name, "change": self.kind}
        return {**found, "of_problems": self.of_problems}

    def __str__(self) -> str:
        about = ", of problems" if self.of_problems else ""
        return f"{self.kind}{about}: {self.rule.code} {self.rule.name}"


def book_changes(old: RuleBook, new: RuleBook, *, of_problems: bool = False) -> list[RuleChange]:
    """The rules that differ between two books of one family, those of the newer book first.

    Equal conditions are one node, and tables count by their rows, so that a rule whose
    numbers moved is *changed*, too.

    >>> from ckrules.constraints import book
    >>> old, new = (book("standard", ck=ck, profile="dispatcher") for ck in ("2026.06", "2026.09"))
    >>> str(book_changes(old, new)[0])
    'changed: GDSP002 features-beyond-dispatcher'
    """
    before, after = ({r.code: r for r in b.rules} for b in (old, new))

    def found() -> Iterator[RuleChange]:
        for code, rule in after.items():
            same = before.get(code)
            if same is None:
                yield RuleChange(rule, "added", of_problems)
            elif same.expr is not rule.expr or same.applies is not rule.applies:
                yield RuleChange(rule, "changed", of_problems)
        for code in before.keys() - after.keys():
            yield RuleChange(before[code], "removed", of_problems)

    return sorted(found(), key=lambda c: (c.kind == "removed", c.rule.code))


def rule_changes(variant: str, old: RuleBook, new: RuleBook) -> list[RuleChange]:
    """`book_changes` of two versions, and of their books of problems where the family has any.

    >>> from ckrules.constraints import book
    >>> found = rule_changes("forward", book("forward", ck="2026.06"), book("forward"))
    >>> print(*found, sep="\\n")
    changed, of problems: PROB023 tiles-of-a-sum-in-compv3-of-eight-waves
    removed, of problems: PROB037 parts-of-weights-that-other-units-miss
    """
    changes = book_changes(old, new)
    if family_of(variant).problems is None:
        return changes
    problems = (problem_books.book(variant, ck=b.vocabulary.ck) for b in (old, new))
    return changes + book_changes(*problems, of_problems=True)
