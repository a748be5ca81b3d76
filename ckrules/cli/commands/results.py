"""Show or export what builds and runs came to."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.emit import Listing, emit, listing_options, show_table
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from ckrules.build.results import Results

_CHUNK = 4096
_BRIEF = (
    *("name", "arch", "artifact", "status", "error_class", "seconds", "lds_bytes"),
    *("vgprs", "sgprs", "vgpr_spills"),
)

EPILOG = """\b
WHERE is a folder that was built, or a results database. One row is one artifact,
or with --runs one kernel on one problem, as ckrules validate ran it.
A terminal gets a table of the main columns; elsewhere every column is written,
by default as JSON lines. Failures are rows like any other.

\b
Examples:
  ckrules results out
  ckrules results out --failed --fields name,error_class,diagnostic
  ckrules results out -o results.parquet
  ckrules results out --runs -o runs.parquet

\b
Exit codes: 0 rows were shown, 3 there were none.
"""


@click.command(epilog=EPILOG)
@click.argument("where", metavar="WHERE")
@listing_options
@click.option("--runs", is_flag=True, help="Runs of kernels instead of builds.")
@click.option("--failed", is_flag=True, help="Failures only.")
@click.option("--findings", is_flag=True, help="Only what contradicts the rule book.")
@click.option("--arch", metavar="GPU", help="One GPU only.")
@click.option("--artifact", metavar="KIND", help="device, host or object only.")
@click.option("--limit", type=click.IntRange(min=0), help="Stop after so many rows.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def command(
    where: str,
    listing: Listing,
    runs: bool,
    failed: bool,
    findings: bool,
    arch: str | None,
    artifact: str | None,
    limit: int | None,
    quiet: bool,
) -> int:
    """Show or export what builds and runs came to."""
    from ckrules.build.results import COLUMNS, Results, check_columns, find

    if runs:
        from ckrules.cli.runs import show_runs

        if artifact:
            raise UsageError("--artifact is about builds, --runs about runs: give one of them")
        return show_runs(
            find(where), listing, failed=failed, findings=findings, arch=arch, limit=limit,
            quiet=quiet,
        )  # fmt: skip
    form = listing.name
    if form == "names":
        form = "jsonl" if listing.form is None else "names"
    table = form == "table"
    wanted = listing.fields or (("name",) if form == "names" else _BRIEF if table else None)
    names = wanted or tuple(COLUMNS)
    check_columns(names)
    if form == "names" and names != ("name",):
        raise UsageError("--fields needs a format with columns: table, jsonl, csv or parquet")
    chosen = Listing(form, names, listing.output)
    clauses = {"status = 'failed'": failed, "finding IS NOT NULL": findings}
    parts = [text for text, on in clauses.items() if on]
    given = {"arch": arch, "artifact": artifact}
    parts += [f"{key} = ?" for key, value in given.items() if value]
    condition, values = " AND ".join(parts), [v for v in given.values() if v]
    with Results(find(where), must_exist=True) as results:
        chunks = _chunks(results, names, condition, values, limit)
        if chosen.to_terminal:
            shown = _to_terminal(chunks, chosen)
        else:
            shown = emit(chunks, {n: COLUMNS[n] for n in names}, chosen, None)
        if not quiet:
            note(_summary(results, condition, values, shown))
    return 0 if shown else 3


def _to_terminal(chunks: Iterator[dict[str, Any]], listing: Listing) -> int:
    chunk = next(chunks, None)
    if chunk is None:
        return 0
    rows = len(next(iter(chunk.values())))
    show_table(chunk, listing, f"{rows:,} rows", None)
    sys.stdout.flush()
    return rows


def _chunks(
    results: Results, names: tuple[str, ...], where: str, values: list[str], limit: int | None
) -> Iterator[dict[str, Any]]:
    from ckrules.reports.columns import factor

    rows = results.rows(where=where, values=values, limit=limit)
    while batch := list(itertools.islice(rows, _CHUNK)):
        yield {name: factor([getattr(row, name) for row in batch]) for name in names}


def _summary(results: Results, where: str, values: list[str], shown: int) -> str:
    also = f"{where} AND " if where else ""
    failed = results.count(f"{also}status = 'failed'", values)
    findings = results.count(f"{also}finding IS NOT NULL", values)
    text = f"{shown:,} result{'s' * (shown != 1)}, {failed:,} failed"
    return text + (f", {findings:,} contradict the rule book" if findings else "")
