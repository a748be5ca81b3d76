"""Rules checked against what kernels compute: cases, their verdicts, and scores of rules.

The rules of a configuration are judged by all runs of its kernel but those in which a problem rule
says that they compute wrong; these are evidence for or against that problem rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckrules.certify.draws import KINDS
from ckrules.certify.experiment import Confusion, RuleScore
from ckrules.certify.trials import Trial
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.certify.bench import TrialAnswer
    from ckrules.device.prediction import SupportPrediction
    from ckrules.engine.rules import Violation
    from ckrules.engine.rules.book import RuleBook
    from ckrules.kernels.parts import Point

Said = tuple[Trial, "SupportPrediction | None"]


@dataclass(frozen=True)
class NumericsDifference:
    """One place where the rules and a kernel differ."""

    case: NumericCase
    trial: Trial | None
    text: str


@dataclass(frozen=True)
class NumericCase:
    """One configuration: what the rules say, and what its kernel did."""

    point: Point
    name: str
    broken: tuple[Violation, ...]
    """The violations of `KINDS` that make the configuration illegal."""
    trials: tuple[Said, ...]
    failure: str = ""

    @property
    def own(self) -> list[Trial]:
        """The runs that judge the configuration's own rules.

        A rule on launches may say that no problem is ever taken. Problem rules foretell each
        refusal then, and all the runs judge it: one that computes right refutes the rule.
        """
        own = [t for t, said in self.trials if said is None or (said.supported and not said.wrong)]
        if not own and any(v.kind == "launch" for v in self.broken):
            return [t for t, _ in self.trials]
        return own

    @property
    def right(self) -> bool | None:
        """Whether the kernel computes right; None: it gave no verdict.

        What the kernel refuses is not a wrong result, unless it refuses all that it should take.
        """
        if any(t.miscomputed or t.unlaunched for t in self.own):
            return False
        if any(t.right for t in self.own):
            return None if self.failure else True
        refused_all = bool(self.own) and all(t.refused for t in self.own)
        return False if refused_all and not self.failure else None

    @property
    def agrees(self) -> bool:
        """True if the configuration's rules and its kernel say the same."""
        return self.right is not None and self.right is not bool(self.broken)

    @property
    def unforetold(self) -> list[Trial]:
        """The runs that a right kernel refuses, though no problem rule says so."""
        if self.broken or not self.right:
            return []
        return [t for t, said in self.trials if said is not None and said.supported and t.refused]

    def by_problem(self) -> Iterator[tuple[str, int, bool, Trial]]:
        """What runs of a legal kernel say of problem rules.

        Gives code, how many problem rules the problem breaks, whether the run confirms it, and the
        run.
        """
        if self.broken:
            return
        for trial, said in self.trials:
            if said is None or trial.unlaunched:
                continue
            if not said.supported:
                for code in said.codes:
                    yield code, len(said.codes), trial.refused, trial
            elif trial.right or trial.miscomputed:
                for code in said.wrong:
                    yield code, len(said.wrong), trial.miscomputed, trial

    def differences(self) -> Iterator[NumericsDifference]:
        """Where rules and kernel differ, with the run that shows it."""
        if self.right is not None and not self.agrees:
            bad = [t for t in self.own if t.miscomputed or t.unlaunched]
            shown = next(iter([*bad, *(t for t in self.own if t.refused)]), None)
            if self.broken:
                codes = ", ".join(v.code for v in self.broken)
                yield NumericsDifference(
                    self, None, f"right on {count(len(self.own), 'problem')}, refused by {codes}"
                )
            else:
                yield NumericsDifference(
                    self, shown, f"legal, {shown.told if shown else 'refuses'}"
                )
        if self.broken:
            return
        for trial in self.unforetold:
            yield NumericsDifference(self, trial, f"supported by the rules, {trial.told}")
        for code, _, confirmed, trial in self.by_problem():
            if not confirmed:
                yield NumericsDifference(self, trial, f"{code} expects another end: {trial.told}")


@dataclass
class NumericMatrix(Confusion):
    """Predictions against what kernels computed."""

    cases: list[NumericCase] = field(default_factory=list)

    def outcomes(self) -> Iterator[tuple[tuple[Violation, ...], bool]]:
        """Whether each case computes right."""
        return ((c.broken, c.right) for c in self.cases if c.right is not None)

    @property
    def differences(self) -> list[NumericsDifference]:
        """Where rules and kernels differ."""
        return [d for c in self.cases for d in c.differences()]

    @property
    def failures(self) -> list[NumericCase]:
        """The cases on which something other than the kernel failed, or nothing could be run."""
        return [c for c in self.cases if c.failure or c.right is None]

    def statuses(self) -> dict[str, int]:
        """How many runs ended how."""
        found: dict[str, int] = {}
        for case in self.cases:
            for trial, _ in case.trials:
                found[trial.status] = found.get(trial.status, 0) + 1
        return dict(sorted(found.items()))

    def by_problem_rule(self) -> list[RuleScore]:
        """Confirmed and refuted predictions of problem rules, in runs of legal kernels."""
        scores: dict[str, RuleScore] = {}
        for case in self.cases:
            for code, beside, confirmed, _ in case.by_problem():
                scores.setdefault(code, RuleScore(code)).add(confirmed, beside == 1)
        return [scores[code] for code in sorted(scores)]


def judged(
    book: RuleBook, points: Sequence[Point], answers: Sequence[TrialAnswer]
) -> NumericMatrix:
    """The matrix of configurations and what their kernels did."""
    return NumericMatrix(
        [
            NumericCase(point, a.name, _broken(book, point), tuple(a.trials), a.failure)
            for point, a in zip(points, answers, strict=True)
        ]
    )


def _broken(book: RuleBook, point: Point) -> tuple[Violation, ...]:
    errors = (v for v in book.violations(point) if v.rule.severity == "error")
    return tuple(v for v in errors if v.kind in KINDS)


def applicable(book: RuleBook, points: Iterable[Point]) -> tuple[list[Point], list[Point]]:
    """Configurations that running can judge, and those that break rules of other kinds."""
    inside: list[Point] = []
    outside: list[Point] = []
    for point in points:
        errors = (v for v in book.violations(point) if v.rule.severity == "error")
        (outside if any(v.kind not in KINDS for v in errors) else inside).append(point)
    return inside, outside
