"""Sweeps of built kernels by problems: what was measured before is not measured again.

A sweep is a validation that leaves out the runs that the results database has. Each run is stored
the moment it ends, so a sweep that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.device import store
from ckrules.device.jobs import FAILED, Job, RunStatus
from ckrules.device.prediction import predict
from ckrules.device.session import Predictor, RunOptions, ValidationSession

if TYPE_CHECKING:
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.interface import DeviceInfo
    from ckrules.kernels.parts import Problem


class BenchSession(ValidationSession):
    """One sweep over kernels and problems.

    A run is known, and is left out, if the database has it from the same kind of device with the
    same options, with as many timed runs at least, and if it is of these files of the kernel. Runs
    that failed are known, too.

    Args:
        kernels: What to run; those that are not built are left out.
        problems: On what; None: the smoke set of each kernel.
        devices: Where; a process for each.
        retry: Whether runs that failed are not known.
        predictor: The rule book's opinion.
    """

    def __init__(
        self,
        kernels: Sequence[ManifestEntry],
        problems: Sequence[Problem] | None,
        devices: Sequence[DeviceInfo],
        options: RunOptions,
        runs: store.Runs,
        *,
        retry: bool = False,
        predictor: Predictor = predict,
    ) -> None:
        super().__init__(kernels, problems, devices, options, predictor)
        names = {d.name for d in devices}
        timed = any(d.has_clock for d in devices)
        self.known = 0
        self._before: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for key, row in runs.ends(options.device, options.device_options).items():
            if key[-1] in names and _ended(row, options.repeat if timed else 0, retry):
                self._before.setdefault(key[:-1], []).append(row)

    def jobs(self, kernels: Sequence[ManifestEntry]) -> Iterator[tuple[ManifestEntry, Job]]:
        """The jobs that are not known, a problem after the other."""
        self.known = 0
        made = {(k.folder, k.name): store.made(k) for k in kernels}
        for kernel, job in super().jobs(kernels):
            key = (kernel.name, kernel.arch, kernel.ck, str(job.problem))
            if any(_of(row, made[kernel.folder, kernel.name]) for row in self._before.get(key, ())):
                self.known += 1
            else:
                yield kernel, job

    def count(self) -> int:
        """How many runs there will be; `known` then is how many there were."""
        known = found = 0
        for kernels in self._groups.values():
            found += sum(1 for _ in self.jobs(kernels))
            known += self.known
        self.known = known
        return found


def _of(row: dict[str, Any], made: float) -> bool:
    """Whether a stored run is of files that were written then.

    What earlier versions stored says only when the run ended, by a clock that may have jumped.
    """
    before: float | None = row["made"]
    return (row["finished"] or 0.0) >= made if before is None else before == made


def _ended(row: dict[str, Any], repeat: int, retry: bool) -> bool:
    """Whether a stored run says all that is asked."""
    if row["status"] in FAILED:
        return not retry
    if row["status"] != RunStatus.OK or not repeat:
        return True
    return row["latency_ms"] is not None and (row["repeat"] or 0) >= repeat


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel that computed a problem right, and its time."""

    kernel: ManifestEntry
    problem: Problem
    microseconds: float
    tflops: float | None
    device: str = ""
    """The device's name."""


def timed(
    runs: store.Runs,
    kernels: Sequence[ManifestEntry],
    problems: Sequence[Problem] | None,
    options: RunOptions,
) -> list[Timed]:
    """What the database has of these kernels and problems, by problem, fastest first.

    Problems come in their order, those of the smoke sets in that of their texts.
    """
    from ckrules.kernels.families import problems_of

    of = {(k.name, k.arch, k.ck): k for k in kernels}
    wanted = None if problems is None else {str(p): p for p in problems}
    found: dict[str, list[Timed]] = {text: [] for text in wanted or ()}
    for (name, arch, ck, text, device), row in runs.ends(
        options.device, options.device_options
    ).items():
        kernel = of.get((name, arch, ck))
        if kernel is None or row["status"] != RunStatus.OK or row["latency_ms"] is None:
            continue
        if wanted is None:
            problem = problems_of(str(kernel.config["variant"])).parse(text)
        elif text in wanted:
            problem = wanted[text]
        else:
            continue
        entry = Timed(kernel, problem, row["latency_ms"] * 1e3, row["tflops"], device)
        found.setdefault(text, []).append(entry)
    return [t for each in found.values() for t in sorted(each, key=lambda t: t.microseconds)]
