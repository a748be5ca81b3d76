"""Wave instructions a second of the CPU emulator, kernel by kernel, by numpy and by native code.

    python benchmarks/emulator.py
    python benchmarks/emulator.py FOLDER [--problems 2] [--arch GPU] [--name PART]

Without a folder a kernel of 64x64x32 is built (it needs ``make toolchain``) and runs 64 blocks with
K = 288. FOLDER is one that ``ckrules build`` filled: each kernel runs the first problems of its
built-in set, or the one given, in forward order and whole, on one process. A rate is by the
processor's time in launches, for busy machines. Native code runs twice: the first run makes it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _kernels import PROBLEM, built_folder

from ckrules.compiling.folder import manifests
from ckrules.device.cpu import CpuDevice, CpuPlugin, plan_of
from ckrules.device.execute import Runner
from ckrules.device.interface import Dim3
from ckrules.device.jobs import Job
from ckrules.emulator.native.library import VARIABLE, compiler
from ckrules.kernels.families import problems_of


def main() -> None:
    """Prints two lines a kernel, and the median of their rates."""
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
    """Prints two lines a kernel of the folder, and the median of their rates."""
    (info,) = CpuPlugin().discover()
    rates: dict[str, list[float]] = {}
    for kernel in manifests(folder):
        if kernel.missing or given.arch not in (None, kernel.arch) or given.name not in kernel.name:
            continue
        own = problems_of(str(kernel.config["variant"]))
        asked = [own.parse(given.problem)] if given.problem else own.smoke(kernel.config)
        fitting = [p for p in asked if own.fits(kernel.config, p)]
        for word, variable in (("numpy", "0"), ("native", "1")):
            os.environ[VARIABLE] = variable
            compiler.cache_clear()
            for device in [Timed(info, plan_of({"order": "forward", "jobs": "1"})) for _ in "ab"]:
                for problem in fitting[: given.problems]:
                    Runner(device).run(Job(kernel.folder, kernel.name, problem, 0, 0))
            if device.steps:
                rates.setdefault(word, []).append(device.steps / device.spent)
                figures = f"{device.steps:>12,} in {device.spent:6.3f} s"
                print(
                    f"{kernel.arch} {word:6} {figures}, {rates[word][-1]:>11,.0f}/s {kernel.name}",
                    flush=True,
                )
    for word, found in rates.items():
        print(f"{word}: median {statistics.median(found):,.0f} wave instructions a second")


@dataclass
class Timed(CpuDevice):
    """A device that adds up the processor's time of its launches."""

    spent: float = 0.0

    def launch(self, module: Any, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Runs a kernel to its end."""
        start = time.process_time()
        super().launch(module, entry, grid, block, args)
        self.spent += time.process_time() - start


if __name__ == "__main__":
    main()
