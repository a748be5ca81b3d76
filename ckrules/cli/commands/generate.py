"""Turn configurations into CK Tile kernels."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckrules.cli.options import arch_option, quiet_option, rule_options
from ckrules.cli.options import input_format as format_type
from ckrules.cli.terminal import note, progress
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.codegen.generate import Report
    from ckrules.kernels.config import Config

_SHOWN = 20

GROUP = "build"

EPILOG = """\b
INPUTS are kernel names, files or - (standard input), as for ckrules check.
A kernel becomes NAME.hpp, NAME.cpp, NAME.device.cpp, NAME.host.cpp and a
dispatcher wrapper. Beside them stand headers that include and register all,
CMakeLists.txt, Makefile and (with the package ninja) build.ninja. Kernels of
several GPUs go to a folder each. Files that would not change are left alone.
Kernels that an earlier run wrote stay, unless --clean is given: it removes their
sources and artifacts, and nothing that ckrules did not write.

\b
Examples:
  ckrules enumerate --variant forward --arch gfx942 --ck 2025.11 --limit 5 \\
      --format jsonl | ckrules generate - -o out --ck 2025.11
  ckrules generate grouped_conv_fwd_… --arch gfx942 -o out

\b
Exit codes: 0 all generated, 1 some break a rule, 2 some cannot be read,
3 there was nothing to generate.
"""


@click.command(epilog=EPILOG)
@click.argument("inputs", nargs=-1, required=True)
@click.option("-o", "--output", metavar="DIR", required=True, help="Folder to write to.")
@arch_option
@click.option("--force", is_flag=True, help="Generate what breaks rules, too.")
@click.option(
    "--distinct",
    is_flag=True,
    help="Of configurations that make the same device code, only one.",
)
@click.option("--ninja/--no-ninja", default=None, help="Write build.ninja (default: if possible).")
@click.option("--rule-set-names", is_flag=True, help="Names as upstream's rule sets: compv1.")
@click.option(
    "--input-format", type=format_type, metavar="NAME", help="Read every file in this format."
)
@click.option("--clean", is_flag=True, help="Remove the kernels of earlier runs from the folder.")
@quiet_option
@rule_options
def command(
    inputs: tuple[str, ...],
    books: Books,
    output: str,
    archs: tuple[str, ...],
    force: bool,
    distinct: bool,
    ninja: bool | None,
    rule_set_names: bool,
    input_format: str | None,
    clean: bool,
    quiet: bool,
) -> int:
    """Turn configurations into CK Tile kernels."""
    from ckrules.codegen.generate import Generator, rule_set_configs
    from ckrules.readers import Context, Problem, Reading, Remark

    if not output:
        raise UsageError("-o: the folder has no name")
    stdin = sys.stdin.buffer.read() if "-" in inputs else b""
    contexts = [Context(books, books.plain_arch(a)) for a in archs] or [Context(books)]
    unreadable = 0

    def configs() -> Iterator[Config]:
        nonlocal unreadable
        items = itertools.chain.from_iterable(
            Reading(i, c, input_format=input_format, stdin=io.BytesIO(stdin))
            for c in contexts
            for i in inputs
        )
        for item in items:
            if isinstance(item, Remark):
                continue
            if not isinstance(item, Problem):
                yield item.config
                continue
            unreadable += 1
            if unreadable <= _SHOWN:
                for place, message in item.lines():
                    note(f"{place}: error: {message}")

    wanted = list(rule_set_configs(configs()) if rule_set_names else configs())
    books = books.at(_version(wanted, books))
    wanted = _one_of_each(wanted, books) if distinct else wanted
    generator = Generator(books, Path(output), force=force, ninja=ninja)
    with progress("kernels") as bar:
        report = generator.run(wanted, bar.advance)
    code = _finish(report, unreadable, quiet)
    for folder in report.folders:
        _left(folder, clean)
    return code


def _left(folder: Path, clean: bool) -> None:
    """Removes the kernels of earlier runs, or says that there are some."""
    from ckrules.codegen.generate import MANIFEST
    from ckrules.compiling import manifest
    from ckrules.compiling.leftover import leftovers

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

    Raises:
        UsageError: If nothing is known of what is the same.
    """
    from ckrules.engine.rules.alike import representatives, required

    families = [c.family for c in configs]
    kept: list[int] = []
    for family in dict.fromkeys(families):
        words = books.of(family.variants[0]).vocabulary
        known = required(words.alike, f"{family.title} kernels")
        own = [i for i, f in enumerate(families) if f is family]
        places = representatives(known, words.variables, (configs[i].point for i in own))
        kept += [own[i] for i in places]
    if left := len(configs) - len(kept):
        note(f"{count(left, 'configuration')} left out: they make the same code as others")
    return [configs[i] for i in sorted(kept)]


def _version(configs: Sequence[Config], books: Books) -> str:
    """The CK version of the rows: the one that they say, else the one that was asked for.

    Raises:
        UsageError: If rows are for different versions.
    """
    said = sorted({c.ck for c in configs if c.ck})
    if len(said) > 1:
        raise UsageError(f"rows for CK {' and '.join(said)}: generate one version at a time")
    if configs and not said and not books.ck_asked:
        note(f"note: for CK {books.ck}: neither --ck nor the input says which")
    return said[0] if said else ""


def _finish(report: Report, unreadable: int, quiet: bool) -> int:
    for refused in report.refused[:_SHOWN]:
        first = next(v for v in refused.broken if v.rule.severity == "error")
        note(f"{refused.config.name or 'a configuration'}: {first.code} {first.message}")
    if len(report.refused) > _SHOWN:
        note(f"… and {len(report.refused) - _SHOWN:,} more that break a rule")
    if not (report.kernels or report.refused or unreadable):
        note("no configurations found")
        return 3
    if not quiet and (report.kernels or report.refused):
        broken = f", {len(report.refused):,} break a rule" if report.refused else ""
        note(
            f"{count(report.kernels, 'kernel')}{broken};"
            f" {report.written:,} files written, {report.unchanged:,} unchanged"
        )
    if unreadable:
        return 2
    return 1 if report.refused else 0
