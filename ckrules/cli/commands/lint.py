"""Find contradictions and dead weight in a rule book or catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import Writer, answer_options, source_lines, timeout_option
from ckrules.cli.options import Request, Words, space_options
from ckrules.cli.terminal import note
from ckrules.engine.errors import unknown
from ckrules.selection import select

if TYPE_CHECKING:
    from ckrules.reasoning.sides import Side

KEYS = ("variant", "arch", "dtype")

EPILOG = """\b
Codes
  LINT001 error    rules contradict each other: they leave nothing of some values
  LINT002 warning  one rule leaves nothing of some values
  LINT003 warning  a rule rejects no candidate
  LINT004 note     a rule is implied by the others
  LINT005 warning  a guard cannot hold
  LINT006 note     a divisor can be 0 where the rule applies
  LINT007 warning  no rule reads a field

\b
--profile dispatcher and --profile builder are linted together with what they
filter: the kernels that a catalog lists (--catalog, default full). The options
select the part of the space that is looked at.

\b
Examples:
  ckrules lint
  ckrules lint --profile dispatcher --arch gfx1201
  ckrules lint --catalog tiny --select LINT001,LINT004

\b
Exit codes: 0 nothing found, 1 findings, 2 bad input, 4 undecided.
"""


@click.command(epilog=EPILOG)
@space_options
@click.option("--select", "chosen", type=Words(), help="Only findings with these codes.")
@click.option("--ignore", "ignored", type=Words(), help="No findings with these codes.")
@timeout_option(20)
@answer_options
def command(
    request: Request,
    chosen: tuple[str, ...] | None,
    ignored: tuple[str, ...] | None,
    timeout: float,
    write: Writer,
) -> int:
    """Find contradictions and dead weight in a rule book or catalog."""
    from ckrules.reasoning.clash import held_condition
    from ckrules.reasoning.findings import CODES
    from ckrules.reasoning.lint import lint

    dropped = list(ignored or ())
    for code in [*(chosen or ()), *dropped]:
        if code not in CODES:
            raise unknown("finding", code, CODES)
    codes = [c for c in chosen or CODES if c not in dropped]
    catalog = request.catalog or ("full" if request.books.profile != "legal" else None)
    side = _side(request, catalog)
    region = [held_condition(side.book.fields[k], v) for k, v in side.held.items()]
    report = lint(
        side.book,
        keys=[k for k in KEYS if k in side.book.fields],
        conditions=[*region, *side.where],
        codes=codes,
        every_value=catalog is None,
        timeout=timeout,
    )

    def lines() -> Iterator[str]:
        for f in report.findings:
            yield f"{f.code} [{f.severity}] {f.message}"
            if f.code in ("LINT001", "LINT002"):
                yield from source_lines(f.rules)

    asked = {"ck": request.books.ck, "profile": request.books.profile, **request.given}
    answer: Mapping[str, Any] = {**asked, "catalog": catalog, **report.to_dict()}
    write(answer, lines())
    for question in report.undecided:
        note(f"undecided: {question}")
    note(f"{len(report.findings)} findings in {len(side.book.rules)} rules")
    if report.findings:
        return 1
    return 4 if report.undecided else 0


def _side(request: Request, catalog: str | None) -> Side:
    from ckrules.cli.sides import catalog_side
    from ckrules.reasoning.sides import Side

    chosen = select(request.books, request.given, request.where)
    if catalog is None:
        return Side("book", chosen.book, dict(chosen.bound), chosen.where)
    stage = request.stage or ("listed" if request.books.profile == "legal" else "generated")
    return catalog_side(catalog, catalog, chosen, request.books, stage=stage)
