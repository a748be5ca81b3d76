"""Turn configurations into CK Tile kernels."""

from __future__ import annotations

from pathlib import Path

import click

from ckrules.cli.generating import GenerationInputs, made
from ckrules.cli.once import option
from ckrules.cli.options import arch_option, quiet_option, rule_options
from ckrules.cli.options import input_format as format_type
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError

GROUP = "build"


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@option("-o", "--output", metavar="DIR", required=True, help="Folder to write to.")
@arch_option
@option("--force", is_flag=True, help="Generate what breaks rules, too.")
@option(
    "--distinct",
    is_flag=True,
    help="Of configurations that make the same device code, only one.",
)
@option("--ninja/--no-ninja", default=None, help="Write build.ninja (default: if possible).")
@option("--rule-set-names", is_flag=True, help="Names as upstream's rule sets: compv1.")
@option("--input-format", type=format_type, metavar="NAME", help="Read every file in this format.")
@option("--clean", is_flag=True, help="Remove the kernels of earlier runs from the folder.")
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
    from ckrules.codegen.generate import Generator

    if not output:
        raise UsageError("-o: the folder has no name")
    asked = GenerationInputs(inputs, books, archs, input_format, distinct, rule_set_names)
    wanted = asked.wanted()
    generator = Generator(wanted.books, Path(output), force=force, ninja=ninja)
    return made(wanted, generator, clean=clean, quiet=quiet)
