"""Files that are replaced as a whole or left as they were."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process or thread is in this block for the folder.

    It is for files that are read, changed and written back. The lock is the folder's own, goes
    with the process that holds it, and leaves nothing behind.

    Raises:
        OSError: If there is no such folder, or it cannot be locked.
    """
    import fcntl  # which not every system has

    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def holds(path: Path, data: bytes) -> bool:
    """Whether the file is there and holds exactly this."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False
