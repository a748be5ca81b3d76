"""Regions: parts of a rule book's space, from which the space is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import INT, BoolExpr
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.conditions import condition_over
from ckrules.support.errors import UsageError, unknown
from ckrules.support.plain_values import mapping, plain, several

if TYPE_CHECKING:
    from ckrules.engine.space import Space


@dataclass(frozen=True)
class Region:
    """A rule book, the values that some fields are fixed to, and further conditions.

    Args:
        book: The rules. A set of kernels has a book too: its rules say what the set holds.
        fixed: A value, or a list, tuple, set or range of values, by field.
        where: Conditions, or texts of them, that points meet besides the rules.
        title: What outputs call it (default: the book's name).
        first: What `distinct` adds: the conditions that canonical points meet.
        content: The fixed fields that nobody asked for: the book's points have no other value.

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
        UsageError: For a value that the field cannot take, and what is not a condition.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.rules import Rule
    >>> from ckrules.engine.rules.book import RuleBook, Vocabulary
    >>> words = Vocabulary([Int("m", [16, 32, 64]), Int("w", [1, 2, 4])])
    >>> fits = Rule("TILE001", "not-covered", "compile", words.m % (words.w * 16) == 0)
    >>> book = RuleBook("toy", words, [fits], check=False)
    >>> region = Region(book, {"w": 2}, (words.m > 16,))
    >>> region.space.count(), region.candidates().count(), region.title
    (2, 3, 'toy')
    """

    book: RuleBook
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    where: tuple[BoolExpr, ...] = ()
    title: str = ""
    first: tuple[BoolExpr, ...] = ()
    content: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not isinstance(self.book, RuleBook):
            raise UsageError(f"{self.book!r} is not a rule book")
        given = mapping("fixed", self.fixed)
        for name in given:
            if name not in self.book.fields:
                raise unknown("field", name, self.book.fields)
        object.__setattr__(self, "fixed", {n: self._accepted(n, v) for n, v in given.items()})
        conditions = several("where", self.where)
        object.__setattr__(self, "where", tuple(map(self._condition, conditions)))
        object.__setattr__(self, "title", self.title or self.book.name)

    def _accepted(self, name: str, given: Any) -> tuple[Any, ...]:
        domain = domain_of(self.book.fields[name])
        if isinstance(given, tuple) and given in domain.values:  # a label
            return (given,)
        return tuple(map(domain.accept, listed(given)))

    def _condition(self, given: Any) -> BoolExpr:
        """A condition of the region; a text is one in the language of ``--where``."""
        return condition_over(given, self.book.vocabulary.names(), self.book.fields)

    @cached_property
    def space(self) -> Space:
        """The points of the region that meet every rule.

        Raises:
            UsageError: For a number that a field is fixed to and never has, with the nearest.
        """
        self._refuse_strangers()
        space = self.book.space_of(self.book.rules, self.fixed)
        added = (*self.where, *self.first)
        return space.where(*added) if added else space

    def _refuse_strangers(self) -> None:
        """Numbers beside the candidates may be asked for; those that rules never allow may not."""
        for name, values in self.fixed.items():
            domain = domain_of(self.book.fields[name])
            known = domain.values if domain.sort == INT else values
            for value in values:
                if value not in known and self._never(name, value):
                    near = min(known, key=lambda v: (abs(v - value), v))
                    raise UsageError(f"{name} is never {value!r}; nearest {near!r}")

    def _never(self, name: str, value: Any) -> bool:
        from ckrules.engine.diagram.problem import prepare

        domains = {n: domain_of(v).values for n, v in self.book.fields.items()}
        rules = (r.condition for r in self.book.rules)
        return prepare({**domains, name: (value,)}, rules).empty

    def distinct(self) -> Region:
        """The canonical points of the region: one of each set that the book says is the same.

        Values that are fixed, and conditions, narrow the choice: a point stays if no other one of
        its set that they leave comes before it.

        Raises:
            UsageError: If nothing is known of what is the same.
        """
        from ckrules.engine.rules.alike import canonical, required

        known = required(self.book.vocabulary.alike, f"{self.book.name} kernels")
        domains = self.book.space_of((), self.fixed).domains
        first = canonical(known, self.book.fields, domains, self.where)
        return replace(self, first=first)

    def candidates(self) -> Space:
        """Every combination of the candidate values, legal or not."""
        return self.book.space_of((), self.fixed)


def listed(given: Any) -> tuple[Any, ...]:
    """A value, or several of a list, tuple, set, range or array, as a tuple.

    >>> listed(64), listed(range(2))
    ((64,), (0, 1))
    """
    given = plain(given)
    many = isinstance(given, (list, tuple, set, frozenset, range))
    return tuple(given) if many else (given,)
