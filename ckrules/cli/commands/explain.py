"""Explain a rule, a field, a derived quantity or a family of rules."""

from __future__ import annotations

import sys

import click

from ckrules import constraints
from ckrules.cli.options import rule_options
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import unknown
from ckrules.engine.rules import Rule
from ckrules.reports.page import field_page, rule_page
from ckrules.selection import Books


@click.command()
@click.argument("what", metavar="CODE|FIELD|QUANTITY")
@rule_options
def command(books: Books, what: str) -> int:
    """Explain a rule, a field, a derived quantity or a family of rules."""
    sys.stdout.write(page(what, books))
    return 0


def page(what: str, books: Books) -> str:
    """The page about a word.

    Raises:
        UnknownNameError: With near matches among everything that has a page.
    """
    own = books.every()
    if found := _rule(what, own):
        return rule_page(*found)
    having = [(b, _defaults(b)) for b in own if what in b.vocabulary.names()]
    if having:
        return field_page(what, having)
    problems = books.problems()
    if found := _rule(what, problems):
        return rule_page(*found)
    if what.upper() in constraints.FAMILIES:
        return _family_page(what.upper(), own + problems)
    if found := _rule(what, _other_versions(books)):
        return rule_page(*found)
    known = [w for b in own for w in [*(r.code for r in b.rules), *b.vocabulary.names()]]
    known += [r.name for b in own + problems for r in b.rules]
    known += [r.code for b in problems for r in b.rules]
    raise unknown("rule, field or quantity", what, dict.fromkeys(known))


def _rule(what: str, books: list[RuleBook]) -> tuple[RuleBook, Rule] | None:
    for book in books:
        for rule in book.rules:
            if what.upper() == rule.code or what == rule.name:
                return book, rule
    return None


def _other_versions(books: Books) -> list[RuleBook]:
    """The books of the other CK versions, where a rule that is gone or to come is found."""
    others = [v for v in reversed(constraints.CK_VERSIONS) if v != books.ck]
    return [b for v in others for b in Books(v, books.profile, books.arch_files).every()]


def _defaults(book: RuleBook) -> dict[str, int | float | str | bool]:
    variant = book.vocabulary.baseline["variant"]
    return dict(constraints.defaults(str(variant)))


def _family_page(family: str, books: list[RuleBook]) -> str:
    rules = [r for b in books for r in b.rules if r.family == family]
    lines = [f"- {r.code} {r.name}: {r.summary}" for r in rules]
    return f"# {family}: {constraints.FAMILIES[family]}\n\n" + "\n".join(lines) + "\n"
