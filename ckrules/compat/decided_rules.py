"""Questions that give some fields of a kernel, answered by the rules that these fields decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import Rule, Violation
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.support.errors import CkrulesError

Point = dict[str, Any]


class DecidedRules:
    """The rules of one variant that the given fields decide.

    Args:
        fields: The fields that every question gives; rules on others are left out.

    Raises:
        UnknownNameError: For an unknown variant, version or profile, with near matches.
    """

    def __init__(self, variant: str, ck: str, profile: str, fields: frozenset[str]) -> None:
        self.variant = variant
        self.books = Books(ck, profile)
        whole: RuleBook = self.books.of(variant)
        self._fields = whole.fields
        kept = [r for r in whole.rules if r.condition.support <= fields]
        self._book = RuleBook(whole.name, whole.vocabulary, kept, check=False)
        self._fast: Callable[[Mapping[str, Any]], tuple[bool, ...]] = compile_function(
            [r.condition for r in kept]
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are asked."""
        return self._book.rules

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of every kernel of the variant."""
        return tuple(self._fields)

    def holds(self, point: Point) -> bool:
        """Whether the point meets all of them."""
        return all(self._fast(point))

    def reasons(self, point: Point) -> list[Violation]:
        """The rules that the point breaks, with their messages."""
        left = {k: domain_of(v).values[0] for k, v in self._fields.items() if k not in point}
        return self._book.violations({**point, **left})  # which none of the rules reads

    def fault(self, point: Point) -> str:
        """What is wrong with the values themselves; empty: nothing."""
        for name, value in point.items():
            if name in self._fields:
                try:
                    self.books.schema(self.variant).domains[name].accept(value)
                except CkrulesError as error:
                    return str(error)
        return ""


def completed(variant: str, given: Mapping[str, Any]) -> Point:
    """The fields with what the family takes for those that are left out."""
    family = family_of(variant)
    full: Point = {**family.defaults(variant), **given, "variant": variant}
    family.complete(full, {})
    return full


@lru_cache(maxsize=64)
def asked(variant: str, ck: str, profile: str, fields: frozenset[str]) -> DecidedRules:
    """One `DecidedRules` for each set of its arguments."""
    return DecidedRules(variant, ck, profile, fields)
