"""The run of ``ckrules check``: files found, read with their settings and checked one by one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ckrules.checking.diagnostics import of_finding
from ckrules.checking.file_check import CheckContext, FileCheck
from ckrules.checking.patterns import below, matches
from ckrules.checking.settings import SettingsResolver
from ckrules.checking.verdict import ItemVerdict
from ckrules.readers import Edit, Place, Reading, Remark, formats
from ckrules.readers.inputs import split_pointer
from ckrules.readers.source import Source, SourceError
from ckrules.support import opening

if TYPE_CHECKING:
    from ckrules.checking.baseline import Baseline


class Checker:
    """Judges everything that arguments name.

    Args:
        resolver: Where settings come from.
        input_format: The format of every file, instead of the one it looks like.
        stdin_name: What messages call standard input.
        stdin: Standard input, where its text was read before.
        resources: Whether verdicts carry derived quantities.
        force_exclude: Whether files that are named also obey ``exclude``.
        problem: The problem that kernels are asked about, as text.
        only: Variant, dtype and layout of the kernels of files of ranges, where they are asked for.
    """

    def __init__(
        self,
        resolver: SettingsResolver,
        *,
        input_format: str | None = None,
        stdin_name: str = "-",
        stdin: bytes | None = None,
        resources: bool = False,
        force_exclude: bool = False,
        problem: str | None = None,
        only: Mapping[str, str] | None = None,
    ) -> None:
        self._resolver, self._input_format = resolver, input_format
        self._stdin_name, self._stdin = stdin_name, stdin
        self._resources, self._force_exclude = resources, force_exclude
        self._problem, self._only = problem, only
        self._contexts: dict[int, CheckContext] = {}
        self.files = 0

    def of_text(self, name: str, text: bytes) -> Checker:
        """The checker of a text that is not, or not yet, what its file holds: argument ``-``.

        It shares what this one has read and compiled, but no baseline, which counts as it goes.
        """
        for key in [k for k, c in self._contexts.items() if c.baseline is not None]:
            del self._contexts[key]
        other = copy(self)
        other._stdin_name, other._stdin, other.files = name, text, 0
        return other

    @property
    def contexts(self) -> list[CheckContext]:
        """The contexts that were needed."""
        return list(self._contexts.values())

    def context(self, argument: str) -> CheckContext:
        """The context of an argument: its folder's, or this one's for names and standard input."""
        path = self._stdin_name if argument == "-" else split_pointer(argument)[0]
        inside = argument == "-" or os.path.lexists(path)
        folder = os.path.dirname(path) if inside and path != "-" else ""
        return self._context_of(Path("." if "\0" in folder else folder or "."))

    def _context_of(self, folder: Path) -> CheckContext:
        settings = self._resolver.of(folder)
        if id(settings) not in self._contexts:
            self._contexts[id(settings)] = CheckContext(settings, self._problem, self._only)
        return self._contexts[id(settings)]

    def arguments(self, given: Iterable[str]) -> Iterator[str]:
        """The arguments with folders replaced by the files in them."""
        for argument in given:
            if argument != "-" and _is_folder(argument):
                yield from self._walk(Path(argument))
            elif not (self._force_exclude and self._excluded(argument)):
                yield argument

    def _excluded(self, argument: str) -> bool:
        settings = self.context(argument).settings
        return matches(below(argument, settings.root), settings["exclude"])

    def _walk(self, folder: Path) -> Iterator[str]:
        unread: list[str] = []
        for root, folders, files in os.walk(folder, onerror=lambda e: unread.append(e.filename)):
            settings = self._resolver.of(Path(root))
            include, exclude = settings["include"], settings["exclude"]
            inside = Path(os.path.abspath(folder)).is_relative_to(settings.root)
            base = settings.root if inside else folder
            here = {name: below(os.path.join(root, name), base) for name in (*folders, *files)}
            folders[:] = sorted(f for f in folders if not matches(here[f] + "/", exclude))
            for name in sorted(files):
                path = os.path.normpath(os.path.join(root, name))
                wanted = matches(here[name], include) and not matches(here[name], exclude)
                if wanted and (self._input_format or _is_known(path)):
                    yield path
        yield from unread  # each becomes a problem: what is in it was not checked

    def read(self, argument: str) -> Reading:
        """The items of an argument."""
        stdin: BinaryIO | None = None
        if argument == "-" and self._stdin is not None:
            stdin = cast(BinaryIO, BufferedReader(BytesIO(self._stdin)))
        return Reading(
            argument, self.context(argument).reading, input_format=self._input_format,
            stdin_name=self._stdin_name, stdin=stdin,
        )  # fmt: skip

    def verdicts(self, given: Iterable[str]) -> Iterator[ItemVerdict]:
        """The verdict on each item of all arguments, in order."""
        for argument in self.arguments(given):
            self.files += 1
            context, reading = self.context(argument), self.read(argument)
            yield from FileCheck(context, reading, self._resources).verdicts()
        for context in self.contexts:
            if context.baseline is not None and context.codes.selected("BASE001"):
                yield from _stale(context, context.baseline)

    def edits(
        self, given: Iterable[str], *, unsafe: bool = False
    ) -> Iterator[tuple[str, list[Edit]]]:
        """The safe repairs of each file, or ``unsafe`` ones as well, by file."""
        for argument in self.arguments(given):
            reading = self.read(argument)
            if not reading.path or not os.path.isfile(reading.path):
                continue
            file = FileCheck(self.context(argument), reading, False)
            found = list(file.edits(unsafe=unsafe))
            if found:
                yield reading.path, found


def _stale(context: CheckContext, baseline: Baseline) -> Iterator[ItemVerdict]:
    place = Place(os.path.relpath(baseline.path))
    for key, left in baseline.stale():
        about_what = f" of {key.configuration}" if key.configuration else ""
        message = (
            f"{key.file}: {key.code}{about_what} is not found any more ({left} in the baseline)"
        )
        made = of_finding("BASE001", message, place)
        made.severity = context.codes.severity("BASE001", made.severity)
        yield ItemVerdict(Remark(place, "BASE001", message), diagnostics=[made])


def _is_folder(argument: str) -> bool:
    try:
        return os.path.isdir(argument)
    except ValueError:
        return False


def _is_known(path: str) -> bool:
    """Whether a file looks like one of the formats; a suffix alone is not enough.

    One that cannot be opened counts: that has to be said.
    """
    try:
        with opening.binary(path) as stream:
            head = Source(path, stream).head()
    except (SourceError, FileNotFoundError):
        return False
    except OSError:  # such as a pipe: reading it says so
        return True
    if path.endswith(".conf"):
        return True
    found = (n for n, f in formats().items() if f.sniff(head))
    name = next(found, "")
    if name != "macros":
        return bool(name)
    return "DECL_" in head.text or _declares(path)


def _declares(path: str) -> bool:
    with opening.binary(path) as stream:
        return any(b"DECL_" in chunk for chunk in iter(lambda: stream.read(1 << 20), b""))
