"""Kernels that are being built in the background, usable as soon as each is ready."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckrules.support.errors import CkrulesError
from ckrules.support.plain_values import seconds

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.runtime.cache import KernelCache, KernelRequest

_FORKED = "not built: this process was forked meanwhile: declare it again"


@dataclass(frozen=True, eq=False)
class Pending:
    """Kernels that were asked for: what has become of each so far.

    In a forked child those that were not ready have failed: nobody builds them there.
    """

    futures: dict[str, Future[ManifestEntry]] = field(default_factory=dict)
    """By name."""

    def __post_init__(self) -> None:
        _LIVE.add(self)

    @property
    def ready(self) -> list[str]:
        """The kernels that can be used."""
        return [n for n, f in self.futures.items() if f.done() and not _failure(f)]

    @property
    def failed(self) -> dict[str, str]:
        """Why kernels could not be built."""
        return {n: said for n, f in self.futures.items() if f.done() and (said := _failure(f))}

    @property
    def done(self) -> bool:
        """Whether all are ready or failed."""
        return all(f.done() for f in self.futures.values())

    def wait(self, timeout: float | None = None, *, first: bool = False) -> Pending:
        """Waits until all are done, or the first one is ready; at most so many seconds."""
        deadline = None if timeout is None else time.monotonic() + seconds(timeout)
        running = set(self.futures.values())
        while running and not (first and self.ready):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            _, running = wait(running, left, FIRST_COMPLETED)
        return self


def start(
    pool: Executor,
    cache: KernelCache,
    wanted: Iterable[KernelRequest],
    ready: Callable[[ManifestEntry], None],
) -> Pending:
    """Has kernels built, and ``ready`` told of each."""

    def one(kernel: KernelRequest) -> ManifestEntry:
        try:
            found = cache.build(kernel)
        except OSError as error:
            raise CkrulesError(f"{cache.place}: cannot write: {error.strerror}") from None
        ready(found)
        return found

    futures: dict[str, Future[ManifestEntry]] = {}
    for kernel in wanted:
        there = cache.find(kernel)
        if there is None:
            try:
                futures[kernel.name] = pool.submit(one, kernel)
            except RuntimeError:  # closed since it was asked for
                futures[kernel.name] = Future()
                futures[kernel.name].cancel()
            futures[kernel.name].add_done_callback(_wake)
            continue
        futures[kernel.name] = Future()
        try:
            ready(there)
        except CkrulesError as error:  # whole, and yet not to be loaded: as of another machine
            said = f"{error}; remove {there.folder} to have it built again"
            futures[kernel.name].set_exception(CkrulesError(said))
        else:
            futures[kernel.name].set_result(there)
    return Pending(futures)


def _failure(done: Future[ManifestEntry]) -> str:
    """Why a kernel could not be built; empty if it could."""
    if done.cancelled():
        return "not built: the dispatcher was closed"
    error = done.exception()
    return "" if error is None else str(error) or type(error).__name__


def _wake(done: Future[ManifestEntry]) -> None:
    """Wakes who waits for a kernel that an executor gave up, of which it tells nobody."""
    if done.cancelled():
        done.set_running_or_notify_cancel()


_LIVE: weakref.WeakSet[Pending] = weakref.WeakSet()


def _after_fork() -> None:
    for pending in list(_LIVE):
        for name, future in pending.futures.items():
            if not future.done():
                gone: Future[ManifestEntry] = Future()
                gone.set_exception(CkrulesError(_FORKED))
                pending.futures[name] = gone


os.register_at_fork(after_in_child=_after_fork)
