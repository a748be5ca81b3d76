"""Times of kernels on problems in the results database: of `ckrules validate`, and of runs.

The table ``timing`` has a row for each kernel, problem and device, with the mean of all launches
that were recorded. What they computed was not looked at; that is what the table ``run`` is about.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.compiling.database import DatabaseTable, ResultsError, said
from ckrules.compiling.library import MeasuredTime
from ckrules.device.jobs import MISCOMPUTED, RunStatus
from ckrules.device.store import Runs
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.interface import DeviceInfo
    from ckrules.kernels.parts import Problem
    from ckrules.runtime.built import BuiltKernel


class Timings(DatabaseTable):
    """The recorded launches of one results database."""

    NAME = "timing"
    COLUMNS = {  # noqa: RUF012 - as in the other tables
        **dict.fromkeys(("name", "arch", "ck", "op_type", "problem", "device_name"), "enum"),
        "driver": "enum", "launches": "int", "latency_ms": "real", "latency_min_ms": "real",
        "finished": "real",
    }  # fmt: skip
    IDENTITY = ("name", "arch", "ck", "problem", "device_name")
    FAILED = "0"

    def add(
        self, kernel: BuiltKernel, problem: Problem, info: DeviceInfo, milliseconds: float
    ) -> None:
        """Counts one launch at once.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        entry = kernel.entry
        row = (
            *(entry.name, entry.arch, entry.ck, kernel.variant, str(problem)),
            *(info.name, info.driver, 1, milliseconds, milliseconds, time.time()),
        )
        marks = ", ".join("?" * len(row))
        sql = f"""
            INSERT INTO timing ({", ".join(self.COLUMNS)}) VALUES ({marks})
            ON CONFLICT ({", ".join(self.IDENTITY)}) DO UPDATE SET
              latency_ms = (latency_ms * launches + excluded.latency_ms) / (launches + 1),
              latency_min_ms = min(latency_min_ms, excluded.latency_min_ms),
              launches = launches + 1, driver = excluded.driver, finished = excluded.finished
        """
        try:
            with self._lock:
                self._db.execute(sql, row)
        except sqlite3.Error as error:
            why = said(self.path, error)
            raise ResultsError(f"{self.path}: cannot store a time: {why}") from None


@dataclass(frozen=True)
class KnownTimes:
    """What is known of kernels on one problem."""

    microseconds: dict[str, float] = field(default_factory=dict)
    """By kernel, the least of the mean times."""
    wrong: frozenset[str] = frozenset()
    """Kernels that miscomputed the problem, crashed or hung when they were validated."""


_NOTHING = KnownTimes()


class Recorded:
    """What a results database knows of kernels of a GPU, problem by problem.

    Which problems it knows of is read again only where its files have changed.

    Args:
        place: The database; it need not be there.
    """

    def __init__(self, place: Path, arch: str) -> None:
        self.place, self.arch = place, arch
        self._problems: set[tuple[str, str]] = set()
        self._state: tuple[object, ...] = ()

    def on(self, problem: Problem, variant: str) -> KnownTimes:
        """See `on`."""
        if self._state != (state := self._files()):
            self._problems, self._state = problems(self.place, self.arch), state
        if (variant, str(problem)) not in self._problems:
            return _NOTHING
        return on(self.place, self.arch, problem, variant)

    def note(self, problem: Problem, variant: str) -> None:
        """What this process has stored since need not be looked for."""
        self._problems.add((variant, str(problem)))
        self._state = self._files()

    def _files(self) -> tuple[object, ...]:
        """What changes when somebody writes; newer rows are in a file beside the database."""
        found = []
        for path in (str(self.place), f"{self.place}-wal"):
            with suppress(OSError):
                stat = os.stat(path)
                found.append((path, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return tuple(found)


def problems(place: Path, arch: str) -> set[tuple[str, str]]:
    """The variants and problems of which a results database has rows for a GPU.

    Raises:
        ResultsError: If it cannot be read.
    """
    known: set[tuple[str, str]] = set()
    if place.exists():
        for table in (Runs, Timings):
            with table(place, reading=True) as rows:
                for row in rows.records(where="arch = ?", values=(arch,)):
                    known.add((row["op_type"], row["problem"]))
    return known


def on(place: Path, arch: str, problem: Problem, variant: str) -> KnownTimes:
    """What a results database knows of kernels of a GPU on a problem.

    Raises:
        ResultsError: If the database cannot be read.
    """
    if not place.exists():
        return KnownTimes()
    condition, values = "arch = ? AND op_type = ? AND problem = ?", (arch, variant, str(problem))
    found: dict[str, float] = {}
    wrong = set()
    with Runs(place, reading=True) as runs:
        for row in runs.records(where=condition, values=values):
            if row["status"] in MISCOMPUTED:
                wrong.add(row["name"])
            elif row["status"] == RunStatus.OK and row["latency_ms"] is not None:
                _least(found, row["name"], row["latency_ms"])
    with Timings(place, reading=True) as timings:
        for row in timings.records(where=condition, values=values):
            _least(found, row["name"], row["latency_ms"])
    return KnownTimes(found, frozenset(wrong))


def everything(place: Path, arch: str) -> Iterator[MeasuredTime]:
    """What a results database knows of the kernels of a GPU, on every problem.

    Raises:
        ResultsError: If the database cannot be read.
    """
    for variant, text in sorted(problems(place, arch)):
        try:
            problem = problems_of(variant).parse(text)
        except UsageError:  # of a family that is not there, or of another version
            continue
        found = on(place, arch, problem, variant)
        for name in found.wrong:
            yield MeasuredTime(name, problem, -1.0, right=False)
        for name, microseconds in found.microseconds.items():
            if name not in found.wrong:
                yield MeasuredTime(name, problem, microseconds)


def _least(found: dict[str, float], name: str, milliseconds: float) -> None:
    found[name] = min(found.get(name, float("inf")), milliseconds * 1e3)
