"""GitLab's code quality report: a JSON list with a fingerprint that does not depend on lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.fingerprint import fingerprint, report_path
from ckrules.checking.first_seen import Sightings
from ckrules.checking.reports import ReportOptions
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.visible import json_text

SHOWS_PROBLEMS = True
_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes the list element by element."""
    seen = Sightings()
    first = True
    for verdict in verdicts:
        for diagnostic in (*verdict.shown, *verdict.problems()):
            write("[\n  " if first else ",\n  ")
            write(json_text(issue(diagnostic, seen)))
            first = False
    write("[]\n" if first else "\n]\n")


def issue(d: Diagnostic, seen: Sightings) -> dict[str, Any]:
    """One finding; ``seen`` counts equal ones, whose fingerprints must differ."""
    line = max(d.place.line, 1)
    return {
        "type": "issue",
        "description": f"{d.code} {d.message}",
        "check_name": d.code,
        "categories": ["Bug Risk"],
        "fingerprint": fingerprint(d, seen),
        "severity": _SEVERITIES[d.severity],
        "location": {
            "path": report_path(d.place.source),
            "lines": {"begin": line, "end": max(d.place.end_line, line)},
        },
    }
