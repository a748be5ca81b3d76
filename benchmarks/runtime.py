"""What a call of the dispatcher costs on the host, beside the kernel itself.

PYTHONPATH=. python benchmarks/runtime.py [DIR VARIANT PROBLEM]

DIR is a folder that ``ckrules build`` worked on; without one a kernel is built, which needs
``make toolchain``. No GPU is needed: the device does nothing.
Times are medians, in microseconds: of choosing a kernel for a problem that was chosen for before,
of packing the arguments at addresses that were used before and at new ones, and of a whole run
with tensors on the device.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _kernels import PROBLEM, built_folder

from ckrules.device.interface import DeviceInfo
from ckrules.kernels.families import problems_of
from ckrules.runtime import Dispatcher
from ckrules.runtime.engine import Engine, KernelCall
from ckrules.runtime.padding import stored
from tests.runtime.capsules import FakeTensor

ROUNDS = 5000


class NoDevice:
    """Addresses without memory, and launches of nothing."""

    info = DeviceInfo(0, "nothing", "", compute_units=304, has_clock=False)

    def __init__(self) -> None:
        self._next = itertools.count(1 << 40, 1 << 30)

    def load(self, code: bytes) -> bytes:
        return code

    def allocate(self, size: int) -> int:
        return next(self._next)

    def resident_blocks(self, module: Any, entry: str, threads: int) -> int:
        return 2

    def nothing(self, *_: Any) -> None:
        pass

    unload = free = write = fill = launch = announce = use_stream = copy_rows = nothing
    synchronize = close = nothing


def main() -> None:
    """Measures and prints a table."""
    given = sys.argv[1:] or [None, "forward", PROBLEM]
    with built_folder(None if given[0] is None else Path(given[0])) as folder:
        measure(folder, str(given[1]), str(given[2]))


def measure(folder: Path, variant: str, text: str) -> None:
    """Prints a line a step of a call."""
    device: Any = NoDevice()
    dispatcher = Dispatcher(folder, device=device)
    problem = problems_of(variant).parse(text)
    began = time.perf_counter()
    choice = dispatcher.select(problem, variant)
    row("the first choice", 1e6 * (time.perf_counter() - began))
    print(f"  {choice}")
    dispatcher.select(text, variant)
    row("choice, by text", median(lambda: dispatcher.select(text, variant)))
    row("choice, by object", median(lambda: dispatcher.select(problem, variant)))
    engine = Engine(device)
    file = choice.kernel.file
    engine.loaded(file)
    known = [next(device._next) for _ in choice.tensors]
    addresses = itertools.count(1 << 50, 1 << 20)

    def at_known() -> None:
        engine.steps(file, choice.runs, known, 0)

    def at_new() -> None:
        engine.steps(file, choice.runs, [next(addresses) for _ in known], 0)

    row("packing, known addresses", median(at_known))
    row("packing, new addresses", median(at_new))
    both = [
        lambda pack=pack: (dispatcher.select(text, variant), pack()) for pack in (at_known, at_new)
    ]
    row("choice and packing, known addresses", median(both[0]))
    row("choice and packing, new addresses", median(both[1]))
    where = dict(zip((t.name for t in choice.tensors), known, strict=True))
    written = [t.name for t in choice.tensors if t.direction == "out"]
    call = KernelCall(
        file,
        choice.runs,
        {n: a for n, a in where.items() if n not in written},
        {n: where[n] for n in written},
    )
    row("launching, known addresses", median(lambda: engine.run(call)))
    tensors = {
        t.name: FakeTensor(stored(t), t.dtype, at)
        for t, at in zip(choice.tensors, known, strict=True)
    }
    given = {n: t for n, t in tensors.items() if n not in written}
    out = {n: tensors[n] for n in written}
    row(
        "run of DLPack tensors",
        median(lambda: dispatcher.run(text, given, out=out, variant=variant)),
    )


def row(title: str, microseconds: float) -> None:
    """One line of the table."""
    print(f"{title:38}{microseconds:12.1f} us")


def median(work: Callable[[], Any]) -> float:
    """The median time of many calls."""
    for _ in range(100):
        work()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1e3


if __name__ == "__main__":
    main()
