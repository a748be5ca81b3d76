"""A shell that outlives this process by a moment, to end the compilers that it leaves.

Who is killed by SIGKILL cannot end what it started. A compiler's parts are a session of their own
(`ckrules.compiling.execution`), so that Linux's signal on a parent's death would reach the driver
alone. The shell reads the sessions that run from a pipe, which ends with this process.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from contextlib import suppress

_SCRIPT = """\
running=
while read -r change session; do
    case $change in
        begun) running="$running $session" ;;
        ended)
            left=
            for one in $running; do [ "$one" = "$session" ] || left="$left $one"; done
            running=$left ;;
    esac
done
for one in $running; do kill -s KILL -- "-$one"; done
"""


class Guardian:
    """Ends the sessions that have begun and not ended when this process is gone.

    The shell starts with the first session. Where there is none, nothing is guarded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def begun(self, session: int) -> None:
        """A session is to end with this process."""
        self._tell(f"begun {session}\n")

    def ended(self, session: int) -> None:
        """A session has ended, and its number may be another's from now on."""
        self._tell(f"ended {session}\n")

    def forked(self) -> None:
        """In a forked child: a thread that held the lock is not there."""
        self._lock = threading.Lock()

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):  # ValueError: closed by `_end`
            if self._process is None or self._owner != os.getpid():  # a forked child has its own
                self._process, self._owner = _shell(), os.getpid()
                atexit.register(_end, self._process, os.getpid())
            if self._process.stdin is not None:
                os.write(self._process.stdin.fileno(), line.encode())


def _end(shell: subprocess.Popen[bytes], owner: int) -> None:
    """At the end of the process that has it; Python would warn of what is left open."""
    with suppress(subprocess.TimeoutExpired):  # a forked child may hold the pipe, too
        if owner == os.getpid():
            shell.communicate(timeout=1)


def _shell() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    )
