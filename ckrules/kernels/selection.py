"""Which part of a rule book's space: what the command line and the library ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.lang.where import parse_condition, warn_of_strangers
from ckrules.engine.rules.region import Region
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of, named, plain_variant
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook
    from ckrules.kernels.family import Family

_TRUTH = {"true": True, "on": True, "yes": True, "1": True}
_TRUTH |= {"false": False, "off": False, "no": False, "0": False}


def select(
    books: Books, given: Mapping[str, Any], where: Sequence[str] = (), family: str | None = None
) -> Region:
    """The part of the space in which each field has one of the given values.

    Args:
        given: A value or a list of values by field.
        where: Conditions over fields and derived quantities, as text.
        family: The family of which all variants are meant where none is given (default: the
            first, without a choice of variants).

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
        UsageError: For variants of two families or not of ``family``, or a value of the wrong sort.
        ExpressionError: For a text that is not a condition.
    """
    return select_spelled(books, spelled(given, books, family), where, family)


def select_spelled(
    books: Books, given: Mapping[str, Any], where: Sequence[str], family: str | None
) -> Region:
    """The same as `select`, of words that `spelled` has replaced."""
    lists = {k: _listed(v) for k, v in given.items()}
    variants = variants_of(lists.pop("variant", []), family)
    chosen = _one_family(variants, books)
    book = books.of(chosen.variants[0])
    bound: dict[str, tuple[Value, ...]] = {}
    if variants:
        bound["variant"] = tuple(dict.fromkeys(variants))
    for key, values in lists.items():
        bound[key] = tuple(dict.fromkeys(_accepted(book, key, v) for v in values))
    chosen.widen(bound)
    held = conditions(book, where)
    warn_of_strangers(held, bound)
    return Region(book, bound, held)


def select_of(book: RuleBook, given: Mapping[str, Sequence[str]], where: Sequence[str]) -> Region:
    """The part of a rule book's space, whatever its fields mean; words are read by its fields.

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
    """
    held: dict[str, tuple[Value, ...]] = {}
    for key, words in given.items():
        held[key] = tuple(_accepted(book, key, w) for w in words)
    asked = conditions(book, where)
    warn_of_strangers(asked, held)
    return Region(book, held, asked)


def variants_of(variants: Sequence[str], family: str | None) -> Sequence[str]:
    """The variants that are asked for, or all of a family where only that is.

    Raises:
        UnknownNameError: For an unknown family, with near matches.
        UsageError: For a variant of another family.
    """
    if family is None:
        return variants
    chosen = named(family)
    for variant in variants:
        if family_of(variant) is not chosen:
            raise UsageError(f"{variant} is not a variant of the family {family}")
    return variants or chosen.variants


def conditions(book: RuleBook, texts: Sequence[str]) -> tuple[BoolExpr, ...]:
    """Conditions over a book's fields and derived quantities, read from text.

    Raises:
        ExpressionError: For a text that is not a condition.
    """
    names = book.vocabulary.names()
    return tuple(parse_condition(text, names) for text in texts)


def spelled(given: Mapping[str, Any], books: Books, family: str | None = None) -> dict[str, Any]:
    """What was asked for by field, with the words that people write replaced by values.

    What means nothing is left for the complaint of who reads it.

    >>> from ckrules.kernels.books import Books
    >>> spelled({"variant": ("fwd",), "dtype": ("half",), "arch": ("MI300X",)}, Books())
    {'variant': ('forward',), 'dtype': ('fp16',), 'arch': ('gfx942',)}
    """
    out = dict(given)
    if "variant" in out:
        out["variant"] = _each(out["variant"], plain_variant)
    first = next((v for v in _listed(out.get("variant", [""])) if v in books.variants), None)
    chosen = named(family) if family is not None else family_of(first)
    if chosen not in books.families:
        return out
    fields = books.of(chosen.variants[0]).fields
    for key in out.keys() & fields.keys() - {"variant"}:
        domain = domain_of(fields[key])
        if key == "arch":
            out[key] = _each(out[key], books.plain_arch)
        elif domain.sort == ENUM:
            out[key] = _each(out[key], partial(_canonical, chosen, domain))
    return out


def _canonical(family: Family, domain: Domain, word: str) -> str:
    return family.canonical(domain.name, word.strip(), domain.values)


def _each(given: Any, meant: Callable[[str], str]) -> Any:
    """A word or several, replaced one by one."""
    if isinstance(given, str):
        return meant(given)
    if isinstance(given, (list, tuple, set, frozenset)):
        return type(given)(meant(v) if isinstance(v, str) else v for v in given)
    return given


def _listed(value: Any) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple, set, frozenset, range)) else [value]
    if not values:
        raise UsageError("an empty list of values selects nothing")
    return values


def _one_family(variants: Iterable[Any], books: Books) -> Family:
    found: dict[str, str] = {}
    for variant in variants:
        if variant not in books.variants:
            raise unknown("variant", str(variant), books.variants)
        found.setdefault(family_of(variant).name, str(variant))
    if len(found) > 1:
        raise UsageError(
            f"{' and '.join(found.values())} have different fields: ask for one at a time"
        )
    return family_of(next(iter(found.values()), None))


def accepted(books: Books, family: Family, book: RuleBook, name: str, value: Any) -> Value:
    """A value as the field has it: words of a command line are read, aliases replaced.

    Raises:
        UnknownNameError: For a field or word that does not exist, with near matches.
        UsageError: For a value of the wrong sort.
    """
    domain = _domain(book, name)
    if name == "arch" and isinstance(value, str):
        return books.plain_arch(value)
    if isinstance(value, str) and domain.sort == ENUM:
        value = _canonical(family, domain, value)
    return _accepted(book, name, value)


def _accepted(book: RuleBook, name: str, value: Any) -> Value:
    domain = _domain(book, name)
    if isinstance(value, str):
        value = read_value(domain, value)
    return domain.accept(value)


def _domain(book: RuleBook, name: str) -> Domain:
    if name not in book.fields:
        raise unknown("field", name, book.fields)
    return domain_of(book.fields[name])


def read_value(domain: Domain, text: str) -> Any:
    """The value that a word of a command line means for a field.

    >>> from ckrules.engine.expr.variables import Bool
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
    kind = "a number" if domain.sort == REAL else "an integer"
    try:
        if len(word) > 40:
            raise ValueError
        return float(word) if domain.sort == REAL else int(word)
    except ValueError:
        raise UsageError(f"{domain.name} = {word[:40]!r} is not {kind}") from None
