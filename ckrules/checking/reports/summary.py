"""One line a code: how many findings in how many files, and where the first one is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.reports import ReportOptions
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.ansi import TINTS, painted
from ckrules.support.tables import aligned

SHOWS_PROBLEMS = False
_HEAD = ("code", "severity", "findings", "files", "name", "first")


@dataclass
class _Code:
    first: Diagnostic
    findings: int = 0
    files: set[str] = field(default_factory=set)


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes the table when the last verdict has come; nothing where there are no findings."""
    codes: dict[tuple[str, str], _Code] = {}
    for verdict in verdicts:
        for d in verdict.shown:
            found = codes.setdefault((d.severity, d.code), _Code(d))
            found.findings += 1
            found.files.add(d.place.source)
    order = list(TINTS)
    keys = sorted(codes, key=lambda k: (order.index(k[0]), k[1]))
    rows = [
        (code, severity, f"{c.findings:,}", f"{len(c.files):,}", c.first.name, str(c.first.place))
        for severity, code in keys
        for c in (codes[severity, code],)
    ]
    if not rows:
        return
    lines = aligned([_HEAD, *rows], right={2, 3}).splitlines(keepends=True)
    write(lines[0])
    for line, (severity, code) in zip(lines[1:], keys, strict=True):
        write(painted(code, TINTS[severity], options.color) + line[len(code) :])
