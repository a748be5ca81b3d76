"""Where tasks run: threads of this process that start compilers, or a dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ckrules.compiling.execution import Crew
from ckrules.support.errors import UsageError

_MB_PER_JOB = 1200
"""Memory that is set aside for one compiler; large kernels of CK 2025.11 took up to 0.9 GB."""

_PATIENCE = 10.0
"""Seconds in which a scheduler has to answer; it may have been started just now."""


def default_jobs() -> int:
    """As many compilers as this process may use processors and the free memory holds."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    free = available_mb()
    return max(1, processors if free is None else min(processors, free // _MB_PER_JOB))


def available_mb(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Memory that can be used without swapping; None where the system does not say."""
    try:
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    except (OSError, ValueError):
        pass
    return None


@contextmanager
def executor(where: str, jobs: int) -> Iterator[tuple[Executor, int]]:
    """The executor of ``local`` or ``dask://HOST:PORT``, and how many tasks it takes at once.

    Raises:
        UsageError: For anything else, or without the package, or if no scheduler answers.
    """
    if where == "local":
        crew = Crew()
        pool = ThreadPoolExecutor(max_workers=jobs, initializer=crew.enlist)
        try:
            yield pool, jobs
        except BaseException:  # a full disk or Ctrl-C: nobody waits for the compilers any more
            pool.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return
    with client(where) as connected:
        threads = sum(connected.nthreads().values())
        yield connected.get_executor(pure=False, retries=2), max(1, threads)


@contextmanager
def client(where: str) -> Iterator[Any]:
    """The `distributed.Client` of the cluster at ``dask://HOST:PORT``.

    Raises:
        UsageError: For anything else, or without the package, or if no scheduler answers.
    """
    scheme, sign, address = where.partition("://")
    if scheme != "dask" or not sign or not address:
        raise UsageError(f"executor {where!r} is neither local nor dask://HOST:PORT")
    try:
        connect: Any = import_module("distributed").Client
    except ImportError:
        raise UsageError("a cluster needs dask: pip install 'ckrules[cluster]'") from None
    try:
        found = connect(f"tcp://{address}", timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"dask://{address}: no scheduler answers: {error}") from None
    try:
        yield found
    finally:
        found.close()
