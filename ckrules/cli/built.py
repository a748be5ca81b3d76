"""What `ckrules validate` and `ckrules bench` share: problems asked for, kernels left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.session import ValidationSession
    from ckrules.kernels.family import Problem


def problems_asked(
    kernels: Sequence[ManifestEntry], lines: tuple[str, ...], files: tuple[str, ...]
) -> list[Problem] | None:
    """The problems given, as the kernels' families read them, each once; None if none are.

    Raises:
        UsageError: For a problem that nobody understands, or files without any.
    """
    from ckrules.kernels import problem_files

    if not lines and not files:
        return None
    kinds = problem_files.kinds(str(k.config["variant"]) for k in kernels)
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
    if session.elsewhere:
        archs = sorted({k.arch for k in session.elsewhere})
        note(f"{_counted(session.elsewhere)} for other GPUs: {', '.join(archs)}")


def _counted(kernels: Sequence[ManifestEntry]) -> str:
    return f"{len(kernels):,} kernel{'s' * (len(kernels) != 1)}"
