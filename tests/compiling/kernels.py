"""The kernels that the toolchain's tests compile, in a folder that later runs find again."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import Generator
from ckrules.codegen.stamp import Stamp
from ckrules.compiling import executors, toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

POINTS = Path(__file__).resolve().parents[1] / "data" / "build_points.jsonl"
"""Legal configurations of CK 2025.11: pipelines, directions, types and GPUs, one a line."""

#: Fixed, so that a new rule does not change the files.
STAMP = Stamp("0.0.0", "2025.11+test")


@cache
def points() -> tuple[dict[str, Any], ...]:
    """The configurations."""
    return tuple(json.loads(line) for line in POINTS.read_text("utf-8").splitlines())


def folder() -> Path:
    """Where they are built: beside the CK trees, so that a second run compiles nothing."""
    return toolchain.root() / "tests" / "kernels-2025.11"


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Holds other test processes off."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build() -> dict[tuple[str, str, str], Result]:
    """Compiles what has not been compiled yet; the rows by name, GPU and artifact."""
    place = folder()
    with alone(place):
        configs = [Config(p) for p in points()]
        # --force: whether they are legal is a test of its own, and must not empty the folder.
        report = Generator(Books("2025.11"), place, force=True, stamp=STAMP).run(configs)
        session = BuildSession(place, BuildOptions())
        with (
            Results(place / FILE) as results,
            executors.executor("local", executors.default_jobs()) as (pool, width),
        ):
            session.run(results, pool, width)
            names = {k.name for k in session.kernels}
            assert report.kernels == len(session.kernels)
            return {(r.name, r.arch, r.artifact): r for r in results.rows() if r.name in names}


def device_build(point: Mapping[str, Any], place: Path) -> Result:
    """What a build of one configuration's device code says."""
    books = Books("2025.11")
    config = Config(books.of().point(point))
    Generator(books, place, force=True, ninja=False, stamp=STAMP).run([config])
    session = BuildSession(place, BuildOptions(artifacts=(Artifact.DEVICE,)))
    with Results(place / FILE) as results, executors.executor("local", 1) as (pool, width):
        session.run(results, pool, width)
        (result,) = results.rows()
    return result
