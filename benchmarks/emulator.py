"""Wave instructions a second of the CPU emulator, kernel by kernel, on one process and on all.

    python benchmarks/emulator.py
    python benchmarks/emulator.py FOLDER [--problems 2] [--arch GPU] [--name PART]

Without a folder a kernel of 64x64x32 is built (it needs ``make toolchain``) and runs 64 blocks with
K = 288. FOLDER is one that ``ckrules build`` filled: each kernel runs the first problems of its
built-in set, or the one given, once, in forward order and whole. A rate is by the wall clock; that
of one process by its own time stands behind it, for busy machines.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

from _kernels import PROBLEM, built_folder

from ckrules.compiling.folder import manifests
from ckrules.device.cpu import CpuDevice, CpuPlugin, plan_of
from ckrules.device.execute import Runner
from ckrules.device.jobs import Job
from ckrules.kernels.families import problems_of


def main() -> None:
    """Prints a line a kernel, and the median of their rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--problems", type=int, default=2)
    parser.add_argument("--arch")
    parser.add_argument("--name", default="", help="only kernels with this in their names")
    parser.add_argument("--problem")
    given = parser.parse_args()
    if given.folder is None:
        given.problem = given.problem or PROBLEM
    with built_folder(given.folder) as folder:
        measure(folder, given)


def measure(folder: Path, given: argparse.Namespace) -> None:
    """Prints a line a kernel of the folder, and the median of their rates."""
    (info,) = CpuPlugin().discover()
    rates: dict[int, list[float]] = {}
    for kernel in manifests(folder):
        if kernel.missing or given.arch not in (None, kernel.arch) or given.name not in kernel.name:
            continue
        own = problems_of(str(kernel.config["variant"]))
        asked = [own.parse(given.problem)] if given.problem else own.smoke(kernel.config)
        fitting = [p for p in asked if own.fits(kernel.config, p)]
        for jobs in dict.fromkeys((1, os.cpu_count() or 1)):
            device = CpuDevice(info, plan_of({"order": "forward", "jobs": str(jobs)}))
            start = time.process_time()
            for problem in fitting[: given.problems]:
                Runner(device).run(Job(kernel.folder, kernel.name, problem, 0, 0))
            if device.steps:
                rates.setdefault(jobs, []).append(device.steps / device.seconds)
                said = (
                    f"{device.steps:>12,} in {device.seconds:6.2f} s, {rates[jobs][-1]:>10,.0f}/s"
                )
                if jobs == 1:
                    said += f" (own time {time.process_time() - start:.2f} s)"
                print(kernel.arch, jobs, "jobs", said, kernel.name, flush=True)
    for jobs, found in rates.items():
        print(f"{jobs} jobs: median {statistics.median(found):,.0f} wave instructions a second")


if __name__ == "__main__":
    main()
