"""Findings beside the rules: what is odd about a file, not about a kernel.

Each has a code, a severity and a sentence, as rules have; settings select and ignore them alike.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ckrules.engine.rules import Severity

#: Those of rules, and one for what is only worth knowing.
SEVERITIES = (*(s.value for s in Severity), "note")


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


FINDINGS: Mapping[str, FindingKind] = {
    code: FindingKind(code, **said)
    for code, said in tomllib.loads(
        Path(__file__).with_name("findings.toml").read_text(encoding="utf-8")
    ).items()
}
