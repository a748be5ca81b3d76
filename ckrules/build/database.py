"""Tables of the results database: one SQLite file that builds and runs share.

Written ahead (WAL), so that several writers and readers can use it at once; a row is stored the
moment it is there, so that an interruption loses none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Self

from ckrules.engine.errors import CkrulesError

FILE = "ckrules-results.sqlite"
"""The database's name in a folder of kernels."""

_VERSION = 1
_TYPES = {"enum": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}


class ResultsError(CkrulesError, OSError):
    """The results database cannot be opened, read or written; the message says where and why."""


class Table:
    """One table of a results database; use it as a context manager.

    A subclass says which. Columns that an older version of ckrules did not have are added to its
    file and are empty in its rows.

    Args:
        path: The file; it is made if it does not exist, unless ``must_exist``.

    Raises:
        ResultsError: If it cannot be opened, is no results database or comes from a later version.
    """

    NAME: ClassVar[str]
    COLUMNS: ClassVar[Mapping[str, str]]
    """Name and sort (enum, int, real, bool) of every column."""
    IDENTITY: ClassVar[tuple[str, ...]]
    """The columns that tell rows apart, and by which they are ordered."""
    FAILED: ClassVar[str]
    """The condition of rows that did not end well."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        if must_exist and not path.is_file():
            raise ResultsError(f"{path}: there are no results")
        try:
            # Autocommit: every statement is a transaction of its own.
            self._db = sqlite3.connect(
                path, timeout=60, check_same_thread=False, isolation_level=None
            )
        except sqlite3.Error as error:
            raise self._cannot_open(error) from None
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._upgrade()
        except sqlite3.Error as error:
            self._db.close()
            raise self._cannot_open(error) from None
        except ResultsError:
            self._db.close()
            raise

    def _cannot_open(self, error: Exception) -> ResultsError:
        return ResultsError(f"{self.path}: cannot open the results: {error}")

    def _upgrade(self) -> None:
        """Makes the table, or gives that of an older version the columns that it lacks."""
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            raise ResultsError(f"{self.path}: written by a later version of ckrules")
        if version == _VERSION and not self._lacking():
            return
        types = {name: _TYPES[sort] for name, sort in self.COLUMNS.items()}
        columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
        key = f"PRIMARY KEY ({', '.join(self.IDENTITY)})"
        self._db.execute("BEGIN IMMEDIATE")  # others may be about to do the same
        self._db.execute(f"CREATE TABLE IF NOT EXISTS {self.NAME} ({columns}, {key}) STRICT")
        for name in self._lacking():
            self._db.execute(f"ALTER TABLE {self.NAME} ADD COLUMN {name} {types[name]}")
        self._db.execute(f"PRAGMA user_version={_VERSION}")
        self._db.execute("COMMIT")

    def _lacking(self) -> list[str]:
        there = {row[1] for row in self._db.execute(f"PRAGMA table_info({self.NAME})")}
        return [name for name in self.COLUMNS if name not in there]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def store(self, row: Mapping[str, Any]) -> None:
        """Stores a row at once, in the place of an older one of the same identity.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        marks = ", ".join("?" * len(self.COLUMNS))
        sql = f"INSERT OR REPLACE INTO {self.NAME} ({', '.join(self.COLUMNS)}) VALUES ({marks})"
        try:
            self._db.execute(sql, [row[name] for name in self.COLUMNS])
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: cannot store a result: {error}") from None

    def records(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows by column, in the order of their identity.

        Args:
            where: An SQL condition over the columns, with ``?`` for each of ``values``.
            values: What the condition's marks stand for.
            limit: At most so many.
        """
        sql = f"SELECT {', '.join(self.COLUMNS)} FROM {self.NAME}{condition(where)}"
        sql += f" ORDER BY {', '.join(self.IDENTITY)}"
        sql += f" LIMIT {int(limit)}" if limit is not None else ""
        flags = [name for name, sort in self.COLUMNS.items() if sort == "bool"]
        for cells in self._query(sql, values):
            row = dict(zip(self.COLUMNS, cells, strict=True))
            row.update((name, bool(row[name])) for name in flags if row[name] is not None)
            yield row

    def count(self, where: str = "", values: Sequence[Any] = ()) -> int:
        """How many rows there are."""
        sql = f"SELECT count(*) FROM {self.NAME}{condition(where)}"
        return int(next(self._query(sql, values))[0])

    def columns(self, where: str = "", values: Sequence[Any] = ()) -> Mapping[str, str]:
        """Name and sort of every column that `records` with this condition have."""
        return self.COLUMNS

    def _query(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            with closing(self._db.cursor()) as cursor:
                yield from cursor.execute(sql, tuple(values))
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: {error}") from None


def condition(where: str) -> str:
    """The WHERE clause of a condition, which may be empty.

    >>> condition("a = 1"), condition("")
    (' WHERE a = 1', '')
    """
    return f" WHERE {where}" if where else ""


def find(place: str) -> Path:
    """The database that a folder of kernels or a path means."""
    path = Path(place)
    return path / FILE if path.is_dir() else path
