"""Kernels that others ran on hardware, as the threads of upstream's repositories report them.

A family keeps them in ``hardware.toml`` beside its module: a table a thread, and in it the kernels
that were right, wrong, or did not build. A text in braces in a name stands for each word of a list.

Rules are checked against them as against kernels run here: a rejected kernel that went wrong
confirms the rule, a rejected one that was right refutes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.engine.rules.rule import Kind, Rule, Severity
from ckrules.kernels import evidence
from ckrules.kernels.evidence import CertifyRun, RejectionTally
from ckrules.kernels.families import families, problems_of
from ckrules.kernels.family import Family
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook

FILE = "hardware.toml"
"""The file's name in a family's folder."""

RIGHT, WRONG, BUILT, UNBUILT = "right", "wrong", "built", "not built"
OUTCOMES = (RIGHT, WRONG, BUILT, UNBUILT)
"""The result of a kernel: right or wrong results (a crash is wrong), or only whether it was
built."""


@dataclass(frozen=True)
class ReportedKernels:
    """Kernels of a thread with one outcome, each on every problem that is named."""

    outcome: str
    names: tuple[str, ...]
    problems: tuple[str, ...] = ()
    missed: str = ""
    """Why the rules do not foretell the outcome, where they do not."""


@dataclass(frozen=True)
class HardwareReport:
    """What a thread says of kernels on one GPU and release."""

    thread: str
    """Such as ``ROCm/rocm-libraries#9684``."""
    date: str
    """When it was written, as in 2026-07-22."""
    arch: str
    ck: str
    says: str
    """The thread's finding in a sentence."""
    kernels: tuple[ReportedKernels, ...] = field(default_factory=tuple)

    @property
    def url(self) -> str:
        """Where the thread is.

        >>> HardwareReport("ROCm/aiter#5265", "2026-09-07", "gfx950", "2026.06", "…").url
        'https://github.com/ROCm/aiter/issues/5265'
        """
        repository, _, number = self.thread.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


def place(family: Family) -> Path:
    """Where the reports on a family are, if there are any."""
    return family.folder() / FILE


@cache
def reports(family: str) -> tuple[HardwareReport, ...]:
    """The reports on a family's kernels, in the order of its file; none without a file.

    Raises:
        UsageError: If the file is not one of reports, with the place.

    >>> reports("gemm")[0].thread
    'ROCm/rocm-libraries#9684'
    """
    path, what = place(families()[family]), "a file of reports from hardware"
    found = tuple(evidence.entries(path, "report", _report, what))
    if not found and path.exists():
        raise UsageError(f"{path}: not {what}: it has none")
    return found


def _report(table: Mapping[str, Any]) -> HardwareReport:
    words = {name: str(table[name]) for name in ("thread", "date", "arch", "ck", "says")}
    return HardwareReport(**words, kernels=tuple(_kernels(each) for each in table["kernels"]))


def _kernels(table: Mapping[str, Any]) -> ReportedKernels:
    outcome = str(table["outcome"])
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome {outcome!r} is not one of {', '.join(OUTCOMES)}")
    lists = {name: tuple(map(str, words)) for name, words in table.get("each", {}).items()}
    names = tuple(n for pattern in table["names"] for n in _filled(str(pattern), lists))
    problems = tuple(map(str, table.get("problems", ())))
    return ReportedKernels(outcome, names, problems, str(table.get("missed", "")))


def _filled(pattern: str, lists: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A pattern with every combination of the words for its braces."""
    used = [name for name in lists if f"{{{name}}}" in pattern]
    for words in itertools.product(*(lists[name] for name in used)):
        yield pattern.format(**dict(zip(used, words, strict=True)))


@dataclass(frozen=True)
class ForetoldKernel:
    """A reported kernel on a problem, and the rules that reject it."""

    report: HardwareReport
    kernels: ReportedKernels
    name: str
    problem: str
    """The problem that it ran; empty where none is named, or the kernel itself is rejected."""
    broken: tuple[Rule, ...]
    """The rules of severity error that it breaks, those on the problem among them."""

    @property
    def judged(self) -> tuple[Rule, ...]:
        """Those that the outcome says something of: what was built may still compute wrong."""
        if self.kernels.outcome == BUILT:
            return tuple(r for r in self.broken if r.kind is Kind.COMPILE)
        return self.broken

    @property
    def failed(self) -> bool:
        """Whether the kernel went wrong or was not built, so that rules should reject it."""
        return self.kernels.outcome in (WRONG, UNBUILT)

    @property
    def agrees(self) -> bool:
        """Whether rules reject what went wrong and nothing that was right, or was built."""
        return bool(self.judged) is self.failed


def foretold(family: str) -> Iterator[ForetoldKernel]:
    """What the rules say of every kernel and problem that the reports on a family name.

    >>> all(f.agrees for f in foretold("scaled"))
    True
    """
    from ckrules.kernels import problem_books
    from ckrules.kernels.books import Books
    from ckrules.kernels.config import config_from_name

    for report in reports(family):
        books = Books(report.ck)
        for kernels, name in ((k, n) for k in report.kernels for n in k.names):
            point = config_from_name(name, books, arch=report.arch).point
            variant = str(point["variant"])
            broken = _errors(books.of(variant), point)
            if broken or not kernels.problems:
                yield ForetoldKernel(report, kernels, name, "", broken)
                continue
            own, rules = problems_of(variant), problem_books.book(variant, ck=report.ck)
            for line in kernels.problems:
                fields = problem_books.accepted(own, own.parse(line))
                asked = _errors(rules, {**point, **fields})
                yield ForetoldKernel(report, kernels, name, line, asked)


def _errors(book: RuleBook, point: Mapping[str, Any]) -> tuple[Rule, ...]:
    return tuple(v.rule for v in book.violations(point) if v.rule.severity is Severity.ERROR)


def evidence_of(family: str) -> list[CertifyRun]:
    """What the reports on a family say of its rules, as runs of evidence.

    A rule that rejects a kernel which went wrong is confirmed, alone where it is the only one; one
    that rejects a kernel which was right is refuted.

    >>> sum("LDS001" in run.rules for run in evidence_of("scaled"))
    1
    """
    runs = []
    for report, group in itertools.groupby(foretold(family), key=lambda f: f.report):
        judged = list(group)
        tallies: dict[str, tuple[RejectionTally, str]] = {}
        for each in judged:
            alone = len(each.broken) == 1
            own = RejectionTally(each.failed, each.failed and alone, not each.failed)
            for rule in each.judged:
                before = tallies.get(rule.code, (RejectionTally(), ""))[0]
                tallies[rule.code] = (before + own, evidence.fingerprint(rule))
        passed = [f for f in judged if not f.broken]
        names = len({f.name for f in judged})
        asked = f"{count(names, 'kernel')}, {count(len(judged), 'run')} named"
        runs.append(CertifyRun(
            evidence.HARDWARE, report.arch, report.ck, report.thread, asked,
            sum(f.agrees for f in passed), sum(not f.agrees for f in passed), tallies,
        ))  # fmt: skip
    return runs
