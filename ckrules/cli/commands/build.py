"""Compile kernels and remember the results."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckrules.cli.once import option
from ckrules.cli.options import Seconds, arch_option, books_of, quiet_option, rule_options
from ckrules.cli.ranked import model_option
from ckrules.cli.terminal import note, progress
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.compiling.results import Result
    from ckrules.compiling.session import BuildSummary
    from ckrules.kernels.books import Books
    from ckrules.ranking.learned import TimeModel

_SHOWN = 10

GROUP = "build"


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="WHAT…")
@option("-o", "--output", metavar="DIR", help="Folder to generate what is declared into.")
@arch_option
@option("--jobs", "-j", type=click.IntRange(min=1), help="Compilers at once (by CPU, memory).")
@option("--executor", default="local", metavar="WHERE", help="local or dask://HOST:PORT.")
@option("--artifact", "artifacts", multiple=True, metavar="KIND",
              help="device, host or object. Repeatable [device and host].")  # fmt: skip
@option("--compiler", metavar="NAME", help="A compiler by name [first that knows the GPU].")
@option("--include", metavar="DIR",
              help="CK's include folder [CKRULES_CK_INCLUDE, settings, else fetched].")  # fmt: skip
@option("--launcher", metavar="CMD", help="Run the compiler with this, such as ccache.")
@option("--optimize", default="-O3", metavar="LEVEL", help="-O0 to -O3 for device code [-O3].")
@option("--flag", "extra", multiple=True, metavar="FLAG", help="Further compiler flag.")
@option("--timeout", default=900.0, type=Seconds(), help="Processor time for one artifact [900].")
@option("--retry", is_flag=True, help="Compile again what failed before.")
@option("--results", "database", metavar="FILE", help="Another results database.")
@option("--library", is_flag=True, help="Also build a C library: conv, gemm, attention.")
@model_option
@quiet_option
@rule_options
def command(
    what: tuple[str, ...],
    books: Books,
    output: str | None,
    archs: tuple[str, ...],
    jobs: int | None,
    executor: str,
    artifacts: tuple[str, ...],
    compiler: str | None,
    include: str | None,
    launcher: str | None,
    optimize: str,
    extra: tuple[str, ...],
    timeout: float,
    retry: bool,
    database: str | None,
    library: bool,
    model: str | None,
    quiet: bool,
) -> int:
    """Compile kernels and remember the results."""
    from ckrules.compiling import executors
    from ckrules.compiling.artifacts import RUNNABLE, Artifact
    from ckrules.compiling.compile_commands import LEVELS
    from ckrules.compiling.database import FILE, ResultsError, of_folder
    from ckrules.compiling.folder import manifests
    from ckrules.compiling.results import Results
    from ckrules.compiling.session import BuildOptions, BuildSession

    if model is not None and not library:
        raise UsageError("--model is for the library: --library makes one")
    times = _model(model) if library else None
    kinds = tuple(dict.fromkeys(map(Artifact.named, artifacts)))
    if optimize not in LEVELS:
        raise unknown("level of optimisation", optimize, LEVELS)
    if include and not Path(what[0]).is_dir():
        named = books.ck if books.ck_asked else None
        books = books_of(named, books.profile, books.arch_files, include)
    tree = books.tree.include if books.tree is not None else Path(include) if include else None
    options = BuildOptions(
        artifacts=kinds or RUNNABLE,
        compiler=compiler,
        include=tree.resolve() if tree is not None else None,
        optimize=optimize,
        flags=extra,
        launcher=_launcher(launcher),
        timeout=timeout,
        retry=retry,
    )
    home, code = _generated(what, output, archs, books, quiet)
    if code:
        return code
    if not include and any(k.ck != books.ck for k in manifests(home)):
        options = replace(options, include=None)  # a tree of another version than the kernels'
    session = BuildSession(home, options)
    width = jobs or executors.default_jobs()
    with (
        Results(Path(database) if database else of_folder(home)) as results,
        executors.executor(executor, width) as (pool, at_once),
        progress("artifacts", session.count(), work=session.predicted()) as bar,
    ):
        alone = {k.folder for k in session.kernels if not database and k.folder != home}
        for own in (place / FILE for place in sorted(alone)):
            try:
                if own.exists():  # of a build of one GPU alone
                    results.take(own)
            except ResultsError as error:  # its kernels are built as if it were not there
                note(f"left out: {error}")
        summary = session.run(results, pool, at_once, lambda s: bar.advance(1, work=s))
    if not quiet and compiler is None:
        _tell_others(session.compilers)
    code = _finish(summary, quiet)
    if library:
        _make_library(home, compiler, database, times, quiet)
    return code


def _generated(
    what: tuple[str, ...], output: str | None, archs: tuple[str, ...], books: Books, quiet: bool
) -> tuple[Path, int]:
    """The folder that is built, and the exit code if what is declared cannot be."""
    if "" in what:
        raise UsageError("'': an empty argument, expected a folder or kernels")
    folder = Path(what[0])
    if folder.is_dir():
        if len(what) > 1:
            raise UsageError(f"{what[0]} is a folder: it is built alone")
        if output or archs or books.ck_asked or books.arch_files or books.profile != "legal":
            raise UsageError(
                f"{what[0]} is a folder: -o, --arch, --ck, --profile and --arch-file are for "
                "what is declared"
            )
        return folder, 0
    if not output:
        raise UsageError(
            f"{what[0]} is not a folder: give one that ckrules generate wrote, or -o DIR for what "
            "is declared"
        )
    from ckrules.cli.generating import GenerationInputs, made
    from ckrules.codegen.generate import Generator

    wanted, home = GenerationInputs(what, books, archs).wanted(), Path(output)
    if wanted.unreadable:
        return home, 2
    return home, made(wanted, Generator(wanted.books, home), clean=False, quiet=quiet)


def _model(word: str | None) -> TimeModel | bool | None:
    """The model that is asked for; read before anything is built, since it may be at fault."""
    from ckrules.ranking.ranker import chosen

    return chosen(word)


def _make_library(
    home: Path,
    compiler: str | None,
    database: str | None,
    model: TimeModel | bool | None,
    quiet: bool,
) -> None:
    from ckrules.compiling.database import of_folder
    from ckrules.compiling.folder import manifests
    from ckrules.compiling.library import build
    from ckrules.runtime.measured import everything

    place = Path(database) if database is not None else of_folder(home)
    archs = dict.fromkeys(k.arch for k in manifests(home))
    times = [t for arch in archs for t in everything(place, arch)]
    made = build(home, compiler, times, model)
    if not quiet:
        for line in made.notes:
            note(line)
        note(f"{made.path}: {made.kernels:,} kernel{'s' * (made.kernels != 1)}")


def _tell_others(compilers: Mapping[str, str]) -> None:
    """Says which GPUs another compiler than the first was needed for."""
    from ckrules.compiling.toolchain import Missing, find_compiler

    first = find_compiler()
    if isinstance(first, Missing):
        return
    for name in dict.fromkeys(compilers.values()):
        archs = [arch for arch, kind in compilers.items() if kind == name]
        if name != first[0]:
            note(f"compiled by {name}, as {first[0]} does not know the GPU: {', '.join(archs)}")


def _launcher(text: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text or ""))
    except ValueError as error:
        raise UsageError(f"--launcher {text}: {str(error).lower()}") from None
    if words and shutil.which(words[0]) is None:
        raise UsageError(f"--launcher {words[0]}: no such program")
    return words


def _finish(summary: BuildSummary, quiet: bool) -> int:
    for result in summary.findings[:_SHOWN]:
        _show(result)
    if len(summary.findings) > _SHOWN:
        note(f"… and {len(summary.findings) - _SHOWN:,} more findings: ckrules results --findings")
    if not summary.total:
        note("nothing to build")
        return 3
    if not quiet:
        known = f", {summary.known:,} known already" if summary.known else ""
        failed = f", {summary.failed:,} failed" if summary.failed else ""
        before = f", {summary.failed_before:,} failed before" if summary.failed_before else ""
        before += " (--retry builds them again)" if before else ""
        passing = f" ({summary.transient:,} for a transient reason)" if summary.transient else ""
        built = f"{summary.built:,} artifact{'s' * (summary.built != 1)} built"
        note(f"{built}{known}{failed}{passing}{before}")
    return 1 if summary.failed or summary.failed_before else 0


def _show(result: Result) -> None:
    note(f"finding: {result.name} ({result.arch}, {result.artifact}): {result.finding}")
    if result.diagnostic:
        note(f"  {result.diagnostic}")
    note(f"  reproduce: {result.command}")
