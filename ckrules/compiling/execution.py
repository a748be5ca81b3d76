"""Compilers as processes: started, limited in the processor time that they use, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ckrules.compiling.guardian import Guardian
from ckrules.support import usage

_TAIL = 1 << 20  # bytes of the compiler's output that are read
_POLL = 0.02
_GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh")
"""Becomes the command that follows when it reads a line, and nothing if there is none to come: so
a compiler starts only when it is known to who would end it."""
_running: dict[subprocess.Popen[bytes], Crew | None] = {}
"""The compilers that threads of this process wait for, and the crews of these threads."""
_thread = threading.local()
"""``crew``: the thread's, where it has one."""
_starting = threading.Lock()
"""Held from a process's start until it is one of `_running`."""
_guardian = Guardian()


class Crew:
    """Threads whose compilers end together, such as those of a pool."""

    def __init__(self) -> None:
        self.ended = False

    def enlist(self) -> None:
        """Counts the thread that calls this as one of the crew's."""
        _thread.crew = self

    def stop(self) -> None:
        """Ends the crew's compilers; its threads go on, and can start none any more."""
        with _starting:
            self.ended = True
            running = [process for process, crew in _running.items() if crew is self]
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Ran(NamedTuple):
    """How a command ended."""

    status: int | None
    """The exit status; None: it was ended at its limit."""
    output: str
    """What it printed; of one that was ended why, as what follows its name."""
    peak_mb: int = 0
    seconds: float = 0.0
    """Of the processor, with what it started."""


def execute(words: list[str], folder: Path, timeout: float, used: float = 0.0) -> Ran:
    """Runs one command in a folder.

    Args:
        words: The command.
        folder: Where it runs, and where its output goes.
        timeout: Seconds of the processor that it may use, and seconds for which it may do nothing.
            How long it takes does not matter: a machine may have much else to do.
        used: Those that are used already.
    """
    log = folder / "compiler.log"
    (folder / "tmp").mkdir(exist_ok=True)
    # Within the folder: LLVM fills in each % of a name of a temporary file, those of folders too.
    env = {**os.environ, "LC_ALL": "C", "TMPDIR": "tmp"}
    with log.open("wb") as stream:
        with _starting:
            crew: Crew | None = getattr(_thread, "crew", None)
            if crew is not None and crew.ended:
                return Ran(None, "was not started any more")
            process = subprocess.Popen(
                [*_GATE, *words],
                cwd=folder,
                env=env,
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            _running[process] = crew
        try:
            _guardian.begun(process.pid)
            _let_go(process)
            ran = _wait(process, timeout, used)
        except BaseException:
            _kill(process)
            raise
        finally:
            del _running[process]
            _guardian.ended(process.pid)
    if ran.status is None:
        return ran
    with log.open("rb") as stream:
        return ran._replace(output=stream.read(_TAIL).decode("utf-8", errors="replace"))


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Lets the command begin; one that was ended before stays so."""
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as gate:
        gate.write(b"\n")


def _wait(process: subprocess.Popen[bytes], timeout: float, used: float) -> Ran:
    step = min(1.0, timeout / 10)
    work, following = usage.GroupUsage(timeout, step), time.monotonic() + step
    while True:
        pid, status, costs = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = costs.ru_utime + costs.ru_stime
            return Ran(process.returncode, "", costs.ru_maxrss >> 10, seconds)
        if time.monotonic() >= following:
            work.look(usage.session(process.pid))
            if why := _over(work, timeout, used):
                _kill(process)
                return Ran(None, why)
            following = time.monotonic() + step
        time.sleep(_POLL)


def _over(work: usage.GroupUsage, timeout: float, used: float) -> str:
    """Why a process is ended; empty: it is not."""
    if work.seconds + used > timeout:
        return f"took more than {timeout:g} s of processor time"
    if work.idle > timeout:
        return f"{'did nothing' if usage.KNOWN else 'was not done'} for {timeout:g} s"
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the compiler and what it started."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _forked() -> None:
    """In a forked child: threads of the parent that held locks are not there."""
    global _starting
    _starting = threading.Lock()
    _guardian.forked()


os.register_at_fork(after_in_child=_forked)
