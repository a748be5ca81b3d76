"""Labels: lines of JSON that say how a kernel came out on a problem elsewhere.

A line has ``config``, ``problem`` and ``status``, as ``ckrules results --runs --format jsonl`` and
records of other executors have them; other keys mean nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.certify.bench import TrialAnswer, TrialRequest
from ckrules.certify.trials import Trial
from ckrules.device.jobs import FAILED, RunStatus
from ckrules.emulator.errors import FaultKind
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import problems_of
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point, Problem

_LONGEST = 1 << 22


@dataclass(frozen=True)
class TrialLabel:
    """What is said of a kernel on a problem."""

    point: Point
    problem: Problem
    status: str
    place: str

    @property
    def right(self) -> bool:
        """Whether it is said to compute right, or to refuse the problem."""
        return self.status not in FAILED


@dataclass(frozen=True)
class Told:
    """A label beside what the emulator found."""

    label: TrialLabel
    trial: Trial

    @property
    def agrees(self) -> bool:
        """Whether the numbers are the same: right, wrong or refused.

        A fault that the label's device could not see, such as a race that came out right, is not
        a contradiction.
        """
        if self.trial.refused or self.label.status == RunStatus.REFUSED:
            return self.trial.status == self.label.status
        return self.label.right is (self.trial.right or self.sees_more)

    @property
    def sees_more(self) -> bool:
        """Whether the emulator reports what the label's numbers do not show.

        A label is of one order of waves and blocks; the numbers may be others in another.
        """
        by_order = f"{FaultKind.ORDER}: " in self.trial.detail
        return self.label.right and (self.trial.status == RunStatus.FAULT or by_order)


def read(path: str, books: Books) -> Iterator[TrialLabel]:
    """The labels of a file.

    Raises:
        UsageError: With file and line, for a line that is none.
    """
    try:
        with opening.binary(path) as stream:
            number = 0
            while line := stream.readline(_LONGEST):
                number += 1
                if line.strip():
                    yield _label(line, f"{path}:{number}", books)
    except (OSError, ValueError) as error:
        if isinstance(error, CkrulesError):
            raise
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _label(line: bytes, place: str, books: Books) -> TrialLabel:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(f"{place}: not a line of JSON") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected an object with config, problem and status")
    config, problem, status = (value.get(k) for k in ("config", "problem", "status"))
    if not isinstance(config, dict) or not isinstance(problem, str):
        raise UsageError(f"{place}: expected an object with config, problem and status")
    if status not in [*RunStatus]:
        raise UsageError(
            f"{place}: status is {str(status)[:40]!r}, expected {', '.join(RunStatus)}"
        )
    try:
        point = config_from_mapping(config, books).point
        found = problems_of(str(point["variant"])).parse(problem)
    except CkrulesError as error:
        raise UsageError(f"{place}: {error}") from None
    return TrialLabel(point, found, str(status), place)


def questions(labels: Iterable[TrialLabel]) -> list[TrialRequest]:
    """Each labelled configuration once, with all of its problems."""
    found: dict[tuple[Any, ...], tuple[Point, dict[Problem, None]]] = {}
    for label in labels:
        key = tuple(sorted(label.point.items()))
        found.setdefault(key, (label.point, {}))[1][label.problem] = None
    return [TrialRequest(point, tuple(problems)) for point, problems in found.values()]


def compared(
    labels: Iterable[TrialLabel], asked: Sequence[TrialRequest], answers: Sequence[TrialAnswer]
) -> tuple[list[Told], list[TrialLabel]]:
    """Each label beside the trial of its kernel and problem, and the labels without a trial."""
    trials = {
        (tuple(sorted(q.point.items())), t.problem): t
        for q, a in zip(asked, answers, strict=True)
        for t, _ in a.trials
    }
    told, without = [], []
    for label in labels:
        trial = trials.get((tuple(sorted(label.point.items())), str(label.problem)))
        if trial is None:
            without.append(label)
        else:
            told.append(Told(label, trial))
    return told, without
