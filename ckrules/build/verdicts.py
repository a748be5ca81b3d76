"""A store of compiler verdicts on disk, so that no configuration is compiled twice.

One SQLite file, safe for several processes; a row is keyed by everything that the verdict depends
on: the probe's source, the flags, the compiler's version and the headers.
"""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from threading import Lock

from ckrules.build.oracle import Verdict, flags
from ckrules.build.toolchain import Toolchain
from ckrules.engine.errors import CkrulesError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS verdict (
    key TEXT PRIMARY KEY,
    ok INTEGER NOT NULL,
    error TEXT,
    seconds REAL NOT NULL
) STRICT
"""


class StoreError(CkrulesError, OSError):
    """The verdict store cannot be opened or written; the message says where and why."""


class VerdictStore:
    """Verdicts by key; use it as a context manager.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as d, VerdictStore(Path(d) / "v.sqlite") as store:
    ...     store.put("k", Verdict(True, None, 1.5))
    ...     store.get("k")
    Verdict(ok=True, error=None, seconds=1.5)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()  # one connection for all threads
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(_SCHEMA)
            self._db.commit()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot open the verdict store: {error}") from None

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def get(self, key: str) -> Verdict | None:
        """The stored verdict, or None."""
        with self._lock, closing(self._db.cursor()) as cursor:
            row = cursor.execute(
                "SELECT ok, error, seconds FROM verdict WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else Verdict(bool(row[0]), row[1], row[2])

    def put(self, key: str, verdict: Verdict) -> None:
        """Stores a verdict at once, so that an interrupted run loses none."""
        with self._lock, self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?)",
                (key, int(verdict.ok), verdict.error, verdict.seconds),
            )


@lru_cache(maxsize=8)
def compiler_version(compiler: Path) -> str:
    """The first line that the compiler prints of itself."""
    done = subprocess.run(
        [str(compiler), "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return (done.stdout or done.stderr).splitlines()[0] if done.stdout or done.stderr else "?"


def verdict_key(source: str, arch: str, tools: Toolchain) -> str:
    """What a verdict depends on, as one hash."""
    parts = [source, compiler_version(tools.compiler), tools.ck, *flags(tools, arch)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
