"""JSON: one document with every finding, or every configuration with ``--verdicts``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from ckrules.reports.checks import Options, objects
from ckrules.reports.verdict import Verdict

TITLE = "one JSON list"
SHOWS_PROBLEMS = False


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes the list element by element, so that it never stands in memory as a whole."""
    first = True
    for verdict in verdicts:
        for item in objects(verdict, options):
            write("[\n  " if first else ",\n  ")
            write(json.dumps(item, ensure_ascii=False))
            first = False
    write("[]\n" if first else "\n]\n")
