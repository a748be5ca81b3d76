"""What a kind of finding is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind of finding: its name and severity, the fact, and whether it is on by default."""

    code: str
    name: str
    severity: str
    summary: str
    detail: str
    """What else there is to know, or to do about it."""
    default: bool = True

    def page(self) -> str:
        """What `ckrules explain` prints."""
        off = "" if self.default else ", off unless it is selected"
        head = f"# {self.code}: {self.name}\n\n{self.summary}\n{self.detail}"
        return f"{head}\n\n- severity: {self.severity}{off}\n- found by: ckrules check\n"
