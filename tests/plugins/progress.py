"""A pytest plugin: what takes long in tests says so on the terminal, from any worker.

Loaded with ``-p`` it comes before pytest replaces the standard error of a process, so that it
keeps the one that workers share with their controller.
"""

from __future__ import annotations

import os
from contextlib import suppress

_TERMINAL = os.dup(2)


def say(line: str) -> None:
    """Writes a line, apart from the dots of tests that passed."""
    with suppress(OSError):  # nobody reads it any more
        os.write(_TERMINAL, f"\n{line}\n".encode())
