"""The results database: one row for each artifact that was built or failed, in one SQLite file.

Written ahead (WAL), so that several builds and readers can use it at once; a row is stored the
moment a result is there, so that an interrupted build loses none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from ckrules.engine.errors import CkrulesError, unknown

FILE = "ckrules-results.sqlite"
"""The database's name in a folder of kernels."""

_VERSION = 1
_SORTS = {"str": "enum", "int": "int", "float": "real", "bool": "bool"}
_TYPES = {"enum": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}


class ResultsError(CkrulesError, OSError):
    """The results database cannot be opened, read or written; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row: what was built with what, and what came out. Columns that do not apply are None."""

    name: str
    arch: str
    artifact: str
    ck: str
    rules: str
    legal: bool
    status: str
    """``ok`` or ``failed``."""
    error_class: str | None
    diagnostic: str | None
    finding: str | None
    """Where compiler and rule book disagree: what about."""
    seconds: float
    peak_mb: int | None
    lds_bytes: int | None
    predicted_lds_bytes: int | None
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    scratch_bytes: int | None
    kernarg_bytes: int | None
    entries: int | None
    tool: str
    tool_version: str
    flags: str
    command: str
    """What reproduces the result, for a shell."""
    config: str
    finished: float
    """Seconds since 1970."""
    key: str
    """A hash of everything that the result depends on."""


def _sort(annotation: Any) -> str:
    return _SORTS[str(annotation).split(" ")[0]]


COLUMNS: dict[str, str] = {f.name: _sort(f.type) for f in fields(Result)}
"""Name and sort of every column."""

_IDENTITY = ("name", "arch", "artifact", "ck")


class Results:
    """The rows of one database; use it as a context manager.

    Args:
        path: The file; it is made if it does not exist, unless ``must_exist``.

    Raises:
        ResultsError: If it cannot be opened or is no results database.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        if must_exist and not path.is_file():
            raise ResultsError(f"{path}: there are no results")
        try:
            # Autocommit: every statement is a transaction of its own.
            self._db = sqlite3.connect(
                path, timeout=60, check_same_thread=False, isolation_level=None
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise ResultsError(f"{path}: cannot open the results: {error}") from None

    def _migrate(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            raise ResultsError(f"{self.path}: written by a later version of ckrules")
        columns = ", ".join(f"{name} {_TYPES[sort]}" for name, sort in COLUMNS.items())
        identity = ", ".join(_IDENTITY)
        self._db.execute(
            f"CREATE TABLE IF NOT EXISTS build ({columns}, PRIMARY KEY ({identity})) STRICT"
        )
        if version != _VERSION:
            self._db.execute(f"PRAGMA user_version={_VERSION}")

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def put(self, result: Result) -> None:
        """Stores a row at once, in the place of an older one for the same artifact.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        marks = ", ".join("?" * len(COLUMNS))
        try:
            self._db.execute(f"INSERT OR REPLACE INTO build VALUES ({marks})", astuple(result))
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: cannot store a result: {error}") from None

    def keys(self) -> dict[tuple[str, str, str, str], tuple[str, str, str | None]]:
        """Key, status and error class of every row, by name, GPU, artifact and release."""
        with closing(self._db.cursor()) as cursor:
            rows = cursor.execute(
                "SELECT name, arch, artifact, ck, key, status, error_class FROM build"
            )
            return {tuple(row[:4]): tuple(row[4:]) for row in rows}

    def rows(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[Result]:
        """The rows in the order of name, GPU and artifact.

        Args:
            where: An SQL condition over the columns, with ``?`` for each of ``values``.
            values: What the condition's marks stand for.
            limit: At most so many.
        """
        sql = f"SELECT {', '.join(COLUMNS)} FROM build"
        sql += f" WHERE {where}" if where else ""
        sql += " ORDER BY name, arch, artifact, ck"
        sql += f" LIMIT {int(limit)}" if limit is not None else ""
        flags = [i for i, sort in enumerate(COLUMNS.values()) if sort == "bool"]
        try:
            for row in self._db.execute(sql, tuple(values)):
                cells = list(row)
                for i in flags:
                    cells[i] = bool(cells[i])
                yield Result(*cells)
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: {error}") from None

    def count(self, where: str = "", values: Sequence[Any] = ()) -> int:
        """How many rows there are."""
        sql = "SELECT count(*) FROM build" + (f" WHERE {where}" if where else "")
        return int(self._db.execute(sql, tuple(values)).fetchone()[0])


def find(place: str) -> Path:
    """The database that a folder of kernels or a path means."""
    path = Path(place)
    return path / FILE if path.is_dir() else path


def check_columns(names: Sequence[str]) -> None:
    """Raises `UnknownNameError` for a column that does not exist."""
    for name in names:
        if name not in COLUMNS:
            raise unknown("column", name, COLUMNS)
