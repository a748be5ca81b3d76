"""Findings of lint: codes, severities and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.rules import Rule
from ckrules.reasoning.codes import CODES
from ckrules.reasoning.conflict import Conflict


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a book: code, what it is about, and a sentence."""

    code: str
    subject: str
    message: str
    rules: tuple[Rule, ...] = ()
    conflict: Conflict | None = None
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
            "conflict": self.conflict.to_dict() if self.conflict else None,
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings, sorted by code, and the questions that the solver left open."""

    findings: tuple[Finding, ...]
    undecided: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {"findings": [f.to_dict() for f in self.findings], "undecided": list(self.undecided)}
