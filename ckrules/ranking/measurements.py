"""Measured times of kernels on problems, as CSV files hold them.

Columns: those of a problem (upstream's names), ``latency_us`` or ``latency_ms``, and the kernel:
``kernel`` or ``name`` with its name, or the columns that the family knows, such as block tile and
pipeline. ``arch`` is gfx950 and ``variant`` (or ``op_type``) the named kernel's, else forward,
where the columns are missing. ``set`` and ``problem`` keep repeated problems apart (a ``problem``
of sizes, such as ``N=1,C=8,…``, is the problem itself), as do ``device_name`` and what kernels that
are compared have in common (GPU, variant, dtype); of several times of a kernel there the median
counts. Other columns mean nothing. Rows with a ``status`` other than ok, or without a time, are
skipped: so runs that `ckrules results --runs` exports are measurements.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ckrules.kernels.config import config_from_mapping, config_from_name
from ckrules.kernels.families import family_of, problems_of, reader_tables
from ckrules.ranking.kernels import timing
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError, nearest

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point
    from ckrules.kernels.reader_tables import TunedTable

_TIMES = {"latency_us": 1.0, "latency_ms": 1e3}
_LARGEST = 1 << 28


@dataclass(frozen=True)
class MeasuredProblem:
    """The kernels measured on one problem, with their times in microseconds."""

    label: str
    """Set and number of the problem in the file."""
    problem: Any
    points: Sequence[Point]
    microseconds: Sequence[float]

    @property
    def best(self) -> float:
        """The shortest time."""
        return min(self.microseconds)


def read(
    path: Path | str, books: Books, arch: str = "gfx950", variant: str = "forward"
) -> list[MeasuredProblem]:
    """The measurements of a file, by problem, in the file's order.

    Args:
        books: What the fields of kernels may be; measured kernels need not be legal.
        arch: The GPU of rows that name none.
        variant: The variant of rows that name none.

    Raises:
        UsageError: For a row that is not a measurement, with its line.
    """
    books.of(variant)  # a fault in a GPU file is none of a row
    try:
        text = opening.read(path, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file in UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    rows = csv.DictReader(io.StringIO(text, newline=None))  # a lone CR ends a line as well
    try:
        return list(_grouped(rows, str(path), _Reader(books, arch, variant)))
    except csv.Error as error:
        raise UsageError(f"{path}:{rows.line_num + 1}:1: {error}") from None


def _grouped(rows: csv.DictReader[str], where: str, reader: _Reader) -> Iterator[MeasuredProblem]:
    names = header(rows, where)
    if all(u in names for u in _TIMES):
        raise UsageError(f"{where}:1:1: both {' and '.join(_TIMES)} are there: expected one")
    unit = next((u for u in _TIMES if u in names), None)
    if unit is None and tuned_table(names) is not None:
        text = "a tuned table has the fastest kernel of each problem alone, nothing to learn from"
        raise UsageError(f"{where}: {text}: ckrules evaluate reads it")
    if unit is None:
        near = next((n for n in names if nearest(n.lower(), _TIMES)), None)
        meant = f": is {near!r} meant? Times are in us or ms" if near else ""
        raise UsageError(f"{where}:1:1: no column {' or '.join(_TIMES)}{meant}")
    found: dict[tuple[str, ...], tuple[Any, list[Point], list[float]]] = {}
    for row in rows:
        place = f"{where}:{rows.line_num}:1"
        if None in row or None in row.values():
            raise UsageError(f"{place}: {len(names)} columns were expected")
        if "status" in row and (row["status"] != "ok" or not row[unit]):
            continue
        try:
            point = reader.point(row)
            problem = reader.problem(row, str(point["variant"]))
            time = time_of(row[unit]) * _TIMES[unit]
        except CkrulesError as error:
            raise UsageError(f"{place}: {error}") from None
        label = (row.get("set", ""), row.get("problem") or row.get("problem_idx") or str(problem))
        apart = (str(point[name]) for name in timing(str(point["variant"])).apart)
        key = (*label, row.get("device_name", ""), *apart)
        entry = found.setdefault(key, (problem, [], []))
        if entry[0] != problem:
            raise UsageError(f"{place}: problem {' '.join(label)} was {entry[0]} before")
        entry[1].append(point)
        entry[2].append(time)
    for key, (problem, points, times) in found.items():
        yield MeasuredProblem(" ".join(filter(None, key[:2])), problem, *_once(points, times))


def _once(points: Sequence[Point], times: Sequence[float]) -> tuple[list[Point], list[float]]:
    """Each kernel once, with the median of its times."""
    found: dict[str, tuple[Point, list[float]]] = {}
    for point, time in zip(points, times, strict=True):
        found.setdefault(repr(sorted(point.items())), (point, []))[1].append(time)
    return [p for p, _ in found.values()], [median(t) for _, t in found.values()]


def header(rows: csv.DictReader[str], where: str) -> Sequence[str]:
    """The names of a file's columns, as its rows have them.

    Raises:
        UsageError: If a column is there twice.
    """
    names = rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    for name in names:
        if name and names.count(name) > 1:
            raise UsageError(f"{where}:1:1: the column {name} is there twice")
    return names


def tuned_table(header: Collection[str]) -> TunedTable | None:
    """What the columns of a tuned table mean, if a header is of one and has times."""
    tables: list[TunedTable] = list(reader_tables("tuned").values())
    return next((t for t in tables if t.has(header) and t.time in header), None)


def of_runs(rows: Iterable[Mapping[str, Any]], books: Books) -> list[MeasuredProblem]:
    """The measurements among the runs of a results database, by GPU, kind of kernel and problem.

    Args:
        rows: Runs, as `ckrules.device.store.Runs.records` gives them; those that failed or were
            not timed are skipped.
        books: What the fields of kernels may be; measured kernels need not be legal.

    Raises:
        UsageError: For a configuration or problem that these books do not know.
    """
    found: dict[tuple[Any, ...], tuple[list[Point], list[float]]] = {}
    for row in rows:
        if row["status"] != "ok" or not row["latency_ms"]:
            continue
        point = config_from_mapping(json.loads(row["config"]), books).point
        variant = str(point["variant"])
        apart = tuple(point[name] for name in timing(variant).apart)
        key = (row["device_name"], variant, row["arch"], *apart, row["problem"])
        points, times = found.setdefault(key, ([], []))
        points.append(point)
        times.append(float(row["latency_ms"]) * 1e3)
    return [
        MeasuredProblem(str(key[-1]), problems_of(key[1]).parse(key[-1]), *_once(points, times))
        for key, (points, times) in found.items()
    ]


class _Reader:
    """Reads rows; a kernel that many rows name is made once."""

    def __init__(self, books: Books, arch: str, variant: str) -> None:
        self.books, self.arch, self.variant = books, arch, variant
        self._points: dict[tuple[str, ...], Point] = {}

    def problem(self, row: Mapping[str, str], variant: str) -> Any:
        problems = family_of(variant).problems
        if problems is None:
            raise UsageError(f"nothing is known of the problems of {variant} kernels")
        # As `ckrules results` writes it: cells cannot tell one dimension from two.
        if "=" in row.get("problem", ""):
            return problems.parse(row["problem"])
        # The number of the problem is not one of its sizes.
        return problems.from_row({k: v for k, v in row.items() if k != "problem"})

    def point(self, row: Mapping[str, str]) -> Point:
        said, arch = row.get("variant") or row.get("op_type"), row.get("arch") or self.arch
        name, variant = row.get("kernel") or row.get("name"), said or self.variant
        known = timing(variant)
        key = (arch, name) if name else (arch, variant, *(row.get(c, "") for c in known.columns))
        if key not in self._points:
            self._points[key] = self._read(row, name, arch, variant)
        found = self._points[key]
        words = {"variant": said, "dtype": None if name else row.get("dtype")}
        for field, word in words.items():
            if word and word != found[field]:
                meant = f"{field} is {word}, but the kernel is of {found[field]}"
                columns = ", ".join(known.columns)
                raise UsageError(meant if name else f"{meant}, as all that {columns} say")
        return found

    def _read(self, row: Mapping[str, str], name: str | None, arch: str, variant: str) -> Point:
        if name:
            return config_from_name(name, self.books, arch=arch).point
        given = timing(variant).measured(row, arch)
        if given is None:
            columns = ", ".join(timing(variant).columns)
            raise UsageError(f"no kernel: expected a column kernel, or {columns}")
        return config_from_mapping(given, self.books).point


def time_of(text: str) -> float:
    """The time that a cell says.

    Raises:
        UsageError: If it says none above 0.
    """
    try:
        if "_" in text or not text.isascii():  # which Python reads as numbers, too
            raise ValueError
        value = float(text)
    except ValueError:
        raise UsageError(f"{text[:40]!r} is not a time: expected a number such as 12.5") from None
    if not 0 < value < float("inf"):
        raise UsageError(f"{text} is not a time above 0")
    return value


def kernels_of(measured: Iterable[MeasuredProblem]) -> list[Point]:
    """Every kernel that was measured, once, in order."""
    seen: dict[str, Point] = {}
    for each in measured:
        for point in each.points:
            seen.setdefault(repr(sorted(point.items())), point)
    return list(seen.values())
