"""Kernels of a search: generated, built and timed in one folder, which remembers them all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors, folder
from ckrules.compiling.database import FILE
from ckrules.compiling.failures import TRANSIENT
from ckrules.compiling.results import Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.device.bench import BenchSession, timed
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import family_of
from ckrules.support import files
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.session import RunOptions
    from ckrules.device.store import Runs
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Builder, Point, Problem


class ToolchainBuilder:
    """Builds with the toolchain of this machine, as `ckrules build` does."""

    def build(self, folder: Path) -> None:
        """Compiles what is not known yet; raises `MissingToolError` if there is no toolchain."""
        jobs = executors.default_jobs()
        with Results(folder / FILE) as results, executors.executor("local", jobs) as (pool, width):
            BuildSession(folder, BuildOptions()).run(results, pool, width)

    def failed(self, folder: Path) -> set[str]:
        """Kernels of which an artifact is known to fail, for a reason that is the kernel's."""
        with Results(folder / FILE) as results:
            rows = list(results.records(where=Results.FAILED))
        return {row["name"] for row in rows if row["error_class"] not in TRANSIENT}


def builder_of(variant: str) -> Builder:
    """What builds kernels of a variant: its family's own builder, or the toolchain."""
    spec = getattr(family_of(variant).generation, "builder", "")
    return cast("Builder", resolve_name(spec)) if spec else ToolchainBuilder()


def need_clock(name: str, devices: Sequence[DeviceInfo]) -> None:
    """Complains of devices that cannot time anything.

    Raises:
        UsageError: If none has a clock.
    """
    if not any(d.has_clock for d in devices):
        raise UsageError(f"the device {name} has no clock: nothing can be timed")


class Workshop:
    """Builds and times kernels on one problem.

    Args:
        home: The folder of kernels, builds and the results database.
        books: The rule books of the kernels' version.
        devices: Where kernels are timed.
        runs: The folder's results database.
        builder: What builds the folder's kernels.

    Raises:
        UsageError: If no device has a clock.
    """

    def __init__(
        self,
        home: Path,
        books: Books,
        problem: Problem,
        devices: Sequence[DeviceInfo],
        options: RunOptions,
        runs: Runs,
        builder: Builder,
    ) -> None:
        need_clock(options.device, devices)
        self.home, self.books, self.problem = home, books, problem
        self.devices, self.options, self.runs, self.builder = devices, options, runs, builder

    def before(self) -> list[tuple[Point, float | None]]:
        """The kernels of the folder that were tried on the problem, with microseconds.

        A kernel that could not be built was tried; one of which a run was cut off was not, and
        one of another release is another kernel.
        """
        kernels = [k for k in self._listed() if k.ck == self.books.ck]
        times = self._times(kernels)
        left = {job.name for _, job in self._session(kernels).jobs(kernels)} if kernels else set()
        failed = self.builder.failed(self.home)
        return [
            (k.config, times.get(k.name))
            for k in kernels
            if k.name in times or (k.name in failed if k.missing else k.name not in left)
        ]

    def measure(self, points: Sequence[Point]) -> list[float | None]:
        """Generates, builds and times kernels; None for one that gives no right result."""
        configs = [config_from_mapping(p, self.books) for p in points]
        with files.alone(self.home):  # another search may add kernels
            there = [config_from_mapping(k.config, self.books) for k in self._listed()]
            Generator(self.books, self.home).run([*there, *configs])
            of = {_key(k.config): k for k in self._listed()}
        kernels = [of[_key(c.point)] for c in configs]
        self.builder.build(self.home)
        session = self._session(kernels)
        session.run(self.runs)
        times = self._times(kernels)
        return [times.get(k.name) for k in kernels]

    def _session(self, kernels: Sequence[ManifestEntry]) -> BenchSession:
        return BenchSession(kernels, [self.problem], self.devices, self.options, self.runs)

    def _listed(self) -> list[ManifestEntry]:
        return folder.manifests(self.home) if folder.generated(self.home) else []

    def _times(self, kernels: Sequence[ManifestEntry]) -> dict[str, float]:
        found = timed(self.runs, kernels, [self.problem], self.options)
        names = {d.name for d in self.devices}
        return {t.kernel.name: t.microseconds for t in found if t.device in names}


def _key(point: Any) -> str:
    return json.dumps(dict(point), sort_keys=True)
