"""Waiting for what other processes do."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable


def until(condition: Callable[[], object]) -> None:
    """Waits until the condition holds; ten minutes are an error."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline, "nothing happened for ten minutes"
        time.sleep(0.02)


def interrupted(code: int, number: int = signal.SIGINT) -> bool:
    """Whether a process ended by Ctrl-C or such a signal, as shells see it: 130 for Ctrl-C.

    Python ends itself with Ctrl-C's signal, although our code has caught it and says 130, where it
    came while a string was executed, as data classes do when a module is imported.
    """
    return code == 128 + number or code == -signal.SIGINT == -number
