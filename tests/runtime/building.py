"""What other processes do with the cache: functions that can be sent to them.

Nothing is compiled: `compile` says a source's name in the place of a result, after the seconds that
a variable says, and notes each compilation in a folder.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from ckrules.compiling.failures import Failure, FailureClass
from ckrules.compiling.session import BuildOptions
from ckrules.compiling.tasks import BuildOutcome, Task
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.runtime.cache import KernelCache, KernelRequest

NOTES = "CKRULES_TEST_NOTES"
SECONDS = "CKRULES_TEST_SECONDS"


def compile(task: Task) -> BuildOutcome:
    notes = Path(os.environ[NOTES])
    (notes / f"{task.name}.{task.artifact}.{os.getpid()}.{time.monotonic_ns()}").touch()
    time.sleep(float(os.environ.get(SECONDS, "0")))
    if (notes / "fail").exists():
        return BuildOutcome(Failure(FailureClass.INTERNAL, "wrong!"), 0.0)
    return BuildOutcome(None, 0.0, data=f"{task.artifact} of {task.name}".encode())


def cache(place: Path, limit: int = 1 << 30) -> KernelCache:
    options = BuildOptions(compiler="hipcc", include=Path(os.environ["ROCM_PATH"]) / "include")
    return KernelCache(place, limit, options, compile)


def wanted(cache: KernelCache, *tiles: int) -> list[KernelRequest]:
    base: dict[str, Any] = dict(book("forward").vocabulary.baseline)
    return cache.wanted([Config({**base, "tile_n": n}) for n in tiles], Books("2025.11"))


def build(place: Path, pipe: Any) -> None:
    """Builds a kernel in a process of its own, when told."""
    made = cache(place)
    (one,) = wanted(made, 128)
    pipe.send("ready")
    pipe.recv()
    pipe.send(made.build(one).result(one.tasks[0].artifact).read_bytes())
