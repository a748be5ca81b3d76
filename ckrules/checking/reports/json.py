"""JSON: one document with every finding, or every configuration with ``--verdicts``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ckrules.checking.reports import ReportOptions, objects
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.visible import json_text

SHOWS_PROBLEMS = False


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes the list element by element, so that it never stands in memory as a whole."""
    first = True
    for verdict in verdicts:
        for item in objects(verdict, options):
            write("[\n  " if first else ",\n  ")
            write(json_text(item))
            first = False
    write("[]\n" if first else "\n]\n")
