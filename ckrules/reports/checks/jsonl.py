"""JSON Lines: one object a finding, or one a configuration with ``--verdicts``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from ckrules.reports.checks import Options, objects
from ckrules.reports.verdict import Verdict

TITLE = "one JSON object a line"
SHOWS_PROBLEMS = False


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes the objects while the verdicts come, in the order of the input."""
    for verdict in verdicts:
        for item in objects(verdict, options):
            write(json.dumps(item, ensure_ascii=False) + "\n")
