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
from ckrules.readers.entries import Context, Entry, Place, Problem, Remark, entry_from_name
from ckrules.readers.source import Head, Source, SourceError
from ckrules.readers.suppressions import Suppressions

_NAME = "grouped_conv_"
Item = Entry | Problem | Remark


class Format(Protocol):
    """A module of `ckrules.readers.formats`."""

    TITLE: str
    SUFFIXES: tuple[str, ...]
    #: The sign that begins a comment, empty where the format has none.
    COMMENT: str

    def sniff(self, head: Head) -> bool:
        """Whether the first lines of a text look like this format."""

    def read(self, source: Source, context: Context) -> Iterator[Item]:
        """Every configuration of the source, in order."""


@cache
def formats() -> dict[str, Format]:
    """The formats by name, in the order in which their ``sniff`` is asked.

    >>> {"dispatcher", "conf", "macros", "json", "names"} <= set(formats())
    True
    """
    names = [m.name for m in pkgutil.iter_modules(formats_package.__path__)]
    modules = {
        n.removesuffix("_file"): importlib.import_module(f"{formats_package.__name__}.{n}")
        for n in names
    }
    ordered = sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0]))
    return cast(dict[str, Format], dict(ordered))


class Reading:
    """Everything that an argument holds: configurations, problems and remarks, one by one.

    ``suppressions`` grows while the items come and is whole afterwards.

    Raises:
        UnknownNameError: For an unknown format.
    """

    def __init__(
        self,
        argument: str,
        context: Context,
        *,
        input_format: str | None = None,
        stdin_name: str = "-",
        stdin: BinaryIO | None = None,
    ) -> None:
        if input_format is not None and input_format not in formats():
            raise unknown("input format", input_format, formats())
        self.argument, self.context, self.input_format = argument, context, input_format
        self.name = argument
        if argument == "-":
            self.name = "<stdin>" if stdin_name == "-" else stdin_name
        self._stdin = stdin
        self.is_name = argument.startswith(_NAME) and not os.path.lexists(argument)
        self.format = ""
        self.suppressions: Suppressions | None = None

    def __iter__(self) -> Iterator[Item]:
        if self.argument == "-":
            yield from self._read(self._stdin or sys.stdin.buffer)
            return
        if self.is_name:
            place = Place(self.argument)
            yield entry_from_name(self.argument, self.context, place, lambda column: place)
            return
        try:
            path = Path(self.argument)
            if path.is_dir():
                yield Problem(Place(self.argument), "a folder, expected a file")
                return
            with path.open("rb") as stream:
                yield from self._read(stream)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            yield Problem(Place(self.argument), _unopened(self.argument, error))

    def _read(self, stream: BinaryIO) -> Iterator[Item]:
        try:
            peeks = stream if hasattr(stream, "peek") else BufferedReader(cast(RawIOBase, stream))
            source = Source(self.name, cast(BufferedReader, peeks))
            self.format = self.input_format or detect(self.name, source.head())
            module = formats()[self.format]
            if module.COMMENT:
                source.comments(module.COMMENT)
            self.suppressions = source.suppressions
            yield from module.read(source, self.context)
        except SourceError as error:
            yield Problem(Place(self.name, error.line, error.column), error.message)


def read_input(
    argument: str, context: Context, *, input_format: str | None = None, stdin_name: str = "-"
) -> Iterator[Entry | Problem]:
    """Every configuration that an argument names; what cannot be read is a `Problem`.

    Raises:
        UnknownNameError: For an unknown format.
    """
    for item in Reading(argument, context, input_format=input_format, stdin_name=stdin_name):
        if not isinstance(item, Remark):
            yield item


def _unopened(argument: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"no such file, and no kernel name either (those begin with {_NAME})"
    return f"cannot read the file: {getattr(error, 'strerror', None) or error}"


def detect(name: str, head: Head) -> str:
    """The format of a text: by its first lines, else by the suffix of its name.

    >>> detect("a.txt", Head(['{"variant": "forward"}', '{"variant": "bwd_data"}']))
    'jsonl'
    """
    suffix = os.path.splitext(name)[1].lower()
    named = next((n for n, f in formats().items() if suffix in f.SUFFIXES), None)
    found = next((n for n, f in formats().items() if f.sniff(head)), None)
    if named == "jsonl" and found == "json" and head[0].startswith("{"):
        return named  # its first line is faulty
    return found or named or "names"
