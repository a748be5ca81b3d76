"""What ever new shapes cost a dispatcher: time for each, and memory over all of them.

PYTHONPATH=. python benchmarks/shapes.py [SHAPES]

100,000 if nothing is said. Eight described GEMM kernels, without a GPU or compiler: what is
measured is the choice, which asks rules and estimates of each kernel. Times are of the processor,
beside those of a shape that was asked for before; memory is the process's own, after a tenth of
the shapes and after all.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from ckrules.runtime import Dispatcher
from tests.runtime.doubles import GEMM, OPENER, folder

TILES = (
    *((64, 64, 32), (128, 128, 32), (128, 64, 64), (256, 128, 32)),
    *((128, 256, 32), (256, 256, 32), (64, 128, 64), (128, 128, 64)),
)


def main() -> None:
    """Measures and prints."""
    shapes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    kernels = {
        f"kernel{i}": {**GEMM, "tile_m": m, "tile_n": n, "tile_k": k}
        for i, (m, n, k) in enumerate(TILES)
    }
    with tempfile.TemporaryDirectory(prefix="ckrules-bench-") as place:
        dispatcher = Dispatcher(folder(Path(place), **kernels), opener=OPENER)
        measure(dispatcher, shapes)


def measure(dispatcher: Dispatcher, shapes: int) -> None:
    """Asks for shapes of ever other M."""
    opened = seconds(dispatcher, 0, 1)
    tenth = max(shapes // 10, 1)
    new = seconds(dispatcher, 1, tenth)
    before = resident()
    new += seconds(dispatcher, 1 + tenth, shapes - tenth)
    after = resident()
    known = seconds(dispatcher, shapes, 1000)
    known = seconds(dispatcher, shapes, 1000)
    print(f"the first shape, libraries opened   {1e3 * opened:10.3f} ms")
    print(f"a new shape                         {1e3 * new / shapes:10.3f} ms")
    print(f"a known shape                       {known:10.6f} ms")
    print(f"new against known                   {new / shapes / known * 1e3:10.0f} times")
    print(f"memory after {tenth:>9,} shapes       {before / 2**20:10.1f} MiB")
    print(f"memory after {shapes:>9,} shapes       {after / 2**20:10.1f} MiB")
    print(f"growth                              {after / before:10.2f} times")


def seconds(dispatcher: Dispatcher, first: int, count: int) -> float:
    """Processor seconds of so many shapes."""
    began = time.process_time()
    for i in range(first, first + count):
        dispatcher.select(f"M={i + 1},N=4096,K=4096", "standard")
    return time.process_time() - began


def resident() -> int:
    """Bytes that the process has in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
