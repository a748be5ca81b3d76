"""Predicted times compared with tuned tables, which hold the fastest kernel of each problem alone.

What can be judged without the slower ones: which place the winner has among the kernels that the
tuner chose from, whether its time is as predicted, and whether problems are in the order of their
times. Kernels count once a geometry (block tile, waves, warp tile), by the fastest of each: launch
bounds and the like are not told apart by predictions.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.engine.expr.variables import Role, domain_of
from ckrules.kernels.applicability import OwnProblems
from ckrules.kernels.config import config_from_name
from ckrules.kernels.families import family_of
from ckrules.kernels.names import beginnings
from ckrules.ranking.kernels import KernelTable, timing
from ckrules.ranking.measurements import header, time_of, tuned_table
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point
    from ckrules.kernels.reader_tables import TunedTable
    from ckrules.ranking.ranker import Ranker

_LARGEST = 1 << 28
_FIRST = 5
Geometry = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Winner:
    """A row of a tuned table whose kernel and problem are known here."""

    table: str
    point: Point
    problem: Any
    sizes: Mapping[str, int]
    launched: Mapping[str, Any]
    """The fields that host code sets for the problem."""
    form: Callable[[Point, str], Mapping[str, Any]]
    """The fields that the table's name says of a kernel."""
    product: str
    microseconds: float
    tried: str
    """The catalog of the kernels that the tuner chose from."""


@dataclass(frozen=True, slots=True)
class WinnerFigures:
    """How predictions compare with the winners of one table on one product.

    ``place`` is the mean place of the winner in the list, 0 the first and 1 the last; ``first`` the
    share of winners among the first five; ``within`` the share of times within the printed range;
    ``spearman`` the correlation of the ranks of predicted and measured times over the problems, and
    ``ratio`` the median of predicted over measured times.
    """

    table: str
    product: str
    rows: int
    kernels: float
    """Geometries of the list that take a problem, in the mean."""
    place: float
    first: float
    within: float
    spearman: float
    ratio: float

    def as_dict(self) -> dict[str, Any]:
        """The figures by name; a correlation that there is none of is None."""
        known = None if np.isnan(self.spearman) else self.spearman
        return {**asdict(self), "spearman": known}


@dataclass
class Winners:
    """The rows of tuned tables, and what was left out."""

    rows: list[Winner] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """How many rows, by the reason."""


def is_tuned(path: Path | str) -> bool:
    """Whether a file's first line is the header of a tuned table with times."""
    try:
        head = opening.read(path, _LARGEST).decode("utf-8-sig").splitlines()[:1]
    except (OSError, ValueError):
        return False  # whoever reads it as measurements says what is wrong
    return tuned_table([c.strip() for line in head for c in line.split(",")]) is not None


def read_winners(path: Path | str, books: Books, arch: str = "") -> Winners:
    """The rows of a table, those left out counted.

    Args:
        books: What the fields of kernels may be.
        arch: The GPU of rows that name none.

    Raises:
        UsageError: If the file cannot be read, or is not a tuned table.
    """
    try:
        text = opening.read(path, _LARGEST).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    rows = csv.DictReader(io.StringIO(text, newline=None))
    found = Winners()
    try:
        table = tuned_table(header(rows, str(path)))
        if table is None:
            raise UsageError(f"{path}:1:1: not a tuned table with times")
        reader = _Rows(table, Path(path).name.partition(".")[0], books, arch)
        for row in rows:
            made = reader.of({k: (v or "").strip() for k, v in row.items() if isinstance(k, str)})
            if isinstance(made, str):
                found.left_out[made] = found.left_out.get(made, 0) + 1
            else:
                found.rows.append(made)
    except csv.Error as error:
        raise UsageError(f"{path}:{rows.line_num + 1}:1: {error}") from None
    return found


class _Rows:
    """Reads the rows of one table; a kernel that many rows name is made once."""

    def __init__(self, table: TunedTable, name: str, books: Books, arch: str) -> None:
        self._table, self._name, self._books, self._arch = table, name, books, arch
        self._gpus = {g.name: g for g in books.gpus}
        self._points: dict[tuple[str, str], Point | None] = {}

    def of(self, row: Mapping[str, str]) -> Winner | str:
        """The row as a winner, or why it is none."""
        table = self._table
        name = next((row[c] for c in table.columns if table.mark in row.get(c, "")), "")
        if not name.startswith(beginnings()):
            return "of other libraries"
        arch = row.get(table.gpu) or self._arch
        point, product = self._point(name, arch), self._product(arch, row.get(table.units, ""))
        if point is None:
            return "with names that cannot be read"
        if not product:
            return "of products that are not known"
        sizes, time = self._sizes(row), _time(row.get(table.time, ""))
        family = family_of(str(point["variant"]))
        problems = family.problems
        if problems is None or not time:
            return "without a time or a problem"
        try:
            problem = problems.from_mapping(sizes)
        except UsageError:
            return "without a time or a problem"
        launched = table.launched(point, sizes)
        tried = table.tried.get(family.name, "")
        point = {**point, **launched}
        return Winner(self._name, point, problem, sizes, launched, table.form, product, time, tried)

    def _point(self, name: str, arch: str) -> Point | None:
        key = name, arch
        if key not in self._points:
            try:
                point = config_from_name(name, self._books, arch=arch).point
                self._points[key] = {**point, **self._table.form(point, self._name)}
            except CkrulesError:
                self._points[key] = None
        return self._points[key]

    def _product(self, arch: str, units: str) -> str:
        gpu = self._gpus.get(arch)
        if gpu is None or gpu.performance is None:
            return ""
        fit = (p.name for p in gpu.performance.products if str(p.compute_units) == units)
        return next(fit, "")

    def _sizes(self, row: Mapping[str, str]) -> dict[str, int]:
        named = {c: row.get(c, "") for c in self._table.sizes}
        sizes = {c: int(w) for c, w in named.items() if w.isdecimal() and len(w) < 16}
        split = row.get(self._table.split, "")
        return {**sizes, "k_batch": 1 << int(split) if split.isdecimal() and len(split) < 3 else 1}


def _time(text: str) -> float:
    try:
        return time_of(text)
    except UsageError:
        return 0.0


def judge_winners(rows: Iterable[Winner], ranker: Ranker, books: Books) -> Iterator[WinnerFigures]:
    """The figures of each table and product, in the order of the rows."""
    return WinnerLists(ranker, books).figures(rows)


@dataclass(frozen=True, slots=True)
class _Place:
    """The winner's place from 0 among so many geometries, and its predicted time.

    Of geometries that are predicted to be as fast half come before it.
    """

    place: float
    kernels: int
    microseconds: float


class WinnerLists:
    """The kernels that winners were chosen from, with tables of each list that are made once."""

    def __init__(self, ranker: Ranker, books: Books) -> None:
        self._ranker, self._books, self._own = ranker, books, OwnProblems(books)
        self._tables: dict[tuple[Any, ...], tuple[KernelTable, list[Point], list[Geometry]]] = {}
        self._listings: dict[tuple[str, ...], list[Point]] = {}

    def figures(self, rows: Iterable[Winner]) -> Iterator[WinnerFigures]:
        """The figures of each table and product, in the order of the rows."""
        groups: dict[tuple[str, str], list[Winner]] = {}
        for row in rows:
            groups.setdefault((row.table, row.product), []).append(row)
        for (table, product), found in groups.items():
            judged = [self.judge(row) for row in found]
            places = np.asarray([j.place for j in judged])
            counts = np.asarray([j.kernels for j in judged])
            measured = np.asarray([row.microseconds for row in found])
            ratios = np.asarray([j.microseconds for j in judged]) / measured
            printed = timing(str(found[0].point["variant"])).printed_range
            near = np.abs(np.log(ratios)) <= np.log(printed)
            yield WinnerFigures(
                table, product, len(found), float(counts.mean()),
                float((places / np.maximum(counts - 1, 1)).mean()), float((places < _FIRST).mean()),
                float(near.mean()), spearman(ratios * measured, measured), float(np.median(ratios)),
            )  # fmt: skip

    def judge(self, row: Winner) -> _Place:
        """The winner among the kernels of its list that take the problem."""
        winner, _, (own,) = self._made(row, [row.point], "its own")
        mine = float(self._ranker.times(winner, row.problem)[0])
        best = {own: mine}
        table, points, geometries = self._made(row, self._listed(row), row.tried)
        times = self._ranker.times(table, row.problem) if points else ()
        for point, geometry, time in zip(points, geometries, times, strict=True):
            if best.get(geometry, np.inf) > time and self._takes(point, row):
                best[geometry] = float(time)
        faster = sum(time < best[own] for time in best.values())
        equal = sum(time == best[own] for time in best.values()) - 1
        return _Place(faster + equal / 2, len(best), mine)

    def _takes(self, point: Point, row: Winner) -> bool:
        found = self._own(point, row.sizes)
        return found is not None and not found[1]

    def _listed(self, row: Winner) -> list[Point]:
        """The list's kernels of the winner's kind on its GPU, as host code launches them."""
        from ckrules.constraints import catalogs
        from ckrules.constraints.catalogs.listing import CatalogListing

        if not row.tried:
            return []
        asked = {n: str(row.point[n]) for n in ("variant", "arch", "dtype")}
        key = row.tried, *asked.values()
        if key not in self._listings:
            given = {n: [word] for n, word in asked.items()}
            listing = CatalogListing(catalogs.load(row.tried), self._books, given)
            self._listings[key] = list(listing.points)
        return [{**p, **row.form(p, row.table), **row.launched} for p in self._listings[key]]

    def _made(
        self, row: Winner, points: Sequence[Point], of: str
    ) -> tuple[KernelTable, list[Point], list[Geometry]]:
        launched = tuple(row.launched.items())
        alone = tuple(row.point.items()) if of == "its own" else ()
        key = (of, row.table, row.point["variant"], row.point["arch"], row.product, launched, alone)
        if key not in self._tables:
            fields = self._books.of(str(row.point["variant"])).fields
            names = [n for n, f in fields.items() if domain_of(f).role is Role.GEOMETRY]
            table = KernelTable.of_points(points or [row.point], self._books, row.product)
            made = [tuple(p[n] for n in names) for p in points]
            self._tables[key] = table, list(points), made
        return self._tables[key]


def spearman(
    predicted: Sequence[float] | NDArray[np.float64],
    measured: Sequence[float] | NDArray[np.float64],
) -> float:
    """The correlation of two rows of numbers by their ranks, equal numbers sharing theirs.

    >>> spearman([1, 2, 3, 4], [10, 20, 30, 40]), spearman([1, 2, 3], [3, 2, 1])
    (1.0, -1.0)
    >>> spearman([1, 2], [5, 5])
    nan
    """
    ranks = [_ranks(np.asarray(v, dtype=np.float64)) for v in (predicted, measured)]
    a, b = (r - r.mean() for r in ranks)
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return round(float((a * b).sum()) / size, 12) if size else float("nan")


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places.ravel()])
