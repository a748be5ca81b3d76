"""The GEMM kernels that the toolchain's tests compile, in a folder that later runs find again."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors, toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_name
from tests.compiling.kernels import STAMP, alone

LIST = Path(__file__).resolve().parents[1] / "data" / "gemm_kernels.txt"
"""GPU and name of legal kernels of CK 2025.11: variants, types, layouts and pipelines."""


@cache
def points() -> tuple[dict[str, Any], ...]:
    """The configurations."""
    books = Books("2025.11")
    lines = (line.split() for line in LIST.read_text("utf-8").splitlines())
    return tuple(dict(config_from_name(name, books, arch=arch).point) for arch, name in lines)


@cache
def names() -> tuple[tuple[str, str], ...]:
    """GPU and name of each."""
    lines = (line.split() for line in LIST.read_text("utf-8").splitlines())
    return tuple((arch, name) for arch, name in lines)


def folder() -> Path:
    """Where they are built: beside the CK trees, so that a second run compiles nothing."""
    return toolchain.root() / "tests" / "gemm-2025.11"


@cache
def build(hosts: frozenset[tuple[str, str]]) -> dict[tuple[str, str, str], Result]:
    """Compiles what has not been compiled yet: device code of all, host libraries of some.

    Returns:
        The rows by GPU, name and artifact.
    """
    place = folder()
    with alone(place):
        configs = [Config(p) for p in points()]
        # --force: whether they are legal is a test of its own, and must not empty the folder.
        report = Generator(Books("2025.11"), place, force=True, stamp=STAMP).run(configs)
        with (
            Results(place / FILE) as results,
            executors.executor("local", executors.default_jobs()) as (pool, width),
        ):
            device = BuildSession(place, BuildOptions(artifacts=(Artifact.DEVICE,)))
            assert report.kernels == len(device.kernels) == len(points())
            device.run(results, pool, width)
            host = BuildSession(place, BuildOptions(artifacts=(Artifact.HOST,)))
            host.kernels = [k for k in host.kernels if (k.arch, k.name) in hosts]
            assert len(host.kernels) == len(hosts)
            host.run(results, pool, width)
            return {(r.arch, r.name, r.artifact): r for r in results.rows()}
