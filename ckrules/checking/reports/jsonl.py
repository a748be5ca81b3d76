"""JSON Lines: one object a finding, or one a configuration with ``--verdicts``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ckrules.checking.reports import ReportOptions, objects
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.visible import json_text

SHOWS_PROBLEMS = False


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes the objects while the verdicts come, in the order of the input."""
    for verdict in verdicts:
        for item in objects(verdict, options):
            write(json_text(item) + "\n")
