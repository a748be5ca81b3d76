"""A build: the kernels of a folder compiled, each result stored as it comes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ckrules.build import tasks as work
from ckrules.build import toolchain
from ckrules.build.commands import Recipe, commands, flags
from ckrules.build.database import ResultsError
from ckrules.build.failures import REFUSALS, TRANSIENT, Failure, shorten
from ckrules.build.folder import Listed, manifests
from ckrules.build.results import Result, Results
from ckrules.codegen.project import RUNTIME
from ckrules.engine.errors import UsageError

_RUNTIME = "runtime"


@dataclass(frozen=True)
class Options:
    """What a build is to do."""

    artifacts: tuple[str, ...] = ("device", "host")
    compiler: str | None = None
    include: Path | None = None
    optimize: str = "-O3"
    flags: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    timeout: float = 900.0
    retry: bool = False
    """Compile again what failed before, not only what failed for a passing reason."""


@dataclass
class Summary:
    """What a build did."""

    total: int = 0
    built: int = 0
    known: int = 0
    failed: int = 0
    findings: list[Result] = field(default_factory=list)
    transient: int = 0


@dataclass
class _Running:
    """The artifacts that a build waits for."""

    pool: Executor
    summary: Summary
    progress: Callable[[Result | None], None]
    waiting: dict[Future[work.Outcome], tuple[Listed, work.Task, str]] = field(default_factory=dict)

    def start(self, kernel: Listed, task: work.Task, key: str) -> None:
        """Gives a task to the executor."""
        self.waiting[self.pool.submit(work.run, task)] = (kernel, task, key)

    def is_known(self) -> None:
        """Counts an artifact that is there already."""
        self.summary.known += 1
        self.progress(None)

    def done(self, result: Result) -> None:
        """Counts a stored result."""
        if result.status == "ok":
            self.summary.built += 1
        else:
            self.summary.failed += 1
            self.summary.transient += result.error_class in TRANSIENT
        if result.finding is not None:
            self.summary.findings.append(result)
        self.progress(result)

    def cancel(self) -> None:
        """Gives up what has not been started."""
        for future in self.waiting:
            future.cancel()


class Session:
    """One run over one folder.

    Args:
        folder: What `ckrules generate` wrote.
        options: What to build and how.
    """

    def __init__(self, folder: Path, options: Options) -> None:
        self.folder, self.options = folder, options
        self.kernels = manifests(folder)
        self._found: dict[str, toolchain.Toolchain] = {}
        self._sources: dict[Path, str] = {}

    @cached_property
    def scratch(self) -> Path:
        """A folder for temporary files, on the disk that the artifacts go to."""
        base = self.folder / ".ckrules-tmp"
        base.mkdir(exist_ok=True)
        for left in base.iterdir():  # of builds that were killed
            if left.name.isdigit() and not _alive(int(left.name)):
                shutil.rmtree(left, ignore_errors=True)
        own = base / str(os.getpid())
        own.mkdir(exist_ok=True)
        return own.resolve()

    def run(
        self,
        results: Results,
        pool: Executor,
        width: int,
        progress: Callable[[Result | None], None] | None = None,
    ) -> Summary:
        """Builds what is not known yet; results are stored in the order in which they come.

        Raises:
            MissingToolError: If the toolchain is not there.
            ResultsError: If a result cannot be stored.
        """
        known = results.keys()
        running = _Running(pool, Summary(), progress or (lambda _: None))
        try:
            for kernel, task in self._tasks():
                running.summary.total += 1
                key = work.task_key(task, self._tools(task))
                if self._is_known(kernel, task, known, key):
                    running.is_known()
                    continue
                running.start(kernel, task, key)
                while len(running.waiting) >= 2 * width:
                    self._wait(results, running)
            while running.waiting:
                self._wait(results, running)
        finally:
            running.cancel()
            shutil.rmtree(self.scratch, ignore_errors=True)
        return running.summary

    def _wait(self, results: Results, running: _Running) -> None:
        """Stores the results of the artifacts that are done next."""
        done, _ = wait(running.waiting, return_when=FIRST_COMPLETED)
        for future in done:
            kernel, task, key = running.waiting.pop(future)
            running.done(self._finish(results, kernel, task, key, _outcome(future)))

    def count(self) -> int:
        """How many artifacts the build is about."""
        return len(self.kernels) * len(self.options.artifacts)

    def _tasks(self) -> Iterator[tuple[Listed, work.Task]]:
        o = self.options
        for kernel in self.kernels:
            recipe = Recipe(kernel.ck, kernel.arch, o.optimize, o.flags, o.launcher)
            for artifact in o.artifacts:
                yield (
                    kernel,
                    work.Task(
                        name=kernel.name,
                        artifact=artifact,
                        recipe=recipe,
                        sources=self._texts(kernel, artifact),
                        compiler=o.compiler,
                        include=str(o.include) if o.include else None,
                        timeout=o.timeout,
                        scratch=str(self.scratch),
                    ),
                )

    def _texts(self, kernel: Listed, artifact: str) -> dict[str, str]:
        names = [kernel.source(artifact).name, f"{kernel.name}.hpp"]
        texts: dict[str, str] = {}
        try:
            for name in names:
                texts[name] = (kernel.folder / name).read_text("utf-8")
            for name in RUNTIME[artifact]:
                path = kernel.folder / _RUNTIME / name
                if path not in self._sources:
                    self._sources[path] = path.read_text("utf-8")
                texts[f"{_RUNTIME}/{name}"] = self._sources[path]
        except FileNotFoundError as error:
            raise UsageError(f"{error.filename}: missing: generate the folder again") from None
        return texts

    def _tools(self, task: work.Task) -> toolchain.Toolchain:
        if task.recipe.ck not in self._found:
            self._found[task.recipe.ck] = work.tools_for(task)
        return self._found[task.recipe.ck]

    def _is_known(
        self,
        kernel: Listed,
        task: work.Task,
        known: dict[tuple[str, str, str, str], tuple[str, str, str | None]],
        key: str,
    ) -> bool:
        found = known.get((kernel.name, kernel.arch, task.artifact, kernel.ck))
        if found is None or found[0] != key:
            return False
        if found[1] == "ok":
            return kernel.result(task.artifact).is_file()
        return not self.options.retry and found[2] not in TRANSIENT

    def _finish(
        self,
        results: Results,
        kernel: Listed,
        task: work.Task,
        key: str,
        outcome: work.Outcome,
    ) -> Result:
        if outcome.failure is None:
            outcome = self._keep(kernel, task, outcome)
        result = self._row(kernel, task, key, outcome)
        results.put(result)
        return result

    def _keep(self, kernel: Listed, task: work.Task, outcome: work.Outcome) -> work.Outcome:
        """Writes the artifact: under another name first, so that it is whole or not there."""
        target = kernel.result(task.artifact)
        part = self.scratch / f"{task.artifact}.part"
        try:
            part.write_bytes(outcome.data)
            if task.artifact == "host":
                part.chmod(0o755)
            os.replace(part, target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ResultsError(f"{target}: cannot write: {error.strerror}") from None
        return outcome

    def _row(self, kernel: Listed, task: work.Task, key: str, outcome: work.Outcome) -> Result:
        failure, entries = outcome.failure, outcome.entries

        def most(name: str) -> int | None:
            return max((getattr(e, name) for e in entries), default=None)

        lds = most("lds_bytes")
        tools = self._tools(task)
        return Result(
            name=kernel.name,
            arch=kernel.arch,
            artifact=task.artifact,
            ck=kernel.ck,
            rules=kernel.rules,
            legal=kernel.legal,
            status="ok" if failure is None else "failed",
            error_class=failure.kind if failure else None,
            diagnostic=failure.diagnostic if failure else None,
            finding=_finding(kernel, outcome, lds),
            seconds=round(outcome.seconds, 3),
            peak_mb=outcome.peak_mb or None,
            lds_bytes=lds,
            predicted_lds_bytes=kernel.lds_bytes,
            vgprs=most("vgprs"),
            agprs=most("agprs"),
            sgprs=most("sgprs"),
            vgpr_spills=most("vgpr_spills"),
            sgpr_spills=most("sgpr_spills"),
            scratch_bytes=most("scratch_bytes"),
            kernarg_bytes=most("kernarg_bytes"),
            entries=len(entries) or None,
            tool=outcome.tool or tools.kind,
            tool_version=outcome.tool_version,
            flags=shlex.join(flags(task.recipe, task.artifact, tools)),
            command=self._shell(kernel, task, tools),
            config=json.dumps(kernel.config),
            finished=time.time(),
            key=key,
        )

    def _shell(self, kernel: Listed, task: work.Task, tools: toolchain.Toolchain) -> str:
        steps = commands(task.recipe, task.artifact, kernel.name, tools)
        home = shlex.quote(str(kernel.folder.resolve()))
        return " && ".join([f"cd {home}", *map(shlex.join, steps)])


def _outcome(future: Future[work.Outcome]) -> work.Outcome:
    """What became of a task; a worker that ended under it costs this task alone."""
    try:
        return future.result()
    except Exception as error:  # whatever the executor's own code raises
        said = " ".join(str(error).split())
        return work.Outcome(Failure("internal", shorten(f"{type(error).__name__}: {said}")), 0.0)


def _finding(kernel: Listed, outcome: work.Outcome, lds: int | None) -> str | None:
    """What the compiler says against the rule book, if it does.

    The back end may add LDS of its own (it moves small private arrays there), so that only less
    than predicted speaks against the prediction.
    """
    failure = outcome.failure
    if failure is not None:
        if failure.kind not in REFUSALS or not kernel.legal:
            return None
        return f"legal by the rules, refused by the compiler ({failure.kind})"
    if not kernel.legal:
        return None
    if lds is not None and kernel.lds_bytes is not None and lds < kernel.lds_bytes:
        return f"predicted {kernel.lds_bytes} bytes of LDS, found {lds}"
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
