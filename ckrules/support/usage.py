"""What processes do: the processor time that they use, and whether they do anything at all."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_PROC = Path("/proc")
KNOWN = (_PROC / "self/stat").exists()
"""Whether this system says what its processes do; Linux does."""
_WORKING = "RD"
"""States of a thread that runs or waits for a processor, and of one that waits for a disk."""
_SLACK = 0.01
"""The part of the time in which what waits may use the processor, to look whether it can go on."""


class RunningProcess(NamedTuple):
    """A process that is there."""

    pid: int
    parent: int
    session: int
    seconds: float
    """Of the processor: its own and that of the children that it has waited for."""


def processes() -> dict[int, RunningProcess]:
    """All processes that can be seen; none where the system does not say.

    >>> processes()[os.getpid()].parent == os.getppid() if KNOWN else not processes()
    True
    """
    if not KNOWN:
        return {}
    tick = os.sysconf("SC_CLK_TCK")
    processes = {}
    for name in filter(str.isdecimal, os.listdir(_PROC)):
        if words := _stat(_PROC / name):
            seconds = sum(map(int, words[11:15])) / tick
            processes[int(name)] = RunningProcess(int(name), int(words[1]), int(words[3]), seconds)
    return processes


def family(pid: int) -> list[RunningProcess]:
    """A process with everything that it has started, and what that has started."""
    return below(pid, list(processes().values()))


def below(pid: int, group: Collection[RunningProcess]) -> list[RunningProcess]:
    """Of a group a process and what is of its family."""
    children: dict[int, list[RunningProcess]] = {}
    for each in group:
        children.setdefault(each.parent, []).append(each)
    found = [p for p in group if p.pid == pid]
    for each in found:
        found += children.get(each.pid, ())
    return found


def session(pid: int) -> list[RunningProcess]:
    """The processes of a session, which its first process gave its number."""
    return [p for p in processes().values() if p.session == pid]


def works(pid: int, but: int = 0) -> bool:
    """Whether a thread of a process runs, or would if there were a processor or a disk free.

    Args:
        but: A thread that does not count.
    """
    place = _PROC / str(pid) / "task"
    try:
        threads = os.listdir(place)
    except OSError:  # it has ended
        return False
    states = (_stat(place / thread)[:1] for thread in threads if thread != str(but))
    return any(state and state[0] in _WORKING for state in states)


def _stat(place: Path) -> list[str]:
    """The words of a ``stat`` behind the name, which may have spaces; none if it has ended."""
    try:
        return (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


class GroupUsage:
    """What a group of processes has used of the processor, and for how long next to nothing.

    What waits for its turn on a machine at full load works.

    Args:
        limit: Seconds without work that matter.
        step: Seconds between two looks; more between them do not count, as neither the processes
            nor who looks may have had the processor.
    """

    def __init__(self, limit: float, step: float) -> None:
        self.seconds = 0.0
        """Of the processor."""
        self.idle = 0.0
        """Of the wall's clock, without work."""
        # The system counts in ticks, of which a process may be shown one too many or too few.
        self._slack, self._step = limit * _SLACK + 2 / os.sysconf("SC_CLK_TCK"), step
        self._mark, self._last = 0.0, monotonic()

    def look(self, group: Collection[RunningProcess], *, seen: int = 0, less: float = 0.0) -> None:
        """Takes in what the group has done since the last look.

        Args:
            seen: The thread that looks, and therefore works; a process's first has its number.
            less: Seconds that it has used for looking.
        """
        now = monotonic()
        seconds = sum(p.seconds for p in group) - less
        far = abs(seconds - self._mark) > self._slack
        if far or any(works(p.pid, seen) for p in group):
            self._mark, self.idle = seconds, 0.0
        else:
            self.idle += min(now - self._last, 2 * self._step)
        self._last = now
        self.seconds = max(self.seconds, seconds)
