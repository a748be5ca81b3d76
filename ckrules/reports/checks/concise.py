"""``place: CODE kind: message``, one line a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ckrules.readers.entries import Entry
from ckrules.reports.checks import Options
from ckrules.reports.diagnostics import Diagnostic
from ckrules.reports.verdict import Verdict

TITLE = "one line a finding"
SHOWS_PROBLEMS = False
_BOLD, _RESET = "\x1b[1m", "\x1b[0m"
TINTS = {"error": "\x1b[31m", "warning": "\x1b[33m", "note": "\x1b[36m"}


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes each violation as it is found; with ``verdicts`` legal configurations too."""
    for verdict in verdicts:
        for diagnostic in verdict.shown:
            write(line(diagnostic, options.color) + "\n")
        if options.verdicts and isinstance(verdict.item, Entry) and not verdict.violations:
            write(f"{verdict.item.place}: legal\n")
        for name, value in (verdict.resources or {}).items():
            write(f"{verdict.item.place}: {name} = {'undefined' if value is None else value}\n")


def line(diagnostic: Diagnostic, color: bool) -> str:
    """The line of one diagnostic."""
    kind, severity = diagnostic.kind, diagnostic.severity
    if severity != "error":
        kind = f"{kind} ({severity})"
    if not color:
        return f"{diagnostic.place}: {diagnostic.code} {kind}: {diagnostic.message}"
    place, tint = f"{_BOLD}{diagnostic.place}{_RESET}", TINTS[severity]
    return f"{place}: {tint}{diagnostic.code}{_RESET} {kind}: {diagnostic.message}"
