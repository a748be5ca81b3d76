"""``place: CODE kind: message``, one line a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ckrules.engine.rules import Violation
from ckrules.readers.entries import Place
from ckrules.reports.checks import Options
from ckrules.reports.verdict import Verdict

TITLE = "one line a violation"
_BOLD, _RED, _YELLOW, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes each violation as it is found; with ``verdicts`` legal configurations too."""
    for verdict in verdicts:
        for violation in verdict.violations:
            write(line(verdict.place(violation), violation, options.color) + "\n")
        if options.verdicts and verdict.readable and not verdict.violations:
            write(f"{verdict.item.place}: legal\n")
        for name, value in (verdict.resources or {}).items():
            write(f"{verdict.item.place}: {name} = {'undefined' if value is None else value}\n")


def line(place: Place, violation: Violation, color: bool) -> str:
    """The line of one violation."""
    rule = violation.rule
    kind = rule.kind if rule.severity == "error" else f"{rule.kind} ({rule.severity})"
    if not color:
        return f"{place}: {rule.code} {kind}: {violation.message}"
    tint = _RED if rule.severity == "error" else _YELLOW
    return f"{_BOLD}{place}{_RESET}: {tint}{rule.code}{_RESET} {kind}: {violation.message}"
