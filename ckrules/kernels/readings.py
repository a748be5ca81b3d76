"""Rules read again in newer texts of what they cite: which text, and when.

A family keeps them in ``readings.toml`` beside its module, a table a text. A reading confirms
nothing (`ckrules.kernels.evidence` does); it says how old the grounds of a rule are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckrules.kernels import evidence
from ckrules.kernels.families import families

FILE = "readings.toml"
"""The file's name in a family's folder."""


@dataclass(frozen=True)
class Reading:
    """A text that rules were read again in."""

    file: str
    """As sources cite it: CK's headers below ``include/ck_tile``."""
    commit: str
    """Of ROCm/rocm-libraries, or of a pull request's branch there; empty: not known."""
    date: str
    """The day of the reading."""
    symbols: str
    """Where in the file."""
    rules: tuple[str, ...]
    """The codes of the rules, none of which differs, or which were changed to what it says."""

    def __str__(self) -> str:
        at = f" at {self.commit}" if self.commit else ""
        return f"{self.date}, {self.file}{at}: {self.symbols}"


@cache
def readings() -> Mapping[str, tuple[Reading, ...]]:
    """Every reading by the rule's code, the newest first.

    Raises:
        UsageError: For a file of another form.
    """
    found: dict[str, list[Reading]] = {}
    for family in families().values():
        path = family.folder() / FILE
        for each in evidence.entries(path, "reading", _reading, "a file of readings"):
            for code in each.rules:
                found.setdefault(code, []).append(each)
    return {c: tuple(sorted(r, key=lambda r: r.date, reverse=True)) for c, r in found.items()}


def _reading(table: Mapping[str, Any]) -> Reading:
    words = {name: str(table[name]) for name in ("file", "commit", "date", "symbols")}
    return Reading(**words, rules=tuple(map(str, table["rules"])))
