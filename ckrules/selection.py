"""Which rules and which part of their space: what the command line and the library ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules import arch as gpu_facts
from ckrules import constraints
from ckrules.config import Schema
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Value
from ckrules.engine.parse import parse_condition
from ckrules.engine.variables import Domain, domain_of
from ckrules.name_grammar import LAYOUTS, PIPELINE_ALIASES, UPSTREAM_LAYOUT

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.engine.rules import Rule
    from ckrules.engine.space import Space

_TRUTH = {"true": True, "on": True, "yes": True, "1": True}
_TRUTH |= {"false": False, "off": False, "no": False, "0": False}


class Books:
    """The rule books of one CK version, profile and set of GPUs, each built when it is needed.

    Args:
        ck: The CK headers, ``2026.06`` where none are named.
        profile: The rule set, ``legal`` where none is named.
        arch_files: GPU files, or folders of them, that add to the package's own.

    Raises:
        UnknownNameError: For an unknown version or profile, with near matches.

    >>> Books().of("bwd_weight").name
    'grouped_conv'
    """

    def __init__(
        self,
        ck: str | None = None,
        profile: str | None = None,
        arch_files: Sequence[Path] = (),
    ) -> None:
        ck, profile = ck or constraints.DEFAULT_CK, profile or "legal"
        if ck not in constraints.CK_VERSIONS:
            raise unknown("CK version", ck, constraints.CK_VERSIONS)
        if profile not in constraints.PROFILES:
            raise unknown("profile", profile, constraints.PROFILES)
        self.ck, self.profile, self.arch_files = ck, profile, tuple(arch_files)
        self.variants: tuple[str, ...] = constraints.VARIANTS
        self._books: dict[str, RuleBook] = {}
        self._schemas: dict[str, Schema] = {}

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """The GPUs that points may name."""
        return gpu_facts.known(self.arch_files)

    def plain_arch(self, name: str) -> str:
        """The name of a known GPU without target features.

        Raises:
            UnknownNameError: With near matches.
        """
        base = gpu_facts.normalize(name)
        if base not in self.archs:
            raise unknown("arch", base, self.archs)
        return base

    def of(self, variant: str | None = None) -> RuleBook:
        """The book of a variant's operator; that of grouped convolution for None."""
        operator = constraints.operator_of(variant)
        if operator not in self._books:
            gpus = gpu_facts.load_all(self.arch_files) if self.arch_files else None
            self._books[operator] = constraints.book(
                variant, ck=self.ck, profile=self.profile, gpus=gpus
            )
        return self._books[operator]

    def every(self) -> list[RuleBook]:
        """The book of each operator that this CK version has."""
        by_operator = {constraints.operator_of(v): v for v in self.variants}
        found = []
        for variant in by_operator.values():
            with suppress(UsageError):
                found.append(self.of(variant))
        return found

    def problems(self) -> list[RuleBook]:
        """The books of problem applicability, one an operator (`ckrules.constraints.problems`)."""
        from ckrules.constraints import problems

        return problems.books(self.ck) if self.profile == "legal" else []

    def schema(self, variant: str) -> Schema:
        """The fields and defaults of a variant's configurations."""
        if variant not in self._schemas:
            self._schemas[variant] = Schema(self.of(variant), constraints.defaults(variant))
        return self._schemas[variant]


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a book's space: the values that some fields are held to, and further conditions."""

    book: RuleBook
    bound: Mapping[str, tuple[Value, ...]]
    where: tuple[BoolExpr, ...]

    @property
    def space(self) -> Space:
        """The points of the part that meet every rule."""
        space = self._space(self.book.rules)
        return space.where(*self.where) if self.where else space

    def candidates(self) -> Space:
        """Every combination of the candidate values, legal or not."""
        return self._space(())

    def _space(self, rules: Sequence[Rule]) -> Space:
        from ckrules.engine.space import Space

        names = self.book.vocabulary.names()
        order = self.book.vocabulary.order
        return Space(self.book.fields.values(), rules, names=names, fixed=self.bound, order=order)


def select(books: Books, given: Mapping[str, Any], where: Sequence[str] = ()) -> Selection:
    """The part of the space in which each field has one of the given values.

    Args:
        books: The rules.
        given: A value or a list of values by field.
        where: Conditions over fields and derived quantities, as text.

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
        UsageError: For variants of two operators, or a value of the wrong sort.
        ExpressionError: For a text that is no condition.
    """
    lists = {k: _listed(v) for k, v in given.items()}
    variants = lists.pop("variant", [])
    book = books.of(_one_operator(variants, books))
    bound: dict[str, tuple[Value, ...]] = {}
    if variants:
        bound["variant"] = tuple(dict.fromkeys(variants))
    for key, values in lists.items():
        if key not in book.fields:
            raise unknown("field", key, book.fields)
        domain = domain_of(book.fields[key])
        bound[key] = tuple(dict.fromkeys(_value(books, domain, v) for v in values))
    _other_layouts(bound)
    names = book.vocabulary.names()
    return Selection(book, bound, tuple(parse_condition(text, names) for text in where))


def _other_layouts(bound: dict[str, tuple[Value, ...]]) -> None:
    """Reads ``nhwgc`` beside other dimensions than two as upstream does: channels last."""
    dims, layouts = bound.get("ndim", ()), bound.get("layout", ())
    if UPSTREAM_LAYOUT in layouts and dims and 2 not in dims:
        meant = [LAYOUTS[d] for d in LAYOUTS if d in dims]
        bound["layout"] = tuple(dict.fromkeys([*layouts, *meant]))


def _listed(value: Any) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple, set, frozenset, range)) else [value]
    if not values:
        raise UsageError("an empty list of values selects nothing")
    return values


def _one_operator(variants: Iterable[Any], books: Books) -> str | None:
    found: dict[str, str] = {}
    for variant in variants:
        if variant not in books.variants:
            raise unknown("variant", str(variant), books.variants)
        found.setdefault(constraints.operator_of(variant), str(variant))
    if len(found) > 1:
        raise UsageError(
            f"{' and '.join(found.values())} have different fields: ask for one at a time"
        )
    return next(iter(found.values()), None)


def _value(books: Books, domain: Domain, value: Any) -> Value:
    """A value as the field has it: words of a command line are read, aliases replaced."""
    if domain.name == "arch" and isinstance(value, str):
        return books.plain_arch(value)
    if domain.name == "pipeline" and isinstance(value, str):
        value = PIPELINE_ALIASES.get(value, value)
    return domain.accept(read_value(domain, value) if isinstance(value, str) else value)


def read_value(domain: Domain, text: str) -> Any:
    """The value that a word of a command line means for a field.

    >>> from ckrules.engine.variables import Bool
    >>> read_value(domain_of(Bool("pad_m")), "on")
    True
    """
    word = text.strip()
    if domain.sort == ENUM:
        return word
    if domain.sort == BOOL:
        if word.lower() not in _TRUTH:
            raise UsageError(f"{domain.name} = {word!r} is not true or false")
        return _TRUTH[word.lower()]
    kind = "a number" if domain.sort == REAL else "a whole number"
    try:
        if len(word) > 40:
            raise ValueError
        return float(word) if domain.sort == REAL else int(word)
    except ValueError:
        raise UsageError(f"{domain.name} = {word[:40]!r} is not {kind}") from None
