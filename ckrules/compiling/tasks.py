"""One compilation: a task that any machine with the toolchain can carry out, and its outcome.

A task holds the sources as text and no path of the machine that made it, so that workers need no
shared folder; the outcome carries the artifact's bytes back.
"""

from __future__ import annotations

import errno
import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ckrules.compiling import codeobject, toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import LINK, Recipe, commands, flags
from ckrules.compiling.compilers import portable
from ckrules.compiling.execution import Ran, execute
from ckrules.compiling.failures import Failure, FailureClass, classify
from ckrules.compiling.sources import code_of
from ckrules.kernels.names import plain
from ckrules.support import files
from ckrules.support.errors import CkrulesError, UsageError

_SOURCE = re.compile(r"(?:[A-Za-z]\w*/)?[A-Za-z]\w*(?:\.\w+)*", re.ASCII)
"""Where a source is, relative to the folder that it is compiled in."""


@dataclass(frozen=True)
class Task:
    """One artifact of one kernel.

    Raises:
        UsageError: For names that lead out of the folder of the compilation.
    """

    name: str
    artifact: Artifact
    recipe: Recipe
    sources: Mapping[str, str] = field(repr=False)
    compiler: str | None = None
    include: str | None = None
    """A CK tree that ``ckrules`` does not fetch itself; the same path on every worker."""
    timeout: float = 900.0
    """Seconds of processor time that the compiler may use."""
    scratch: str | None = None
    """Folder for temporary files; None: the system's own."""

    def __post_init__(self) -> None:
        plain(self.name)
        for relative in self.sources:
            if not _SOURCE.fullmatch(relative):
                raise UsageError(f"{relative[:60]!r} is not a file of a generated folder")

    def __reduce__(self) -> tuple[Any, ...]:
        # By way of the constructor, so that what comes over a network is checked as well.
        return type(self), tuple(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True)
class BuildOutcome:
    """The result of a task."""

    failure: Failure | None
    seconds: float
    peak_mb: int = 0
    data: bytes = field(default=b"", repr=False)
    entries: tuple[codeobject.EntryFigures, ...] = ()
    tool: str = ""
    tool_version: str = ""
    processor_seconds: float = 0.0
    """Those that the compilers used, however long they took."""


def tools_for(task: Task) -> toolchain.Toolchain:
    """The toolchain on this machine that the task asks for.

    Raises:
        MissingToolError: With the remedy.
    """
    tree = Path(task.include) if task.include else None
    return toolchain.require(task.recipe.ck, task.compiler, tree, task.recipe.arch)


Known = Callable[[Task, toolchain.Toolchain], Sequence[str]]
"""The flags with which a task's unit takes its headers precompiled; none if it does not."""


def run(task: Task, known: Known | None = None) -> BuildOutcome:
    """Carries out a task; every failure is an outcome and none is raised."""
    start = time.perf_counter()
    try:
        tools = tools_for(task)
        with tempfile.TemporaryDirectory(prefix="ckrules-", dir=task.scratch) as folder:
            return _compile(task, tools, Path(folder), start, known)
    except OSError as error:
        full = error.errno == errno.ENOSPC
        kind = FailureClass.NO_SPACE if full else FailureClass.INTERNAL
        return BuildOutcome(Failure(kind, str(error)), time.perf_counter() - start)
    except CkrulesError as error:
        missing = isinstance(error, toolchain.MissingToolError)
        kind = FailureClass.TOOLCHAIN if missing else FailureClass.INTERNAL
        return BuildOutcome(Failure(kind, str(error)), time.perf_counter() - start)


def is_runtime_header(path: str) -> bool:
    """Whether a source is a header of the runtime folder, which all kernels share."""
    return path.startswith("runtime/") and path.endswith((".h", ".hpp"))


def _compile(
    task: Task, tools: toolchain.Toolchain, folder: Path, start: float, known: Known | None
) -> BuildOutcome:
    words = known(task, tools) if known is not None else ()
    for relative, text in task.sources.items():
        if words and is_runtime_header(relative):
            continue  # the one that was precompiled is read
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        files.put(path, text)
    first, *others = commands(task.recipe, task.artifact, task.name, tools)
    ran = _execute_all([[*first, *words], *others], folder, task.timeout)
    seconds = time.perf_counter() - start
    version = tools.version
    result = folder / task.artifact.result(task.name)
    failure: Failure | None = None
    data = b""
    entries: tuple[codeobject.EntryFigures, ...] = ()
    if ran.status is None:
        failure = Failure(FailureClass.TIMEOUT, f"the compiler {ran.output}")
    elif ran.status != 0:
        failure = classify(ran.status, ran.output)
    else:
        data = result.read_bytes()
        if task.artifact is Artifact.DEVICE:
            try:
                entries = tuple(e for e in codeobject.parse(data) if e.name.startswith(task.name))
            except codeobject.CodeObjectError as error:
                failure = Failure(FailureClass.INTERNAL, str(error))
    return BuildOutcome(
        failure, seconds, ran.peak_mb, data, entries, tools.kind, version, ran.seconds
    )


def _execute_all(steps: Sequence[list[str]], folder: Path, timeout: float) -> Ran:
    """How commands ended, up to the first that fails; they share the limit."""
    ran = Ran(0, "")
    for words in steps:
        each = execute(words, folder, timeout, ran.seconds)
        peak, seconds = max(ran.peak_mb, each.peak_mb), ran.seconds + each.seconds
        ran = Ran(each.status, each.output, peak, seconds)
        if ran.status != 0:
            break
    return ran


def task_key(task: Task, tools: toolchain.Toolchain) -> str:
    """Everything that a result depends on, as one hash: sources, flags, compiler, release.

    The comments at the head of a source, which name the versions of ckrules and its rule book,
    are left out: they do not change what is compiled.
    """
    digest = hashlib.sha256()
    anywhere = replace(tools, include=Path("ck"), rocm=Path("rocm"))
    parts = [
        *(task.artifact, task.recipe.ck, task.include or ""),
        *(tools.kind, tools.version),
        *portable(flags(task.recipe, task.artifact, anywhere)),
        *(LINK if task.artifact is Artifact.HOST else ()),
    ]
    for path in sorted(task.sources):
        parts += [path, code_of(task.sources[path])]
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()
