"""SQLite files that are only read: nothing is written to them, and nothing in them is called."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ckrules.support import opening


class ReadOnlyConnection:
    """A connection that only reads. Close it.

    A file that nobody has open is read as it is, and `changed` says whether somebody wrote to it
    meanwhile. Where a writer's log (``-wal``) lies beside it, the log is read as well: together
    with the writer, or, in a folder that cannot be written to, as a copy.

    Raises:
        OSError: If it is not a regular file.
        sqlite3.Error: If it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        self._before: tuple[int, int] | None = None
        with opening.binary(path) as file:
            found = os.fstat(file.fileno())
        self._path = path.resolve()
        log = self._path.with_name(f"{self._path.name}-wal")
        try:
            if log.is_file() and log.stat().st_size:
                self.connection = self._beside_a_writer(log)
            else:
                self._before = found.st_mtime_ns, found.st_size
                self.connection = self._connected(self._path, "&immutable=1")
        except BaseException:
            self._stack.close()
            raise

    def _beside_a_writer(self, log: Path) -> sqlite3.Connection:
        try:
            connection = self._connected(self._path)
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
            return connection
        except sqlite3.OperationalError:
            if os.access(self._path.parent, os.W_OK):
                raise
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="ckrules-")))
        for file in (self._path, log):
            shutil.copyfile(file, folder / file.name)
        return self._connected(folder / self._path.name)

    def _connected(self, path: Path, more: str = "") -> sqlite3.Connection:
        connection: Any = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro{more}",
            uri=True,
            timeout=60,
            check_same_thread=False,
            isolation_level=None,
        )
        self._stack.callback(connection.close)
        connection.execute("PRAGMA trusted_schema=OFF")  # its views and defaults call nothing
        made: sqlite3.Connection = connection
        return made

    @property
    def changed(self) -> bool:
        """Whether the file was written to while it was read as one that nobody has open."""
        found = os.stat(self._path)
        return self._before not in (None, (found.st_mtime_ns, found.st_size))

    def close(self) -> None:
        """Closes the connection and removes a copy."""
        self._stack.close()
