"""How builds scale with workers, as ratios beside upstream's published table.

Upstream published, for 1, 2, 4 and 6 kernels on a many-core machine, 7.7, 15.9, 33.4 and 52.3 s
with one worker and 7.7, 8.2, 9.7 and 10.2 s with eight. A machine with fewer processors cannot
repeat that with a compiler, so the compiler here waits instead of computing (a tenth of upstream's
time): what is measured is what the build itself adds. With --real the compiler is that of the
toolchain, and the kernels are small ones of CK 2025.11 (about 8 s each).

    python benchmarks/builds.py [--workers 8] [--real]
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

SECONDS = 0.77
UPSTREAM = {1: (7.7, 7.7), 2: (15.9, 8.2), 4: (33.4, 9.7), 6: (52.3, 10.2)}
_WAITS = f"""#!/bin/sh
case "$*" in *--version*) echo waiting; exit;; esac
sleep {SECONDS}
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
[ $# -eq 0 ] || : > "$2"
"""


def _tools(folder: Path) -> Path:
    for header in ("include/ck_tile/core.hpp", "include/hip/hip_runtime.h"):
        path = folder / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    program = folder / "hipcc"
    program.write_text(_WAITS)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    os.environ["ROCM_PATH"] = str(folder)
    return folder / "include"


def _seconds(folder: Path, options: BuildOptions, workers: int) -> float:
    start = time.perf_counter()
    with (
        Results(folder / FILE) as results,
        executors.executor("local", workers) as (pool, width),
    ):
        summary = BuildSession(folder, options).run(results, pool, width)
    if summary.failed:
        sys.exit("a compilation failed")
    return time.perf_counter() - start


def _points() -> list[dict[str, Any]]:
    """Six small kernels."""
    base = book("forward").vocabulary.baseline
    tile = {"tile_m": 32, "tile_n": 32, "warp_tile_m": 16, "warp_tile_n": 16}
    small = {**base, **tile, "warp_tile_k": 16, "pipeline": "basic_v1", "vector_a": 4}
    return [
        {**small, "vector_b": 4, "vector_c": c, "tile_k": k} for c in (4, 2, 1) for k in (16, 32)
    ]


def measure(options: BuildOptions, root: Path, workers: int) -> None:
    """Prints the table."""
    print(f"kernels  1 worker  {workers} workers  ratio  upstream's, 8 workers")
    for count, (one, eight) in UPSTREAM.items():
        took = []
        for number in (1, workers):
            folder = root / f"{count}-{number}"
            configs = [Config(p) for p in _points()[:count]]
            Generator(Books("2025.11"), folder, ninja=False).run(configs)
            took.append(_seconds(folder, options, number))
        print(
            f"{count:>7}  {took[0]:>7.2f}s  {took[1]:>8.2f}s  {took[0] / took[1]:>5.1f}"
            f"  {one / eight:>21.1f}",
            flush=True,
        )


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description="how builds scale with workers")
    parser.add_argument("--workers", type=int, default=8, help="beside one worker [8]")
    parser.add_argument("--real", action="store_true", help="compile with the toolchain")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        if given.real:
            options = BuildOptions(artifacts=(Artifact.DEVICE,))
        else:
            include = _tools(root / "tools")
            options = BuildOptions(artifacts=(Artifact.OBJECT,), compiler="hipcc", include=include)
        measure(options, root, given.workers)


if __name__ == "__main__":
    main()
