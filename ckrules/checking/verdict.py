"""The verdict on one configuration, which every report of ``check`` is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.checking.diagnostics import Diagnostic, of_finding
from ckrules.engine.rules import Violation
from ckrules.readers.entries import Entry, Place, Remark, UnreadableText
from ckrules.support.tables import count


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What was found about one entry of an input: violations, or why it cannot be read.

    ``violations`` are the facts; ``diagnostics`` are what the settings leave of them, and what
    was found beside the rules. A `Remark` is about no configuration.
    """

    item: Entry | UnreadableText | Remark
    violations: Sequence[Violation] = ()
    resources: Mapping[str, Any] | None = None
    diagnostics: Sequence[Diagnostic] = ()
    problem: Mapping[str, Any] | None = None
    """Whether the kernel accepts the problem that was asked about."""

    @property
    def readable(self) -> bool:
        """False if the entry is not a configuration."""
        return isinstance(self.item, Entry)

    @property
    def legal(self) -> bool:
        """True if the entry is a configuration that breaks no rule of severity ``error``."""
        return self.readable and not any(v.rule.severity == "error" for v in self.violations)

    @property
    def standing(self) -> str:
        """Which of `STANDINGS` the configuration has."""
        errors = {v.rule.code for v in self.violations if v.rule.severity == "error"}
        if not errors and self.readable:
            return "legal"
        hidden = {d.suppressor for d in self.diagnostics if d.code in errors}
        if "" in hidden:
            return "illegal"
        if hidden:
            return "in the baseline" if "baseline" in hidden else "suppressed"
        return "ignored"

    @property
    def shown(self) -> list[Diagnostic]:
        """The diagnostics that nothing suppresses."""
        return [d for d in self.diagnostics if not d.suppressor]

    def problems(self) -> list[Diagnostic]:
        """What cannot be read, as diagnostics."""
        if not isinstance(self.item, UnreadableText):
            return []
        return [of_finding("CFG000", message, place) for place, message in self.item.lines()]

    def to_dict(self) -> dict[str, Any]:
        """The form of ``--verdicts``: one object a configuration."""
        out: dict[str, Any] = {
            "legal": self.legal,
            "violations": [v.to_dict() for v in self.violations],
            "source": source_line(self.item.place),
        }
        if isinstance(self.item, UnreadableText):
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


#: The standing of a configuration: what its broken rules, if any, were hidden by.
STANDINGS = ("legal", "illegal", "in the baseline", "suppressed", "ignored")


@dataclass(slots=True)
class CheckTally:
    """What a run of ``check`` has seen so far; ``standings`` counts configurations."""

    standings: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STANDINGS, 0))
    violations: int = 0
    warnings: int = 0
    unreadable: int = 0
    remarks: int = 0
    failing: int = 0
    refusing: int = 0
    """Legal configurations whose kernels do not take the problem that was asked about."""

    @property
    def configurations(self) -> int:
        """How many there were."""
        return sum(self.standings.values())

    def add(self, verdict: ItemVerdict) -> None:
        """Counts one verdict."""
        if isinstance(verdict.item, UnreadableText):
            self.unreadable += 1
            return
        if isinstance(verdict.item, Remark):
            self.remarks += 1
        else:
            self.standings[verdict.standing] += 1
            refused = verdict.problem is not None and not verdict.problem["accepted"]
            self.refusing += refused and verdict.standing == "legal"
        shown = [d.severity for d in verdict.diagnostics if not d.suppressor]
        errors = shown.count("error")
        self.violations += errors
        self.warnings += shown.count("warning")
        self.failing += errors > 0

    def summary(self) -> str:
        """One line.

        >>> CheckTally({"legal": 2, "illegal": 1, "in the baseline": 4}, violations=2).summary()
        '7 configurations: 2 legal, 1 illegal (2 violations), 4 in the baseline'
        >>> CheckTally({"legal": 2, "illegal": 0}, violations=3, refusing=1).summary()
        '2 configurations: 2 legal; 1 does not take the problem (3 violations)'
        """
        parts = [f"{n:,} {what}" for what, n in self.standings.items() if n or what == "legal"]
        violations = f" ({count(self.violations, 'violation')})"
        if self.violations and not self.refusing:
            at = 1 if self.standings["illegal"] else 0
            parts[at] += violations
        if self.warnings:
            parts.append(count(self.warnings, "warning"))
        text = f"{count(self.configurations, 'configuration')}: {', '.join(parts)}"
        if self.refusing:
            does = "does" if self.refusing == 1 else "do"
            text += f"; {self.refusing:,} {does} not take the problem"
            text += violations if self.violations else ""
        return f"{text}; {self.unreadable:,} could not be read" if self.unreadable else text
