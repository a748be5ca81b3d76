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


def interrupted(code: int) -> bool:
    """Whether a process ended by Ctrl-C, as shells see it: 130.

    Python ends itself with the signal, although our code has caught it and says 130, where it came
    while a string was executed, as data classes do when a module is imported.
    """
    return code in (130, -signal.SIGINT)
