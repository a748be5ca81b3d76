"""Tables on disk: of the results database, which builds and runs share, and of verdicts.

Written ahead (WAL), so that several writers and readers can use it at once; a row is stored the
moment it is there, so that an interruption loses none.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, ClassVar, Self

from ckrules.compiling.reading import ReadOnlyConnection
from ckrules.support import opening
from ckrules.support.errors import CkrulesError

FILE = "ckrules-results.sqlite"
"""The database's name in a folder of kernels."""

_VERSION = 1
_TABLES = ("build", "run", "verdict", "trial", "figures", "timing")
"""The tables that files of ckrules have, each of a subclass."""
_OBJECTS = """
    SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
"""
_PATIENCE = 60
"""Seconds to wait for others that write."""
_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the second where a damaged file gives its message bytes of no text."""
_BARE = ("disk I/O error", "unable to open database file")
_LEAST = 1 << 16
"""Bytes that have to be free on a disk: SQLite maps an index of 32 KB beside the file."""
_TYPES = {"enum": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}
_SORTS = {"str": "enum", "int": "int", "float": "real", "bool": "bool"}


def sorts(kind: type[Any]) -> dict[str, str]:
    """A column for every field of a dataclass, of the sort that its annotation begins with."""
    return {f.name: _SORTS[str(f.type).split(" ")[0]] for f in fields(kind)}


class ResultsError(CkrulesError, OSError):
    """The results database cannot be opened, read or written; the message says where and why."""


class DatabaseTable:
    """One table of an SQLite file; use it as a context manager. Threads may store at once.

    A subclass says which. Columns that an older version of ckrules did not have are added to its
    file and are empty in its rows.

    Args:
        path: The file; it is made if it does not exist, unless it is only read.
        reading: Whether it is only read: then neither it nor its folder is changed.

    Raises:
        ResultsError: If it cannot be opened, is somebody else's or comes from a later version.
    """

    NAME: ClassVar[str]
    COLUMNS: ClassVar[Mapping[str, str]]
    """Name and sort (enum, int, real, bool) of every column."""
    IDENTITY: ClassVar[tuple[str, ...]]
    """The columns that tell rows apart, and by which they are ordered."""
    EARLIER: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """What `IDENTITY` was in earlier versions."""
    FAILED: ClassVar[str]
    """The condition of rows that did not end well."""

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        self.path = path
        self._lock = Lock()  # one connection for all threads
        self._reader: ReadOnlyConnection | None = None
        if reading and not os.path.lexists(path):
            raise ResultsError(f"{path}: there are no results")
        try:
            self._db = self._to_read() if reading else self._to_write()
        except (*_FAULTS, OSError) as error:
            raise self.cannot_open(path, error) from None
        try:
            version = self._version()
            if reading:
                self._view()
            else:
                self._begin_log()
                self._upgrade(version)
        except _FAULTS as error:
            self._close()
            raise self.cannot_open(path, error) from None
        except ResultsError:
            self._close()
            raise

    def _to_read(self) -> sqlite3.Connection:
        self._reader = ReadOnlyConnection(self.path)
        return self._reader.connection

    def _to_write(self) -> sqlite3.Connection:
        if os.path.lexists(self.path):
            opening.binary(self.path).close()  # no pipe, device or folder
        # Autocommit: every statement is a transaction of its own.
        return sqlite3.connect(
            self.path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None
        )

    def _begin_log(self) -> None:
        """Lets others read while this one writes.

        SQLite does not wait here for one that is writing, another process that makes the file.
        """
        end = monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
                sleep(0.01)

    def _close(self) -> None:
        self._db.close()
        if self._reader is not None:
            self._reader.close()

    @staticmethod
    def cannot_open(path: Path, error: Exception) -> ResultsError:
        """The error for a file that cannot be opened or made."""
        return ResultsError(f"{path}: cannot open the results: {said(path, error)}")

    def _version(self) -> int:
        """The version of the file's tables, 0 if there are none; `ResultsError` for others'."""
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            raise ResultsError(f"{self.path}: written by a later version of ckrules")
        kinds = dict(self._db.execute(_OBJECTS))
        strange = any(name not in _TABLES or kind != "table" for name, kind in kinds.items())
        absent = self._reader is not None and not kinds
        if (
            strange
            or absent
            or (kinds and not version and self.NAME not in kinds)
            or (self.NAME in kinds and self._identity() not in (self.IDENTITY, *self.EARLIER))
        ):
            raise ResultsError(f"{self.path}: not a results database of ckrules")
        return version

    def _identity(self) -> tuple[str, ...]:
        """The columns that tell rows apart in the file."""
        own = [row for row in self._db.execute(f"PRAGMA table_info({self.NAME})") if row[5]]
        return tuple(row[1] for row in sorted(own, key=lambda row: row[5]))

    def _view(self) -> None:
        """Has an older table read like one of this version, without touching it."""
        absent = self._lacking()
        every = [f"NULL AS {name}" if name in absent else name for name in self.COLUMNS]
        there = len(absent) < len(self.COLUMNS)
        rows = f"SELECT {', '.join(every)} " + (f"FROM main.{self.NAME}" if there else "WHERE 0")
        cells = ", ".join(map(self._cell, self.COLUMNS))
        self._db.execute(f"CREATE TEMP VIEW {self.NAME} AS SELECT {cells} FROM ({rows})")

    def _cell(self, name: str) -> str:
        """How a column is read that older rows may lack."""
        return name

    def _upgrade(self, version: int) -> None:
        """Makes the table, or gives that of an older version the columns that it lacks."""
        if version == _VERSION and not self._lacking():
            return
        types = {name: _TYPES[sort] for name, sort in self.COLUMNS.items()}
        columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
        key = f"PRIMARY KEY ({', '.join(self.IDENTITY)})"
        before = f"{self.NAME}_before"
        self._db.execute("BEGIN IMMEDIATE")  # others may be about to do the same
        moved = self._identity() in self.EARLIER
        if moved:  # SQLite cannot change a key
            self._db.execute(f"ALTER TABLE {self.NAME} RENAME TO {before}")
        self._db.execute(f"CREATE TABLE IF NOT EXISTS {self.NAME} ({columns}, {key}) STRICT")
        for name in self._lacking():
            self._db.execute(f"ALTER TABLE {self.NAME} ADD COLUMN {name} {types[name]}")
        if moved:
            old = [row[1] for row in self._db.execute(f"PRAGMA table_info({before})")]
            cells = {name: name for name in old if name in self.COLUMNS}
            cells |= {name: "''" for name in self.IDENTITY if name not in cells}
            into, values = ", ".join(cells), ", ".join(cells.values())
            self._db.execute(f"INSERT INTO {self.NAME} ({into}) SELECT {values} FROM {before}")
            self._db.execute(f"DROP TABLE {before}")
        self._db.execute(f"PRAGMA user_version={_VERSION}")
        self._db.execute("COMMIT")

    def _lacking(self) -> list[str]:
        there = {row[1] for row in self._db.execute(f"PRAGMA main.table_info({self.NAME})")}
        return [name for name in self.COLUMNS if name not in there]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def store(self, row: Mapping[str, Any]) -> None:
        """Stores a row at once, in the place of an older one of the same identity.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        marks = ", ".join("?" * len(self.COLUMNS))
        sql = f"INSERT OR REPLACE INTO {self.NAME} ({', '.join(self.COLUMNS)}) VALUES ({marks})"
        try:
            with self._lock:
                self._db.execute(sql, [row[name] for name in self.COLUMNS])
        except _FAULTS as error:
            why = said(self.path, error)
            raise ResultsError(f"{self.path}: cannot store a result: {why}") from None

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
        ((found,),) = self._query(sql, values)
        return int(found)

    def distinct(self, column: str) -> list[str]:
        """The values of a column, each once; empty cells do not count."""
        found = self._query(f"SELECT DISTINCT {column} FROM {self.NAME}")
        return [value for (value,) in found if value is not None]

    def columns(self, where: str = "", values: Sequence[Any] = ()) -> Mapping[str, str]:
        """Name and sort of every column that `records` with this condition have."""
        return self.COLUMNS

    def _query(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            with closing(self._db.cursor()) as cursor:
                yield from cursor.execute(sql, tuple(values))
        except _FAULTS as error:
            self._check_unchanged()
            raise ResultsError(f"{self.path}: {said(self.path, error)}") from None
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._reader is not None and self._reader.changed:
            raise ResultsError(f"{self.path}: was written to while it was read: ask again")


def said(path: Path, error: Exception) -> str:
    """What an error on a database says in one line, with the reason that SQLite leaves out."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="backslashreplace")
    text = str(getattr(error, "strerror", None) or error)
    if text not in _BARE:
        return text
    try:
        disk = os.statvfs(path.parent)
    except OSError as folder:
        return f"{text}: its folder: {folder.strerror}"
    if disk.f_bavail * disk.f_frsize < _LEAST:
        return f"{text}: the disk is full"
    if disk.f_flag & os.ST_RDONLY or not os.access(path.parent, os.W_OK):
        return f"{text}: its folder cannot be written to"
    name = getattr(error, "sqlite_errorname", "unknown")
    return f"{text} ({name}): is a disk, a quota or a limit on files reached?"


def condition(where: str) -> str:
    """The WHERE clause of a condition, which may be empty.

    >>> condition("a = 1"), condition("")
    (' WHERE a = 1', '')
    """
    return f" WHERE {where}" if where else ""


def of_folder(folder: Path) -> Path:
    """The database of a folder of kernels: its own, else that of the folder of several GPUs."""
    from ckrules.codegen.generate import MANIFEST

    own, above = folder / FILE, Path(os.path.abspath(folder)).parent / FILE
    shared = above.exists() and not above.with_name(MANIFEST).exists()
    return above if shared and not own.exists() else own


def find(place: str) -> Path:
    """The database that a folder of kernels or a path means."""
    path = Path(place)
    return of_folder(path) if path.is_dir() else path
