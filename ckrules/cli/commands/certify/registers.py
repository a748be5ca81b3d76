"""Compile drawn kernels and keep what the compiler allocates for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ckrules.cli.answers import Writer, answer_options
from ckrules.cli.certifying import jobs_option
from ckrules.cli.once import option
from ckrules.cli.options import Seconds, Words
from ckrules.cli.terminal import note, progress
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError

GROUP = "maintain"


def _families() -> Sequence[str]:
    from ckrules.certify.registers import families

    return families(Books("2025.11"))


@click.command()
@option("--data", required=True, metavar="DIR", help="Where the lines of each family are kept.")
@option("--arch", "archs", type=Words(), help="GPUs. [gfx942,gfx950,gfx90a,gfx1201,gfx1100]")
@option("--family", type=Words(_families, "family"), help="Kinds of kernels. [all]")
@option("--where", multiple=True, metavar="EXPR", help="Draw only where this holds. Repeatable.")
@option(
    *("-n", "--limit", "count"),
    default=100,
    type=click.IntRange(1, 100_000),
    help="Maximum number of kernels. [100]",
)
@option("--seed", default=0, help="The same seed draws the same kernels. [0]")
@option("--timeout", default=600.0, type=Seconds(), help="Of the processor, per kernel. [600]")
@option("--compiler", metavar="NAME", help="A compiler by name. [first that knows the GPU]")
@option(
    *("--minutes",), type=click.FloatRange(min=0), metavar="M",
    help="Begin no kernel after M. [no end]",
)  # fmt: skip
@option(
    "--built", multiple=True, metavar="DIR",
    help="Read kernels that are built there; compile none. Repeatable.",
)  # fmt: skip
@jobs_option
@answer_options
def command(
    data: str,
    archs: tuple[str, ...] | None,
    family: tuple[str, ...] | None,
    where: tuple[str, ...],
    count: int,
    seed: int,
    timeout: float,
    compiler: str | None,
    minutes: float | None,
    built: tuple[str, ...],
    jobs: int,
    write: Writer,
) -> int:
    """Compile drawn kernels and keep what the compiler allocates for them.

    Draws legal kernels, one of each family and GPU in turn, compiles those that the data have not,
    and prints how far estimates are from what came out, by family and GPU.
    """
    from ckrules.certify import register_report
    from ckrules.certify.built import every
    from ckrules.certify.choice import gpu_of
    from ckrules.certify.registers import (
        USUAL_GPUS,
        RegisterCompiler,
        RegisterRequest,
        collect,
        load,
    )
    from ckrules.compiling.artifacts import Artifact
    from ckrules.compiling.session import BuildOptions

    if built and (archs or where):
        raise UsageError("--built: not beside --arch or --where, by which kernels are drawn")
    books = Books("2025.11")
    names = family or tuple(_families())
    gpus = tuple(gpu_of(books, a).name for a in archs or USUAL_GPUS)
    request = RegisterRequest(names, gpus, count, seed, where)
    known = {f: load(Path(data) / f"{f}.csv", f, books) for f in names}
    if built:
        rows = every(map(Path, built), books, seed, known)
        write(register_report.as_json(rows, books), register_report.lines(rows, books))
        return 0
    options = BuildOptions(artifacts=(Artifact.DEVICE,), compiler=compiler, timeout=timeout)
    maker = RegisterCompiler(books, options, count // (len(names) * len(gpus)))
    with progress("kernels", count) as bar:
        found, left = collect(
            request, known, maker, jobs, minutes, lambda known: bar.advance(1, known=known)
        )
    rows = [row for f in names for row in found.get(f, ())]
    write(register_report.as_json(rows, books), register_report.lines(rows, books))
    if left:
        note(f"{left} of {count} kernels are left: the same command goes on")
    return 1 if left else 0
