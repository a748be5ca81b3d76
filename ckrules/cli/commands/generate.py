"""Turn configurations into CK Tile kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckrules.cli.options import rule_options
from ckrules.cli.terminal import note, progress
from ckrules.engine.errors import UsageError, unknown
from ckrules.selection import Books

if TYPE_CHECKING:
    from ckrules.codegen.generate import Report
    from ckrules.config import Config

_SHOWN = 20

EPILOG = """\b
INPUTS are kernel names, files or - (standard input), as for ckrules check.
A kernel becomes NAME.hpp, NAME.cpp, NAME.device.cpp, NAME.host.cpp and a
dispatcher wrapper. Beside them stand headers that include and register all,
CMakeLists.txt, Makefile and (with the package ninja) build.ninja. Kernels of
several GPUs go to a folder each. Files that would not change are left alone.

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
@click.option("--arch", metavar="GPU", help="GPU of configurations that name none.")
@click.option("--force", is_flag=True, help="Generate what breaks rules, too.")
@click.option("--ninja/--no-ninja", default=None, help="Write build.ninja (default: if possible).")
@click.option("--rule-set-names", is_flag=True, help="Names as upstream's rule sets: compv1.")
@click.option("--input-format", metavar="NAME", help="Read every file as this format.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@rule_options
def command(
    inputs: tuple[str, ...],
    books: Books,
    output: str,
    arch: str | None,
    force: bool,
    ninja: bool | None,
    rule_set_names: bool,
    input_format: str | None,
    quiet: bool,
) -> int:
    """Turn configurations into CK Tile kernels."""
    from ckrules.codegen.generate import Generator, rule_set_configs
    from ckrules.readers import Context, Problem, formats, read_input

    if input_format is not None and input_format not in formats():
        raise unknown("input format", input_format, formats())
    if not output:
        raise UsageError("-o: the folder has no name")
    context = Context(books, books.plain_arch(arch) if arch is not None else None)
    unreadable = 0

    def configs() -> Iterator[Config]:
        nonlocal unreadable
        items = itertools.chain.from_iterable(
            read_input(i, context, input_format=input_format) for i in inputs
        )
        for item in items:
            if not isinstance(item, Problem):
                yield item.config
                continue
            unreadable += 1
            if unreadable <= _SHOWN:
                for place, message in item.lines():
                    note(f"{place}: error: {message}")

    generator = Generator(books, Path(output), force=force, ninja=ninja)
    with progress("kernels") as bar:
        wanted = rule_set_configs(configs()) if rule_set_names else configs()
        report = generator.run(wanted, bar.advance)
    return _finish(report, unreadable, quiet)


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
            f"{report.kernels:,} kernel{'s' * (report.kernels != 1)}{broken};"
            f" {report.written:,} files written, {report.unchanged:,} unchanged"
        )
    if unreadable:
        return 2
    return 1 if report.refused else 0
