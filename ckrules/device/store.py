"""Runs in the results database: one row for each kernel, problem and device, failures included.

The table ``run`` stands beside the table ``build`` of `ckrules.build.results`, in the same file.
Problems are spread over columns with upstream's names; the configuration is JSON in the database
and one column a field where it is exported.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.build.results import FILE, ResultsError
from ckrules.device.problem import AXES, FILTER, IMAGE, Problem
from ckrules.engine.errors import unknown

if TYPE_CHECKING:
    from ckrules.device.built import Built
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.jobs import Outcome

_OUT = ("Do", "Ho", "Wo")
_PER_AXIS = ("stride", "pad", "right_pad", "dilation")

COLUMNS: dict[str, str] = {
    "name": "enum",
    "arch": "enum",
    "ck": "enum",
    "rules": "enum",
    "legal": "bool",
    "op_type": "enum",
    "dtype": "enum",
    "ndim_spatial": "int",
    "problem": "enum",
    **dict.fromkeys(("N", "G", "C", "K", *IMAGE, *FILTER), "int"),
    **{f"{stem}_{axis}": "int" for stem in _PER_AXIS for axis in AXES},
    "split_k": "int",
    **dict.fromkeys(_OUT, "int"),
    "gemm_m": "int",
    "gemm_n": "int",
    "gemm_k": "int",
    "flops": "int",
    "status": "enum",
    "detail": "enum",
    "finding": "enum",
    "supported": "bool",
    "predicted": "bool",
    "elements": "int",
    "wrong": "int",
    "not_finite": "int",
    "max_abs": "real",
    "max_rel": "real",
    "rtol": "real",
    "atol": "real",
    "pattern": "enum",
    "pattern_text": "enum",
    "first_wrong": "enum",
    "latency_ms": "real",
    "latency_min_ms": "real",
    "tflops": "real",
    "warmup": "int",
    "repeat": "int",
    "device": "enum",
    "device_name": "enum",
    "device_arch": "enum",
    "device_index": "int",
    "driver": "enum",
    "runtime": "enum",
    "clock_mhz": "int",
    "memory_clock_mhz": "int",
    "seconds": "real",
    "finished": "real",
    "config": "enum",
}
"""Name and sort of every column."""

_TYPES = {"enum": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}
_IDENTITY = ("name", "arch", "ck", "problem", "device", "device_name")


def problem_columns(p: Problem, variant: str) -> dict[str, int]:
    """The columns that a problem fills; axes that it lacks have size 1, as upstream's files do.

    >>> from ckrules.device.problem import parse
    >>> row = problem_columns(parse("N=1,C=8,K=8,H=7,W=7,Y=3,X=3,stride=2,pad=1"), "forward")
    >>> row["Di"], row["Ho"], row["stride_d"], row["pad_h"], row["gemm_k"]
    (1, 4, 1, 1, 72)
    """
    gap = 3 - p.ndim
    row = {"N": p.batch, "G": p.groups, "C": p.in_channels, "K": p.out_channels}
    lists: list[tuple[tuple[str, ...], tuple[int, ...], int]]
    lists = [(IMAGE, p.input, 1), (FILTER, p.filter, 1), (_OUT, p.output, 1)]
    for stem, values, default in (
        ("stride", p.stride, 1),
        ("pad", p.left_pad, 0),
        ("right_pad", p.right_pad, 0),
        ("dilation", p.dilation, 1),
    ):
        lists.append((tuple(f"{stem}_{a}" for a in AXES), values, default))
    for names, values, default in lists:
        row.update(zip(names, (default,) * gap + values, strict=True))
    row.update(zip(("gemm_m", "gemm_n", "gemm_k"), p.gemm(variant), strict=True))
    return {**row, "split_k": p.split_k, "flops": p.flops}


@dataclass(frozen=True, slots=True)
class Run:
    """A job with everything that a row says of it."""

    kernel: Built
    problem: Problem
    outcome: Outcome
    device: str
    info: DeviceInfo | None
    predicted: bool | None
    finding: str | None
    warmup: int
    repeat: int

    def row(self) -> dict[str, Any]:
        """The row, with the columns' names."""
        k, o, info = self.kernel, self.outcome, self.info
        variant = str(k.config["variant"])
        return {
            "name": k.name,
            "arch": k.arch,
            "ck": k.ck,
            "rules": k.rules,
            "legal": k.legal,
            "op_type": variant,
            "dtype": k.config["dtype"],
            "ndim_spatial": k.config["ndim"],
            "problem": str(self.problem),
            **problem_columns(self.problem, variant),
            "status": o.status,
            "detail": o.detail or None,
            "finding": self.finding,
            "supported": o.supported,
            "predicted": self.predicted,
            "elements": o.elements,
            "wrong": o.wrong,
            "not_finite": o.not_finite,
            "max_abs": o.max_abs,
            "max_rel": o.max_rel,
            "rtol": o.rtol,
            "atol": o.atol,
            "pattern": o.pattern,
            "pattern_text": o.where,
            "first_wrong": ",".join(map(str, o.first)) or None,
            "latency_ms": o.time_ms,
            "latency_min_ms": o.time_min_ms,
            "tflops": o.tflops,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "device": self.device,
            "device_name": info.name if info else "",
            "device_arch": info.arch if info else None,
            "device_index": info.index if info else None,
            "driver": info.driver if info else None,
            "runtime": info.runtime if info else None,
            "clock_mhz": info.clock_mhz if info else None,
            "memory_clock_mhz": info.memory_clock_mhz if info else None,
            "seconds": o.seconds,
            "finished": time.time(),
            "config": json.dumps(k.config),
        }


class Runs:
    """The runs of one results database; use it as a context manager.

    Args:
        path: The file; it is made if it does not exist, unless ``must_exist``.

    Raises:
        ResultsError: If it cannot be opened or is no results database.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        if must_exist and not path.is_file():
            raise ResultsError(f"{path}: there are no results")
        columns = ", ".join(f"{name} {_TYPES[sort]}" for name, sort in COLUMNS.items())
        try:
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS run ({columns},"
                f" PRIMARY KEY ({', '.join(_IDENTITY)})) STRICT"
            )
        except (OSError, sqlite3.Error) as error:
            raise ResultsError(f"{path}: cannot open the results: {error}") from None

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def put(self, run: Run) -> None:
        """Stores a run at once, in the place of an older one of the same kernel and problem.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        row = run.row()
        marks = ", ".join("?" * len(COLUMNS))
        try:
            self._db.execute(
                f"INSERT OR REPLACE INTO run ({', '.join(COLUMNS)}) VALUES ({marks})",
                [row[name] for name in COLUMNS],
            )
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: cannot store a run: {error}") from None

    def fields(self, where: str = "", values: Sequence[Any] = ()) -> dict[str, str]:
        """The configuration's fields that the rows have, and their sorts, without column names.

        A field of another meaning than the column of its name is no case: both are the same.
        """
        sorts = {"integer": "int", "true": "bool", "false": "bool", "real": "real"}
        found: dict[str, str] = {}
        sql = "SELECT DISTINCT j.key, j.type FROM run, json_each(run.config) AS j" + _where(where)
        for key, kind in self._query(sql, values):
            if key not in COLUMNS:
                found.setdefault(key, sorts.get(kind, "enum"))
        return dict(sorted(found.items()))

    def rows(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """The rows by column, and with the fields of the configuration, in a fixed order."""
        sql = f"SELECT {', '.join(COLUMNS)} FROM run{_where(where)} ORDER BY {', '.join(_IDENTITY)}"
        sql += f" LIMIT {int(limit)}" if limit is not None else ""
        for cells in self._query(sql, values):
            row = dict(zip(COLUMNS, cells, strict=True))
            for name, sort in COLUMNS.items():
                if sort == "bool" and row[name] is not None:
                    row[name] = bool(row[name])
            yield {**json.loads(row["config"]), **row}

    def count(self, where: str = "", values: Sequence[Any] = ()) -> int:
        """How many rows there are."""
        return int(next(self._query(f"SELECT count(*) FROM run{_where(where)}", values))[0])

    def _query(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        try:
            with closing(self._db.cursor()) as cursor:
                yield from cursor.execute(sql, tuple(values))
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: {error}") from None


def _where(where: str) -> str:
    return f" WHERE {where}" if where else ""


def place_for(kernels: Sequence[Built], given: str | None) -> Path:
    """The database of a run: the one given, or the builds' own in the folder of all kernels."""
    if given is not None:
        return Path(given)
    folders = {k.folder for k in kernels}
    if len(folders) == 1:
        (folder,) = folders
        above = folder.parent / FILE
        return above if not (folder / FILE).exists() and above.exists() else folder / FILE
    parents = {f.parent for f in folders}
    return min(parents) / FILE


def check_columns(names: Sequence[str], known: Mapping[str, str]) -> None:
    """Raises `UnknownNameError` for a column that does not exist."""
    for name in names:
        if name not in known:
            raise unknown("column", name, known)
