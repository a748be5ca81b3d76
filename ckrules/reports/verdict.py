"""The verdict on one configuration, which every report of ``check`` is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.rules import Violation
from ckrules.readers.entries import Entry, Place, Problem, Remark
from ckrules.reports.diagnostics import Diagnostic, of_finding


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one entry of an input: violations, or why it cannot be read.

    ``violations`` are the facts; ``diagnostics`` are what the settings leave of them, and what
    was found beside the rules. A `Remark` is about no configuration.
    """

    item: Entry | Problem | Remark
    violations: Sequence[Violation] = ()
    resources: Mapping[str, Any] | None = None
    diagnostics: Sequence[Diagnostic] = ()
    problem: Mapping[str, Any] | None = None
    """Whether the kernel accepts the problem that was asked about."""

    @property
    def readable(self) -> bool:
        """False if the entry is no configuration."""
        return isinstance(self.item, Entry)

    @property
    def legal(self) -> bool:
        """True if the entry is a configuration that breaks no rule of severity ``error``."""
        return self.readable and not any(v.rule.severity == "error" for v in self.violations)

    @property
    def shown(self) -> list[Diagnostic]:
        """The diagnostics that nothing suppresses."""
        return [d for d in self.diagnostics if not d.suppressor]

    def problems(self) -> list[Diagnostic]:
        """What cannot be read, as diagnostics."""
        if not isinstance(self.item, Problem):
            return []
        return [of_finding("CFG000", message, place) for place, message in self.item.lines()]

    def to_dict(self) -> dict[str, Any]:
        """The form of ``--verdicts``: one object a configuration."""
        out: dict[str, Any] = {
            "legal": self.legal,
            "violations": [v.to_dict() for v in self.violations],
            "source": source_line(self.item.place),
        }
        if isinstance(self.item, Problem):
            out["error"] = "; ".join(message for _, message in self.item.lines())
            return out
        assert isinstance(self.item, Entry)
        config = self.item.config
        out |= {"name": config.name, "variant": config.variant, "arch": config.point["arch"]}
        if self.resources is not None:
            out["resources"] = dict(self.resources)
        if self.problem is not None:
            out["problem"] = dict(self.problem)
        return out

    def findings(self) -> list[dict[str, Any]]:
        """Each diagnostic as an object of its own, with its place."""
        return [d.to_dict() for d in self.shown]


def source_line(place: Place) -> str:
    """A place without its column: ``a.json:4``.

    >>> source_line(Place("a.json", 4, 10))
    'a.json:4'
    """
    return str(Place(place.source, place.line))


@dataclass(slots=True)
class Tally:
    """What a run of ``check`` has seen so far."""

    configurations: int = 0
    illegal: int = 0
    violations: int = 0
    warnings: int = 0
    unreadable: int = 0
    remarks: int = 0
    failing: int = 0
    suppressed: int = 0
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Counts one verdict."""
        if isinstance(verdict.item, Problem):
            self.unreadable += 1
            return
        if isinstance(verdict.item, Remark):
            self.remarks += 1
        else:
            self.configurations += 1
            self.illegal += not verdict.legal
        for d in verdict.diagnostics:
            if d.suppressor:
                self.suppressed += 1
                continue
            self.violations += d.severity == "error"
            self.warnings += d.severity == "warning"
            self.codes[d.code] = self.codes.get(d.code, 0) + 1
        self.failing += any(d.severity == "error" for d in verdict.shown)

    def summary(self) -> str:
        """One line.

        >>> Tally(configurations=3, illegal=1, violations=2).summary()
        '3 configurations: 2 legal, 1 illegal (2 violations)'
        """
        legal = self.configurations - self.illegal
        text = f"{count(self.configurations, 'configuration')}: {legal} legal"
        if self.illegal:
            text += f", {self.illegal} illegal ({count(self.violations, 'violation')})"
        if self.warnings:
            text += f", {count(self.warnings, 'warning')}"
        if self.suppressed:
            text += f", {self.suppressed:,} suppressed"
        if self.unreadable:
            text += f"; {self.unreadable} could not be read"
        return text

    def to_dict(self) -> dict[str, Any]:
        """The counts by name."""
        return {
            "configurations": self.configurations,
            "legal": self.configurations - self.illegal,
            "illegal": self.illegal,
            "violations": self.violations,
            "warnings": self.warnings,
            "unreadable": self.unreadable,
            "suppressed": self.suppressed,
            "codes": dict(sorted(self.codes.items())),
        }


def count(n: int, word: str) -> str:
    """A number and its noun.

    >>> count(1, "point"), count(1200, "point")
    ('1 point', '1,200 points')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"
