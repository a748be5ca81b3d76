"""A built kernel for benchmarks that were given no folder of kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name

_TILE = "64x64x32_2x2x1_16x16x16_vec8_8_8"
PIPELINES = {"basic_v1": "", "mem": "", "compv3": "", "compv4": "_dsb"}
"""What stands behind the tile in names of each pipeline's kernels."""
PROBLEM = "N=1,C=32,K=64,H=64,W=64,Y=3,X=3,pad=1"
"""64 blocks of such a kernel, each with K = 288."""


def name_of(pipeline: str) -> str:
    """A convolution by its pipeline."""
    words = f"grouped_conv_fwd_fp16_nhwgc_2d_{pipeline}_cshuffle_intrawave_{_TILE}"
    return words + PIPELINES[pipeline]


@contextmanager
def built_folder(
    given: Path | None, pipelines: Sequence[str] = ("compv3",), archs: Sequence[str] = ("gfx942",)
) -> Iterator[Path]:
    """The folder given, or one in which these kernels were built with the toolchain."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="ckrules-bench-") as name:
        folder = Path(name)
        books = Books("2025.11")
        configs = [
            config_from_name(name_of(each), books, arch=arch)
            for arch in archs
            for each in pipelines
        ]
        Generator(books, folder, ninja=False).run(configs)
        session = BuildSession(folder, BuildOptions())
        with Results(folder / FILE) as results, executors.executor("local", 2) as (pool, width):
            session.run(results, pool, width)
        yield folder
