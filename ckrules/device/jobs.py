"""One job, a kernel on a problem, and its outcome: plain data that goes between processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ckrules.build.hostlib import Buffers, ConvShape, Fill, Info, Launch, Room
    from ckrules.device.problem import Problem

STATUSES = {
    "ok": "every element is right",
    "wrong": "the kernel ran, and elements are wrong or it wrote outside its result",
    "refused": "the kernel itself says that it does not support the problem",
    "error": "an operation failed with a message",
    "crash": "the worker process ended while the kernel was at work",
    "hang": "the time limit passed",
}
"""What an outcome's status can be."""

OPENER = "ckrules.device.built:open_built"
"""What opens a built kernel in a worker: ``module:function`` of a `Job`."""


class Kernel(Protocol):
    """A kernel ready to be launched: a host library, and what belongs to its code object."""

    info: Info

    def is_supported(self, shape: ConvShape) -> bool:
        """The kernel's own answer."""

    def reason(self, shape: ConvShape) -> str | None:
        """Why it refuses the problem; None if it takes it."""

    def workspace_bytes(self, shape: ConvShape, room: Room | None = None) -> int:
        """Bytes of device memory that it needs beside the tensors."""

    def plan(
        self, shape: ConvShape, buffers: Buffers, room: Room | None = None
    ) -> Sequence[Fill | Launch]:
        """The steps that compute the problem."""


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
class Outcome:
    """What became of a job. What does not apply is None."""

    status: str
    """One of `STATUSES`."""
    detail: str = ""
    supported: bool | None = None
    elements: int | None = None
    wrong: int | None = None
    not_finite: int | None = None
    max_abs: float | None = None
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
