"""Processes of this interpreter that run one function of the package and are asked through a pipe.

They start as ``python -c`` with a function of a module, and not as `multiprocessing` starts them:
that would run the caller's script again, and could not where it came from the standard input.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from pkgutil import resolve_name
from typing import Any

_PROGRAM = "import sys; sys.path[:] = {path!r}; from {module} import begin; begin({fd}, {target!r})"

_SHARES = {"OPENBLAS_NUM_THREADS": "1"}
"""Where all cores are busy numpy's threads wait for each other, 60 times as long as they work."""


class PipedProcess:
    """A function at work in another process, and our end of the pipe to it.

    It inherits nothing but the environment, the folder and ``sys.path``, and has no input. Its
    matrix products have one thread, unless the environment says otherwise. The terminal's Ctrl-C
    does not reach it. It is killed when this process ends or forgets it.

    Args:
        target: A function of a module; its first argument is the other end of the pipe.
        given: The others.
    """

    def __init__(self, target: Callable[..., None], *given: Any) -> None:
        self.pipe: Connection[Any, Any]
        self.pipe, theirs = Pipe()
        program = _PROGRAM.format(
            path=[place or os.getcwd() for place in sys.path],
            module=__name__,
            fd=theirs.fileno(),
            target=f"{target.__module__}:{target.__qualname__}",
        )
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which it inherits
        try:
            self._process = subprocess.Popen(
                [os.fsdecode(get_executable()), "-c", program],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=_SHARES | os.environ,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        self._killer = weakref.finalize(self, _kill, self._process, os.getpid())
        with contextlib.suppress(OSError):  # it has ended already, as who asks it will see
            self.pipe.send(given)

    @property
    def exitcode(self) -> int | None:
        """Its exit status, or less than 0, a signal's number; None: it runs."""
        return self._process.poll()

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.exitcode is None

    def join(self, seconds: float | None = None) -> None:
        """Waits for its end, so long at most."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def end(self) -> None:
        """Ends it at once, whatever it does, and closes the pipe."""
        self._killer()
        self.pipe.close()

    def forget(self) -> None:
        """In a forked child: the process is the parent's, which is not to notice."""
        self._killer.detach()
        self._process.returncode = 0


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:
        process.kill()
        process.wait()


def begin(fd: int, target: str) -> None:
    """In the new process: runs ``module:function`` on the pipe and what comes through it first."""
    pipe: Connection[Any, Any] = Connection(fd)
    given = pipe.recv()
    resolve_name(target)(pipe, *given)
