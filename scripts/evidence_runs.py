"""Writes docs/evidence.md: every run of ``ckrules certify`` that is kept, with its command.

    python scripts/evidence_runs.py            print the page
    python scripts/evidence_runs.py --write    write it
    python scripts/evidence_runs.py --check    exit 1 unless the file is that page

The page holds what the families' files of evidence hold, and nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import page_command

from ckrules.kernels import evidence
from ckrules.kernels.evidence import (
    BACKEND,
    COMPILER,
    HARDWARE,
    METHODS,
    NUMERICS,
    CertifyRun,
    RejectionTally,
)
from ckrules.kernels.families import families

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evidence.md"
_COMMAND = {COMPILER: "", BACKEND: " backend", NUMERICS: " numerics"}
_DRAWN = re.compile(r"-n \d+ --seed -?\d+")
_DEFAULT_MANNER = re.compile(
    r"waves and blocks forward, reversed, random \(seed -?\d+\), 32 columns of blocks"
)

Row = Sequence[object]


def runs() -> list[tuple[str, CertifyRun]]:
    """The kept runs of all families, with the name of each one's family."""
    return [
        (family.name, run)
        for family in families().values()
        for run in evidence.read(evidence.place(family))
    ]


def command(family: str, run: CertifyRun) -> str:
    """What was called, as far as the file says it.

    >>> run = CertifyRun("numerics", "gfx942", "2025.11", "clang 22", "-n 2 --seed 1; all blocks")
    >>> command("conv", run)
    '`ckrules certify numerics --arch gfx942 --ck 2025.11 -n 2 --seed 1`; all blocks'
    """
    if run.method == HARDWARE:
        return f"{run.drawn} on {run.arch}, CK {run.ck}"
    asked, _, manner = run.drawn.partition("; ")
    if _DEFAULT_MANNER.fullmatch(manner):
        manner = ""
    given = "" if family == "conv" else f" --family {family}"
    start = f"ckrules certify{_COMMAND[run.method]}{given} --arch {run.arch} --ck {run.ck}"
    own = f"`{start} {asked}`" if _DRAWN.match(asked) else f"`{start} FILE`, {asked}"
    return f"{own}; {manner}" if manner else own


def tool(run: CertifyRun) -> str:
    """The compiler in a word and a version."""
    hit = re.search(r"clang version (\S+)", run.tool)
    return f"clang {hit[1]}" if hit else run.tool


def total(found: Iterable[CertifyRun]) -> RejectionTally:
    """The tallies of all rules of some runs together."""
    return sum((t for run in found for t, _ in run.rules.values()), RejectionTally())


def counts(found: Sequence[CertifyRun]) -> Row:
    """Configurations let through that agree and differ; rejections confirmed, alone, refuted."""
    t = total(found)
    agreed, differed = (sum(getattr(r, name) for r in found) for name in ("agreed", "differed"))
    return agreed, differed, t.confirmed, t.alone, t.refuted


def by_gpu(found: Sequence[tuple[str, CertifyRun]], method: str) -> list[Row]:
    """One line a GPU: runs, and their counts."""
    gpus = sorted({r.arch for _, r in found if r.method == method})
    rows = []
    for gpu in gpus:
        own = [r for _, r in found if (r.method, r.arch) == (method, gpu)]
        rows.append((gpu, len(own), *counts(own)))
    return rows


def page(found: Sequence[tuple[str, CertifyRun]]) -> str:
    """The text of the page."""
    methods = {}
    for method in METHODS:
        each = [
            (command(family, r), tool(r), *counts([r])) for family, r in found if r.method == method
        ]
        methods[method] = (by_gpu(found, method), each)
    return page_command.rendered("evidence.md.j2", table=table, methods=methods)


def table(head: Sequence[str], rows: Iterable[Row]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|") for c in r) + " |" for r in lines)


if __name__ == "__main__":
    sys.exit(page_command.run(__doc__, PAGE, lambda: page(runs())))
