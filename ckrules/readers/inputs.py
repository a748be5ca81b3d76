"""Arguments of a command: a kernel's name, a file in any format, or ``-`` for standard input."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from ckrules.engine.errors import unknown
from ckrules.readers import formats as formats_package
from ckrules.readers.entries import Context, Entry, Place, Problem, entry_from_name
from ckrules.readers.source import Source, SourceError

_NAME = "grouped_conv_"


class Format(Protocol):
    """A module of `ckrules.readers.formats`."""

    TITLE: str
    SUFFIXES: tuple[str, ...]

    def sniff(self, head: list[str]) -> bool:
        """Whether the first lines of a text look like this format."""

    def read(self, source: Source, context: Context) -> Iterator[Entry | Problem]:
        """Every configuration of the source, in order."""


@cache
def formats() -> dict[str, Format]:
    """The formats by name, in the order in which their ``sniff`` is asked.

    >>> list(formats())
    ['jsonl', 'json', 'names']
    """
    names = [m.name for m in pkgutil.iter_modules(formats_package.__path__)]
    modules = {
        n.removesuffix("_file"): importlib.import_module(f"{formats_package.__name__}.{n}")
        for n in names
    }
    ordered = sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0]))
    return cast(dict[str, Format], dict(ordered))


def read_input(
    argument: str, context: Context, *, input_format: str | None = None, stdin_name: str = "-"
) -> Iterator[Entry | Problem]:
    """Every configuration that an argument names; what cannot be read is a `Problem`.

    Raises:
        UnknownNameError: For an unknown format.
    """
    if input_format is not None and input_format not in formats():
        raise unknown("input format", input_format, formats())
    if argument == "-":
        name = "<stdin>" if stdin_name == "-" else stdin_name
        yield from _read(name, sys.stdin.buffer, context, input_format)
        return
    if argument.startswith(_NAME) and not os.path.lexists(argument):
        place = Place(argument)
        yield entry_from_name(argument, context, place, lambda column: place)
        return
    try:
        path = Path(argument)
        if path.is_dir():
            yield Problem(Place(argument), "a folder, expected a file")
            return
        with path.open("rb") as stream:
            yield from _read(argument, stream, context, input_format)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        yield Problem(Place(argument), _unopened(argument, error))


def _unopened(argument: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"no such file, and no kernel name either (those begin with {_NAME})"
    return f"cannot read the file: {getattr(error, 'strerror', None) or error}"


def _read(
    name: str, stream: BinaryIO, context: Context, input_format: str | None
) -> Iterator[Entry | Problem]:
    try:
        buffered = stream if hasattr(stream, "peek") else BufferedReader(cast(RawIOBase, stream))
        source = Source(name, cast(BufferedReader, buffered))
        chosen = input_format or detect(name, source.head())
        yield from formats()[chosen].read(source, context)
    except SourceError as error:
        yield Problem(Place(name, error.line, error.column), error.message)


def detect(name: str, head: list[str]) -> str:
    """The format of a text: by its first lines, else by the suffix of its name.

    >>> detect("a.txt", ['{"variant": "forward"}', '{"variant": "bwd_data"}'])
    'jsonl'
    """
    suffix = os.path.splitext(name)[1].lower()
    named = next((n for n, f in formats().items() if suffix in f.SUFFIXES), None)
    found = next((n for n, f in formats().items() if f.sniff(head)), None)
    if named == "jsonl" and found == "json" and head[0].startswith("{"):
        return named  # its first line is faulty
    return found or named or "names"
