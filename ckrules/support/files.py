"""Files that are replaced as a whole or left as they were."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(
    path: Path, *, text: bool = False, folder: Path | None = None, mode: int | None = None
) -> Iterator[IO[Any]]:
    """A stream whose content takes the file's place when the block ends without an error.

    It goes to another name first, which only this call can have made, so that an interruption
    leaves the old file or the new one and concurrent writers cannot mix.

    Args:
        path: The file; a link would be replaced, and not what it names.
        text: Whether the stream takes text, written as UTF-8 without changes to line ends.
        folder: Where the temporary file is, on the same file system; None: beside the file.
        mode: The file's permissions; None: those of the old file, if there is one.

    Raises:
        OSError: If the file cannot be written.
    """
    if path.exists() and not path.is_file():  # a rename would put a file in a device's place
        kind = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(kind, "a folder or device, expected a file", str(path))
    # Short, so that a name at the file system's limit still has a temporary one.
    part = (folder or path.parent) / f".{os.urandom(6).hex()}.part"
    how: dict[str, Any] = {"mode": "xb"}
    if text:
        how = {"mode": "x", "encoding": "utf-8", "newline": ""}
    stream = open(part, **how)  # noqa: SIM115 - closed below, before the rename
    try:
        with stream:
            yield stream
        if mode is None and path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
        if mode is not None:
            part.chmod(mode)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def replace(
    path: Path, data: str | bytes, *, folder: Path | None = None, mode: int | None = None
) -> None:
    """Writes a file as a whole; the arguments are those of `replacing`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     replace(Path(name, "a"), "new")
    ...     holds(Path(name, "a"), b"new"), holds(Path(name, "a"), b"old")
    (True, False)
    """
    with (
        _named(path),
        replacing(path, text=isinstance(data, str), folder=folder, mode=mode) as stream,
    ):
        stream.write(data)


def put(path: Path, text: str) -> None:
    """Writes a file of a scratch folder; an error names it, also where the disk is full.

    Raises:
        OSError: If it cannot be written.

    >>> put(Path("/dev/full"), "text")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: '/dev/full'
    """
    with _named(path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Has an error name the file: one of a write that finds the disk full does not."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


_HELD = threading.local()
"""The folders that the thread is `alone` in."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process or thread is in this block for the folder.

    It is for files that are read, changed and written back; blocks of a thread may be nested. The
    lock is the folder's own, goes with the process that holds it, and leaves nothing behind. Where
    the system or the file system has no such locks, nothing is waited for.

    Raises:
        OSError: If there is no such folder.
    """
    try:
        import fcntl  # which not every system has
    except ImportError:
        yield
        return
    held: set[tuple[int, int]] = _HELD.__dict__.setdefault("folders", set())
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = os.fstat(lock)
        key = found.st_dev, found.st_ino
        if key in held:
            yield
            return
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        held.add(key)
        try:
            yield
        finally:
            held.remove(key)
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_UN)  # a child that was forked meanwhile has it, too
    finally:
        os.close(lock)


def holds(path: Path, data: bytes) -> bool:
    """Whether the file is there and holds exactly this."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False
