"""Writes docs/readings.md: which rules were read again in newer texts, and which were not.

    python scripts/readings.py            print the page
    python scripts/readings.py --write    write it
    python scripts/readings.py --check    exit 1 unless the file is that page

The page holds what the families' files ``readings.toml`` hold, and nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path

import page_command
from evidence_runs import table

from ckrules.kernels.families import families
from ckrules.kernels.readings import readings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "readings.md"
_FIRST = "2026.06"


def begun() -> set[str]:
    """The codes of the rules that begin with CK 2026.06 or later and have not ended."""
    return {
        rule.code
        for family in families().values()
        for rule in [
            *family.rules(), *(family.problems.rules() if family.problems is not None else ())
        ]
        if max(rule.template.since, family.since) >= _FIRST and rule.template.until is None
    }  # fmt: skip


def rows() -> list[tuple[str, ...]]:
    """The lines of the page; what families have in common is in one."""
    codes: dict[tuple[str, ...], set[str]] = {}
    for code, found in readings().items():
        for each in found:
            told = (f"`{each.file}`", each.commit, each.symbols, each.date)
            codes.setdefault(told, set()).add(code)
    return [(*told, ", ".join(sorted(codes[told]))) for told in sorted(codes)]


def page() -> str:
    """The text of the page."""
    known = begun()
    left = sorted(known - readings().keys())
    return page_command.rendered(
        "readings.md.j2", table=table, rows=rows(), known=len(known), left=left
    )


if __name__ == "__main__":
    sys.exit(page_command.run(__doc__, PAGE, page))
