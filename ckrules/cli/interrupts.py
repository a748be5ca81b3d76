"""Requests to end a command: Ctrl-C, SIGTERM, and SIGHUP of a closed terminal."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

_AGAIN = 2.0
"""Seconds after a request to end in which another one, that nobody types, is the same."""
_PATIENCE = 0.3
"""Seconds after which a request is repeated that nothing is at work to obey."""


class Ended(KeyboardInterrupt):
    """Somebody asked the process to end; ``number`` is the signal's.

    A class of its own: where a plain `KeyboardInterrupt` passes through ``exec`` of a text, which
    imports are full of, Python ends by the signal whatever is done about the error (CPython 3.11,
    ``run_eval_code_obj``).
    """

    def __init__(self, asked: Interrupts, number: int) -> None:
        super().__init__()
        self.asked = asked
        self.number = number


class Interrupts:
    """Raises `Ended` in the main thread when the process is asked to end, until it is obeyed.

    Without this Python ends at once on SIGTERM and leaves what it made and started: temporary
    files and compilers. And it drops what is raised in a finalizer, or in C code that clears
    errors: an import has much of both, so that of a hundred Ctrl-C a few were lost. So a request
    is repeated until the error is on its way. Another one, that nobody types, does not disturb the
    clean-up after the first: ``timeout`` and batch systems send one to the process and one to its
    group.

    >>> with Interrupts():
    ...     print("at work")
    at work
    """

    def __init__(self) -> None:
        self._last = -_AGAIN
        self._open = False  # somebody asked, and nobody is known to have obeyed
        self._repeated = False
        self._active = False
        self._lock = threading.Lock()
        self._before: list[tuple[int, Any]] = []
        self._dropped = sys.unraisablehook

    def __enter__(self) -> Self:
        self._active = True
        self._dropped, sys.unraisablehook = sys.unraisablehook, self._drop
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
                    self._before.append((number, signal.signal(number, self._ask)))
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._active = False
        sys.unraisablehook = self._dropped
        for number, handler in self._before:
            signal.signal(number, handler)

    def obeyed(self) -> None:
        """Says that the request has done what it was to do: it is not repeated."""
        self._open = False

    def _ask(self, number: int, _: object) -> None:
        repeated, self._repeated = self._repeated, False
        if not self._active or (repeated and not self._open):
            return
        if repeated and request_behind(sys.exc_info()[1]):
            self._repeat_later(number)
            return
        typed = number == signal.SIGINT
        if not repeated and not typed and time.monotonic() - self._last < _AGAIN:
            return
        self._last = time.monotonic()
        self._open = True
        self._repeat_later(number)
        raise Ended(self, number)

    def _repeat_later(self, number: int) -> None:
        later = threading.Timer(_PATIENCE, self._repeat, (number,))
        later.daemon = True
        later.start()

    def _repeat(self, number: int) -> None:
        with self._lock:
            if self._active and self._open:
                self._repeated = True
                os.kill(os.getpid(), number)

    def _drop(self, fault: sys.UnraisableHookArgs) -> None:
        if not isinstance(fault.exc_value, Ended):
            self._dropped(fault)


@contextmanager
def ended_by_request() -> Iterator[None]:
    """A work that goes on until Ctrl-C, as it is meant to be; other signals interrupt it."""
    try:
        yield
    except KeyboardInterrupt as error:
        if isinstance(error, Ended):
            if error.number != signal.SIGINT:
                raise
            error.asked.obeyed()


def request_behind(error: BaseException | None) -> Ended | None:
    """The request to end that an error is, or came of; none where it has another cause.

    Python itself turns what is raised while a class is made into a `RuntimeError` (CPython 3.11,
    ``type_new_set_names``), and code that was interrupted may fail while it cleans up.
    """
    while error is not None and not isinstance(error, Ended):
        error = error.__context__
    return error
