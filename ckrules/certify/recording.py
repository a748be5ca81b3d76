"""What a run of ``ckrules certify`` adds to the evidence of a family's rules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.certify.backend import Compared, by_rule
from ckrules.certify.experiment import Matrix, RuleScore
from ckrules.certify.numerics import NumericMatrix
from ckrules.kernels import evidence
from ckrules.kernels.evidence import CertifyRun, RejectionTally
from ckrules.kernels.families import family_of
from ckrules.support import files
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point


def of_compiler(
    matrix: Matrix, variant: str, arch: str, ck: str, tool: str, asked: str
) -> CertifyRun:
    """The record of a run against the compiler."""
    prints = _prints(variant, ck)
    agreed = matrix.count(predicted=True, good=True)
    differed = matrix.count(predicted=True, good=False)
    rules = _rules(matrix.by_rule(prints), prints)
    return CertifyRun(evidence.COMPILER, arch, ck, tool, asked, agreed, differed, rules)


def of_backend(cases: Sequence[Compared], arch: str, ck: str, tool: str, asked: str) -> CertifyRun:
    """The record of a run of code objects.

    A sign in a kernel that breaks a rule confirms it. That there is none refutes nothing: the
    host's argument check leaves none.
    """
    prints = _prints(str(cases[0].point["variant"]), ck)
    let_through = [c for c in cases if c.figures is not None and not c.broken]
    differed = sum(c.differs for c in let_through)
    scores = [RuleScore(r.code, r.confirmed, alone=r.confirmed_alone) for r in by_rule(cases)]
    agreed, rules = len(let_through) - differed, _rules(scores, prints)
    return CertifyRun(evidence.BACKEND, arch, ck, tool, asked, agreed, differed, rules)


def of_numerics(
    matrix: NumericMatrix, variant: str, arch: str, ck: str, tool: str, asked: str
) -> CertifyRun:
    """The record of a run of kernels.

    A kernel that computes right and refuses a problem that no rule says it refuses has differed.
    """
    prints = _prints(variant, ck)
    surprising = sum(bool(case.unforetold) for case in matrix.cases)
    agreed = matrix.count(predicted=True, good=True) - surprising
    differed = matrix.count(predicted=True, good=False) + surprising
    scores = [*matrix.by_rule(prints), *matrix.by_problem_rule()]
    rules = _rules(scores, prints)
    return CertifyRun(evidence.NUMERICS, arch, ck, tool, asked, agreed, differed, rules)


def _prints(variant: str, ck: str) -> dict[str, str]:
    return {r.code: evidence.fingerprint(r) for r in evidence.rules_of(family_of(variant), ck)}


def _rules(
    scores: Iterable[RuleScore], prints: Mapping[str, str]
) -> dict[str, tuple[RejectionTally, str]]:
    rules: dict[str, tuple[RejectionTally, str]] = {}
    for s in scores:
        tally = RejectionTally(s.confirmed, s.alone, s.refuted)
        if tally:
            rules[s.code] = (tally, prints[s.code])
    return rules


def add(path: Path, run: CertifyRun) -> None:
    """Adds a run to a file, in the place of one that asked for the same.

    Raises:
        UsageError: If the file cannot be written, or is something else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.alone(path.parent):  # another run may end at the same moment
            files.replace(path, evidence.text(evidence.merged(evidence.read(path), run)))
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None


def points_id(points: Sequence[Point]) -> str:
    """What stands for configurations that somebody gave, in the place of a seed."""
    rows = sorted(json.dumps(dict(p), sort_keys=True) for p in points)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]
