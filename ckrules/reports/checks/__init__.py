"""Reports of ``ckrules check``, one module a format.

A module has ``TITLE`` and ``render(verdicts, write, options)``, which writes text as verdicts
come; a new file here is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ckrules.readers.entries import Remark
from ckrules.reports.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is written: one object a configuration (``verdicts``), and colours.

    ``stdin`` is the text of standard input, for excerpts; ``docs_url`` goes before the pages of
    rules.
    """

    verdicts: bool = False
    color: bool = False
    stdin: str | None = None
    docs_url: str = ""


class Report(Protocol):
    """A module of this package."""

    TITLE: str
    #: Whether the report itself says what cannot be read; else standard error does.
    SHOWS_PROBLEMS: bool

    def render(
        self, verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options
    ) -> None:
        """Writes the report piece by piece while the verdicts come."""


def available() -> list[str]:
    """The formats that exist.

    >>> available()
    ['concise', 'full', 'github', 'gitlab', 'json', 'jsonl', 'junit', 'sarif']
    """
    return sorted(m.name.removesuffix("_list") for m in pkgutil.iter_modules(__path__))


def objects(verdict: Verdict, options: Options) -> list[dict[str, Any]]:
    """What JSON says about a verdict: the whole of it, or each finding."""
    if not options.verdicts:
        return verdict.findings()
    return [] if isinstance(verdict.item, Remark) else [verdict.to_dict()]


def report(name: str) -> Report:
    """The module of a format, imported now and not before."""
    found = [m.name for m in pkgutil.iter_modules(__path__)]
    module = name if name in found else f"{name}_list"
    return cast(Report, importlib.import_module(f"{__name__}.{module}"))
