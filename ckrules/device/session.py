"""Validation: built kernels on problems, each run stored at once and compared with the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckrules.device import problem_set
from ckrules.device.jobs import FAILED, MISCOMPUTED, Job, RunOutcome, RunStatus, opener_of
from ckrules.device.pool import Listener, WorkerPool
from ckrules.device.prediction import SupportPrediction, predict
from ckrules.device.store import Runs, StoredRun, lacking_options, made_again
from ckrules.device.varied import varied

if TYPE_CHECKING:
    from pathlib import Path

    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.cluster import ClusterPool
    from ckrules.device.interface import DeviceInfo
    from ckrules.kernels.parts import Problem

Predictor = Callable[["ManifestEntry", "Problem"], SupportPrediction | None]
Opened = Callable[..., "WorkerPool | ClusterPool"]
"""What opens devices: `WorkerPool`, or `ckrules.device.cluster.Cluster.pool`."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How kernels are run."""

    device: str
    timeout: float = 60.0
    warmup: int = 3
    repeat: int = 10
    opener: str = ""
    """What opens built kernels; empty: what the family of each does (`opener_of`)."""
    device_options: Mapping[str, str] = field(default_factory=dict)
    varied: int = 0
    """Random problems of each kernel beside those of its smoke set."""
    seed: int = 0
    """The same seed gives the same random problems."""


@dataclass
class ValidationSummary:
    """How the runs of a validation ended."""

    runs: int = 0
    by_status: dict[RunStatus, int] = field(default_factory=dict)
    foretold: dict[RunStatus, int] = field(default_factory=dict)
    """Of these, the ones of legal kernels that problem rules foretold."""
    findings: list[StoredRun] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Runs that did not end well, without those that problem rules foretold."""
        failed = sum(n for status, n in self.by_status.items() if status in FAILED)
        return failed - sum(self.foretold.values()) - self.unfinished

    @property
    def unfinished(self) -> int:
        """Runs that say nothing, because they took longer than they might."""
        return self.by_status.get(RunStatus.UNFINISHED, 0)

    def add(self, run: StoredRun) -> None:
        """Counts a run."""
        self.runs += 1
        status = run.outcome.status
        self.by_status[status] = self.by_status.get(status, 0) + 1
        if run.foretold and run.kernel.legal:
            self.foretold[status] = self.foretold.get(status, 0) + 1
        if run.finding is not None:
            self.findings.append(run)


class ValidationSession:
    """One run over kernels and problems.

    Args:
        kernels: What to run; those that are not built are left out.
        problems: On what; None: the smoke set of each kernel.
        devices: Where; a kernel runs on devices of its GPU, or on those that take every GPU.
        predictor: The rule book's opinion.
    """

    def __init__(
        self,
        kernels: Sequence[ManifestEntry],
        problems: Sequence[Problem] | None,
        devices: Sequence[DeviceInfo],
        options: RunOptions,
        predictor: Predictor = predict,
    ) -> None:
        self.options, self._predictor, self._problems = options, predictor, problems
        self.absent = [k for k in kernels if k.missing]
        made = made_again(kernels)
        self.stale = [k for k in kernels if (k.folder, k.name) in made and not k.missing]
        groups: dict[tuple[int, ...], list[ManifestEntry]] = {}
        self.elsewhere: list[ManifestEntry] = []
        for kernel in kernels:
            indices = tuple(d.index for d in devices if d.arch in ("", kernel.arch))
            if kernel.missing or (kernel.folder, kernel.name) in made:
                continue
            if indices:
                groups.setdefault(indices, []).append(kernel)
            else:
                self.elsewhere.append(kernel)
        self._groups = groups
        self._built_in: dict[tuple[Path, str], Sequence[Problem]] = {}

    def jobs(self, kernels: Sequence[ManifestEntry]) -> Iterator[tuple[ManifestEntry, Job]]:
        """The jobs of kernels, a problem after the other, so that references are made once."""
        o = self.options
        order: dict[Problem, list[ManifestEntry]] = {}
        for kernel in kernels:
            for problem in self._asked(kernel):
                if problem_set.fits(kernel, problem):
                    order.setdefault(problem, []).append(kernel)
        for problem, members in order.items():
            for k in members:
                opener = o.opener or opener_of(str(k.config["variant"]))
                yield k, Job(k.folder, k.name, problem, o.warmup, o.repeat, opener)

    def _asked(self, kernel: ManifestEntry) -> Sequence[Problem]:
        if self._problems is not None:
            return self._problems
        key = kernel.folder, kernel.name
        if key not in self._built_in:
            more = varied(kernel, self.options.varied, self.options.seed)
            self._built_in[key] = [*problem_set.smoke(kernel), *more]
        return self._built_in[key]

    def count(self) -> int:
        """How many runs there will be."""
        return sum(1 for kernels in self._groups.values() for _ in self.jobs(kernels))

    def run(
        self,
        runs: Runs,
        progress: Callable[[StoredRun], None] | None = None,
        listener: Listener | None = None,
        opened: Opened = WorkerPool,
    ) -> ValidationSummary:
        """Runs everything and stores each run at once.

        Args:
            runs: Where runs are stored.
            progress: Told of each run.
            listener: Told what devices print.
            opened: What opens the devices: `WorkerPool`, or `Cluster.pool`.

        Raises:
            DeviceError: If no device can be opened.
            ResultsError: If a run cannot be stored.
        """
        summary = ValidationSummary()
        for indices, kernels in self._groups.items():
            by_job = {(k.folder, k.name): k for k in kernels}
            lacks = lacking_options(kernels)
            work = (job for _, job in self.jobs(kernels))
            o = self.options
            with opened(o.device, indices, o.timeout, o.device_options, listener) as pool:
                for job, outcome, info in pool.run(work):
                    kernel = by_job[job.folder, job.name]
                    without = lacks.get((kernel.folder, kernel.name))
                    run = self._judged(kernel, job, outcome, info, without)
                    runs.put(run)
                    summary.add(run)
                    if progress is not None:
                        progress(run)
        return summary

    def _judged(
        self,
        kernel: ManifestEntry,
        job: Job,
        outcome: RunOutcome,
        info: DeviceInfo | None,
        lacks: str | None,
    ) -> StoredRun:
        predicted = self._predictor(kernel, job.problem)
        timed = info is None or info.has_clock
        return StoredRun(
            kernel=kernel,
            problem=job.problem,
            outcome=outcome,
            device=self.options.device,
            info=info,
            predicted=predicted.supported if predicted is not None else None,
            finding=finding(kernel, outcome, predicted, lacks),
            foretold=foretold(outcome, predicted),
            warmup=job.warmup if timed else 0,
            repeat=job.repeat if timed else 0,
            device_options=self.options.device_options,
            lacks=lacks,
        )


def foretold(outcome: RunOutcome, predicted: SupportPrediction | None) -> tuple[str, ...]:
    """The problem rules that a run which went wrong bears out."""
    if predicted is None or outcome.status not in MISCOMPUTED:
        return ()
    return predicted.wrong


def finding(
    kernel: ManifestEntry,
    outcome: RunOutcome,
    predicted: SupportPrediction | None,
    lacks: str | None = None,
) -> str | None:
    """What a run says against the rule book, if it does.

    A wrong result, a crash or a hang of a kernel that breaks a rule, alone or with this problem,
    is what the rule is for, and so is a refusal of what would be wrong; of a legal one it is a
    finding. An error that a device reports may be the device's own. ``lacks`` are options that
    CK's kernels need and that it was built without: a wrong result may come from that.
    """
    if predicted is not None and outcome.supported is not None:
        if predicted.supported and not outcome.supported and not predicted.wrong:
            return f"supported by the rules, refused by the kernel: {outcome.detail}"
        if outcome.supported and not predicted.supported:
            return f"refused by the rules ({', '.join(predicted.codes)}), supported by the kernel"
    expected = not kernel.legal or (predicted is not None and bool(predicted.wrong))
    if expected or outcome.status not in MISCOMPUTED:
        return None
    told = f"legal by the rules, {outcome.status}: {outcome.where or outcome.detail}"
    return f"{told}; built without options that CK's kernels need ({lacks})" if lacks else told
