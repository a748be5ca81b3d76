"""One compilation: a task that any machine with the toolchain can carry out, and its outcome.

A task holds the sources as text and no path of the machine that made it, so that workers need no
shared folder; the outcome carries the artifact's bytes back.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ckrules.build import codeobject, toolchain
from ckrules.build.commands import ARTIFACTS, LINK, Recipe, commands, flags
from ckrules.build.failures import Failure, classify
from ckrules.engine.errors import CkrulesError

_TAIL = 1 << 20  # bytes of the compiler's output that are looked at
_POLL = 0.02
_running: set[subprocess.Popen[bytes]] = set()
"""The compilers that threads of this process wait for."""


@dataclass(frozen=True)
class Task:
    """One artifact of one kernel."""

    name: str
    artifact: str
    recipe: Recipe
    sources: Mapping[str, str] = field(repr=False)
    compiler: str | None = None
    include: str | None = None
    """A CK tree that ``ckrules`` does not fetch itself; the same path on every worker."""
    timeout: float = 900.0
    scratch: str | None = None
    """Folder for temporary files; None: the system's own."""


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    failure: Failure | None
    seconds: float
    peak_mb: int = 0
    data: bytes = field(default=b"", repr=False)
    entries: tuple[codeobject.EntryFigures, ...] = ()
    tool: str = ""
    tool_version: str = ""


def tools_for(task: Task) -> toolchain.Toolchain:
    """The toolchain on this machine that the task asks for.

    Raises:
        MissingToolError: With the remedy.
    """
    return toolchain.require(
        task.recipe.ck, task.compiler, Path(task.include) if task.include else None
    )


def run(task: Task) -> Outcome:
    """Carries out a task; every failure is an outcome and none is raised."""
    start = time.perf_counter()
    try:
        tools = tools_for(task)
        with tempfile.TemporaryDirectory(prefix="ckrules-", dir=task.scratch) as folder:
            return _compile(task, tools, Path(folder), start)
    except OSError as error:
        kind = "no-space" if error.errno == 28 else "internal"
        return Outcome(Failure(kind, str(error)), time.perf_counter() - start)
    except CkrulesError as error:
        kind = "toolchain" if isinstance(error, toolchain.MissingToolError) else "internal"
        return Outcome(Failure(kind, str(error)), time.perf_counter() - start)


def _compile(task: Task, tools: toolchain.Toolchain, folder: Path, start: float) -> Outcome:
    for relative, text in task.sources.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    status, output, peak = _execute_all(
        commands(task.recipe, task.artifact, task.name, tools), folder, task.timeout
    )
    seconds = time.perf_counter() - start
    version = compiler_version(str(tools.compiler))
    result = folder / ARTIFACTS[task.artifact][1].format(name=task.name)
    failure: Failure | None = None
    data = b""
    found: tuple[codeobject.EntryFigures, ...] = ()
    if status is None:
        failure = Failure("timeout", f"not done after {task.timeout:g} s")
    elif status != 0:
        failure = classify(status, output)
    else:
        data = result.read_bytes()
        if task.artifact == "device":
            try:
                found = tuple(e for e in codeobject.parse(data) if e.name.startswith(task.name))
            except codeobject.CodeObjectError as error:
                failure = Failure("internal", str(error))
    return Outcome(failure, seconds, peak, data, found, tools.kind, version)


def _execute_all(
    steps: Sequence[list[str]], folder: Path, timeout: float
) -> tuple[int | None, str, int]:
    """Exit status, output and peak memory of commands, up to the first that fails."""
    deadline = time.monotonic() + timeout
    status: int | None = 0
    output, peak = "", 0
    for words in steps:
        status, output, used = _execute(words, folder, deadline - time.monotonic())
        peak = max(peak, used)
        if status != 0:
            break
    return status, output, peak


def _execute(words: list[str], folder: Path, timeout: float) -> tuple[int | None, str, int]:
    """Exit status (None: timed out), output and peak memory in MB of one command."""
    log = folder / "compiler.log"
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    env = {**os.environ, "LC_ALL": "C", "TMPDIR": str(temporary)}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _running.add(process)
        try:
            status, peak = _wait(process, timeout)
        except BaseException:
            _kill(process)
            raise
        finally:
            _running.discard(process)
    with log.open("rb") as stream:
        output = stream.read(_TAIL).decode("utf-8", errors="replace")
    return status, output, peak


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int | None, int]:
    """The exit status, None after the time limit, and the peak memory in MB."""
    deadline = time.monotonic() + timeout
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss >> 10
        if time.monotonic() > deadline:
            _kill(process)
            return None, 0
        time.sleep(_POLL)


def stop() -> None:
    """Ends every compiler that runs in this process; the threads that wait for one go on."""
    for process in list(_running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the compiler and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


@lru_cache(maxsize=8)
def compiler_version(compiler: str) -> str:
    """The first line that a compiler prints of itself.

    Raises:
        MissingToolError: If it cannot be run.
    """
    try:
        done = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except OSError as error:
        raise toolchain.MissingToolError(f"{compiler}: cannot be run: {error.strerror}") from None
    except subprocess.SubprocessError as error:
        raise toolchain.MissingToolError(f"{compiler}: cannot be run: {error}") from None
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0].strip() if lines else "unknown"


def task_key(task: Task, tools: toolchain.Toolchain) -> str:
    """Everything that a result depends on, as one hash: sources, flags, compiler, release.

    The comments at the head of a source, which name the versions of ckrules and its rule book,
    are left out: a new rule is no reason to compile everything again.
    """
    digest = hashlib.sha256()
    anywhere = replace(tools, include=Path("ck"), rocm=Path("rocm"))
    parts = [
        *(task.artifact, task.recipe.ck, task.include or ""),
        *(tools.kind, compiler_version(str(tools.compiler))),
        *flags(task.recipe, task.artifact, anywhere),
        *(LINK if task.artifact == "host" else ()),
    ]
    for path in sorted(task.sources):
        parts += [path, _without_head(task.sources[path])]
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _without_head(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return "".join(lines[first:])
