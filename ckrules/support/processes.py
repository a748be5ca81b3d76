"""Processes that are asked through a pipe."""

from __future__ import annotations

from typing import Protocol


class Ended(Protocol):
    """What can be killed and waited for: a process of `multiprocessing`."""

    def kill(self) -> None:
        """Ends it at once."""

    def join(self) -> None:
        """Waits for its end."""


class Closed(Protocol):
    """What can be closed: an end of a pipe."""

    def close(self) -> None:
        """Gives it back."""


def end(process: Ended | None, pipe: Closed | None) -> None:
    """Ends a process, whatever it does, and closes our end of its pipe; None: there is none.

    >>> end(None, None)
    """
    if process is not None:
        process.kill()
        process.join()
    if pipe is not None:
        pipe.close()
