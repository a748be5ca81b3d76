"""Findings of lint: codes, severities and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.points import Point
from ckrules.engine.rules import Rule
from ckrules.reasoning.clash import Clash

#: What each code means, and how severe it is.
CODES: Mapping[str, tuple[str, str]] = {
    "LINT001": ("error", "rules contradict each other"),
    "LINT002": ("warning", "one rule leaves nothing"),
    "LINT003": ("warning", "rule never fires"),
    "LINT004": ("note", "rule implied by others"),
    "LINT005": ("warning", "guard cannot hold"),
    "LINT006": ("note", "divisor can be zero"),
    "LINT007": ("warning", "field that no rule reads"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a book: code, what it is about, and a sentence."""

    code: str
    subject: str
    message: str
    rules: tuple[Rule, ...] = ()
    clash: Clash | None = None
    witness: Point | None = None

    @property
    def severity(self) -> str:
        """``error``, ``warning`` or ``note``."""
        return CODES[self.code][0]

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": CODES[self.code][1],
            "subject": self.subject,
            "message": self.message,
            "rules": [r.code for r in self.rules],
            "clash": self.clash.to_dict() if self.clash else None,
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, sorted by code, and the questions that the solver left open."""

    findings: tuple[Finding, ...]
    undecided: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "findings": [f.to_dict() for f in self.findings],
            "undecided": list(self.undecided),
        }
