"""A built kernel for benchmarks that were given no folder of kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_16x16x16_vec8_8_8"
PROBLEM = "N=1,C=32,K=64,H=64,W=64,Y=3,X=3,pad=1"
"""64 blocks of that kernel, each with K = 288."""


@contextmanager
def built_folder(given: Path | None) -> Iterator[Path]:
    """The folder given, or one in which `NAME` was built for gfx942 with the toolchain."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="ckrules-bench-") as name:
        folder = Path(name)
        books = Books("2025.11")
        config = config_from_name(NAME, books, arch="gfx942")
        Generator(books, folder, ninja=False).run([config])
        session = BuildSession(folder, BuildOptions())
        with Results(folder / FILE) as results, executors.executor("local", 2) as (pool, width):
            session.run(results, pool, width)
        yield folder
