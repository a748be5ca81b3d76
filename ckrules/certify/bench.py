"""The bench: kernels are generated, built, run on the device ``cpu``, and each trial is kept."""

from __future__ import annotations

import math
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.certify.trials import BUILD, UNBUILT, Trial, TrialStore, reference_digest, trial_key
from ckrules.codegen.generate import Generator
from ckrules.compiling import tasks
from ckrules.compiling.database import FILE
from ckrules.compiling.executors import executor
from ckrules.compiling.failures import REFUSALS
from ckrules.compiling.precompiled import SharedHeaders
from ckrules.compiling.results import BuildStatus, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.device import problem_set
from ckrules.device.jobs import Job
from ckrules.device.pool import WorkerPool
from ckrules.device.prediction import SupportPrediction, predict
from ckrules.device.varied import varied
from ckrules.kernels.config import Config
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.compiling.artifacts import Artifact
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point, Problem

DEVICE = "cpu"


@dataclass(frozen=True)
class Manner:
    """How kernels are run.

    Args:
        orders: Of waves and blocks, one run in each.
        seed: Of the random order and of samples.
        blocks: Columns of blocks that run; 0: all.
        limit: Problems of the built-in set that a kernel computes; None: all of them.
        timeout: Seconds for a step of a kernel.
        varied: Random problems of legal kernels beside these.
    """

    orders: tuple[str, ...] = ("forward", "reversed", "random")
    seed: int = 0
    blocks: int = 32
    limit: int | None = None
    timeout: float = 900.0
    varied: int = 0

    @property
    def options(self) -> dict[str, str]:
        """The options of the device."""
        found = {"order": ",".join(self.orders), "seed": str(self.seed), "jobs": "1"}
        return {**found, "blocks": str(self.blocks)} if self.blocks else found

    def __str__(self) -> str:
        sample = f"{self.blocks} columns of blocks" if self.blocks else "all blocks"
        some = "" if self.limit is None else f", {self.limit} problems"
        more = f", {self.varied} random ones" if self.varied else ""
        return f"waves and blocks {', '.join(self.orders)} (seed {self.seed}), {sample}{some}{more}"


@dataclass(frozen=True)
class TrialRequest:
    """A configuration, and the problems that it is asked about; None: its built-in set."""

    point: Point
    problems: tuple[Problem, ...] | None = None


@dataclass
class TrialAnswer:
    """The trials of one kernel, each with what the problem rules predict."""

    trials: list[tuple[Trial, SupportPrediction | None]] = field(default_factory=list)
    failure: str = ""
    """Why there is no verdict, where the build or a run failed otherwise."""
    name: str = ""
    fresh: bool = False
    """Whether not all of it is from earlier runs."""
    left: bool = False
    """Whether time was over before it was begun: it has no trials."""


@dataclass
class _Kernel:
    question: TrialRequest
    entry: ManifestEntry
    tasks: dict[Artifact, tuple[tasks.Task, str]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Sources, flags, compiler and headers of its artifacts."""
        return " ".join(key for _, (_, key) in sorted(self.tasks.items()))


class Bench:
    """Runs kernels of one release and keeps what becomes of them.

    Args:
        folder: Where the kernels are generated and built.
        store: The trials of earlier runs.
        jobs: Kernels at once.
    """

    def __init__(
        self,
        books: Books,
        folder: Path,
        options: BuildOptions,
        store: TrialStore,
        manner: Manner,
        jobs: int = 2,
    ) -> None:
        self.books, self.folder, self.options = books, folder, options
        self.store, self.manner, self.jobs = store, manner, max(1, jobs)
        self._ending = threading.Event()
        self._headers = SharedHeaders()
        self._pools: queue.Queue[WorkerPool] = queue.Queue()

    def run(
        self,
        questions: Sequence[TrialRequest],
        progress: Callable[[TrialAnswer], None] = lambda _: None,
        minutes: float | None = None,
    ) -> list[TrialAnswer]:
        """The answers on configurations of different names, in their order.

        After this many minutes no new kernel is started; those that are known need no time.

        Raises:
            UsageError: If a configuration cannot be generated.
            MissingToolError: If the toolchain is not there.
            ResultsError: If a trial cannot be stored.
        """
        self._end = math.inf if minutes is None else time.monotonic() + 60 * minutes
        kernels = self._kernels(questions)
        answers: dict[int, TrialAnswer] = {}
        with ExitStack() as stack:
            self._results = stack.enter_context(Results(self.folder / FILE))
            self._built = self._results.known()
            stack.callback(shutil.rmtree, self._session.scratch, ignore_errors=True)
            for _ in range(self.jobs):
                pool = WorkerPool(DEVICE, (0,), self.manner.timeout, self.manner.options)
                self._pools.put(stack.enter_context(pool))
            threads, _ = stack.enter_context(executor("local", self.jobs))
            try:
                waiting = {threads.submit(self._answer, k): i for i, k in enumerate(kernels)}
                for future in as_completed(waiting):
                    answers[waiting[future]] = found = future.result()
                    progress(found)
            except BaseException:
                self._ending.set()
                raise
        return [answers[i] for i in range(len(kernels))]

    def _kernels(self, questions: Sequence[TrialRequest]) -> list[_Kernel]:
        """Generates the kernels; what there is to build of each."""
        configs = [Config(q.point) for q in questions]
        by_name = {
            (c.name, str(c.point["arch"])): q for c, q in zip(configs, questions, strict=True)
        }
        if len(by_name) < len(questions):
            raise UsageError("two configurations have the same name")
        Generator(self.books, self.folder, force=True, ninja=False).run(configs)
        self._session = session = BuildSession(self.folder, self.options)
        found: dict[tuple[str | None, str], _Kernel] = {}
        for entry, task in session.tasks():
            name = (entry.name, entry.arch)
            kernel = found.setdefault(name, _Kernel(by_name[name], entry))
            kernel.tasks[task.artifact] = (task, tasks.task_key(task, session.tools_for(task)))
        return [found[name] for name in by_name]

    def _answer(self, kernel: _Kernel) -> TrialAnswer:
        """The answer on one kernel: what is stored, and what is built and run for the rest."""
        answer = TrialAnswer(name=kernel.entry.name)
        problems = self._problems(kernel)
        keys = {p: self._key(kernel, p) for p, _ in problems}
        known = {p: t for p, key in keys.items() if (t := self.store.get(key)) is not None}
        refused = self.store.get(trial_key(kernel.key, BUILD))
        if refused is None and len(known) < len(problems):
            if time.monotonic() >= self._end:
                answer.left = True
                return answer
            answer.fresh = True
            refused = self._build(kernel, answer)
        if refused is not None:
            answer.trials = [(refused, None)]
            return answer
        if not answer.failure:
            rest = [p for p, _ in problems if p not in known]
            known |= self._run(kernel, rest, keys, answer)
        answer.trials = [(known[p], said) for p, said in problems if p in known]
        return answer

    def _key(self, kernel: _Kernel, problem: Problem) -> str:
        config = kernel.entry.config
        tensors = problems_of(config["variant"]).tensors(problem, config)
        references = reference_digest(type(problem), type(tensors))
        return trial_key(kernel.key, str(problem), str(self.manner.options), references)

    def _problems(self, kernel: _Kernel) -> list[tuple[Problem, SupportPrediction | None]]:
        """What the kernel is asked to compute, and what the problem rules say of it.

        A kernel's own refusal costs nothing, so those are all among them; of the others a limit
        takes some over the whole of the set, whose end has the short sums.
        """
        given, entry = kernel.question.problems, kernel.entry
        every = problem_set.smoke(entry) if given is None else given
        problems = [(p, predict(entry, p)) for p in every if problem_set.fits(entry, p)]
        if given is not None:
            return problems
        # Of illegal kernels only those of the kind that the rule is about tell anything.
        more = varied(entry, self.manner.varied, self.manner.seed) if entry.legal else []
        return self._limited(problems) + [(p, predict(entry, p)) for p in more]

    def _limited(
        self, problems: list[tuple[Problem, SupportPrediction | None]]
    ) -> list[tuple[Problem, SupportPrediction | None]]:
        limit = self.manner.limit
        taken = [i for i, (_, s) in enumerate(problems) if s is None or s.supported]
        if limit is None or len(taken) <= limit:
            return problems
        kept = {taken[round(i * (len(taken) - 1) / max(1, limit - 1))] for i in range(limit)}
        return [pair for i, pair in enumerate(problems) if i in kept or i not in taken]

    def _build(self, kernel: _Kernel, answer: TrialAnswer) -> Trial | None:
        """Builds both artifacts; a trial if the compiler refuses one of them."""
        for task, key in kernel.tasks.values():
            found = self._session.already(kernel.entry, task, self._built, key)
            if found is not None and found.status == BuildStatus.OK:
                continue
            outcome = tasks.run(task, self._headers.flags)
            self._session.stored(self._results, kernel.entry, task, key, outcome)
            failure = outcome.failure
            if failure is None:
                continue
            told = f"{failure.kind}: {failure.diagnostic}"
            if failure.kind in REFUSALS:
                trial = Trial(BUILD, UNBUILT, told)
                self.store.put(trial_key(kernel.key, BUILD), trial)
                return trial
            answer.failure = told
            break
        return None

    def _run(
        self,
        kernel: _Kernel,
        problems: Sequence[Problem],
        keys: dict[Problem, str],
        answer: TrialAnswer,
    ) -> dict[Problem, Trial]:
        """Runs a kernel on problems; a run that says nothing about it is not kept."""
        found: dict[Problem, Trial] = {}

        def work() -> Iterator[Job]:
            for problem in problems:
                if self._ending.is_set():
                    return
                yield Job(kernel.entry.folder, kernel.entry.name, problem, 0, 0)

        pool = self._pools.get()
        try:
            for job, outcome, _ in pool.run(work()):
                trial = Trial.of(str(job.problem), outcome)
                if trial.is_verdict:
                    self.store.put(keys[job.problem], trial)
                    found[job.problem] = trial
                elif not answer.failure:
                    answer.failure = f"{job.problem}: {trial.told}"
        finally:
            self._pools.put(pool)
        return found
