"""Certification: the rule book's predictions held against the compiler, rule by rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ckrules.build.oracle import CompilerError, Verdict, check, check_batch, render
from ckrules.build.toolchain import Toolchain
from ckrules.build.verdicts import VerdictStore, verdict_key
from ckrules.engine.book import RuleBook
from ckrules.engine.expr import Value
from ckrules.engine.rules import Violation

Point = Mapping[str, Value]


@dataclass(frozen=True)
class Case:
    """One configuration: what the rules predict and what the compiler says."""

    point: Point
    broken: tuple[Violation, ...]
    """The violations of kind ``compile``."""
    verdict: Verdict | None
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
    """Confirmed rejections in which no other compile rule was broken."""


@dataclass
class Matrix:
    """Predictions against verdicts: a confusion matrix, in all and per rule."""

    cases: list[Case] = field(default_factory=list)

    def count(self, *, predicted: bool, compiled: bool) -> int:
        """How many cases were predicted and judged so."""
        return sum(
            1
            for c in self.cases
            if c.verdict is not None
            and bool(c.broken) is not predicted
            and c.verdict.ok is compiled
        )

    @property
    def recall(self) -> float | None:
        """Of the configurations that compile, the share that is not rejected."""
        good, lost = (
            self.count(predicted=True, compiled=True),
            self.count(predicted=False, compiled=True),
        )
        return good / (good + lost) if good + lost else None

    @property
    def precision(self) -> float | None:
        """Of the configurations that are not rejected, the share that compiles."""
        good, bad = (
            self.count(predicted=True, compiled=True),
            self.count(predicted=True, compiled=False),
        )
        return good / (good + bad) if good + bad else None

    @property
    def disagreements(self) -> list[Case]:
        """The cases in which the rules and the compiler differ."""
        return [c for c in self.cases if c.verdict is not None and not c.agrees]

    @property
    def failures(self) -> list[Case]:
        """The cases on which the compiler gave no verdict."""
        return [c for c in self.cases if c.verdict is None]

    def by_rule(self, codes: Iterable[str]) -> list[RuleScore]:
        """Confirmed and refuted rejections of each rule."""
        scores = {code: RuleScore(code) for code in codes}
        for case in self.cases:
            if case.verdict is None:
                continue
            for v in case.broken:
                score = scores[v.code]
                if case.verdict.ok:
                    score.refuted += 1
                else:
                    score.confirmed += 1
                    score.alone += len(case.broken) == 1
        return list(scores.values())


def predict(book: RuleBook, point: Point) -> tuple[Violation, ...]:
    """The violations that say that the compiler will reject the point."""
    return tuple(v for v in book.violations(point) if v.kind == "compile")


def certify(
    book: RuleBook,
    points: Sequence[Point],
    tools: Toolchain,
    store: VerdictStore,
    *,
    jobs: int = 2,
    batch: int = 6,
    timeout: float = 600.0,
    progress: Callable[[Case], None] | None = None,
) -> Matrix:
    """Asks the compiler about every point and sets it beside the prediction.

    Points that are predicted to compile go to the compiler up to ``batch`` at once: a run without
    an error settles them all, another is halved until each point has its own verdict. Verdicts
    are taken from the store where it has them and written to it as they come, so an interrupted
    run goes on where it was. The order of the cases is that of the points.
    """
    asker = _Asker(points, tools, store, timeout)
    broken = [predict(book, p) for p in points]
    found: dict[int, Case] = {}

    def settle(answers: Mapping[int, Verdict | str]) -> None:
        for i, answer in answers.items():
            said = None if isinstance(answer, str) else answer
            case = found[i] = Case(
                points[i], broken[i], said, answer if isinstance(answer, str) else ""
            )
            if progress is not None:
                progress(case)

    settle(asker.known)
    units = _units([i for i in range(len(points)) if i not in asker.known], broken, batch)
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        waiting = [pool.submit(asker.ask, unit) for unit in units]
        try:
            for done in as_completed(waiting):
                settle(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Matrix([found[i] for i in range(len(points))])


def _units(
    indexes: Iterable[int], broken: Sequence[tuple[Violation, ...]], batch: int
) -> list[list[int]]:
    """The compiler runs to begin with: batches of expected successes between single failures.

    They take turns, so that an interrupted run has seen both.
    """
    good: list[int] = []
    bad: list[list[int]] = []
    for i in indexes:
        if broken[i]:
            bad.append([i])
        else:
            good.append(i)
    size = max(1, batch)
    batches = [good[i : i + size] for i in range(0, len(good), size)]
    turns = itertools.zip_longest(batches, bad)
    return [unit for turn in turns for unit in turn if unit is not None]


class _Asker:
    """Asks the store, then the compiler."""

    def __init__(
        self, points: Sequence[Point], tools: Toolchain, store: VerdictStore, timeout: float
    ) -> None:
        self.points, self.tools, self.store, self.timeout = points, tools, store, timeout
        self.keys = [verdict_key(render(p), str(p["arch"]), tools) for p in points]
        stored = ((i, store.get(key)) for i, key in enumerate(self.keys))
        self.known: dict[int, Verdict | str] = {i: v for i, v in stored if v is not None}

    def ask(self, unit: Sequence[int]) -> dict[int, Verdict | str]:
        """The verdict on each of some points, or why there is none."""
        if len(unit) == 1:
            try:
                return self._keep(
                    unit, [check(self.points[unit[0]], self.tools, timeout=self.timeout)]
                )
            except CompilerError as error:
                return {unit[0]: str(error)}
        try:
            verdicts = check_batch([self.points[i] for i in unit], self.tools, timeout=self.timeout)
        except CompilerError:
            verdicts = None
        if verdicts is not None:
            return self._keep(unit, verdicts)
        half = len(unit) // 2
        return {**self.ask(unit[:half]), **self.ask(unit[half:])}

    def _keep(self, unit: Sequence[int], verdicts: Sequence[Verdict]) -> dict[int, Verdict | str]:
        for i, verdict in zip(unit, verdicts, strict=True):
            self.store.put(self.keys[i], verdict)
        return dict(zip(unit, verdicts, strict=True))
