"""Listing the runs of kernels: the part of ``ckrules results`` that is about validation."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.cli.emit import Listing, emit, show_table
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.store import Runs

_CHUNK = 4096
_BRIEF = ("status", "name", "problem", "wrong", "max_abs", "latency_ms", "tflops", "pattern_text")
_BAD = "status NOT IN ('ok', 'refused')"


def show_runs(
    place: Path,
    listing: Listing,
    *,
    failed: bool = False,
    findings: bool = False,
    arch: str | None = None,
    limit: int | None = None,
    quiet: bool = False,
) -> int:
    """Writes the runs of a database as the options ask; the exit code of ``ckrules results``.

    Every row has the columns of the run and, where no columns are asked for, one for each field of
    the configurations, so that a selection heuristic can be trained on the file as it is.
    """
    from ckrules.device.store import COLUMNS, Runs, check_columns

    form = listing.name
    if form == "names":
        form = "jsonl" if listing.form is None else "names"
    parts = [text for text, on in ((_BAD, failed), ("finding IS NOT NULL", findings)) if on]
    values: list[Any] = []
    if arch is not None:
        parts, values = [*parts, "arch = ?"], [arch]
    where = " AND ".join(parts)
    with Runs(place, must_exist=True) as runs:
        known = {**COLUMNS, **runs.fields(where, values)}
        plain = {name: sort for name, sort in known.items() if name != "config"}
        brief = _BRIEF if form == "table" else ("name",) if form == "names" else tuple(plain)
        names = listing.fields or brief
        check_columns(names, known)
        if form == "names" and names != ("name",):
            raise UsageError("--fields needs a format with columns: table, jsonl, csv or parquet")
        chosen = Listing(form, names, listing.output)
        chunks = _chunks(runs.rows(where=where, values=values, limit=limit), names)
        if chosen.to_terminal:
            shown = _to_terminal(chunks, chosen)
        else:
            shown = emit(chunks, {n: known[n] for n in names}, chosen, None)
        if not quiet:
            note(_summary(runs, where, values, shown))
    return 0 if shown else 3


def _chunks(rows: Iterator[Mapping[str, Any]], names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    from ckrules.reports.columns import factor

    while batch := list(itertools.islice(rows, _CHUNK)):
        yield {name: factor([row.get(name) for row in batch]) for name in names}


def _to_terminal(chunks: Iterator[dict[str, Any]], listing: Listing) -> int:
    chunk = next(chunks, None)
    if chunk is None:
        return 0
    rows = len(next(iter(chunk.values())))
    show_table(chunk, listing, f"{rows:,} rows", None)
    sys.stdout.flush()
    return rows


def _summary(runs: Runs, where: str, values: list[Any], shown: int) -> str:
    also = f"{where} AND " if where else ""
    failed = runs.count(also + _BAD, values)
    findings = runs.count(f"{also}finding IS NOT NULL", values)
    text = f"{shown:,} run{'s' * (shown != 1)}, {failed:,} failed"
    return text + (f", {findings:,} contradict the rule book" if findings else "")
