"""How long generating kernels takes, and a second run over them that has nothing to write.

python benchmarks/generation.py [KERNELS]
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from pathlib import Path

from ckrules.codegen.generate import Generator
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

_CHANGES = {
    "variant": ("forward", "bwd_data", "bwd_weight"),
    "dtype": ("fp16", "bf16"),
    "tile_m": (64, 128, 256),
    "tile_n": (64, 128, 256),
    "tile_k": (32, 64),
    "vector_c": (1, 2, 4, 8),
    "specialization": ("default", "filter1x1_pad0", "filter1x1_stride1_pad0"),
    "pipeline": ("compv3", "mem"),
    "ndim": (1, 2, 3),
}
_LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}


def configurations(books: Books, count: int) -> list[Config]:
    """So many legal configurations around the rule book's baseline."""
    book = books.of("forward")
    judge = BatchChecker(book)
    found: list[Config] = []
    for values in itertools.product(*_CHANGES.values()):
        point = {**book.vocabulary.baseline, **dict(zip(_CHANGES, values, strict=True))}
        point["layout"] = _LAYOUTS[int(point["ndim"])]
        if not judge(point):
            found.append(Config(point))
            if len(found) == count:
                break
    return found


def main(count: int) -> None:
    """Prints wall-clock and processor seconds of both runs."""
    books = Books("2025.11")
    configs = configurations(books, count)
    with tempfile.TemporaryDirectory() as folder:
        for label in ("first run", "second run"):
            wall, cpu = time.perf_counter(), time.process_time()
            report = Generator(books, Path(folder)).run(configs)
            print(
                f"{label}: {report.kernels:,} kernels, {report.written:,} files written,"
                f" {time.perf_counter() - wall:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
