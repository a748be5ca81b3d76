"""One job, a kernel on a problem, and its outcome: plain data that goes between processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ckrules.kernels.families import family_of

if TYPE_CHECKING:
    from ckrules.device.hostlib import Fill, HostLaunch, Info, Room
    from ckrules.kernels.parts import Problem


class RunStatus(StrEnum):
    """How a job ended."""

    OK = "ok"
    """Every element is right."""
    WRONG = "wrong"
    """The kernel ran, and elements are wrong or it wrote outside its result."""
    REFUSED = "refused"
    """The kernel itself says that it does not support the problem."""
    ERROR = "error"
    """An operation failed with a message."""
    CRASH = "crash"
    """The worker process ended while the kernel was at work."""
    HANG = "hang"
    """The time limit passed."""
    UNFINISHED = "unfinished"
    """The time limit passed on a device without a clock, on which the kernel may only be slow."""
    FAULT = "fault"
    """The device saw the kernel do what a GPU may let pass; the detail says what."""


MISCOMPUTED = frozenset({RunStatus.WRONG, RunStatus.CRASH, RunStatus.HANG, RunStatus.FAULT})
"""What a kernel does, as opposed to what a device reports."""

FAILED = MISCOMPUTED | {RunStatus.ERROR, RunStatus.UNFINISHED}
"""Statuses of runs that did not end well."""


class Phase(StrEnum):
    """What a worker is at."""

    OPEN = "open"
    """Opening the device."""
    IDLE = "idle"
    """Waiting for a job."""
    LOAD = "load"
    PREPARE = "prepare"
    """Making the data and the reference, which is not the kernel's doing."""
    LAUNCH = "launch"
    COMPARE = "compare"
    TIME = "time"
    ENDED = "ended"


OPENER = "ckrules.device.built:open_built"
"""What opens a built kernel in a worker: ``module:function`` of a `Job`."""


def opener_of(variant: str) -> str:
    """What opens the built kernels of a variant: its family's own opener, or `OPENER`."""
    return getattr(family_of(variant).generation, "opener", OPENER)


class LaunchableKernel(Protocol):
    """A kernel ready to be launched: a host library, and what belongs to its code object."""

    info: Info

    def is_supported(self, problem: Problem) -> bool:
        """The kernel's own answer."""

    def reason(self, problem: Problem) -> str | None:
        """Why it refuses the problem; None if it takes it."""

    def workspace_bytes(self, problem: Problem, room: Room | None = None) -> int:
        """Bytes of device memory that it needs beside the tensors."""

    def plan(
        self,
        problem: Problem,
        addresses: Sequence[int],
        workspace: int = 0,
        room: Room | None = None,
    ) -> Sequence[Fill | HostLaunch]:
        """The steps that compute the problem; addresses are in the order of `Info.tensors`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel on one problem."""

    folder: Path
    name: str
    problem: Problem
    warmup: int = 3
    repeat: int = 10
    """Timed runs; 0: none."""
    opener: str = OPENER


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a job. What does not apply is None."""

    status: RunStatus
    detail: str = ""
    supported: bool | None = None
    elements: int | None = None
    wrong: int | None = None
    not_finite: int | None = None
    nan: int | None = None
    max_abs: float | None = None
    """Over finite elements; None if elements are wrong and none of them is finite."""
    max_rel: float | None = None
    rtol: float | None = None
    atol: float | None = None
    pattern: str | None = None
    """Kind of what the wrong elements have in common."""
    where: str | None = None
    """The same in words."""
    first: tuple[int, ...] = ()
    time_ms: float | None = None
    """Mean of the timed runs; fills of zero are left out."""
    time_min_ms: float | None = None
    tflops: float | None = None
    seconds: float = 0.0
