"""The kernels that the toolchain's tests compile, in a folder that later runs find again."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ckrules.build import executors, toolchain
from ckrules.build.database import FILE
from ckrules.build.results import Result, Results
from ckrules.build.session import Options, Session
from ckrules.codegen.generate import Generator
from ckrules.codegen.stamp import Stamp
from ckrules.config import Config
from ckrules.selection import Books

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
        session = Session(place, Options())
        with (
            Results(place / FILE) as results,
            executors.executor("local", executors.default_jobs()) as (pool, width),
        ):
            session.run(results, pool, width)
            names = {k.name for k in session.kernels}
            assert report.kernels == len(session.kernels)
            return {(r.name, r.arch, r.artifact): r for r in results.rows() if r.name in names}
