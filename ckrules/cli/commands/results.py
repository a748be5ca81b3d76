"""Show or export the results of builds and runs."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.emit import NO_COLUMNS, ListingOptions, emit, listing_options, show_table
from ckrules.cli.once import option
from ckrules.cli.options import limit_option, quiet_option
from ckrules.cli.terminal import encodes, note, say
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import aligned, count

if TYPE_CHECKING:
    from ckrules.compiling.database import DatabaseTable

_CHUNK = 4096
_PROBLEMS = 12  # that have a line of bars on a terminal
_BUILDS = (
    *("name", "arch", "artifact", "status", "error_class", "seconds", "lds_bytes"),
    *("vgprs", "sgprs", "vgpr_spills"),
)
_RUNS = ("status", "name", "problem", "wrong", "max_abs", "latency_ms", "tflops", "pattern_text")

GROUP = "build"


@click.command()
@click.argument("where", metavar="WHERE")
@listing_options
@option("--runs", is_flag=True, help="Runs of kernels instead of builds.")
@option("--failed", is_flag=True, help="Failures only.")
@option("--findings", is_flag=True, help="Only what contradicts the rule book.")
@option("--arch", metavar="GPU", help="One GPU only.")
@option("--artifact", metavar="KIND", help="device, host or object only.")
@limit_option
@quiet_option
def command(
    where: str,
    listing: ListingOptions,
    runs: bool,
    failed: bool,
    findings: bool,
    arch: str | None,
    artifact: str | None,
    limit: int | None,
    quiet: bool,
) -> int:
    """Show or export the results of builds and runs."""
    from ckrules.compiling.artifacts import Artifact
    from ckrules.compiling.database import find
    from ckrules.device.store import Runs

    if runs and artifact:
        raise UsageError("--artifact is about builds, --runs about runs: give one of them")
    if artifact is not None:
        Artifact.named(artifact)
    kind = _table(runs)
    clauses = {kind.FAILED: failed, "finding IS NOT NULL": findings}
    parts = [text for text, on in clauses.items() if on]
    with kind(find(where), reading=True) as table:
        given = {"arch": arch and _gpu(arch, table), "artifact": artifact}
        parts += [f"{key} = ?" for key, value in given.items() if value]
        rows = _Rows(" AND ".join(parts), [v for v in given.values() if v])
        columns = table.columns(rows.where, rows.values)
        sorts = {**table.COLUMNS, **columns}
        form, names = _chosen(listing, tuple(columns), _RUNS if runs else _BUILDS, sorts)
        chosen = ListingOptions(form, names, listing.output, listing.wide)
        chunks = _chunks(table, names, rows, limit)
        if chosen.to_terminal:
            shown = _to_terminal(chunks, chosen)
            if isinstance(table, Runs):
                _show_times(table.times(rows.where, rows.values))
        else:
            shown = emit(chunks, {n: sorts[n] for n in names}, chosen, None)
        if not quiet:
            note(_summary(table, rows, shown, "run" if runs else "result"))
    return 0 if shown else 3


@dataclass(frozen=True)
class _Rows:
    """The rows that are wanted: an SQL condition and what its marks stand for."""

    where: str
    values: Sequence[Any]


def _gpu(word: str, table: DatabaseTable) -> str:
    """The GPU that a word means; those of GPU files are known where results of them are."""
    from ckrules.kernels.books import Books

    return word if word in table.distinct("arch") else Books().plain_arch(word)


def _table(runs: bool) -> type[DatabaseTable]:
    if runs:
        from ckrules.device.store import Runs

        return Runs
    from ckrules.compiling.results import Results

    return Results


def _chosen(
    listing: ListingOptions,
    every: tuple[str, ...],
    brief: tuple[str, ...],
    known: Mapping[str, str],
) -> tuple[str, tuple[str, ...]]:
    """Form and columns: as asked for, the main ones for a table, else all."""
    form = listing.name
    if form == "names" and listing.form is None:
        form = "jsonl"
    usual = {"table": brief, "names": ("name",)}.get(form, every)
    names = listing.fields or usual
    for name in names:
        if name not in known:
            raise unknown("column", name, known)
    if form == "names" and names != ("name",):
        raise UsageError(NO_COLUMNS)
    return form, names


def _to_terminal(chunks: Iterator[dict[str, Any]], listing: ListingOptions) -> int:
    chunk = next(chunks, None)
    if chunk is None:
        return 0
    rows = len(next(iter(chunk.values())))
    show_table(chunk, listing, count(rows, "row"), None)
    sys.stdout.flush()
    return rows


def _show_times(times: Mapping[str, Sequence[float]]) -> None:
    """A line of bars for each problem that several kernels were timed on, fastest first."""
    from ckrules.output.sparkline import sparkline

    several = {problem: ms for problem, ms in times.items() if len(ms) > 1}
    if not several:
        return
    plain = not encodes(sys.stdout, sparkline((1, 2)))
    say("")
    say("times of kernels by problem, fastest first, in microseconds")
    lines = [
        [f"{1e3 * ms[0]:,.1f}", sparkline(ms, plain=plain), f"{1e3 * ms[-1]:,.1f}", problem]
        for problem, ms in list(several.items())[:_PROBLEMS]
    ]
    for line in aligned(lines, right={0}).splitlines():
        say(f"  {line}")
    if len(several) > _PROBLEMS:
        say(f"  … and {len(several) - _PROBLEMS:,} more problems")


def _chunks(
    table: DatabaseTable, names: tuple[str, ...], rows: _Rows, limit: int | None
) -> Iterator[dict[str, Any]]:
    from ckrules.output.columns import factor

    records = table.records(where=rows.where, values=rows.values, limit=limit)
    while batch := list(itertools.islice(records, _CHUNK)):
        yield {name: factor([row.get(name) for row in batch]) for name in names}


def _summary(table: DatabaseTable, rows: _Rows, shown: int, noun: str) -> str:
    also = f"{rows.where} AND " if rows.where else ""
    failed = table.count(also + table.FAILED, rows.values)
    findings = table.count(f"{also}finding IS NOT NULL", rows.values)
    text = f"{shown:,} {noun}{'s' * (shown != 1)}, {failed:,} failed"
    text += f", {findings:,} contradict the rule book" if findings else ""
    unlike = table.count(f"{also}lacks != ''", rows.values)
    return text + (f", {unlike:,} built without options that CK's kernels need" if unlike else "")
