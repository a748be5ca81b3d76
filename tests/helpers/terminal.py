"""Commands whose standard error is a terminal: what they show there, and how they end."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class TerminalRun:
    """A command in a process of its own.

    Args:
        words: What follows ``ckrules``.
        stdout: Where its output goes; None: to nobody.
    """

    def __init__(self, *words: str, stdout: Path | None = None, **env: str) -> None:
        self._leader, follower = pty.openpty()
        with open(stdout or os.devnull, "wb") as stream:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "ckrules", *words],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=follower,
                env={**os.environ, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1", **env},
                start_new_session=True,
            )
        os.close(follower)
        self.seen = ""

    def until(self, text: str, seconds: float = 300) -> bool:
        """Whether a text appears before the command ends."""
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            if not (more := _read(self._leader)):
                break
            self.seen += more
        return text in self.seen

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code; the command has a minute to end."""
        self.child.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        """The exit code, once it is there."""
        try:
            self.until("Traceback", 60)
            return self.child.wait(60)
        finally:
            self.child.kill()
            self.child.wait()
            os.close(self._leader)


def in_this_process(monkeypatch: pytest.MonkeyPatch, command: Callable[[], Any]) -> str:
    """What a call shows on a terminal that is the standard error of this process meanwhile."""
    leader, follower = pty.openpty()
    with monkeypatch.context() as patch, open(follower, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stderr", stream)
        patch.setenv("TERM", "xterm")
        command()
    seen = ""
    while more := _read(leader):
        seen += more
    os.close(leader)
    return seen


def _read(leader: int) -> str:
    try:
        return os.read(leader, 1 << 16).decode(errors="replace")
    except OSError:  # nobody has the other end any more
        return ""
