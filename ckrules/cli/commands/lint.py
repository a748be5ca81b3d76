"""Find contradictions and useless rules in a rule book or catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import Writer, answer_options, source_lines, timeout_option
from ckrules.cli.once import option
from ckrules.cli.options import Words
from ckrules.cli.request import Request
from ckrules.cli.space_options import file_argument, space_options
from ckrules.cli.terminal import note, progress
from ckrules.engine.expr import ENUM
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook
    from ckrules.engine.rules.region import Region

GROUP = "check"

#: What upstream's filters filter, where it is known.
_FILTERED = "full"


def _codes() -> Sequence[str]:
    from ckrules.reasoning.codes import CODES

    return list(CODES)


@click.command()
@space_options
@file_argument
@option("--select", "chosen", type=Words(_codes, "finding"), help="Only findings with these codes.")
@option("--ignore", "ignored", type=Words(_codes, "finding"), help="No findings with these codes.")
@timeout_option(20)
@answer_options
def command(
    request: Request,
    chosen: tuple[str, ...] | None,
    ignored: tuple[str, ...] | None,
    timeout: float,
    write: Writer,
) -> int:
    """Find contradictions and useless rules in a rule book or catalog."""
    from ckrules.engine.restrictions import held_condition
    from ckrules.reasoning.codes import CODES
    from ckrules.reasoning.lint import KINDS, lint

    codes = [c for c in chosen or CODES if c not in (ignored or ())]
    side, asked = _side(request)
    region = [held_condition(side.book.fields[k], v) for k, v in side.fixed.items()]
    with progress("kinds of findings", KINDS) as bar:
        report = lint(
            side.book,
            keys=_keys(side.book),
            conditions=[*region, *side.where],
            codes=codes,
            every_value="catalog" not in asked,
            timeout=timeout,
            told=bar.advance,
        )

    def lines() -> Iterator[str]:
        for f in report.findings:
            yield f"{f.code} [{f.severity}] {f.message}"
            if request.by_file or f.code in ("LINT001", "LINT002"):
                yield from source_lines(f.rules)

    write({**asked, **report.to_dict()}, lines())
    for question in report.undecided:
        note(f"undecided: {question}")
    note(f"{count(len(report.findings), 'finding')} in {count(len(side.book.rules), 'rule')}")
    if report.findings:
        return 1
    return 4 if report.undecided else 0


def _keys(book: RuleBook) -> list[str]:
    """The fields of whose values a rule may leave nothing: words that say what is wanted."""
    domains = map(domain_of, book.fields.values())
    return [d.name for d in domains if d.role is Role.PURPOSE and d.sort == ENUM]


def _side(request: Request) -> tuple[Region, dict[str, Any]]:
    """What is linted, and how it was asked for: a profile together with what it filters."""
    from ckrules.constraints.catalogs import load
    from ckrules.constraints.catalogs.stages import PROFILES

    filters = set(PROFILES.values()) - {"legal"}
    if request.by_file:
        return request.region, request.to_dict()
    listed = request.by_catalog or request.family != load(_FILTERED).family
    if request.books.profile in filters and not listed:
        request = request.changed(catalog=_FILTERED)
    return request.region, request.to_dict()
