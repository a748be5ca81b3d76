"""GitLab's code quality report: a JSON list with a fingerprint that does not depend on lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from ckrules.reports.checks import Options
from ckrules.reports.diagnostics import Diagnostic
from ckrules.reports.verdict import Verdict

TITLE = "GitLab's code quality report"
SHOWS_PROBLEMS = True
_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes the list element by element."""
    seen: dict[str, int] = {}
    first = True
    for verdict in verdicts:
        for diagnostic in (*verdict.shown, *verdict.problems()):
            write("[\n  " if first else ",\n  ")
            write(json.dumps(issue(diagnostic, seen), ensure_ascii=False))
            first = False
    write("[]\n" if first else "\n]\n")


def issue(d: Diagnostic, seen: dict[str, int]) -> dict[str, Any]:
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
            "path": d.place.source,
            "lines": {"begin": line, "end": max(d.place.end_line, line)},
        },
    }


def fingerprint(d: Diagnostic, seen: dict[str, int]) -> str:
    """A digest of file, configuration, code and message, numbered among equal ones."""
    parts = (d.place.source, d.configuration or "", d.arch, d.code, d.message)
    text = "\0".join(parts)
    seen[text] = seen.get(text, 0) + 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode()).hexdigest()[:32]
