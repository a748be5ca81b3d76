"""How builds scale with workers, as ratios beside upstream's published table.

Upstream published, for 1, 2, 4 and 6 kernels on a many-core machine, 7.7, 15.9, 33.4 and 52.3 s
with one worker and 7.7, 8.2, 9.7 and 10.2 s with eight. A machine with fewer processors cannot
repeat that with a compiler, so the compiler here waits instead of computing (a tenth of upstream's
time): what is measured is what the build itself adds.

    python benchmarks/builds.py
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from pathlib import Path

from ckrules.build import executors
from ckrules.build.database import FILE
from ckrules.build.results import Results
from ckrules.build.session import Options, Session
from ckrules.codegen.generate import Generator
from ckrules.config import Config
from ckrules.constraints import book
from ckrules.selection import Books

SECONDS = 0.77
UPSTREAM = {1: (7.7, 7.7), 2: (15.9, 8.2), 4: (33.4, 9.7), 6: (52.3, 10.2)}
_WAITS = f"""#!/bin/sh
case "$*" in *--version*) echo waiting; exit;; esac
sleep {SECONDS}
while [ "$1" != -o ]; do shift; done
: > "$2"
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


def _seconds(folder: Path, include: Path, workers: int) -> float:
    options = Options(artifacts=("object",), compiler="hipcc", include=include)
    start = time.perf_counter()
    with (
        Results(folder / FILE) as results,
        executors.executor("local", workers) as (pool, width),
    ):
        summary = Session(folder, options).run(results, pool, width)
    if summary.failed:
        sys.exit("a compilation failed")
    return time.perf_counter() - start


def main() -> None:
    """Prints the table."""
    base = book("forward").vocabulary.baseline
    print("kernels  1 worker  8 workers  ratio  upstream's ratio")
    with tempfile.TemporaryDirectory() as root:
        include = _tools(Path(root) / "tools")
        for count, (one, eight) in UPSTREAM.items():
            points = [{**base, "vector_c": v, "tile_k": k} for v in (8, 4, 2) for k in (64, 32)]
            took = []
            for workers in (1, 8):
                folder = Path(root) / f"{count}-{workers}"
                configs = [Config(p) for p in points[:count]]
                Generator(Books("2025.11"), folder, force=True, ninja=False).run(configs)
                took.append(_seconds(folder, include, workers))
            print(
                f"{count:>7}  {took[0]:>7.2f}s  {took[1]:>8.2f}s  {took[0] / took[1]:>5.1f}"
                f"  {one / eight:>16.1f}"
            )


if __name__ == "__main__":
    main()
