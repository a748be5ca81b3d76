"""Terminals: notes on standard error, and whether a stream takes tables, colours and progress."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from ckrules.support.visible import visible


def note(text: str) -> None:
    """One line on standard error; a closed standard error does not make the command fail."""
    if sys.stderr is None:  # closed by the shell: 2>&-
        return
    with suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """One line on standard output."""
    print(visible(text))


def is_terminal(stream: Any) -> bool:
    """Whether a person reads the stream directly."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def encodes(stream: Any, text: str) -> bool:
    """Whether a stream's encoding has all characters of a text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def colored(choice: str, stream: Any) -> bool:
    """Whether to colour: as ``--color`` says, else as the environment does, else on a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


_PERIOD = 4 * 3600.0
"""Seconds over which the speed is taken: there may be minutes from one kernel to the next."""


PATIENCE = 1.0
"""Seconds after which a counter is seen that is seldom needed."""


class Progress:
    """A counter on a terminal's standard error; nothing elsewhere.

    Where what is counted takes unequally long, ``work`` is what all of it is predicted to take: the
    bar and the time left follow it, and not the count.
    """

    def __init__(self, title: str, total: int | None, work: float | None = None) -> None:
        self._title, self._total, self._done = title, total, 0
        self._all, self._reached = total if work is None else work, 0.0
        self._bar: Any = None
        self._task: Any = None
        self._later: threading.Timer | None = None
        self._changing = threading.Lock()
        self._stopped = False

    def advance(self, done: int, *, known: bool = False, work: float | None = None) -> None:
        """Counts ``done`` more as finished; what was known before says nothing of the time left."""
        self._done += done
        self._reached += done if work is None else work
        with self._changing:
            if self._bar is not None:
                count = self._bar.reset if known else self._bar.update
                count(self._task, completed=self._reached, count=self._count())

    def _count(self) -> str:
        """What is done of how much; empty where nothing is counted."""
        if self._total is not None:
            return f"{self._done:,}/{self._total:,}"
        return f"{self._done:,}" if self._done else ""

    def start(self, patience: float = 0.0) -> None:
        """Shows the counter, after so many seconds, if standard error is a terminal."""
        if not is_terminal(sys.stderr):
            return
        if patience:
            self._later = threading.Timer(patience, self._show)
            self._later.daemon = True
            self._later.start()
        else:
            self._show()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        with self._changing:
            if self._stopped:
                return
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[count]}"),
                TimeRemainingColumn() if self._total else TimeElapsedColumn(),
                speed_estimate_period=_PERIOD,
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=is_terminal(sys.stdout),  # what goes elsewhere is not for here
            )
            self._bar.start()
            total = None if self._all is None else float(self._all)
            self._task = self._bar.add_task(
                self._title, total=total, completed=self._reached, count=self._count()
            )

    def stop(self) -> None:
        """Removes the counter."""
        if self._later is not None:
            self._later.cancel()
        with self._changing:
            self._stopped = True
            if self._bar is not None:
                self._bar.stop()


@contextmanager
def progress(
    title: str,
    total: int | None = None,
    *,
    work: float | None = None,
    patience: float = 0.0,
    beside: bool = False,
) -> Iterator[Progress]:
    """A `Progress`, seen after so many seconds, that is removed at the end, whatever happens.

    It is not seen ``beside`` an output that the same terminal shows meanwhile.
    """
    shown = Progress(title, total, work)
    if not beside:
        shown.start(patience)
    try:
        yield shown
    finally:
        shown.stop()


def waiting(title: str, total: int | None = None) -> AbstractContextManager[Progress]:
    """A `progress` of what is mostly done before anybody would ask: it is seen after a while."""
    return progress(title, total, patience=PATIENCE)
