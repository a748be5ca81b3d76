"""A pytest plugin: what hangs is ended, with the stacks of all threads, and what is slow is not.

A test hangs if the whole run, with everything that it has started, has done next to nothing for
``hang_idle`` seconds: a test that waits for another worker's build waits for something that works.
A limit of processor time, ``hang_processor`` seconds for one phase of a test with what it started,
ends loops. No limit is on the clock alone: machines may be slow or have other work.
``make test`` loads it with ``-p tests.plugins.hangs``. What a test waits for inside a library that
does not let Python's signals through is ended when it returns.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from time import process_time
from typing import TYPE_CHECKING

import pytest

from ckrules.support import usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_LOOKS = 20
"""How often the run is looked at while it does nothing."""
_DEBUGGERS = ("bdb", "pdb", "pydevd", "debugpy")
_excused = 0


@contextmanager
def excused() -> Iterator[None]:
    """Whoever waits in it may, however long: another process that is watched itself goes first."""
    global _excused
    _excused += 1
    try:
        yield
    finally:
        _excused -= 1


class Hangs:
    """Watches the phases of tests, one at a time.

    Args:
        idle: Seconds in which the run does nothing.
        processor: Seconds of processor time for a phase.
        run: The process that is the whole run with what it has started.
    """

    def __init__(self, idle: float, processor: float, run: int) -> None:
        self.idle, self.processor, self.run = idle, processor, run
        self.step = idle / _LOOKS
        self._spent = 0.0
        self._all: usage.GroupUsage | None = None
        self._own = self._begin = 0.0

    @contextmanager
    def phase(self) -> Iterator[None]:
        """Ends what hangs in it; it costs next to nothing while the first look is not due."""
        if threading.current_thread() is not threading.main_thread() or _debugged():
            yield
            return
        self._all = None
        before = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, self.step, self.step)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _look(self, number: int, frame: FrameType | None) -> None:
        """Fails the test if it hangs."""
        start = process_time()
        group = usage.family(self.run)
        own = sum(p.seconds for p in usage.below(os.getpid(), group))
        if self._all is None or _excused:  # what was done before the first look does not count
            self._all, self._begin = usage.GroupUsage(self.idle, self.step), own
        self._all.look(group, seen=os.getpid(), less=self._spent)
        self._spent += process_time() - start
        if self._all.idle >= self.idle:
            _fail(f"hangs: the whole run did nothing for {self.idle:g} s")
        if own - self._begin >= self.processor:
            _fail(f"hangs: more than {self.processor:g} s of processor time in one phase")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with self.phase():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        with self.phase():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        with self.phase():
            return (yield)

    def pytest_enter_pdb(self) -> None:
        """Leaves the rest of the phase to whoever looks at it."""
        signal.setitimer(signal.ITIMER_REAL, 0)


def _fail(message: str) -> None:
    with tempfile.TemporaryFile("w+") as stream:
        faulthandler.dump_traceback(stream, all_threads=True)
        stream.seek(0)
        stacks = stream.read()
    pytest.fail(f"{message}\n{stacks}")


def _debugged() -> bool:
    """Whether a debugger follows this thread."""
    name = getattr(sys.gettrace(), "__module__", None) or ""
    return name.partition(".")[0] in _DEBUGGERS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hang_idle", "seconds without work after which a test hangs", default="600")
    parser.addini("hang_processor", "seconds of processor time for a phase", default="3600")


def pytest_configure(config: pytest.Config) -> None:
    """Watch every process that runs tests; a worker belongs to the run of its controller."""
    if not usage.KNOWN:
        return
    worker = hasattr(config, "workerinput")
    idle, processor = (float(config.getini(name)) for name in ("hang_idle", "hang_processor"))
    watch = Hangs(idle, processor, os.getppid() if worker else os.getpid())
    config.pluginmanager.register(watch, "ckrules-hangs")
