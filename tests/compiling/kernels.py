"""The kernels that the toolchain's tests compile, in folders that later runs find again.

Each has a folder of its own, so that a test waits for the kernels that it needs and for no other.
"""

from __future__ import annotations

import fcntl
import json
import resource
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.generate import Generator
from ckrules.codegen.stamp import Stamp
from ckrules.compiling import executors, toolchain
from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.precompiled import SharedHeaders
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.compiling.tasks import Task
from ckrules.device.hostlib import HostLibrary
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from tests.helpers.toolchain import require_toolchain
from tests.plugins.hangs import excused
from tests.plugins.progress import say

POINTS = Path(__file__).resolve().parents[1] / "data" / "build_points.jsonl"
"""Legal configurations of CK 2025.11: pipelines, directions, types and GPUs, one a line."""

#: Fixed, so that a new rule does not change the files.
STAMP = Stamp("0.0.0", "2025.11+test")


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Holds other test processes off."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        with excused():  # who holds it works, or is ended
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Kernel:
    """A kernel, generated and compiled in a folder."""

    config: Config
    folder: Path
    results: Mapping[str, Result]
    """The rows by artifact."""

    @property
    def name(self) -> str:
        """Its name, by which its files go."""
        assert self.config.name is not None
        return self.config.name

    @property
    def code(self) -> Path:
        """Its code object."""
        return self.folder / f"{self.name}.hsaco"

    @cached_property
    def library(self) -> HostLibrary:
        """Its host library."""
        return HostLibrary(self.folder / f"{self.name}.host.so")


class SetHeaders(SharedHeaders):
    """Headers of the kernels of a set, precompiled for the first where enough are to come.

    Args:
        few: The kernels that `make test` compiles.
    """

    def __init__(self, few: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._coming = Counter(str(p["arch"]) for p in few)

    def flags(self, task: Task, tools: toolchain.Toolchain, coming: int = 1) -> tuple[str, ...]:
        return super().flags(task, tools, max(coming, self._coming[task.recipe.arch]))


@dataclass
class KernelSet:
    """Kernels of CK 2025.11, compiled one by one when they are asked for.

    Args:
        name: Of the folder, beside the CK trees.
        points: All configurations.
        fields: Each of their values has a kernel among `few`.
        preferred: Those that have it, where some of them do.
    """

    name: str
    points: tuple[dict[str, Any], ...] = field(repr=False)
    fields: tuple[str, ...] = ()
    preferred: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        self._built: dict[tuple[Path, tuple[Artifact, ...]], Kernel] = {}

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Where each is built, so that a second run compiles nothing."""
        home = toolchain.root() / "tests" / f"{self.name}-2025.11"
        return tuple(home / p["arch"] / str(Config(p).name) for p in self.points)

    @cached_property
    def few(self) -> tuple[dict[str, Any], ...]:
        """The kernels that `make test` compiles; `make certify` compiles the others."""
        return covering(self.points, self.fields, self.preferred)

    @cached_property
    def headers(self) -> SetHeaders:
        """What the kernels include, compiled once for those of a GPU."""
        return SetHeaders(self.few)

    def marks(self, point: Mapping[str, Any]) -> tuple[pytest.MarkDecorator, ...]:
        """What a test of a kernel is marked with."""
        return () if dict(point) in self.few else (pytest.mark.certify,)

    def params(self) -> list[Any]:
        """Every configuration as a parameter of tests, by its GPU and name."""
        names = (f"{p['arch']}-{Config(p).name}" for p in self.points)
        pairs = zip(self.points, names, strict=True)
        return [pytest.param(p, id=name, marks=self.marks(p)) for p, name in pairs]

    def build(self, point: Mapping[str, Any], artifacts: tuple[Artifact, ...] = RUNNABLE) -> Kernel:
        """A kernel with these artifacts; what has been compiled before is not compiled again.

        Without the toolchain the test is skipped, or fails if it is required.
        """
        require_toolchain()
        place = self.folders[self.points.index(dict(point))]
        if (place, artifacts) not in self._built:
            self._built[place, artifacts] = self._compiled(Config(point), place, artifacts)
        return self._built[place, artifacts]

    def _compiled(self, config: Config, place: Path, artifacts: tuple[Artifact, ...]) -> Kernel:
        with alone(place):
            before = _seconds()
            results, fresh = compiled(config, place, artifacts, self.headers)
            spent = _seconds() - before
            there = sum(any(p.glob(f"{p.name}.h*o")) for p in self.folders)
        if fresh:
            count = f"{there} of {len(self.points)} {self.name} kernels"
            what = f"{config.name} for {config.point['arch']}"
            kinds = " and ".join(artifacts)
            say(f"built {count}: {what} ({kinds}, {spent:.0f} s of the processor)")
        return Kernel(config, place, results)


def covering(
    points: Sequence[dict[str, Any]],
    fields: Sequence[str],
    preferred: Sequence[dict[str, Any]] = (),
) -> tuple[dict[str, Any], ...]:
    """Few points that have every value of the fields, preferred ones where these have it.

    >>> covering([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}], ["a", "b"])
    ({'a': 1, 'b': 1}, {'a': 2, 'b': 2})
    """
    has = [{(name, p[name]) for name in fields} for p in points]
    missing, kept = set[Any]().union(*has), list[int]()
    first = [i for i, p in enumerate(points) if p in preferred]
    for candidates in (first, range(len(points))):
        while gains := {i: len(has[i] & missing) for i in candidates if has[i] & missing}:
            kept.append(max(gains, key=lambda i: (gains[i], -i)))
            missing -= has[kept[-1]]
    return tuple(points[i] for i in sorted(kept))


@cache
def convolutions() -> KernelSet:
    """The kernels of `POINTS`."""
    lines = POINTS.read_text("utf-8").splitlines()
    fields = ("arch", "variant", "dtype", "ndim", "pipeline", "two_stage", "split_image")
    return KernelSet("conv", tuple(map(json.loads, lines)), fields)


def compiled(
    config: Config,
    place: Path,
    artifacts: tuple[Artifact, ...],
    headers: SharedHeaders | None = None,
) -> tuple[dict[str, Result], int]:
    """Compiles what a folder lacks of a kernel; its rows, and how many artifacts are new."""
    # --force: whether it is legal is a test of its own, and must not empty the folder.
    Generator(Books("2025.11"), place, force=True, ninja=False, stamp=STAMP).run([config])
    session = BuildSession(place, BuildOptions(artifacts=artifacts))
    width = min(len(artifacts), executors.default_jobs())
    with Results(place / FILE) as results, executors.executor("local", width) as (pool, _):
        summary = session.run(results, pool, width, headers=headers)
        return {r.artifact: r for r in results.rows()}, summary.built + summary.failed


def device_build(point: Mapping[str, Any], place: Path) -> Result:
    """What a build of one configuration's device code says."""
    config = Config(Books("2025.11").of().point(point))
    return compiled(config, place, (Artifact.DEVICE,))[0][Artifact.DEVICE]


def _seconds() -> float:
    """Of the processor, used by the compilers that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
