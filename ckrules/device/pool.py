"""Workers, one for each device: jobs go in, outcomes come out, whatever a kernel does.

A job that ends its worker or passes the time limit costs that job alone: the worker is replaced and
the next job goes on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from ckrules.device import logs, registry, worker
from ckrules.device.interface import DeviceError, DeviceInfo
from ckrules.device.jobs import Job, Phase, RunOutcome, RunStatus
from ckrules.support.errors import UsageError
from ckrules.support.processes import PipedProcess
from ckrules.support.scratch import ScratchFolder

OPEN_LIMIT = 120.0
_PREPARE_LIMIT = 1800.0
_TIMED = frozenset({Phase.LOAD, Phase.LAUNCH, Phase.TIME})
"""Phases that have the user's time limit; the others are ours and have a long one."""
_OPEN_TRIES = 3

Listener = Callable[[str], None]
"""Told what workers print, with a line before it that says in which job."""


@dataclass(frozen=True)
class Discovery:
    """What a device plug-in found."""

    devices: tuple[DeviceInfo, ...]
    looked_for: tuple[tuple[str, str], ...]
    error: str = ""

    def reason(self) -> str:
        """Why there is no device, in one line."""
        if self.error:
            return self.error
        return "; ".join(f"{what}: {answer}" for what, answer in self.looked_for) or "none found"


def discover(device: str = registry.DEFAULT, timeout: float = OPEN_LIMIT) -> Discovery:
    """The devices of a plug-in, found in a process of its own.

    Raises:
        UnknownNameError: If there is no such plug-in.
    """
    registry.check(device)
    with tempfile.TemporaryDirectory(prefix="ckrules-") as folder:
        log = Path(folder) / "log"
        process = PipedProcess(worker.look, device, str(log))
        try:
            if not process.pipe.poll(timeout):
                return Discovery((), (), f"looking for devices took more than {timeout:g} s")
            kind, answer, looked = process.pipe.recv()
        except EOFError:
            process.join(5)
            return Discovery(
                (), (), f"looking for devices ended by {ended(process)}{logs.tail(log)}"
            )
        finally:
            process.end()
    if kind == "found":
        return Discovery(tuple(answer), tuple(looked))
    return Discovery((), tuple(looked), answer)


@dataclass
class _Worker:
    index: int
    log: Path
    process: Any = None
    info: DeviceInfo | None = None
    job: Job | None = None
    told: Job | None = None
    """The last job that it got: what it printed is about that."""
    phase: Phase = Phase.OPEN
    since: float = 0.0
    started: float = 0.0
    failures: int = 0
    last: str = ""

    def enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, time.monotonic()


@dataclass
class WorkerPool:
    """The workers of a run; use it as a context manager.

    Args:
        device: The plug-in.
        indices: The devices; each has one worker.
        timeout: Seconds for a phase of a kernel: loading, one launch, the timed runs.
        options: What the plug-in opens the devices with.
        listener: Told what the workers print.
    """

    device: str
    indices: Sequence[int]
    timeout: float = 60.0
    options: Mapping[str, str] = field(default_factory=dict)
    listener: Listener | None = None
    _workers: list[_Worker] = field(default_factory=list)
    _folder: Any = None

    def __enter__(self) -> WorkerPool:
        self._folder = ScratchFolder()
        home = Path(self._folder.name)
        self._workers = [_Worker(i, home / f"log{i}") for i in self.indices]
        return self

    def __exit__(self, *exc: object) -> None:
        for each in self._workers:
            if each.process is not None and each.job is None:
                with contextlib.suppress(OSError):
                    each.process.pipe.send(None)
                each.process.join(5)
            self._end(each)
        self._folder.cleanup()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, RunOutcome, DeviceInfo | None]]:
        """Runs jobs as they come and gives each with its outcome and device, in any order.

        Raises:
            UsageError: If the device does not take the options.
            DeviceError: If no device can be opened any more; the jobs before are not lost.
        """
        queue = iter(jobs)
        held: list[Job] = []  # jobs whose worker had ended before it got them
        more = True
        while True:
            for each in self._workers:
                if each.process is None and (more or held) and each.failures < _OPEN_TRIES:
                    self._start(each)
                if each.phase is Phase.IDLE:
                    job = held.pop() if held else next(queue, None)
                    more = more and job is not None
                    if job is not None and not self._give(each, job):
                        held.append(job)
            busy = [w for w in self._workers if w.process is not None and w.phase is not Phase.IDLE]
            if not busy:
                if not more and not held:
                    return
                if all(w.failures >= _OPEN_TRIES for w in self._workers):
                    raise DeviceError(f"device {self.device}: {self._workers[0].last}")
                continue
            ready = wait([w.process.pipe for w in busy], timeout=self._patience(busy))
            for each in busy:
                if each.process.pipe in ready:
                    outcome = self._hear(each)
                elif time.monotonic() - each.since > self._limit(each.phase):
                    outcome = self._too_late(each)
                else:
                    continue
                if outcome is not None and each.job is not None:
                    job, each.job = each.job, None
                    yield job, outcome, each.info

    def _start(self, each: _Worker) -> None:
        each.log.write_bytes(b"")
        each.told = None
        each.process = PipedProcess(
            worker.serve, self.device, each.index, str(each.log), dict(self.options)
        )
        each.enter(Phase.OPEN)

    def _give(self, each: _Worker, job: Job) -> bool:
        """Sends a job to an idle worker; False if that has ended since, and is to be replaced."""
        if not each.process.is_alive():
            self._end(each)
            return False
        self._pass_on(each)
        os.truncate(each.log, 0)  # what was printed before is not about this job
        each.job, each.told, each.started = job, job, time.monotonic()
        each.enter(Phase.LOAD)
        with contextlib.suppress(OSError):  # if it ends just now, its pipe says so next
            each.process.pipe.send(job)
        return True

    def _hear(self, each: _Worker) -> RunOutcome | None:
        """The next message: an outcome if it ends a job."""
        try:
            kind, value = each.process.pipe.recv()
        except (EOFError, OSError):
            return self._ended(each)
        if kind == "phase":
            each.enter(value)
        elif kind == "open":
            each.info, each.failures = value, 0
            each.phase = Phase.IDLE
        elif kind == "refused":
            self._end(each)
            raise UsageError(value)
        elif kind == "failed":
            each.failures, each.last = each.failures + 1, value
            self._end(each)
        else:
            each.phase = Phase.IDLE
            outcome: RunOutcome = value
            if kind == "lost":  # the next job gets a new worker
                self._end(each)
            return outcome
        return None

    def _ended(self, each: _Worker) -> RunOutcome | None:
        each.process.join(5)
        phase = each.phase
        how = f"{ended(each.process)} in phase {phase}{logs.tail(each.log)}"
        seconds = round(time.monotonic() - each.started, 3)
        self._end(each)
        if each.job is None:
            each.failures, each.last = each.failures + 1, f"the worker ended by {how}"
            return None
        status = RunStatus.ERROR if phase is Phase.PREPARE else RunStatus.CRASH
        return RunOutcome(status, f"worker ended by {how}", seconds=seconds)

    def _too_late(self, each: _Worker) -> RunOutcome | None:
        phase = each.phase
        self._end(each)
        if each.job is None:
            each.failures, each.last = each.failures + 1, "opening the device took too long"
            return None
        status = RunStatus.HANG if phase in _TIMED else RunStatus.ERROR
        detail = f"not done after {self._limit(phase):g} s in phase {phase}"
        if phase in _TIMED and each.info is not None and not each.info.has_clock:
            status = RunStatus.UNFINISHED
            detail += ", perhaps only slow without a GPU: give it longer (--timeout)"
        seconds = round(time.monotonic() - each.started, 3)
        return RunOutcome(status, detail, seconds=seconds)

    def _pass_on(self, each: _Worker) -> None:
        """Gives the listener what a worker has printed in its job, or while it was opened."""
        if self.listener is None or not (said := logs.text(each.log)):
            return
        about = f"{each.told.name} on {each.told.problem}" if each.told else "opening"
        end = "" if said.endswith("\n") else "\n"
        self.listener(f"# device {each.index}, {about}\n{said}{end}")

    def _end(self, each: _Worker) -> None:
        if each.process is not None:
            each.process.end()
            self._pass_on(each)
        each.process = None
        each.enter(Phase.ENDED)

    def _limit(self, phase: Phase) -> float:
        if phase in _TIMED:
            return self.timeout
        return OPEN_LIMIT if phase is Phase.OPEN else _PREPARE_LIMIT

    def _patience(self, busy: list[_Worker]) -> float:
        now = time.monotonic()
        return max(0.01, min(w.since + self._limit(w.phase) - now for w in busy))


def ended(process: PipedProcess) -> str:
    """How a process ended, in words."""
    code = process.exitcode
    if code is None:
        return "an unknown cause"
    if code >= 0:
        return f"status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
