"""Certification: predict, ask the compiler, compare, rule by rule.

The points come from `ckrules.certify.sampling` or from files, the answers from an `CompilerOracle`
or from the verdicts of earlier runs.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field

from ckrules.certify.oracle import CompilerError, CompilerOracle, CompilerVerdict
from ckrules.certify.verdicts import VerdictStore
from ckrules.compiling.executors import executor
from ckrules.engine.expr import Value
from ckrules.engine.rules import Violation
from ckrules.engine.rules.book import RuleBook

Point = Mapping[str, Value]
Answer = CompilerVerdict | CompilerError
"""A verdict, or why the compiler gave none."""


@dataclass(frozen=True)
class Case:
    """One configuration: what the rules predict and what the compiler says."""

    point: Point
    broken: tuple[Violation, ...]
    """The violations of kind ``compile``."""
    verdict: CompilerVerdict | None
    """None where the compiler itself failed (see ``failure``)."""
    failure: str = ""

    @property
    def agrees(self) -> bool:
        """True if prediction and compiler say the same."""
        return self.verdict is not None and self.verdict.ok is not bool(self.broken)


@dataclass
class RuleScore:
    """How often a rule's rejections were confirmed by the compiler."""

    code: str
    confirmed: int = 0
    refuted: int = 0
    alone: int = 0
    """Confirmed rejections in which no other such rule was broken."""

    def add(self, confirmed: bool, alone: bool) -> None:
        """Counts a rejection."""
        self.confirmed += confirmed
        self.refuted += not confirmed
        self.alone += confirmed and alone


class Confusion(ABC):
    """Predictions against outcomes: a confusion matrix, in all and per rule."""

    @abstractmethod
    def outcomes(self) -> Iterator[tuple[tuple[Violation, ...], bool]]:
        """Of each case with an outcome the rules that it breaks, and whether it passed."""

    def count(self, *, predicted: bool, good: bool) -> int:
        """How many cases were predicted and judged so."""
        found = self.outcomes()
        return sum(bool(broken) is not predicted and came is good for broken, came in found)

    @property
    def recall(self) -> float | None:
        """Of the configurations that come out well, the share that is not rejected."""
        good, lost = self.count(predicted=True, good=True), self.count(predicted=False, good=True)
        return good / (good + lost) if good + lost else None

    @property
    def precision(self) -> float | None:
        """Of the configurations that are not rejected, the share that comes out well."""
        good, bad = self.count(predicted=True, good=True), self.count(predicted=True, good=False)
        return good / (good + bad) if good + bad else None

    def by_rule(self, codes: Iterable[str]) -> list[RuleScore]:
        """Confirmed and refuted rejections of each rule."""
        scores = {code: RuleScore(code) for code in codes}
        for broken, came in self.outcomes():
            for v in broken:
                scores[v.code].add(not came, len(broken) == 1)
        return list(scores.values())


@dataclass
class Matrix(Confusion):
    """Predictions against verdicts of the compiler."""

    cases: list[Case] = field(default_factory=list)

    def outcomes(self) -> Iterator[tuple[tuple[Violation, ...], bool]]:
        """Whether each case compiles."""
        return ((c.broken, c.verdict.ok) for c in self.cases if c.verdict is not None)

    @property
    def disagreements(self) -> list[Case]:
        """The cases in which the rules and the compiler differ."""
        return [c for c in self.cases if c.verdict is not None and not c.agrees]

    @property
    def failures(self) -> list[Case]:
        """The cases on which the compiler gave no verdict."""
        return [c for c in self.cases if c.verdict is None]


def predict(book: RuleBook, point: Point) -> tuple[Violation, ...]:
    """The violations that say that the compiler will reject the point."""
    return tuple(v for v in book.violations(point) if v.kind == "compile")


def certify(
    book: RuleBook,
    points: Sequence[Point],
    oracle: CompilerOracle,
    store: VerdictStore,
    *,
    jobs: int = 2,
    batch: int = 12,
    progress: Callable[[Case], None] | None = None,
) -> Matrix:
    """Asks the compiler about every point and sets its answer beside the prediction.

    Points that are predicted to compile go to the compiler up to ``batch`` at once: a run without
    an error settles them all, another is halved until each point has its own verdict. Verdicts
    are taken from the store where it has them and written to it as they come, so an interrupted
    run goes on where it was. The order of the cases is that of the points.
    """
    inquiry = _Inquiry(points, oracle, store)
    broken = [predict(book, p) for p in points]
    cases: dict[int, Case] = {}

    def settle(answers: Mapping[int, Answer]) -> None:
        for i, answer in answers.items():
            cases[i] = _case(points[i], broken[i], answer)
            if progress is not None:
                progress(cases[i])

    settle(inquiry.known)
    open_questions = [i for i in range(len(points)) if i not in inquiry.known]
    units = _units(open_questions, points, broken, batch)
    with executor("local", max(1, jobs)) as (pool, _):
        waiting = [pool.submit(inquiry.ask, unit) for unit in units]
        for future in as_completed(waiting):
            settle(future.result())
    return Matrix([cases[i] for i in range(len(points))])


def _case(point: Point, broken: tuple[Violation, ...], answer: Answer) -> Case:
    if isinstance(answer, CompilerError):
        return Case(point, broken, None, str(answer))
    return Case(point, broken, answer)


def _units(
    indexes: Iterable[int],
    points: Sequence[Point],
    broken: Sequence[tuple[Violation, ...]],
    batch: int,
) -> list[list[int]]:
    """The compiler runs to begin with: batches of expected successes between single failures.

    They take turns, so that an interrupted run has seen both. Kernels of the same words are
    neighbours in a batch: what they instantiate alike the compiler does once.
    """
    good: list[int] = []
    bad: list[list[int]] = []
    for i in indexes:
        if broken[i]:
            bad.append([i])
        else:
            good.append(i)
    good.sort(key=lambda i: [v for v in points[i].values() if isinstance(v, str)])
    size = max(1, batch)
    batches = [good[i : i + size] for i in range(0, len(good), size)]
    turns = itertools.zip_longest(batches, bad)
    return [unit for turn in turns for unit in turn if unit is not None]


class _Inquiry:
    """The questions of one certification: what the store knows, and how the rest is asked."""

    def __init__(
        self, points: Sequence[Point], oracle: CompilerOracle, store: VerdictStore
    ) -> None:
        self._points, self._oracle, self._store = points, oracle, store
        self._keys = [oracle.key(p) for p in points]
        stored = ((i, store.get(key)) for i, key in enumerate(self._keys))
        self.known: dict[int, Answer] = {i: v for i, v in stored if v is not None}

    def ask(self, unit: Sequence[int]) -> dict[int, Answer]:
        """The compiler's answer on each of some points."""
        points = [self._points[i] for i in unit]
        if len(unit) == 1:
            try:
                return self._keep(unit, [self._oracle.check(points[0])])
            except CompilerError as error:
                return {unit[0]: error}
        try:
            verdicts = self._oracle.check_batch(points)
        except CompilerError:
            verdicts = None
        if verdicts is not None:
            return self._keep(unit, verdicts)
        half = len(unit) // 2
        return {**self.ask(unit[:half]), **self.ask(unit[half:])}

    def _keep(self, unit: Sequence[int], verdicts: Sequence[CompilerVerdict]) -> dict[int, Answer]:
        for i, verdict in zip(unit, verdicts, strict=True):
            self._store.put(self._keys[i], verdict)
        return dict(zip(unit, verdicts, strict=True))
