"""Wave instructions a second of the CPU emulator, kernel by kernel, by numpy and by native code.

    python benchmarks/emulator.py [--arch GPU] [--name PART]
    python benchmarks/emulator.py FOLDER [--problem PROBLEM] [--arch GPU] [--name PART]

Without a folder kernels of 64x64x32 of four pipelines are built for four GPUs (with what ``make
toolchain`` installs) and run 64 blocks with K = 288. FOLDER is one that ``ckrules build`` filled:
each kernel runs the first problem of its built-in set, or the one given. Each launch is run several
times, whole and in forward order; the first of them makes the native code, and the median of the
others is printed, by the processor's time of the one thread that runs it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _kernels import PIPELINES, PROBLEM, built_folder, name_of

from ckrules.compiling.folder import manifests
from ckrules.device.cpu import CpuDevice, CpuPlugin, plan_of
from ckrules.device.execute import Runner
from ckrules.device.interface import Dim3
from ckrules.device.jobs import Job
from ckrules.emulator.native.library import VARIABLE, compiler
from ckrules.kernels.families import problems_of

GPUS = ("gfx90a", "gfx942", "gfx950", "gfx1201")
_TIMES = 6


def main() -> None:
    """Prints two lines a kernel, and the median of their rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--arch")
    parser.add_argument("--name", default="", help="only kernels with this in their names")
    parser.add_argument("--problem")
    given = parser.parse_args()
    pipelines = [each for each in PIPELINES if given.name in name_of(each)]
    if given.folder is None:
        given.problem = given.problem or PROBLEM
    with built_folder(given.folder, pipelines, [given.arch] if given.arch else GPUS) as folder:
        measure(folder, given)


def measure(folder: Path, given: argparse.Namespace) -> None:
    """Prints two lines a kernel of the folder, and the median of their rates."""
    (info,) = CpuPlugin().discover()
    rates: dict[str, list[float]] = {}
    for kernel in manifests(folder):
        if kernel.missing or given.arch not in (None, kernel.arch) or given.name not in kernel.name:
            continue
        own = problems_of(str(kernel.config["variant"]))
        asked = [own.parse(given.problem)] if given.problem else own.smoke(kernel.config)
        problem = next(p for p in asked if own.fits(kernel.config, p))
        for word, variable in (("numpy", "0"), ("native", "1")):
            os.environ[VARIABLE] = variable
            compiler.cache_clear()
            device = Timed(info, plan_of({"order": "forward", "jobs": "1"}))
            Runner(device).run(Job(kernel.folder, kernel.name, problem, 0, 0))
            steps, spent = device.steps // _TIMES, device.spent
            rates.setdefault(word, []).append(steps / spent)
            figures = f"{steps:>12,} in {spent:6.3f} s, {steps / spent:>11,.0f}/s"
            print(f"{kernel.arch} {word:6} {figures} {kernel.name}", flush=True)
    for word, found in rates.items():
        each = f"median {statistics.median(found):,.0f}, least {min(found):,.0f}"
        print(f"{word}: {each} wave instructions a second")


@dataclass
class Timed(CpuDevice):
    """A device that runs each launch several times, and adds up the median of their times."""

    spent: float = 0.0

    def launch(self, module: Any, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Runs a kernel to its end, again and again from the same memory."""
        before = self._memory.bytes[: self._memory.top].copy()
        times = []
        for _ in range(_TIMES):
            self._memory.bytes[: len(before)] = before
            start = time.thread_time()  # of this thread: those of BLAS may still wait for work
            super().launch(module, entry, grid, block, args)
            times.append(time.thread_time() - start)
        self.spent += statistics.median(times[1:])


if __name__ == "__main__":
    main()
