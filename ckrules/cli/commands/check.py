"""Say which rules configurations break, and where."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator

import click

from ckrules.cli.group import session
from ckrules.cli.options import rule_options
from ckrules.cli.output import text_output
from ckrules.cli.terminal import colored, note
from ckrules.engine.errors import unknown
from ckrules.judge import Judge
from ckrules.readers import Context, Entry, Problem, formats, read_input
from ckrules.reports import checks
from ckrules.reports.verdict import Tally, Verdict
from ckrules.selection import Books

_SHOWN = 20  # lines about unreadable entries; the rest is counted

EPILOG = """\b
INPUTS are kernel names, files or - (standard input). Files hold
  names      one a line; # begins a comment
  JSON       an object of fields, a list, or {"kernels": [...]}
  JSON Lines one object a line
Fields that a configuration leaves out have upstream's defaults; --arch is the
GPU of those that name none.

\b
Exit codes: 0 all legal, 1 a rule of severity error is broken, 2 something
could not be read, 3 there was no configuration.
"""


@click.command(epilog=EPILOG)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--arch", metavar="GPU", help="GPU of configurations that name none.")
@click.option(
    "--format", "form", metavar="|".join(checks.available()), help="Form of the report [concise]."
)
@click.option(
    "--verdicts",
    is_flag=True,
    help="One object a configuration, in input order (format jsonl unless said otherwise).",
)
@click.option("--resources", is_flag=True, help="Add derived quantities, such as LDS bytes.")
@click.option("--input-format", metavar="NAME", help="Read every file as names, json or jsonl.")
@click.option("--stdin-filename", metavar="NAME", default="-", help="What messages call stdin.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to a file.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@rule_options
def command(
    inputs: tuple[str, ...],
    books: Books,
    arch: str | None,
    form: str | None,
    verdicts: bool,
    resources: bool,
    input_format: str | None,
    stdin_filename: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Say which rules configurations break, and where."""
    form = form or ("jsonl" if verdicts else "concise")
    if form not in checks.available():
        raise unknown("format", form, checks.available())
    if input_format is not None and input_format not in formats():
        raise unknown("input format", input_format, formats())
    context = Context(books, books.plain_arch(arch) if arch is not None else None)
    tally, complaints = Tally(), _Complaints()

    def seen() -> Iterator[Verdict]:
        items = itertools.chain.from_iterable(
            read_input(i, context, input_format=input_format, stdin_name=stdin_filename)
            for i in inputs
        )
        for verdict in judge(items, books, resources=resources):
            tally.add(verdict)
            if isinstance(verdict.item, Problem):
                complaints.add(verdict.item)
            yield verdict

    with text_output(output) as stream:
        options = checks.Options(
            verdicts=verdicts, color=output is None and colored(session().color, sys.stdout)
        )
        checks.report(form).render(seen(), stream.write, options)
        stream.flush()
    complaints.finish()
    return _finish(tally, quiet)


def _finish(tally: Tally, quiet: bool) -> int:
    """The summary line and the exit code."""
    if tally.configurations and not quiet:
        note(tally.summary())
    if tally.unreadable:
        return 2
    if not tally.configurations:
        note("no configurations found")
        return 3
    return 1 if tally.illegal else 0


def judge(
    items: Iterable[Entry | Problem], books: Books, *, resources: bool = False
) -> Iterator[Verdict]:
    """The verdict on each item, in order, one at a time."""
    judges: dict[str, Judge] = {}
    for item in items:
        if isinstance(item, Problem):
            yield Verdict(item)
            continue
        point, variant = item.config.point, item.config.variant
        book = books.of(variant)
        if book.name not in judges:
            judges[book.name] = Judge(book)
        values = book.resources(point) if resources else None
        yield Verdict(item, judges[book.name](point), values)


class _Complaints:
    """Lines about entries that cannot be read: the first few, then a count."""

    def __init__(self) -> None:
        self.lines = self.hidden = 0

    def add(self, problem: Problem) -> None:
        """Says what is wrong, unless enough has been said."""
        if self.lines >= _SHOWN:
            self.hidden += 1
            return
        for place, message in problem.lines():
            note(f"{place}: error: {message}")
            self.lines += 1

    def finish(self) -> None:
        """Says how many more there were."""
        if self.hidden:
            note(f"… and {self.hidden:,} more that cannot be read")
