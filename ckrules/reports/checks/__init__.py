"""Reports of ``ckrules check``, one module a format.

A module has ``TITLE`` and ``render(verdicts, write, options)``, which writes text as verdicts
come; a new file here is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, cast

from ckrules.reports.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is written: one object a configuration (``verdicts``), and colours."""

    verdicts: bool = False
    color: bool = False


class Report(Protocol):
    """A module of this package."""

    TITLE: str

    def render(
        self, verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options
    ) -> None:
        """Writes the report piece by piece while the verdicts come."""


def available() -> list[str]:
    """The formats that exist.

    >>> available()
    ['concise', 'json', 'jsonl']
    """
    return sorted(m.name.removesuffix("_list") for m in pkgutil.iter_modules(__path__))


def report(name: str) -> Report:
    """The module of a format, imported now and not before."""
    found = [m.name for m in pkgutil.iter_modules(__path__)]
    module = name if name in found else f"{name}_list"
    return cast(Report, importlib.import_module(f"{__name__}.{module}"))
