"""Reports of ``ckrules check``, one module a format.

A module has ``SHOWS_PROBLEMS`` and ``render(verdicts, write, options)``, which writes text as
verdicts come; a new file here is found by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ckrules.checking.verdict import ItemVerdict
from ckrules.readers.entries import Entry, Remark
from ckrules.support.submodules import submodule, submodules
from ckrules.support.visible import visible


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How a report is written: one object a configuration (``verdicts``), and colours.

    ``texts`` are those of sources that are not files, by name, for excerpts; ``docs_url`` goes
    before the pages of rules. ``links``: codes are links of a terminal to these pages.
    """

    verdicts: bool = False
    color: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    docs_url: str = ""
    links: bool = False


class ReportFormat(Protocol):
    """A module of this package."""

    #: Whether the report itself says what cannot be read; else standard error does.
    SHOWS_PROBLEMS: bool

    def render(
        self,
        verdicts: Iterable[ItemVerdict],
        write: Callable[[str], object],
        options: ReportOptions,
    ) -> None:
        """Writes the report piece by piece while the verdicts come."""


def available() -> list[str]:
    """The formats that exist.

    >>> available()
    ['concise', 'full', 'github', 'gitlab', 'json', 'jsonl', 'junit', 'sarif', 'summary']
    """
    return submodules(__path__)


def beside(verdict: ItemVerdict, options: ReportOptions) -> str:
    """Lines on a configuration beside its findings: that it is legal, and quantities, as asked."""
    found = [
        f"{name} = {'undefined' if value is None else value}"
        for name, value in (verdict.resources or {}).items()
    ]
    if options.verdicts and isinstance(verdict.item, Entry) and not verdict.violations:
        found.insert(0, "legal")
    return "".join(f"{visible(str(verdict.item.place))}: {text}\n" for text in found)


def objects(verdict: ItemVerdict, options: ReportOptions) -> list[dict[str, Any]]:
    """What JSON says about a verdict: the whole of it, or each finding."""
    if not options.verdicts:
        return verdict.findings()
    return [] if isinstance(verdict.item, Remark) else [verdict.to_dict()]


def report(name: str) -> ReportFormat:
    """The module of a format, imported now and not before."""
    module: ReportFormat = submodule(__name__, name)
    return module
