"""Where a command writes: standard output, or a file that is replaced only when it is complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ckrules.support import files
from ckrules.support.errors import UsageError

_STANDARD = ("-", "/dev/stdout", "/dev/fd/1")


@contextmanager
def text_output(path: str | None) -> Iterator[IO[str]]:
    """A stream for text: standard output, or the file at ``path``.

    The file is written under another name beside it and renamed at the end, so a fault or an
    interruption leaves the old file as it was.

    Raises:
        UsageError: If the file cannot be written.
    """
    if path is None or path in _STANDARD:
        yield sys.stdout
    else:
        with _replacing(path, text=True) as stream:
            yield stream


@contextmanager
def binary_output(path: str | None) -> Iterator[IO[bytes]]:
    """A stream for bytes: standard output unless that is a terminal, or the file at ``path``.

    Raises:
        UsageError: For a terminal, or if the file cannot be written.
    """
    if path is None or path in _STANDARD:
        if sys.stdout.isatty():
            raise UsageError("binary output needs -o FILE, not a terminal")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with _replacing(path, text=False) as stream:
            yield stream


@contextmanager
def _replacing(path: str, *, text: bool) -> Iterator[IO[Any]]:
    if not path:
        raise UsageError("-o: an empty name, expected a file")
    how: dict[str, Any]
    # Asked of the path itself: what a shell hands over (>(gzip)) is no file under its real name.
    if os.path.exists(path) and not os.path.isfile(path):
        if os.path.isdir(path):
            raise UsageError(f"{path}: a folder, expected a file")
        how = {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
        with open(path, **how) as stream:  # a device or a pipe cannot be renamed over
            yield stream
        return
    target = Path(os.path.realpath(path))
    try:
        with files.replacing(target, text=text) as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None
