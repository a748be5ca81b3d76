"""Temporary folders that a killed process leaves until the next one makes one of its own."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path

_PREFIX = "ckrules-work-"
_LOCK = ".ckrules-lock"
"""The file in a folder that its process has locked: the folder's own lock is `files.alone`'s."""
_YOUNG = 60.0
"""Seconds that pass at the most between making a folder and locking it."""


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder, removed as its base class removes it.

    It is locked as long as its process lives: folders of processes that were killed have no lock
    any more, and the first one that a process makes removes them. Where the system has no such
    locks, they stay.

    Args:
        home: The folder in which to make it; None: the system's own.

    >>> with ScratchFolder() as name:
    ...     os.path.isdir(name)
    True
    """

    def __init__(self, home: Path | None = None) -> None:
        if home is None and os.name == "posix":
            _sweep()
        super().__init__(prefix=_PREFIX, dir=home)
        if (lock := _locked(self.name)) is not None:
            weakref.finalize(self, os.close, lock)


def _locked(name: str) -> int | None:
    """The lock of a folder, which goes with its descriptor; None if another has it."""
    try:
        import fcntl  # which not every system has
    except ImportError:
        return None
    file = os.path.join(name, _LOCK)
    lock = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


@cache
def _sweep() -> None:
    """Removes the user's folders that nobody has locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # removed by another process, or another user's
            found = path.lstat()
            mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if not mine or time.time() - found.st_mtime < _YOUNG:
                continue
            if (lock := _locked(str(path))) is not None:
                try:
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(lock)
