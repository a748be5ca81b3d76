"""Questions to the solver, asked in a process of its own, which can be ended when time is over.

The solver answers most questions in a second and some in minutes; the pages go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ckrules.engine.codec import Point
from ckrules.engine.expr import Value
from ckrules.engine.rules.region import Region
from ckrules.kernels.selection import conditions
from ckrules.support.errors import CkrulesError
from ckrules.support.processes import PipedProcess

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

SECONDS = 20.0
"""How long one question may take in all."""
FIXES = 3
"""How many kernels near by are looked for."""
_SEEN = 500  # kernels that show what is possible


@dataclass(frozen=True)
class SolverQuestion:
    """What excludes a part of the space, and what is legal near a point.

    Args:
        held: The values that fields are held to.
        where: A further condition as text, or "".
        excluded: Whether to ask which rules exclude the part: it must be empty.
        start: The point near which legal ones are looked for; None: they are not.
        keep: The fields that then keep their values.
    """

    held: Mapping[str, tuple[Value, ...]]
    where: str
    excluded: bool
    start: Mapping[str, Value] | None
    keep: tuple[str, ...]


@dataclass(frozen=True)
class Excluding:
    """The core of rules and values that cannot hold together, in words."""

    sentence: str
    rules: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Code, summary and sources of each rule."""
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class Near:
    """A legal point near by: what changes, as field, value before and value after."""

    point: Mapping[str, Value]
    changes: tuple[tuple[str, Value, Value], ...]


@dataclass
class SolverAnswer:
    """What was found before the time was over; ``undecided`` says what was not."""

    excluding: Excluding | None = None
    near: tuple[Near, ...] = ()
    undecided: tuple[str, ...] = ()


class Solver:
    """Asks one question after the other about a region.

    Args:
        region: The rules and the part of their space.
        seconds: How long a question may take.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.rules import Rule
    >>> from ckrules.engine.rules.book import RuleBook, Vocabulary
    >>> words = Vocabulary([Int("m", [16, 32]), Int("w", [1, 2, 4])])
    >>> fits = Rule("TILE001", "not-covered", "compile", words.m % (words.w * 16) == 0)
    >>> solver = Solver(Region(RuleBook("toy", words, [fits], check=False)))
    >>> solver.ask(SolverQuestion({"w": (4,)}, "", True, None, ())).excluding.sentence
    'w = 4 cannot hold under TILE001 (not-covered)'
    >>> solver.close()
    """

    def __init__(self, region: Region, seconds: float = SECONDS) -> None:
        self._region, self._seconds = region, seconds
        self._lock = threading.Lock()
        self._process: PipedProcess | None = None

    def start(self) -> None:
        """Makes the process, which takes a second, before there is a question."""
        with self._lock:
            self._begin()

    def ask(self, question: SolverQuestion) -> SolverAnswer:
        """The answer, as far as there is one in time; questions wait for each other."""
        with self._lock:
            return self._asked(self._begin(), question)

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()

    def _begin(self) -> Pipe:
        if self._process is None or not self._process.is_alive():
            self._end()
            self._process = PipedProcess(work, self._region)
        return self._process.pipe

    def _asked(self, pipe: Pipe, question: SolverQuestion) -> SolverAnswer:
        answer, waits = SolverAnswer(), dict[str, str]()
        if question.excluded:
            waits["excluding"] = "which rules exclude it"
        if question.start is not None:
            waits["near"] = "what is near"
        until = time.monotonic() + self._seconds
        try:
            pipe.send(question)
            while waits:
                if not pipe.poll(max(until - time.monotonic(), 0)):
                    self._end()
                    late = f"not decided within {self._seconds:g} s"
                    break
                what, found, undecided = pipe.recv()
                said = waits.pop(what)
                setattr(answer, what, found)
                if undecided:
                    answer.undecided = (*answer.undecided, f"{said}: {undecided}")
        except (EOFError, OSError):
            self._end()
            late = "the solver's process ended"
        if waits:
            answer.undecided = (*answer.undecided, *(f"{said}: {late}" for said in waits.values()))
        return answer

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None


def work(pipe: Pipe, region: Region) -> None:
    """Answers the questions that come, each part as soon as it is found."""
    for module in ("nearest", "why"):  # the solver takes a second to load: not the first answer's
        import_module(f"ckrules.reasoning.{module}")
    seen: list[Point] = []
    while True:
        try:
            question: SolverQuestion = pipe.recv()
        except (EOFError, OSError):
            return
        asked: list[tuple[str, Callable[[], Any], Any]] = []
        if question.excluded:
            seen = seen or [*region.space.sample(_SEEN, seed=0)]
            asked.append(("excluding", partial(_excluding, region, question, seen), None))
        if question.start is not None:
            asked.append(("near", partial(_near, region, question), ()))
        for what, answer, nothing in asked:
            try:
                pipe.send((what, answer(), ""))
            except CkrulesError as error:
                pipe.send((what, nothing, str(error)))
            except OSError:
                return


def _excluding(region: Region, question: SolverQuestion, seen: Sequence[Point]) -> Excluding:
    from ckrules.reasoning.why import why_region

    asked = conditions(region.book, [question.where]) if question.where else ()
    held = {**region.fixed, **question.held}
    given = (*region.where, *region.first, *asked)
    found = why_region(region.book, held, given, empty=True, seen=seen, timeout=SECONDS)
    assert found.conflict is not None
    rules = tuple((r.code, r.summary, tuple(r.sources)) for r in found.conflict.rules)
    return Excluding(found.conflict.sentence(), rules, found.numbers)


def _near(region: Region, question: SolverQuestion) -> tuple[Near, ...]:
    from ckrules.reasoning.nearest import fix

    assert question.start is not None
    words, space = region.book.vocabulary, region.space
    weights = {name: words.cost(name) for name in region.book.fields}
    found = fix(
        space, question.start, n=FIXES, keep=question.keep, weights=weights, timeout=SECONDS
    )
    return tuple(
        Near(f.point, tuple((c.field, c.before, c.after) for c in f.changes)) for f in found.fixes
    )
