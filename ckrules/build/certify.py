"""Certification: the rule book's predictions held against the compiler, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ckrules.build.oracle import CompilerError, Verdict, check, render
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
    timeout: float = 600.0,
    progress: Callable[[Case], None] | None = None,
) -> Matrix:
    """Asks the compiler about every point and sets it beside the prediction.

    Verdicts are taken from the store where it has them and written to it as they come, so an
    interrupted run goes on where it was. The order of the cases is that of the points.
    """
    found: dict[int, Case] = {}

    def one(index: int) -> Case:
        point = points[index]
        broken = predict(book, point)
        key = verdict_key(render(point), str(point["arch"]), tools)
        verdict = store.get(key)
        if verdict is None:
            try:
                verdict = check(point, tools, timeout=timeout)
            except CompilerError as error:
                return Case(point, broken, None, str(error))
            store.put(key, verdict)
        return Case(point, broken, verdict)

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        waiting = {pool.submit(one, i): i for i in range(len(points))}
        try:
            for done in as_completed(waiting):
                case = found[waiting[done]] = done.result()
                if progress is not None:
                    progress(case)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Matrix([found[i] for i in range(len(points))])
