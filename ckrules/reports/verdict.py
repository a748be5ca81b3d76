"""The verdict on one configuration, which every report of ``check`` is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.rules import Violation
from ckrules.readers.entries import Entry, Place, Problem


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one entry of an input: violations, or why it cannot be read."""

    item: Entry | Problem
    violations: Sequence[Violation] = ()
    resources: Mapping[str, Any] | None = None

    @property
    def readable(self) -> bool:
        """False if the entry is no configuration."""
        return isinstance(self.item, Entry)

    @property
    def legal(self) -> bool:
        """True if the entry is a configuration that breaks no rule of severity ``error``."""
        return self.readable and not any(v.rule.severity == "error" for v in self.violations)

    def place(self, violation: Violation) -> Place:
        """Where the source writes the first field that the rule reads."""
        assert isinstance(self.item, Entry)
        return self.item.locate(*violation.values)

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
        config = self.item.config
        out |= {"name": config.name, "variant": config.variant, "arch": config.point["arch"]}
        if self.resources is not None:
            out["resources"] = dict(self.resources)
        return out

    def findings(self) -> list[dict[str, Any]]:
        """Each violation as an object of its own, with its place."""
        out = []
        for v in self.violations:
            place = self.place(v)
            assert isinstance(self.item, Entry)
            where = {"source": place.source, "line": place.line, "column": place.column}
            out.append({**v.to_dict(), **where, "configuration": self.item.config.name})
        return out


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
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Counts one verdict."""
        if not verdict.readable:
            self.unreadable += 1
            return
        self.configurations += 1
        self.illegal += not verdict.legal
        for v in verdict.violations:
            self.violations += v.rule.severity == "error"
            self.warnings += v.rule.severity != "error"
            self.codes[v.code] = self.codes.get(v.code, 0) + 1

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
            "codes": dict(sorted(self.codes.items())),
        }


def count(n: int, word: str) -> str:
    """A number and its noun.

    >>> count(1, "point"), count(1200, "point")
    ('1 point', '1,200 points')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"
