"""The report of a folder of kernels or a results database: builds, runs, times and predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.compiling.database import find
from ckrules.compiling.results import Results
from ckrules.device.store import Runs
from ckrules.pictures import counting, measured
from ckrules.pictures.shapes import Bars, Nothing, Picture
from ckrules.report.page import Report, ReportSection, ReportTable
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.ranking.ranker import Ranker

_MOST = 25


def of_results(place: str, books: Books, ranker: Ranker, product: str | None = None) -> Report:
    """The report of what was built and run.

    Args:
        place: A folder of kernels, or a results database.
        books: The rule books by which configurations are read.

    Raises:
        ResultsError: If there are no results, or they cannot be read.
        UsageError: If there is neither a build nor a run.
    """
    path = find(place)
    with Results(path, reading=True) as table:
        builds = list(table.records())
    with Runs(path, reading=True) as table:
        runs = list(table.records())
    if not builds and not runs:
        raise UsageError(f"{place}: there is neither a build nor a run")
    facts = [
        ("results", place), ("builds", f"{len(builds):,}"), ("runs", f"{len(runs):,}"),
        ("contradict the rules", f"{sum(bool(r['finding']) for r in (*builds, *runs)):,}"),
        ("CK", ", ".join(_words(r["ck"] for r in (*builds, *runs)))),
        ("GPUs", ", ".join(_words(r["arch"] for r in (*builds, *runs)))),
        ("devices", ", ".join(_words(r["device_name"] for r in runs))),
    ]  # fmt: skip
    sections = [
        ReportSection("Builds by outcome", picture=_tally("builds", builds, "status")),
        ReportSection(
            "Failed builds by kind", picture=_tally("failed builds", _failed(builds), "error_class")
        ),
        ReportSection("Runs by outcome", picture=_tally("runs", runs, "status")),
        ReportSection(
            "Predicted against measured", picture=_predictions(runs, books, ranker, product)
        ),
        *_times(runs),
        _findings(builds, runs),
    ]
    return Report(f"Results: {place}", [(n, v) for n, v in facts if v], sections)


def _words(values: Iterable[Any]) -> list[str]:
    return [str(v) for v in dict.fromkeys(values) if v]


def _failed(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [r for r in rows if r["status"] not in ("ok", "success")]


def _tally(unit: str, rows: Sequence[Mapping[str, Any]], column: str) -> Picture:
    groups = Counter((str(r[column] or "none"),) for r in rows)
    return counting.bars(column, sorted(groups.items(), key=lambda g: -g[1]), unit)


def _predictions(
    runs: Sequence[Mapping[str, Any]], books: Books, ranker: Ranker, product: str | None
) -> Picture:
    if not runs:
        return Nothing("predicted against measured times", "no kernel was run")
    return measured.of_results(runs, books, ranker, product)


def _times(runs: Sequence[Mapping[str, Any]]) -> list[ReportSection]:
    timed = [r for r in runs if r["latency_ms"]]
    problems = Counter(r["problem"] for r in timed)
    sections = []
    for problem, _ in problems.most_common(3):
        rows = sorted((r for r in timed if r["problem"] == problem), key=lambda r: r["latency_ms"])
        first = rows[:_MOST]
        labels = tuple(r["name"] for r in first)
        values = tuple(1e3 * r["latency_ms"] for r in first)
        title = f"fastest kernels on {problem}"
        bars = Bars(title, "kernel", "microseconds", tuple(map(_short, labels)), values)
        cells = [
            [f"{v:,.1f}", f"{r['tflops']:,.1f}" if r["tflops"] else "", r["device_name"], r["name"]]
            for v, r in zip(values, first, strict=True)
        ]
        text = f"{len(first)} of {count(len(rows), 'kernel')}."
        table = ReportTable(
            ["microseconds", "TFLOPS", "device", "kernel"], cells, frozenset({0, 1})
        )
        sections.append(ReportSection(f"Fastest on {problem}", text, bars, table))
    if not sections:
        sections.append(
            ReportSection("Times", picture=Nothing("times", "no run has a measured time"))
        )
    return sections


def _short(name: str, most: int = 48) -> str:
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _findings(
    builds: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]
) -> ReportSection:
    rows = [
        [kind, r["name"], r["arch"], r["status"], r["finding"]]
        for kind, table in (("build", builds), ("run", runs))
        for r in table
        if r["finding"]
    ]
    text = "Builds and runs that came out otherwise than the rules say."
    head = ["", "kernel", "GPU", "outcome", "finding"]
    return ReportSection("Contradictions", text, table=ReportTable(head, rows))
