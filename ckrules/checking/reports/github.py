"""Annotations of GitHub Actions: ``::error file=…,line=…::message``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.reports import ReportOptions
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.visible import visible

SHOWS_PROBLEMS = True
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes one command a finding."""
    for verdict in verdicts:
        for diagnostic in (*verdict.shown, *verdict.problems()):
            write(command(diagnostic) + "\n")


def command(d: Diagnostic) -> str:
    """The workflow command of one finding."""
    place = d.place
    pairs = [("title", f"ckrules ({d.code})"), ("file", visible(place.source))]
    if place.line:
        pairs += [("line", str(place.line)), ("col", str(place.column))]
    if place.end_line:
        pairs += [("endLine", str(place.end_line)), ("endColumn", str(place.end_column))]
    shown = ",".join(f"{k}={_value(v)}" for k, v in pairs)
    text = visible(f"{place}: {d.code} {d.message}")
    text += f"\nhelp: {visible(d.help)}" if d.help else ""
    return f"::{_LEVELS[d.severity]} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
