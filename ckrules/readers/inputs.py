"""Arguments of a command: names, files, JSON objects, or ``-`` for standard input.

``FILE#/kernels/3`` is one configuration of a file, by the JSON pointer that reports show.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from ckrules.kernels.names import beginnings, prefixes
from ckrules.readers import formats as formats_package
from ckrules.readers.entries import Context, Entry, Place, Remark, UnreadableText, entry_from_name
from ckrules.readers.source import Head, SourceError, SourceFile
from ckrules.readers.suppressions import Suppressions
from ckrules.support import opening
from ckrules.support.errors import unknown
from ckrules.support.submodules import submodule, submodules

_YAML = (".yaml", ".yml")
#: What messages call standard input, and a JSON object that is an argument.
STDIN, INLINE = "<stdin>", "<argument>"
Item = Entry | UnreadableText | Remark
#: A line of a file, and a column of it, as reports have them.
_PLACE = re.compile(r":\d+(:\d+)?$", re.ASCII)
_ALONE = "the kernel's name, or a file with it alone"


class InputFormat(Protocol):
    """A module of `ckrules.readers.formats`."""

    SUFFIXES: tuple[str, ...]
    #: The sign that begins a comment, empty where the format has none.
    COMMENT: str
    #: Whether a comment has to stand on a line of its own.
    COMMENT_ALONE: bool
    #: Whether words stand in double quotes.
    QUOTED: bool

    def sniff(self, head: Head) -> bool:
        """Whether the first lines of a text look like this format."""

    def read(self, source: SourceFile, context: Context) -> Iterator[Item]:
        """Every configuration of the source, in order."""


@cache
def formats() -> dict[str, InputFormat]:
    """The formats by name, in the order in which their ``sniff`` is asked.

    >>> {"dispatcher", "conf", "macros", "json", "names"} <= set(formats())
    True
    """
    package = formats_package
    found = {name: submodule(package.__name__, name) for name in submodules(package.__path__)}
    return dict(sorted(found.items(), key=lambda item: (item[1].ORDER, item[0])))


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of a command, taken apart once: see `Input.of`.

    Args:
        name: What messages call it.
        path: Its file; empty for a kernel's name, a JSON object and standard input.
        pointer: The JSON pointer of the part that is meant; empty for all.
        text: What it holds, where that is known without reading a file.
        folder: The folder whose settings hold for it.
    """

    argument: str
    name: str
    path: str = ""
    pointer: str = ""
    text: bytes | None = None
    folder: Path = Path(".")

    @classmethod
    def of(cls, argument: str, stdin_name: str = "-", stdin: bytes | None = None) -> Input:
        """The parts of an argument.

        Args:
            argument: A name, a file, ``FILE#/pointer``, a JSON object or ``-``.
            stdin_name: What messages call standard input.
            stdin: Standard input, where it was read before.

        >>> found = Input.of("some/no-such-file.json#/kernels/3")
        >>> found.path, found.pointer
        ('some/no-such-file.json', '/kernels/3')
        """
        if argument == "-":
            known = stdin_name != "-"
            folder = os.path.dirname(stdin_name) if known else ""
            inside = Path("." if "\0" in folder else folder or ".")
            return cls("-", stdin_name if known else STDIN, text=stdin, folder=inside)
        if os.path.lexists(argument):
            return cls(argument, argument, argument, folder=_folder(argument))
        if argument.lstrip().startswith("{"):
            return cls(argument, INLINE, text=argument.encode(errors="replace"))
        path, sign, pointer = argument.partition("#/")
        if argument.startswith(beginnings()) and not (sign and os.path.lexists(path)):
            return cls(argument, argument)
        return cls(argument, path, path, f"/{pointer}" if sign else "", None, _folder(path))

    @property
    def is_file(self) -> bool:
        """Whether it names a file, which need not exist."""
        return bool(self.path)

    @property
    def is_inline(self) -> bool:
        """Whether it is itself a JSON object."""
        return self.name == INLINE and not self.path


def _folder(path: str) -> Path:
    """The folder of a file that there is; else that of this process."""
    return Path(os.path.dirname(path) or ".") if os.path.lexists(path) else Path(".")


class InputReading:
    """Everything that an argument holds: configurations, problems and remarks, one by one.

    ``suppressions`` grows while the items come and is whole afterwards.

    Raises:
        UnknownNameError: For an unknown format.
    """

    def __init__(
        self, given: Input | str, context: Context, *, input_format: str | None = None
    ) -> None:
        if input_format is not None and input_format not in formats():
            raise unknown("input format", input_format, formats())
        self.input = Input.of(given) if isinstance(given, str) else given
        self.context, self.input_format = context, input_format
        self.name, self.path, self.pointer = self.input.name, self.input.path, self.input.pointer
        self.format = ""
        self.suppressions: Suppressions | None = None

    def __iter__(self) -> Iterator[Item]:
        return self._part() if self.pointer else self._whole()

    def _part(self) -> Iterator[Item]:
        """The configuration that the pointer leads to, or several below it."""
        seen: list[str] = []
        found = False
        for item in self._whole():
            pointer = None if isinstance(item, Remark) else item.pointer
            if pointer is None:
                if isinstance(item, UnreadableText) and not found:
                    yield item
                    return
                continue
            if f"{pointer}/".startswith(f"{self.pointer}/"):
                found = True
                yield item
            elif not found:
                seen = [*seen[:1], pointer]
        if not found:
            known = " to ".join(dict.fromkeys(seen))
            tail = f": its configurations are {known}" if known else ""
            if not known and self.format not in ("json", "toml", "dispatcher", "registry"):
                tail = f": those of {self.format} have no pointers: give {_ALONE}"
            yield UnreadableText(Place(self.name), f"no configuration {self.pointer}{tail}")

    def _whole(self) -> Iterator[Item]:
        argument = self.input.argument
        if not argument:  # as of a variable of the shell that is not set
            yield UnreadableText(
                Place("''"), "an empty argument, expected a file or a kernel's name"
            )
            return
        if self.input.text is not None or argument == "-":
            text = self.input.text
            yield from self._read(sys.stdin.buffer if text is None else BytesIO(text))
            return
        if not self.path:
            yield entry_from_name(argument, self.context, Place(argument))
            return
        try:
            if Path(self.path).is_dir():
                unread = not os.access(self.path, os.R_OK | os.X_OK)
                what = "cannot read the folder: permission denied"
                yield UnreadableText(
                    Place(self.path), what if unread else "a folder, expected a file"
                )
                return
            with opening.binary(self.path) as stream:
                yield from self._read(stream)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            yield UnreadableText(Place(self.path), _unopened(error, self.path))

    def _read(self, stream: BinaryIO) -> Iterator[Item]:
        try:
            peeks = stream if hasattr(stream, "peek") else BufferedReader(cast(RawIOBase, stream))
            source = SourceFile(self.name, cast(BufferedReader, peeks))
            self.format = self.input_format or detect(self.name, source.head())
            module = formats()[self.format]
            if source.empty and not self._may_be_empty(module):
                raise SourceError("empty: there is no configuration in it")
            if module.COMMENT:
                source.comments(module.COMMENT)
            self.suppressions = source.suppressions
            yield from module.read(source, self.context)
        except SourceError as error:
            yield UnreadableText(Place(self.name, error.line, error.column), error.message)

    def _may_be_empty(self, module: InputFormat) -> bool:
        """Whether no byte is a list without kernels, of a file with the format's suffix."""
        named = os.path.splitext(self.name)[1].lower() in module.SUFFIXES
        return named and (bool(module.COMMENT) or self.format == "jsonl")


def read_input(
    argument: str, context: Context, *, input_format: str | None = None
) -> Iterator[Entry | UnreadableText]:
    """Every configuration that an argument names; what cannot be read is a `UnreadableText`.

    Raises:
        UnknownNameError: For an unknown format.
    """
    for item in InputReading(argument, context, input_format=input_format):
        if not isinstance(item, Remark):
            yield item


def _unopened(error: OSError | ValueError, path: str) -> str:
    if isinstance(error, FileNotFoundError):
        if os.path.isfile(_PLACE.sub("", path)):
            return f"a line of a file, expected a file: for one configuration give {_ALONE}"
        return (
            f"no such file, and no kernel name either (those begin with {' or '.join(prefixes())})"
        )
    return f"cannot read the file: {getattr(error, 'strerror', None) or error}"


def detect(name: str, head: Head) -> str:
    """The format of a text: by its first lines, else by the suffix of its name.

    Raises:
        SourceError: For YAML.

    >>> detect("a.txt", Head(['{"variant": "forward"}', '{"variant": "bwd_data"}']))
    'jsonl'
    """
    suffix = os.path.splitext(name)[1].lower()
    named = next((n for n, f in formats().items() if suffix in f.SUFFIXES), None)
    found = next((n for n, f in formats().items() if f.sniff(head)), None)
    if named == "jsonl" and found == "json" and head[0].startswith("{"):
        return named  # its first line is faulty
    if named == "toml" and found == "json" and head[0].startswith("["):
        return named  # a header in quotes
    if found is None and suffix in _YAML:
        raise SourceError("YAML is not read: write the configurations as JSON, TOML or CSV")
    return found or named or "names"
