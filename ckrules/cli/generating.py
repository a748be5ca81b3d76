"""What `ckrules generate` and `ckrules build` share: inputs become configurations and kernels."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.cli.terminal import note, progress
from ckrules.kernels import library
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.codegen.generate import GenerationReport, Generator
    from ckrules.kernels.books import Books
    from ckrules.kernels.config import Config

_SHOWN = 20


@dataclass(frozen=True)
class GenerationRequest:
    """What inputs say."""

    configs: Sequence[Config]
    books: Books
    """Those of the configurations' CK version."""
    unreadable: int
    """The number that could not be read; they have been reported."""
    places: Mapping[int, str]
    """Where configurations are declared, by `id`; names and lines of streams have no place."""


@dataclass(frozen=True)
class GenerationInputs:
    """Inputs, as they were given.

    Args:
        inputs: Names, files or ``-``.
        books: The rule books that were asked for.
        archs: The GPUs of configurations that name none.
        input_format: The format of every file; None: each its own.
        distinct: Whether of configurations that make the same code only one counts.
        rule_set_names: Whether names are as upstream's rule sets have them.
    """

    inputs: Sequence[str]
    books: Books
    archs: Sequence[str] = ()
    input_format: str | None = None
    distinct: bool = False
    rule_set_names: bool = False

    def wanted(self) -> GenerationRequest:
        """The configurations.

        Raises:
            UsageError: If rows are for different versions.
        """
        from ckrules.codegen.generate import rule_set_configs

        faults: list[int] = []
        places: dict[int, str] = {}
        found = self._read(faults, places)
        wanted = list(rule_set_configs(found) if self.rule_set_names else found)
        books = self.books.at(_version(wanted, self.books))
        wanted = _one_of_each(wanted, books) if self.distinct else wanted
        return GenerationRequest(wanted, books, len(faults), places)

    def _read(self, faults: list[int], places: dict[int, str]) -> Iterator[Config]:
        """The configurations, their places noted; what cannot be read is told and counted."""
        from ckrules.readers import Context, Input, InputReading, Remark, UnreadableText

        stdin = sys.stdin.buffer.read() if "-" in self.inputs else b""
        inputs = [Input.of(argument, stdin=stdin) for argument in self.inputs]
        books = self.books
        contexts = [Context(books, books.plain_arch(a)) for a in self.archs] or [Context(books)]
        items = itertools.chain.from_iterable(
            InputReading(i, c, input_format=self.input_format) for c in contexts for i in inputs
        )
        for item in items:
            if isinstance(item, Remark):
                continue
            if not isinstance(item, UnreadableText):
                if item.place.line:
                    places[id(item.config)] = f"{item.place}: "
                yield item.config
                continue
            faults.append(len(faults))
            if len(faults) <= _SHOWN:
                for place, message in item.lines():
                    note(f"{place}: error: {message}")


def made(wanted: GenerationRequest, generator: Generator, *, clean: bool, quiet: bool) -> int:
    """Generates kernels and says what came out.

    Returns:
        The exit code: 0 all generated, 1 some break a rule, 2 some could not be read, 3 nothing.
    """
    from ckrules.codegen.generate import MANIFEST

    with progress("kernels") as bar:
        report = generator.run(wanted.configs, bar.advance)
    code = _finish(report, wanted, quiet)
    for folder in report.folders:
        _left(folder, clean)
    for place in sorted(generator.out.glob(f"*/{MANIFEST}")):
        if place.parent not in report.folders:
            note(f"{place.parent}: kernels of an earlier run stay there: remove the folder")
    return code


def _left(folder: Path, clean: bool) -> None:
    """Removes the kernels of earlier runs, or says that there are some."""
    from ckrules.codegen.generate import MANIFEST
    from ckrules.compiling import manifest
    from ckrules.compiling.stale_files import leftovers

    found = leftovers(folder, {kernel.name for kernel in manifest.read(folder / MANIFEST)})
    if not found:
        return
    kernels = f"{folder}: {count(len(found), 'kernel')} of earlier runs"
    if not clean:
        note(f"{kernels} {'stays' if len(found) == 1 else 'stay'} there: --clean removes them")
        return
    files = [path for paths in found.values() for path in paths]
    for path in files:
        path.unlink(missing_ok=True)
    note(f"{kernels} removed ({count(len(files), 'file')})")


def _one_of_each(configs: Sequence[Config], books: Books) -> list[Config]:
    """The configurations without those that make the same code as another one of them.

    Those of families of which nothing is known stay, where others are.

    Raises:
        UsageError: If nothing is known of what is the same for any of them.
    """
    from ckrules.engine.rules.alike import representatives, required

    families = [c.family for c in configs]
    words = {f: books.of(f.variants[0]).vocabulary for f in dict.fromkeys(families)}
    some = any(w.alike for w in words.values())
    kept: list[int] = []
    for family, each in words.items():
        own = [i for i, f in enumerate(families) if f is family]
        if some and not each.alike:
            text = "kept: which of them make the same code is not known"
            note(f"{count(len(own), f'{family.title} kernel')} {text}")
            kept += own
            continue
        known = required(each.alike, f"{family.title} kernels")
        places = representatives(known, each.variables, (configs[i].point for i in own))
        kept += [own[i] for i in places]
    if left := len(configs) - len(kept):
        note(f"{count(left, 'configuration')} left out: they make the same code as others")
    return [configs[i] for i in sorted(kept)]


def _version(configs: Sequence[Config], books: Books) -> str:
    """The one CK version of the rows: which they say, else the one that was asked for."""
    said = sorted({c.ck for c in configs if c.ck})
    if len(said) > 1:
        raise UsageError(f"rows for CK {' and '.join(said)}: generate one version at a time")
    named = books.ck_asked or books.ck != library.DEFAULT_CK or books.tree is not None
    if configs and not said and not named:
        note(f"note: for CK {books.ck}: neither --ck nor the input says which")
    return said[0] if said else ""


def _finish(report: GenerationReport, wanted: GenerationRequest, quiet: bool) -> int:
    unreadable = wanted.unreadable
    for refused in report.refused[:_SHOWN]:
        first = next(v for v in refused.broken if v.rule.severity == "error")
        place = wanted.places.get(id(refused.config), "")
        note(f"{place}{refused.config.name or 'a configuration'}: {first.code} {first.message}")
    if len(report.refused) > _SHOWN:
        note(f"… and {len(report.refused) - _SHOWN:,} more that break a rule")
    if not (report.kernels or report.refused or unreadable):
        note("no configurations found")
        return 3
    if not quiet and (report.kernels or report.refused):
        bad = len(report.refused)
        broken = f", {bad:,} break{'s' * (bad == 1)} a rule" if bad else ""
        note(
            f"{count(report.kernels, 'kernel')}{broken};"
            f" {count(report.written, 'file')} written, {report.unchanged:,} unchanged"
        )
        if report.seconds:
            rest = f", without {count(report.unknown, 'kernel')}" if report.unknown else ""
            note(f"to compile for the GPU: {_span(report.seconds)} of a processor (estimate{rest})")
    if unreadable:
        return 2
    return 1 if report.refused else 0


def _span(seconds: int) -> str:
    """A time as one says it.

    >>> _span(40), _span(1500), _span(9000)
    ('40 seconds', '25 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"
