"""A build: the kernels of a folder compiled, each result stored as it comes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from ckrules import arch as gpu_facts
from ckrules.codegen.ck_options import CkOption
from ckrules.codegen.model import own_options
from ckrules.compiling import tasks as work
from ckrules.compiling import toolchain
from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.compiling.compile_commands import Recipe, commands, flags
from ckrules.compiling.database import ResultsError
from ckrules.compiling.failures import REFUSALS, TRANSIENT, Failure, FailureClass, shorten
from ckrules.compiling.folder import ManifestEntry, manifests
from ckrules.compiling.known_options import taken
from ckrules.compiling.precompiled import SharedHeaders
from ckrules.compiling.results import BuildStatus, KnownArtifact, Result, Results, digest, lacks
from ckrules.compiling.sources import KernelSources, sources_digest
from ckrules.kernels.families import family_of
from ckrules.kernels.families import variants as all_variants
from ckrules.support import files
from ckrules.support.errors import UnknownNameError, UsageError

_SCRATCH = ".ckrules-tmp"
USUAL_SECONDS, HOST_SECONDS = 20.0, 3.0
"""Of a processor: for a device unit of which nothing is predicted, and for a host unit."""


@dataclass(frozen=True)
class BuildOptions:
    """What a build is to do."""

    artifacts: tuple[Artifact, ...] = RUNNABLE
    compiler: str | None = None
    include: Path | None = None
    optimize: str = "-O3"
    flags: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    timeout: float = 900.0
    """Seconds of processor time for an artifact, however long they take."""
    retry: bool = False
    """Compile again what failed before, not only what failed for a transient reason."""


@dataclass
class BuildSummary:
    """What a build did."""

    total: int = 0
    built: int = 0
    known: int = 0
    failed: int = 0
    findings: list[Result] = field(default_factory=list)
    transient: int = 0
    failed_before: int = 0
    """Known to fail from an earlier build, and not tried again."""


@dataclass
class _Running:
    """The artifacts that a build waits for."""

    pool: Executor
    summary: BuildSummary
    progress: Callable[[float], None]
    headers: SharedHeaders
    waiting: dict[Future[work.BuildOutcome], tuple[ManifestEntry, work.Task, str]] = field(
        default_factory=dict
    )

    def start(self, kernel: ManifestEntry, task: work.Task, key: str, alike: int) -> None:
        """Gives a task to the executor; so many ``alike`` are to be built in all.

        Headers are precompiled for compilers on this machine, and not for those behind a launcher
        such as ccache, which would know no unit again.
        """
        here = isinstance(self.pool, ThreadPoolExecutor) and not task.recipe.launcher
        given = (partial(self.headers.flags, coming=alike),) if here else ()
        self.waiting[self.pool.submit(work.run, task, *given)] = (kernel, task, key)

    def is_known(self, found: KnownArtifact, seconds: float) -> None:
        """Counts an artifact that is there already, or is known to fail."""
        if found.status == BuildStatus.OK:
            self.summary.known += 1
        else:
            self.summary.failed_before += 1
        self.progress(seconds)

    def done(self, result: Result, seconds: float) -> None:
        if result.status == BuildStatus.OK:
            self.summary.built += 1
        else:
            self.summary.failed += 1
            self.summary.transient += result.error_class in TRANSIENT
        if result.finding is not None:
            self.summary.findings.append(result)
        self.progress(seconds)

    def cancel(self) -> None:
        """Gives up what has not been started."""
        for future in self.waiting:
            future.cancel()


class BuildSession:
    """One run over one folder.

    Args:
        folder: What `ckrules generate` wrote.
        options: What to build and how.
    """

    def __init__(self, folder: Path, options: BuildOptions) -> None:
        self.folder, self.options = folder, options
        self.kernels = manifests(folder)
        _refuse_others(self.kernels)
        self._toolchains: dict[tuple[str, str], toolchain.Toolchain] = {}
        self._sources = KernelSources()

    @cached_property
    def scratch(self) -> Path:
        """A folder for temporary files, on the disk that the artifacts go to."""
        base = self.folder / _SCRATCH
        own = base / str(os.getpid())
        for place in (base, own):
            if place.is_symlink():  # whatever is in the folder that it names is not ours
                raise UsageError(f"{place}: a link, expected a folder of ckrules build: remove it")
            place.mkdir(exist_ok=True)
        for left in base.iterdir():  # of builds that were killed
            if left.name.isdecimal() and not _alive(int(left.name)):
                shutil.rmtree(left, ignore_errors=True)
        return own.resolve()

    def run(
        self,
        results: Results,
        pool: Executor,
        width: int,
        progress: Callable[[float], None] | None = None,
        headers: SharedHeaders | None = None,
    ) -> BuildSummary:
        """Builds what is not known yet; results are stored in the order in which they come.

        Args:
            results: What is known, and where results go.
            pool: What compiles.
            width: How many it compiles at once.
            progress: Told of each artifact by the seconds that it was predicted to take.
            headers: Precompiled headers that builds of other folders use, too; None: its own.

        Raises:
            MissingToolError: If the toolchain is not there.
            ResultsError: If a result cannot be stored.
        """
        known = results.known()
        kinds = Counter(
            _kind(k, a)
            for k in self.kernels
            for a in self.options.artifacts
            if (k.name, k.arch, a, k.ck) not in known
        )
        known_headers = headers or SharedHeaders(self.scratch)
        running = _Running(pool, BuildSummary(), progress or (lambda _: None), known_headers)
        try:
            for kernel, task in self.tasks():
                running.summary.total += 1
                key = work.task_key(task, self.tools_for(task))
                if found := self.already(kernel, task, known, key):
                    running.is_known(found, predicted(kernel, task.artifact))
                    continue
                running.start(kernel, task, key, kinds[_kind(kernel, task.artifact)])
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
            stored = self.stored(results, kernel, task, key, _outcome(future))
            running.done(stored, predicted(kernel, task.artifact))

    def count(self) -> int:
        """How many artifacts the build is about."""
        return len(self.kernels) * len(self.options.artifacts)

    def predicted(self) -> float:
        """Seconds of a processor that all artifacts are predicted to take."""
        return sum(predicted(k, a) for k in self.kernels for a in self.options.artifacts)

    def tasks(self) -> Iterator[tuple[ManifestEntry, work.Task]]:
        """What there is to compile, kernel by kernel.

        Raises:
            UsageError: If a source is missing.
        """
        o = self.options
        for kernel in self.kernels:
            recipe = Recipe(
                *(kernel.ck, kernel.arch, kernel.defines, o.optimize, o.flags, o.launcher),
                needs=_needs(kernel),
            )
            for artifact in o.artifacts:
                yield (
                    kernel,
                    work.Task(
                        name=kernel.name,
                        artifact=artifact,
                        recipe=recipe,
                        sources=self._sources.of(kernel, artifact),
                        compiler=o.compiler,
                        include=str(o.include) if o.include else None,
                        timeout=o.timeout,
                        scratch=str(self.scratch),
                    ),
                )

    def tools_for(self, task: work.Task) -> toolchain.Toolchain:
        """The toolchain that compiles a task on this machine.

        Raises:
            MissingToolError: With the remedy.
            UsageError: If the release cannot be compiled for the GPU.
        """
        wanted = (task.recipe.ck, task.recipe.arch)
        if wanted not in self._toolchains:
            _refuse_unknown(*wanted)
            self._toolchains[wanted] = work.tools_for(task)
        return self._toolchains[wanted]

    @property
    def compilers(self) -> dict[str, str]:
        """The compiler of each GPU that the build has come to."""
        return {arch: tools.kind for (_, arch), tools in self._toolchains.items()}

    def already(
        self,
        kernel: ManifestEntry,
        task: work.Task,
        known: Mapping[tuple[str, ...], KnownArtifact],
        key: str,
    ) -> KnownArtifact | None:
        """What an earlier build came to, if it need not be repeated."""
        found = known.get((kernel.name, kernel.arch, task.artifact, kernel.ck))
        if found is None or found.key != key:
            return None
        if found.status == BuildStatus.OK:
            holds = found.is_artifact(kernel.result(task.artifact))
        else:
            holds = not self.options.retry and found.error_class not in TRANSIENT
        return found if holds else None

    def stored(
        self,
        results: Results,
        kernel: ManifestEntry,
        task: work.Task,
        key: str,
        outcome: work.BuildOutcome,
    ) -> Result:
        """The row of an outcome, stored; the artifact is written beside its sources.

        That of a build that failed is removed: it is of other sources, and would be run for these.

        Raises:
            ResultsError: If one of them cannot be written.
        """
        target = kernel.result(task.artifact)
        try:
            if outcome.failure is None:
                self._keep(target, task, outcome.data)
            else:
                target.unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(f"{target}: cannot write: {error.strerror}") from None
        result = self._row(kernel, task, key, outcome)
        results.put(result)
        return result

    def _keep(self, target: Path, task: work.Task, data: bytes) -> None:
        """Writes the artifact, whole or not at all."""
        mode = 0o755 if task.artifact is Artifact.HOST else None
        # By way of the scratch folder, which is emptied after a build that was killed.
        files.replace(target, data, folder=self.scratch, mode=mode)

    def _row(
        self, kernel: ManifestEntry, task: work.Task, key: str, outcome: work.BuildOutcome
    ) -> Result:
        failure, entries = outcome.failure, outcome.entries

        def most(name: str) -> int | None:
            return max((getattr(e, name) for e in entries), default=None)

        lds = most("lds_bytes")
        tools = self.tools_for(task)
        given = shlex.join(flags(task.recipe, task.artifact, tools))
        return Result(
            name=kernel.name,
            arch=kernel.arch,
            artifact=task.artifact,
            ck=kernel.ck,
            rules=kernel.rules,
            legal=kernel.legal,
            status=BuildStatus.OK if failure is None else BuildStatus.FAILED,
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
            flags=given,
            lacks=lacks(taken(tools.compiler, kernel.ck, task.recipe.needs), given),
            command=self._shell(kernel, task, tools),
            config=json.dumps(kernel.config),
            finished=time.time(),
            key=key,
            artifact_bytes=len(outcome.data) if failure is None else None,
            artifact_digest=digest(outcome.data) if failure is None else None,
            sources_digest=sources_digest(task.sources),
        )

    def _shell(self, kernel: ManifestEntry, task: work.Task, tools: toolchain.Toolchain) -> str:
        steps = commands(task.recipe, task.artifact, kernel.name, tools)
        home = shlex.quote(str(kernel.folder.resolve()))
        return " && ".join([f"cd {home}", *map(shlex.join, steps)])


def predicted(kernel: ManifestEntry, artifact: Artifact) -> float:
    """Seconds of a processor that an artifact is predicted to take, usual ones where unknown."""
    device = float(kernel.device_seconds or USUAL_SECONDS)
    return {Artifact.DEVICE: device, Artifact.HOST: HOST_SECONDS}.get(
        artifact, device + HOST_SECONDS
    )


def _kind(kernel: ManifestEntry, artifact: Artifact) -> tuple[object, ...]:
    """What artifacts agree in whose units have the same headers, as far as a manifest says."""
    family = family_of(str(kernel.config["variant"])).name
    return family, artifact, kernel.ck, kernel.arch, tuple(kernel.defines)


def _needs(kernel: ManifestEntry) -> tuple[CkOption, ...]:
    """The options that a kernel needs beside those of CK; none if nobody knows its family."""
    try:
        return own_options(family_of(str(kernel.config["variant"])), kernel.config)
    except (KeyError, UnknownNameError):
        return ()


def _refuse_unknown(ck: str, arch: str) -> None:
    """Says at once that a release does not know a GPU, where a file of the package says so."""
    if arch in gpu_facts.known() and (lacking := gpu_facts.load(arch).lacking(ck)):
        raise UsageError(lacking)


def _refuse_others(kernels: Sequence[ManifestEntry]) -> None:
    """Refuses kernels that a command of their family's plug-in builds."""
    variants = dict.fromkeys(str(k.config["variant"]) for k in kernels)
    known = (family_of(v) for v in variants if v in all_variants())
    for family in known:
        if own := getattr(family.generation, "build_command", ""):
            raise UsageError(f"kernels of {family.name} are built by: {own}")


def _outcome(future: Future[work.BuildOutcome]) -> work.BuildOutcome:
    """The result of a task; a worker that ended under it costs this task alone."""
    try:
        return future.result()
    except Exception as error:  # whatever the executor's own code raises
        message = " ".join(str(error).split())
        return work.BuildOutcome(
            Failure(FailureClass.INTERNAL, shorten(f"{type(error).__name__}: {message}")), 0.0
        )


def _finding(kernel: ManifestEntry, outcome: work.BuildOutcome, lds: int | None) -> str | None:
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
