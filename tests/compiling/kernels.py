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
    """Headers of the kernels of a set, precompiled for the first where enough are to come."""

    def __init__(self, coming: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._coming = Counter(str(p["arch"]) for p in coming)

    def flags(self, task: Task, tools: toolchain.Toolchain, coming: int = 1) -> tuple[str, ...]:
        return super().flags(task, tools, max(coming, self._coming[task.recipe.arch]))


@dataclass
class KernelSet:
    """Kernels of CK 2025.11, compiled one by one when they are asked for.

    Args:
        name: Of the folder, beside the CK trees.
        points: All configurations.
        few: GPU and name of those that `make test` compiles: one or two that show most for each
            kind of matrix instructions. `make certify` compiles the others.
    """

    name: str
    points: tuple[dict[str, Any], ...] = field(repr=False)
    few: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._built: dict[tuple[Path, tuple[Artifact, ...]], Kernel] = {}

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Where each is built, so that a second run compiles nothing."""
        home = toolchain.root() / "tests" / f"{self.name}-2025.11"
        return tuple(home / p["arch"] / str(Config(p).name) for p in self.points)

    @cached_property
    def first(self) -> tuple[dict[str, Any], ...]:
        """The configurations of the few."""
        named = {(str(p["arch"]), str(Config(p).name)): p for p in self.points}
        return tuple(named[each] for each in self.few)

    @cached_property
    def headers(self) -> SetHeaders:
        """What the kernels include, compiled once for those of a GPU."""
        return SetHeaders(self.first)

    def marks(self, point: Mapping[str, Any]) -> tuple[pytest.MarkDecorator, ...]:
        """What a test of a kernel is marked with."""
        return () if dict(point) in self.first else (pytest.mark.certify,)

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


#: A kernel of each direction: MFMA and WMMA, wave sizes of 64 and 32, 1D and 2D, and two stages.
CONVOLUTIONS = (
    (
        "gfx90a",
        (
            "grouped_conv_fwd_fp16_nhwgc_1d_compv4_cshuffle_intrawave_32x128x16_1x4x1_32x32x16"
            "_vec2_4_8_dsb"
        ),
    ),
    (
        "gfx942",
        (
            "grouped_conv_bwd_data_fp32_nhwgc_1d_compv3_cshuffle_intrawave_64x32x16_4x2x1_16x16x16"
            "_vec1_4_4"
        ),
    ),
    (
        "gfx1201",
        (
            "grouped_conv_bwd_weight_bf16_nhwgc_2d_mem_cshuffle_intrawave_128x64x64_4x4x1_16x16x16"
            "_vec8_8_2_2stage"
        ),
    ),
)


@cache
def convolutions() -> KernelSet:
    """The kernels of `POINTS`."""
    lines = POINTS.read_text("utf-8").splitlines()
    return KernelSet("conv", tuple(map(json.loads, lines)), CONVOLUTIONS)


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
