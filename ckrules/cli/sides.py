"""Sides of a comparison as words: a GPU, CK version, profile, catalog, or a user's rule book."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules import constraints
from ckrules.cli.options import Request
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import BoolExpr
from ckrules.selection import Books, Selection, select

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.reasoning.sides import Side

HELP = """\b
A side is one of
  gfx942                  a GPU
  2025.11                 a CK version
  dispatcher              a profile
  tiny, my.toml           a catalog
  my_rules.py:book        a RuleBook, or a function that returns one, in a
                          Python file, which is executed
  arch=gfx942,ck=2025.11  several of these, or any FIELD=VALUE
"""


def side_of(word: str, request: Request) -> Side:
    """The side that a word means, within the part of the space that the options select.

    Raises:
        UnknownNameError: For a word that is none of these, with near matches.
        UsageError: For a file that cannot be read or has no rule book.
    """
    from ckrules.reasoning.sides import Side

    parts = _parts(word, request.books)
    base = request.books
    books = Books(
        ck=parts.pop("ck", base.ck),
        profile=parts.pop("profile", base.profile),
        arch_files=base.arch_files,
    )
    catalog, path = parts.pop("catalog", None), parts.pop("book", None)
    given: dict[str, Any] = {**request.given, **{k: (v,) for k, v in parts.items()}}
    if path is not None:
        return _own_side(word, path, given, request)
    chosen = select(books, given, request.where)
    if catalog is not None:
        return catalog_side(word, catalog, chosen, books)
    return Side(word, chosen.book, dict(chosen.bound), chosen.where)


def _parts(word: str, books: Books) -> dict[str, str]:
    if ".py:" in word:
        return {"book": word}
    out: dict[str, str] = {}
    for piece in word.split(","):
        key, sign, value = piece.strip().partition("=")
        if sign and key and value:
            out[key] = value
            continue
        kind = _kind(piece.strip(), books)
        out[kind] = piece.strip()
    return out


def _kind(word: str, books: Books) -> str:
    from ckrules.constraints import catalogs

    kinds: Mapping[str, Sequence[str]] = {
        "ck": constraints.CK_VERSIONS,
        "profile": tuple(constraints.PROFILES),
        "arch": books.archs,
        "variant": books.variants,
        "catalog": catalogs.names(),
    }
    for kind, known in kinds.items():
        if word in known or (kind == "arch" and word.split(":")[0] in known):
            return kind
    if word.endswith(".toml") or os.sep in word:
        return "catalog"
    raise unknown("side", word, [w for known in kinds.values() for w in known])


def catalog_side(
    title: str, name: str, chosen: Selection, books: Books, *, stage: str = "listed"
) -> Side:
    """The side of the points that a catalog lists, or of what survives a later stage."""
    from ckrules.arch import load_all
    from ckrules.constraints import catalogs
    from ckrules.engine.book import RuleBook
    from ckrules.engine.rules import Rule
    from ckrules.engine.variables import domain_of
    from ckrules.reasoning.sides import Side

    gpus = load_all(books.arch_files) if books.arch_files else None
    catalog = catalogs.load(name, ck=books.ck, gpus=gpus)
    held = {k: list(v) for k, v in chosen.bound.items()}
    variant = held.pop("variant", None)
    words = catalog.book(None if variant is None else str(variant[0])).vocabulary
    variants = [str(v) for v in variant] if variant else None
    space = catalog.space(variants, stage=stage, **held)
    rules = [r for r in space.rules if isinstance(r, Rule)]
    other = tuple(
        r if isinstance(r, BoolExpr) else r.condition
        for r in space.rules
        if not isinstance(r, Rule)
    )
    fewer = {n: d for n, d in space.domains.items() if d != domain_of(words.variables[n]).values}
    book = RuleBook(title, words, rules, check=False)
    return Side(title, book, fewer, (*other, *chosen.where))


def _own_side(title: str, word: str, given: Mapping[str, Any], request: Request) -> Side:
    from ckrules.engine.parse import parse_condition
    from ckrules.engine.variables import domain_of
    from ckrules.reasoning.sides import Side
    from ckrules.selection import read_value

    book = load_book(word)
    held: dict[str, tuple[Any, ...]] = {}
    for key, values in given.items():
        if key not in book.fields:
            raise unknown("field", key, book.fields)
        domain = domain_of(book.fields[key])
        held[key] = tuple(domain.accept(read_value(domain, v)) for v in values)
    names = book.vocabulary.names()
    return Side(title, book, held, tuple(parse_condition(t, names) for t in request.where))


def load_book(word: str) -> RuleBook:
    """The rule book ``path.py:name`` of a user; the file is executed.

    Raises:
        UsageError: If the file cannot be read or run, or has no rule book of this name.
    """
    from ckrules.engine.book import RuleBook
    from ckrules.engine.errors import CkrulesError

    path, _, name = word.rpartition(":")
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location("ckrules_user_book", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, name, None)
        if callable(found) and not isinstance(found, RuleBook):
            found = found()
    except CkrulesError:
        raise
    except Exception as error:
        raise UsageError(f"{path}: {type(error).__name__}: {error}") from None
    if not isinstance(found, RuleBook):
        raise UsageError(f"{path}: {name} is not a ckrules.RuleBook")
    return found
