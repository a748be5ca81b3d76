"""Writes docs/hardware.md, what upstream saw on hardware beside what the rules say of it.

    python scripts/hardware_reports.py            print the page
    python scripts/hardware_reports.py --write    write it, and the families' evidence
    python scripts/hardware_reports.py --check    exit 1 unless the file is that page

The page holds what the families' files ``hardware.toml`` hold, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import page_command
import reported_kernels as hardware
from reported_kernels import ForetoldKernel

from ckrules.certify import recording
from ckrules.kernels import evidence
from ckrules.kernels.families import families
from ckrules.support import files

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hardware.md"


def row(judged: Iterable[ForetoldKernel]) -> dict[str, object]:
    """What the page says of a thread's kernels with one outcome."""
    found = list(judged)
    first = found[0]
    missed = sum(not f.agrees for f in found)
    return {
        "report": first.report,
        "outcome": first.kernels.outcome,
        "kernels": len({f.name for f in found}),
        "runs": len(found),
        "foretold": len(found) - missed,
        "codes": sorted({r.code for f in found for r in f.broken}),
        "missed": first.kernels.missed if missed else "",
    }


def page() -> str:
    """The text of the page."""
    rows = [
        row(group)
        for family in families().values()
        for _, group in groupby(hardware.foretold(family.name), key=lambda f: id(f.kernels))
    ]
    said = [
        (report, " ".join(str(r["missed"]) for r in rows if r["report"] is report and r["missed"]))
        for report in dict.fromkeys(r["report"] for r in rows)
    ]
    return page_command.rendered("hardware.md.j2", rows=rows, said=said)


def record() -> None:
    """Puts what the reports say of rules into the families' files of evidence, for those there."""
    for family in families().values():
        if not hardware.reports(family.name):
            continue
        path = evidence.place(family)
        others = [run for run in evidence.read(path) if run.method != evidence.HARDWARE]
        files.replace(path, evidence.text(others))
        for run in hardware.evidence_of(family.name):
            recording.add(path, run)


if __name__ == "__main__":
    if "--write" in sys.argv:
        record()
    sys.exit(page_command.run(__doc__, PAGE, page))
