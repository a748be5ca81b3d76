"""Opening the files that somebody names: regular ones, and pipes that a shell hands over."""

from __future__ import annotations

import errno
import os
import re
import stat
from io import BufferedReader
from pathlib import Path

SMALL = 16 << 20
"""Bytes that a file of settings, facts or known findings may have."""

_PART = 1 << 24
#: The names that shells give to what they hand over: standard input and process substitution.
_HANDED = re.compile(r"/dev/stdin|(?:/dev|/proc/(?:self|\d+))/fd/\d+")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def binary(path: str | Path) -> BufferedReader:
    """The file, opened for reading as bytes without waiting for another process.

    A regular file is opened, and so are the null device and, under the names that a shell gives
    them (``/dev/stdin``, ``/dev/fd/63`` of ``<(command)``), a pipe or a terminal. Other pipes,
    sockets, devices and folders are refused: they could have no end, or nobody at theirs.

    Raises:
        OSError: If it cannot be opened or is none of these; ``strerror`` says what it is.
        ValueError: For a path with a NUL.
    """
    _refuse(path, os.stat(path))  # before opening, which may act on a device
    # Not waiting for a writer, should the file have become a pipe since.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _refuse(path, os.fstat(handle), handle)
        os.set_blocking(handle, True)
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read(path: str | Path, most: int = SMALL) -> bytes:
    """The content of a file that `binary` opens.

    Raises:
        OSError: As `binary`, and for more than ``most`` bytes, which are not read.
        ValueError: For a path with a NUL.

    >>> read("/dev/null")
    b''
    >>> read("/dev/zero")
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] a device, expected a file: '/dev/zero'
    """
    with binary(path) as stream:
        # By its size, since room is made for as many bytes as are asked for.
        parts = [stream.read(min(os.fstat(stream.fileno()).st_size, most) + 1)]
        while (size := sum(map(len, parts))) <= most and (part := stream.read(_PART)):
            parts.append(part)
    if size > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MB", str(path))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def own(path: str | Path) -> None:
    """Complains about what others made or may change, and about links, which are not followed.

    What is kept for later is checked against this before it is loaded or executed.

    Raises:
        OSError: If the file or folder is not this user's alone, or is not there.
    """
    found = os.lstat(path)
    others = stat.S_IWGRP | stat.S_IWOTH
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & others:
        raise PermissionError(errno.EPERM, "not this user's own", str(path))


def inside(folder: Path, name: str) -> Path:
    """The path of a name in a folder, which a link may not lead out of it.

    Raises:
        OSError: If it does.

    >>> inside(Path("/usr/lib"), "../bin/sh")
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] leads out of its folder: '/usr/lib/../bin/sh'
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise OSError(errno.EINVAL, "leads out of its folder", str(path))
    return path


def _refuse(path: str | Path, found: os.stat_result, handle: int | None = None) -> None:
    mode = found.st_mode
    null = stat.S_ISCHR(mode) and found.st_rdev == os.stat(os.devnull).st_rdev
    if stat.S_ISREG(mode) or null:
        return
    if _HANDED.fullmatch(os.path.abspath(path)):
        terminal = stat.S_ISCHR(mode) and (handle is None or os.isatty(handle))
        if stat.S_ISFIFO(mode) or terminal:
            return
    kind = next((what for test, what in _KINDS if test(mode)), "not a regular file")
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, f"{kind}, expected a file", str(path))
