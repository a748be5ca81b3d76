"""Kernels that are drawn or given, built, run on the device ``cpu`` and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ckrules.certify.bench import Bench, Manner, TrialAnswer, TrialRequest
from ckrules.certify.choice import CertifyChoice
from ckrules.certify.draws import KINDS, draw, shares
from ckrules.certify.labels import Told, TrialLabel, compared, questions
from ckrules.certify.numerics import NumericMatrix, applicable, judged
from ckrules.certify.trials import TrialStore
from ckrules.codegen.generate import can_generate
from ckrules.compiling.session import BuildOptions
from ckrules.engine.covering import PairCoverage
from ckrules.kernels.config import Config
from ckrules.kernels.parts import Point
from ckrules.support.errors import UsageError
from ckrules.support.scratch import ScratchFolder


@dataclass
class Draws:
    """What is known of drawn configurations; nothing of those that are given."""

    alone: dict[str, int] = field(default_factory=dict)
    """How many configurations of the space break only this rule, of those that were drawn from."""
    pairs: dict[str, PairCoverage] = field(default_factory=dict)
    """The pairs of features that occur in drawn legal ones, by variant."""


@dataclass
class NumericFindings:
    """What came of a run."""

    matrix: NumericMatrix
    codes: list[str]
    manner: Manner
    told: list[Told] = field(default_factory=list)
    without: list[TrialLabel] = field(default_factory=list)
    drawn: Draws = field(default_factory=Draws)
    left: int = 0
    """Kernels that were not begun in the time."""
    left_out: int = 0
    """Configurations that break rules of kinds that running cannot judge."""

    @property
    def agrees(self) -> bool:
        """Whether nothing differs and nothing is left open."""
        contradicted = any(not t.agrees for t in self.told)
        open_ = self.matrix.failures or self.left
        return not (self.matrix.differences or open_ or contradicted)


class NumericRun:
    """The kernels of a choice, to be run.

    Args:
        choice: The configurations, drawn ones if there are none.
        labels: Labels of other runs; their configurations are run on their problems instead.

    Raises:
        UsageError: If there is nothing to run.
    """

    def __init__(
        self, choice: CertifyChoice, manner: Manner, labels: tuple[TrialLabel, ...] = ()
    ) -> None:
        if labels:
            choice = replace(choice, points=tuple(dict(label.point) for label in labels))
        self.choice, self.manner, self.labels = choice, manner, labels
        self._drawn, self._left_out = Draws(), 0
        unique = {tuple(sorted(q.point.items())): q for q in self._questions()}
        if not unique:
            why = f": {self._left_out:,} break rules of kinds that running cannot judge"
            raise UsageError(f"no configurations to run{why if self._left_out else ''}")
        self.questions = list(unique.values())

    def _questions(self) -> list[TrialRequest]:
        if self.labels:
            return questions(self.labels)
        if not self.choice.points:
            return [TrialRequest(point) for point in self._draw()]
        inside, outside = applicable(self.choice.book, self.choice.points)
        self._left_out = len(outside)
        return [TrialRequest(point) for point in inside]

    def _draw(self) -> list[Point]:
        choice, found = self.choice, self._drawn

        def written(point: Point) -> bool:
            return can_generate(Config(point), choice.books)

        by_name: dict[str | None, Point] = {}
        for fixed, share in shares(choice.every_variant, choice.gpu.name, choice.count):
            seed = self.manner.seed
            seen = [dict(p) for p in choice.seen if p["variant"] in fixed["variant"]]
            drawn = draw(choice.book, fixed, share, seed, choice.where, usable=written, seen=seen)
            for point in filter(written, drawn.points):
                by_name.setdefault(Config(point).name, point)
            for code, number in drawn.alone.items():
                found.alone[code] = found.alone.get(code, 0) + number
            found.pairs[fixed["variant"][0]] = drawn.coverage(written)
        return list(by_name.values())

    def run(
        self,
        options: BuildOptions,
        store: Path,
        keep: str | None = None,
        *,
        jobs: int = 2,
        minutes: float | None = None,
        progress: Callable[[TrialAnswer], None] = lambda _: None,
    ) -> NumericFindings:
        """Builds and runs the kernels.

        Args:
            keep: The folder of the kernels; None: they are thrown away.
            jobs: Kernels at once.
            minutes: After this many no new kernel is started; None: after any number.
            progress: Called with each answer.
        """
        with TrialStore(store) as kept, _folder(keep) as folder:
            bench = Bench(self.choice.books, folder, options, kept, self.manner, jobs)
            answers = bench.run(self.questions, progress, minutes)
            if suspects := self._unseen(answers):
                whole = replace(self.manner, blocks=0)
                # in a folder of their own: that of all kernels keeps its list of them
                with _folder(None) as apart:
                    bench = Bench(self.choice.books, apart, options, kept, whole, jobs)
                    again = bench.run([self.questions[i] for i in suspects])
                for at, answer in zip(suspects, again, strict=True):
                    answers[at] = answer
        told, without = compared(self.labels, self.questions, answers)
        rules = self.choice.book
        pairs = zip(self.questions, answers, strict=True)
        done = [(q.point, a) for q, a in pairs if not a.left]
        matrix = judged(rules, [point for point, _ in done], [a for _, a in done])
        codes = [r.code for r in rules.rules if r.kind in KINDS and r.severity == "error"]
        left = len(self.questions) - len(done)
        return NumericFindings(
            matrix, codes, self.manner, told, without, self._drawn, left, self._left_out
        )

    def _unseen(self, answers: list[TrialAnswer]) -> list[int]:
        """The kernels that seem right though a rule says that they are not.

        A sample of blocks cannot tell results that no block writes from those of blocks that were
        not run, so that these run whole before rules and kernel are said to differ.
        """
        if not self.manner.blocks:
            return []
        cases = judged(self.choice.book, [q.point for q in self.questions], answers).cases
        return [i for i, case in enumerate(cases) if case.broken and case.right]


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        yield Path(keep)
        return
    with ScratchFolder() as name:
        yield Path(name) / "kernels"
