"""Validation: built kernels on problems, each run stored as it comes and held against the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckrules.device.jobs import OPENER, Job, Outcome
from ckrules.device.pool import Pool
from ckrules.device.prediction import Prediction, predict
from ckrules.device.shapes import smoke
from ckrules.device.store import Run, Runs

if TYPE_CHECKING:
    from ckrules.build.folder import Listed
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.problem import Problem

Predictor = Callable[["Listed", "Problem"], Prediction | None]

FAILED = frozenset({"wrong", "error", "crash", "hang"})
"""Statuses of runs that did not end well."""


@dataclass(frozen=True, slots=True)
class Options:
    """How kernels are run."""

    device: str
    timeout: float = 60.0
    warmup: int = 3
    repeat: int = 10
    opener: str = OPENER


@dataclass
class Summary:
    """What a validation came to."""

    runs: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    findings: list[Run] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Runs that did not end well."""
        return sum(n for status, n in self.by_status.items() if status in FAILED)


class Validation:
    """One run over kernels and problems.

    Args:
        kernels: What to run; those that are not built are left out.
        problems: On what; None: the smoke set of each kernel.
        devices: Where; a kernel runs on devices of its GPU, or on those that take every GPU.
        options: How.
        predictor: The rule book's opinion.
    """

    def __init__(
        self,
        kernels: Sequence[Listed],
        problems: Sequence[Problem] | None,
        devices: Sequence[DeviceInfo],
        options: Options,
        predictor: Predictor = predict,
    ) -> None:
        self.options, self._predictor, self._problems = options, predictor, problems
        self.absent = [k for k in kernels if k.missing]
        groups: dict[tuple[int, ...], list[Listed]] = {}
        self.elsewhere: list[Listed] = []
        for kernel in kernels:
            indices = tuple(d.index for d in devices if d.arch in ("", kernel.arch))
            if kernel.missing:
                continue
            if indices:
                groups.setdefault(indices, []).append(kernel)
            else:
                self.elsewhere.append(kernel)
        self._groups = groups

    def jobs(self, kernels: Sequence[Listed]) -> Iterator[tuple[Listed, Job]]:
        """The jobs of kernels, a problem after the other, so that references are made once."""
        o = self.options
        order: dict[Problem, list[Listed]] = {}
        for kernel in kernels:
            for problem in self._problems if self._problems is not None else smoke(kernel.config):
                if problem.ndim == kernel.config["ndim"]:
                    order.setdefault(problem, []).append(kernel)
        for problem, members in order.items():
            for k in members:
                yield k, Job(k.folder, k.name, problem, o.warmup, o.repeat, o.opener)

    def count(self) -> int:
        """How many runs there will be."""
        return sum(1 for kernels in self._groups.values() for _ in self.jobs(kernels))

    def run(self, runs: Runs, progress: Callable[[Run], None] | None = None) -> Summary:
        """Runs everything and stores each run at once.

        Raises:
            DeviceError: If no device can be opened.
            ResultsError: If a run cannot be stored.
        """
        summary = Summary()
        for indices, kernels in self._groups.items():
            by_job = {(k.folder, k.name): k for k in kernels}
            work = (job for _, job in self.jobs(kernels))
            with Pool(self.options.device, indices, self.options.timeout) as pool:
                for job, outcome, info in pool.run(work):
                    kernel = by_job[job.folder, job.name]
                    run = self._judged(kernel, job, outcome, info)
                    runs.put(run)
                    summary.runs += 1
                    count = summary.by_status.get(outcome.status, 0)
                    summary.by_status[outcome.status] = count + 1
                    if run.finding is not None:
                        summary.findings.append(run)
                    if progress is not None:
                        progress(run)
        return summary

    def _judged(self, kernel: Listed, job: Job, outcome: Outcome, info: DeviceInfo | None) -> Run:
        predicted = self._predictor(kernel, job.problem)
        return Run(
            kernel=kernel,
            problem=job.problem,
            outcome=outcome,
            device=self.options.device,
            info=info,
            predicted=predicted.supported if predicted is not None else None,
            finding=finding(kernel, outcome, predicted),
            warmup=job.warmup,
            repeat=job.repeat,
        )


def finding(kernel: Listed, outcome: Outcome, predicted: Prediction | None) -> str | None:
    """What a run says against the rule book, if it does.

    A wrong result, a crash or a hang of a kernel that breaks a rule, alone or with this problem,
    is what the rule is for; of a legal one it is a finding. An error that a device reports may be
    the device's own.
    """
    if predicted is not None and outcome.supported is not None:
        if predicted.supported and not outcome.supported:
            return f"supported by the rules, refused by the kernel: {outcome.detail}"
        if outcome.supported and not predicted.supported:
            return f"refused by the rules ({', '.join(predicted.codes)}), supported by the kernel"
    expected = not kernel.legal or (predicted is not None and bool(predicted.wrong))
    if expected or outcome.status not in ("wrong", "crash", "hang"):
        return None
    said = outcome.where or outcome.detail
    return f"legal by the rules, {outcome.status}: {said}"
