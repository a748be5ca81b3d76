"""What `ckrules validate` and `ckrules bench` share: options, problems, kernels left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ckrules.cli.once import option
from ckrules.cli.options import F, Seconds, gathered
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.session import ValidationSession
    from ckrules.kernels.parts import Problem


MADE_AGAIN = "generated again after it was built: run ckrules build"


@dataclass(frozen=True)
class RunChoice:
    """Which kernels run on which problems, how often, and where results go."""

    where: tuple[str, ...]
    home: str | None
    lines: tuple[str, ...]
    files: tuple[str, ...]
    timeout: float
    warmup: int
    repeat: int
    database: str | None


_FILES = "Problems in CSV, JSON Lines or one a line. Repeatable."


def problem_options(help_of_one: str) -> tuple[Callable[[F], F], ...]:
    """``--problem`` and ``--problems``, given to the command as ``lines`` and ``files``."""
    return (
        option("--problem", "lines", multiple=True, metavar="PROBLEM", help=help_of_one),
        option("--problems", "files", multiple=True, metavar="FILE|-", help=_FILES),
    )


def run_options(metavar: str, warmup: int, repeat: int, least: int) -> Callable[[F], F]:
    """The kernels, problems, limits and results of a command, given to it as one `RunChoice`.

    Args:
        metavar: What the arguments are called.
        warmup: Runs before timing, if nothing is said.
        repeat: Timed runs, if nothing is said.
        least: Timed runs at the least.
    """
    none = "" if least else "; 0: none"
    return gathered(
        "runs",
        RunChoice,
        click.argument("where", nargs=-1, required=True, metavar=metavar),
        *problem_options("Repeatable."),
        option("--dir", "home", metavar="DIR", help="Folder of kernels given by name."),
        option(
            "--timeout", default=60.0, type=Seconds(), help="Limit for a kernel's step [60]."
        ),
        option(
            "--warmup", default=warmup, type=click.IntRange(min=0),
            help=f"Runs before timing [{warmup}].",
        ),
        option(
            "--repeat", default=repeat, type=click.IntRange(min=least),
            help=f"Timed runs [{repeat}]{none}.",
        ),
        option("--results", "database", metavar="FILE", help="Another results database."),
    )  # fmt: skip


def problems_asked(
    variants: Iterable[str], lines: tuple[str, ...], files: tuple[str, ...]
) -> list[Problem] | None:
    """The problems given, as kernels of these variants read them, each once; None if none are.

    Raises:
        UsageError: For a problem that nobody understands, or files without any.
    """
    from ckrules.kernels import problem_files

    if not lines and not files:
        return None
    kinds = problem_files.kinds(variants)
    found = [problem for line in lines for problem in problem_files.parse(line, kinds)]
    for file in files:
        found += problem_files.read(file, kinds)
    if not found:
        raise UsageError(f"{', '.join(files)}: no problems")
    return list(dict.fromkeys(found))


def say_left_out(session: ValidationSession) -> None:
    """Notes on kernels that are not built or belong to other GPUs."""
    if session.absent:
        first = session.absent[0]
        note(f"{_counted(session.absent)} left out; {first.name}: {first.missing}")
    if session.stale:
        many = _counted(session.stale)
        note(f"{many} left out; {session.stale[0].name}: {MADE_AGAIN}")
    if session.elsewhere:
        archs = sorted({k.arch for k in session.elsewhere})
        note(f"{_counted(session.elsewhere)} for other GPUs: {', '.join(archs)}")


def _counted(kernels: Sequence[ManifestEntry]) -> str:
    return f"{len(kernels):,} kernel{'s' * (len(kernels) != 1)}"
