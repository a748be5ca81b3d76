"""The run of ``ckrules check``: files found, read with their settings and checked one by one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ckrules.checking.diagnostics import of_finding
from ckrules.checking.file_check import CheckContext, FileCheck
from ckrules.checking.patterns import below, matches
from ckrules.checking.settings import SettingsResolver
from ckrules.checking.verdict import ItemVerdict
from ckrules.readers import Census, Edit, Input, InputReading, Place, Remark, formats
from ckrules.readers.source import SourceError, SourceFile
from ckrules.support import opening

if TYPE_CHECKING:
    from ckrules.checking.baseline import Baseline


#: What names of files with our own fields have in them.
_OWN = ".ck."
#: Keys of which an object of our fields has one; other JSON that lies in folders is not ours.
_SAYING = ("variant", "name", "kernels", "tile_m")


@dataclass
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

    resolver: SettingsResolver
    input_format: str | None = None
    stdin_name: str = "-"
    stdin: bytes | None = None
    resources: bool = False
    force_exclude: bool = False
    problem: str | None = None
    only: Mapping[str, str] = field(default_factory=dict)
    #: What was read beside configurations; grows while verdicts come.
    census: Census = field(default_factory=Census, init=False, repr=False)
    _contexts: dict[int, CheckContext] = field(default_factory=dict, init=False, repr=False)

    def of_text(self, name: str, text: bytes) -> FileCheck:
        """The check of a text that is not, or not yet, what its file holds.

        It shares what this checker has read and compiled, but no baseline, which counts as it goes.
        """
        for key in [k for k, c in self._contexts.items() if c.baseline is not None]:
            del self._contexts[key]
        self.census.clear()
        for context in self.contexts:
            context.begin()
        return self._check(Input.of("-", name, text))

    @property
    def contexts(self) -> list[CheckContext]:
        """The contexts that were needed."""
        return list(self._contexts.values())

    def context(self, folder: Path) -> CheckContext:
        """What files in a folder are checked with: see `Input.folder`."""
        settings = self.resolver.of(folder)
        if id(settings) not in self._contexts:
            self._contexts[id(settings)] = CheckContext(
                settings, self.problem, self.only, self.census
            )
        return self._contexts[id(settings)]

    def inputs(self, arguments: Iterable[str]) -> Iterator[Input]:
        """The arguments, each taken apart, with folders replaced by the files in them."""
        for argument in arguments:
            if argument != "-" and _is_folder(argument):
                for path in self._walk(Path(argument)):
                    yield Input(path, path, path, folder=Path(os.path.dirname(path) or "."))
                continue
            found = Input.of(argument, self.stdin_name, self.stdin)
            if not (self.force_exclude and self._excluded(found)):
                yield found

    def _excluded(self, found: Input) -> bool:
        settings = self.context(found.folder).settings
        return matches(below(found.argument, settings.root), settings["exclude"])

    def _walk(self, folder: Path) -> Iterator[str]:
        unread: list[str] = []
        for root, folders, files in os.walk(folder, onerror=lambda e: unread.append(e.filename)):
            settings = self.resolver.of(Path(root))
            include, exclude = settings["include"], settings["exclude"]
            inside = Path(os.path.abspath(folder)).is_relative_to(settings.root)
            base = settings.root if inside else folder
            here = {name: below(os.path.join(root, name), base) for name in (*folders, *files)}
            folders[:] = sorted(f for f in folders if not matches(here[f] + "/", exclude))
            for name in sorted(files):
                path = os.path.normpath(os.path.join(root, name))
                wanted = matches(here[name], include) and not matches(here[name], exclude)
                if wanted and (self.input_format or _is_known(path)):
                    yield path
        yield from unread  # each becomes a problem: what is in it was not checked

    def _check(self, found: Input) -> FileCheck:
        context = self.context(found.folder)
        reading = InputReading(found, context.reading, input_format=self.input_format)
        return FileCheck(context, reading, self.resources)

    def verdicts(self, arguments: Iterable[str]) -> Iterator[ItemVerdict]:
        """The verdict on each item of all arguments, in order."""
        self.census.clear()
        for found in self.inputs(arguments):
            yield from self._check(found).verdicts()
        for place, name in self.census.unlisted():
            yield from self._unlisted(cast(Place, place), name)
        for context in self.contexts:
            if context.baseline is not None and context.codes.selected("BASE001"):
                yield from _stale(context, context.baseline)

    def _unlisted(self, place: Place, name: str) -> Iterator[ItemVerdict]:
        """The verdict on a kernel of a table that no list has."""
        text = f"no list that was read has the kernel {name} for its GPU"
        found = Input(place.source, place.source, place.source, folder=Path(place.source).parent)
        yield from self._check(found).remarked(Remark(place, "ROW007", text))

    def edits(
        self, arguments: Iterable[str], *, unsafe: bool = False
    ) -> Iterator[tuple[str, list[Edit]]]:
        """The safe repairs of each file, or ``unsafe`` ones as well, by file."""
        self.census.clear()
        for found in self.inputs(arguments):
            if found.is_file and os.path.isfile(found.path):
                edits = list(self._check(found).edits(unsafe=unsafe))
                if edits:
                    yield found.path, edits


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
            head = SourceFile(path, stream).head()
    except (SourceError, FileNotFoundError):
        return False
    except OSError:  # such as a pipe: reading it says so
        return True
    if path.endswith(".conf"):
        return True
    found = (n for n, f in formats().items() if f.sniff(head))
    name = next(found, "")
    if name == "macros":
        return "DECL_" in head.text or _declares(path)
    if name in ("json", "jsonl", "csv") and _OWN not in os.path.basename(path):
        return name != "csv" and any(f'"{key}"' in head.text for key in _SAYING)
    return bool(name)


def _declares(path: str) -> bool:
    with opening.binary(path) as stream:
        return any(b"DECL_" in chunk for chunk in iter(lambda: stream.read(1 << 20), b""))
