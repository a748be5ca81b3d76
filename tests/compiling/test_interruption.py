"""Builds that are interrupted, killed or out of space: no finished result is lost."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling import execution, executors
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE, ResultsError
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.support import files
from tests.compiling import fake
from tests.compiling.fake import build, rows
from tests.helpers.forking import in_child
from tests.helpers.full_disk import NO_MODULES
from tests.helpers.terminal import TerminalRun
from tests.helpers.waiting import interrupted, until

pytestmark = pytest.mark.whole

MANY = 12


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Twelve generated kernels."""
    return fake.kernels(tmp_path / "many", MANY)


@contextmanager
def started(
    folder: Path, include: Path, limit: Callable[[], None] | None = None, **env: str
) -> Iterator[subprocess.Popen[str]]:
    """A build of launchers in a process of its own, with two compilers at once."""
    words = [sys.executable, "-m", "ckrules", "build", str(folder), "--artifact", "object"]
    words += ["--compiler", "hipcc", "--include", str(include), "--jobs", "2"]
    process = subprocess.Popen(
        words, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True, preexec_fn=limit
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stored(folder: Path) -> int:
    """Rows so far, while another process writes."""
    try:
        with sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM build").fetchone()[0])
    except sqlite3.Error:
        return 0


def nothing_is_lost(folder: Path, include: Path, before: list[Result]) -> None:
    """Stored artifacts are whole, and the next build makes the others and these not again."""
    finished = [r for r in before if r.status == "ok"]
    for row in finished:
        unit = folder / f"{row.name}.cpp"
        assert unit.with_suffix(".o").read_text() == unit.read_text()
    summary = build(folder, include)
    assert (summary.known, summary.built) == (len(finished), MANY - len(finished))
    after = {r.name: r for r in rows(folder)}
    assert all(after[r.name] == r for r in finished)
    assert not list((folder / ".ckrules-tmp").iterdir())


def test_a_killed_build(many: Path, include: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    sleeping = {"FAKE_COMPILER": "sleep", "FAKE_SECONDS": "0.3", "TMPDIR": str(tmp_path / "tmp")}
    with started(many, include, **sleeping) as process:
        until(lambda: stored(many) >= 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = rows(many)
    assert 3 <= len(before) < MANY
    # Precompiled headers, too, of which nothing would remove 40 MB that are elsewhere.
    assert list((many / ".ckrules-tmp" / str(process.pid)).glob("ckrules-work-*"))
    assert not list((tmp_path / "tmp").iterdir())
    nothing_is_lost(many, include, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_ends_its_compilers(
    number: signal.Signals, many: Path, include: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    sleeping = {"FAKE_COMPILER": "sleep", "FAKE_SECONDS": "0.5", "FAKE_PIDS": str(pids)}
    with started(many, include, **sleeping) as process:
        until(lambda: stored(many) >= 2)
        process.send_signal(number)
        assert interrupted(process.wait(), number)
    assert not any(alive(int(p.name)) for p in pids.iterdir())
    before = rows(many)
    assert 2 <= len(before) < MANY
    nothing_is_lost(many, include, before)


def alive(pid: int) -> bool:
    """Whether a process runs; what has ended and waits to be noticed does not."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


def test_nohup_is_respected(many: Path, include: Path) -> None:
    ignored = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with started(many, include, ignored, FAKE_COMPILER="sleep", FAKE_SECONDS="0.1") as process:
        until(lambda: stored(many) >= 1)
        process.send_signal(signal.SIGHUP)
        assert process.wait() == 0
    assert len(rows(many)) == MANY


def test_a_killed_compiler_costs_its_kernel_alone(
    many: Path, include: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    sleeping = {"FAKE_COMPILER": "sleep", "FAKE_SECONDS": "0.3", "FAKE_PIDS": str(pids)}
    with started(many, include, **sleeping) as process:
        until(lambda: any(p.read_text() for p in pids.iterdir()))
        victim = next(p for p in pids.iterdir() if p.read_text())
        os.kill(int(victim.name), signal.SIGKILL)
        assert process.wait() == 1
        assert process.stderr is not None
        said = process.stderr.read()
    assert said == "11 artifacts built, 1 failed (1 for a transient reason)\n"
    before = rows(many)
    (bad,) = (r for r in before if r.status != "ok")
    assert (bad.error_class, f"./{bad.name}.cpp") == ("killed", victim.read_text())
    assert bad.diagnostic == "the compiler was ended by signal SIGKILL"
    assert bad.finding is None
    nothing_is_lost(many, include, before)


def test_no_space_for_an_artifact(
    many: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth artifact finds the disk full, after its text has been written in part."""
    options = BuildOptions(artifacts=(Artifact.OBJECT,), compiler="hipcc", include=include)
    session = BuildSession(many, options)
    count = 0
    rename = os.replace

    def full(part: Path, _: Path) -> None:
        assert part.parent == session.scratch
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(_: Result | None) -> None:
        nonlocal count
        count += 1
        if count == 3:
            monkeypatch.setattr(files.os, "replace", full)

    with (
        Results(many / FILE) as results,
        pytest.raises(ResultsError, match=r"\.o: cannot write: No space left on device"),
        executors.executor("local", 2) as (pool, width),
    ):
        session.run(results, pool, width, fill)
    monkeypatch.setattr(files.os, "replace", rename)
    before = rows(many)
    assert len(before) == 3
    nothing_is_lost(many, include, before)


def test_no_space_for_the_database(many: Path, include: Path) -> None:
    """Files of the build may not grow beyond what some rows need: it ends, what is there stays."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    with started(many, include, limit, **NO_MODULES) as process:
        assert process.wait() == 2
        assert process.stderr is not None
        (said,) = process.stderr.read().splitlines()
    assert said.startswith(f"error: {many / FILE}: cannot store a result: ")
    before = rows(many)
    assert 1 <= len(before) < MANY
    nothing_is_lost(many, include, before)


def test_a_full_disk_under_the_database_keeps_what_is_there(folder: Path, include: Path) -> None:
    build(folder, include)
    before = rows(folder)
    with Results(folder / FILE) as results:
        pages = results._db.execute("PRAGMA page_count").fetchone()[0]
        results._db.execute(f"PRAGMA max_page_count={pages}")
        big = {f: getattr(before[0], f) for f in Result.__dataclass_fields__}
        big |= {"name": "another", "diagnostic": "x" * 1_000_000}
        with pytest.raises(ResultsError, match="cannot store a result: database or disk is full"):
            results.put(Result(**big))
    assert rows(folder) == before


class Unsteady(ThreadPoolExecutor):
    """An executor of which every third task is lost with its worker."""

    def __init__(self) -> None:
        super().__init__(2)
        self.count = 0

    def submit(self, *args: Any, **options: Any) -> Future[Any]:  # type: ignore[override]
        self.count += 1
        if self.count % 3:
            return super().submit(*args, **options)
        lost: Future[Any] = Future()
        lost.set_exception(RuntimeError("the worker died\nwhile running the task"))
        return lost


def test_a_lost_worker_costs_its_tasks_alone(many: Path, include: Path) -> None:
    options = BuildOptions(artifacts=(Artifact.OBJECT,), compiler="hipcc", include=include)
    with Results(many / FILE) as results, Unsteady() as pool:
        summary = BuildSession(many, options).run(results, pool, 2)
    assert (summary.built, summary.failed, summary.transient) == (8, 4, 4)
    before = rows(many)
    (said,) = {r.diagnostic for r in before if r.status != "ok"}
    assert said == "RuntimeError: the worker died while running the task"
    nothing_is_lost(many, include, before)


_HANGING = """#!/bin/sh
case "$*" in
    *--version*) echo fake compiler 1.0 ;;
    *probe.cpp*) : > "$FAKE_PIDS/$$"; sleep 600 & : > "$FAKE_PIDS/$!"; wait ;;
esac
"""
_KERNEL = "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_backward_data_kernel.hpp"


def prepared(include: Path) -> None:
    """A tree that can be certified, with a compiler that never ends."""
    (include / _KERNEL).parent.mkdir(parents=True)
    (include / _KERNEL).touch()
    (include.parent / "bin" / "hipcc").write_text(_HANGING)


def certified(include: Path, store: Path) -> list[str]:
    """The options of a small certification."""
    words = ["--arch", "gfx942", "--variant", "forward", "-n", "6", "-j", "2", "--batch", "2"]
    words += ["--store", str(store), "--compiler", "hipcc", "--ck-include", str(include)]
    return words


def certification(pids: Path, include: Path, store: Path) -> subprocess.Popen[str]:
    """A certification whose compilers and what they start never end, in a process of its own."""
    prepared(include)
    words = [sys.executable, "-m", "ckrules", "certify", *certified(include, store)]
    env = {**os.environ, "FAKE_PIDS": str(pids)}
    return subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_certification_ends_its_compilers(
    number: signal.Signals, include: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    process = certification(pids, include, tmp_path / "verdicts.sqlite")
    try:
        until(lambda: len(list(pids.iterdir())) >= 4 or process.poll() is not None)
        process.send_signal(number)
        code = process.wait()
    finally:
        process.kill()
        process.communicate()
    assert code == -number if number == signal.SIGKILL else interrupted(code, number)
    until(lambda: not any(alive(int(p.name)) for p in pids.iterdir()))


def test_a_killed_build_ends_its_compilers(many: Path, include: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    with started(many, include, FAKE_COMPILER="hang", FAKE_PIDS=str(pids)) as process:
        until(lambda: len(list(pids.iterdir())) >= 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(alive(int(p.name)) for p in pids.iterdir()))


def test_a_killed_emulator_ends_its_compiler(tmp_path: Path) -> None:
    """The one that makes native code of instructions, which a killed worker left behind."""
    pids, program = tmp_path / "pids", tmp_path / "bin" / "clang-22"
    pids.mkdir()
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n: > "$FAKE_PIDS/$$"\nsleep 600\n')
    program.chmod(0o755)
    code = "from ckrules.emulator.native import library; library.library('int one;')"
    env = {"PATH": f"{program.parent}:/usr/bin:/bin", "FAKE_PIDS": str(pids),
           "CKRULES_CACHE_DIR": str(tmp_path / "cache")}  # fmt: skip
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **env})
    try:
        until(lambda: any(pids.iterdir()) or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    (compiler,) = pids.iterdir()
    until(lambda: not alive(int(compiler.name)))


def test_two_builds_of_one_folder_at_once(many: Path, include: Path) -> None:
    """Both may build a kernel; what is stored is whole, and is known afterwards."""
    sleeping = {"FAKE_COMPILER": "sleep", "FAKE_SECONDS": "0.2"}
    with started(many, include, **sleeping) as one, started(many, include, **sleeping) as two:
        assert (one.wait(), two.wait()) == (0, 0)
    before = rows(many)
    assert [r.status for r in before] == ["ok"] * MANY
    nothing_is_lost(many, include, before)


@pytest.mark.parametrize("how", ["raise", "die"])
def test_no_compiler_starts_before_it_is_known_who_ends_it(how: str, tmp_path: Path) -> None:
    """What came between a compiler's start and its being noted left it to run on."""
    code = f"""
import os, signal, sys
from pathlib import Path
from ckrules.compiling import execution
class Lost:
    def begun(self, session):
        os.kill(os.getpid(), signal.SIGKILL) if {how == "die"} else sys.exit(3)
    def ended(self, session): pass
execution._guardian = Lost()
execution.execute(["/bin/sh", "-c", ": > started"], Path("."), 60)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == (-signal.SIGKILL if how == "die" else 3)
    time.sleep(0.5)  # as long as a shell takes to begin many times over
    assert not (tmp_path / "started").exists()


def test_a_stopped_crew_starts_nothing(tmp_path: Path) -> None:
    """What was ended asked its question again, in smaller parts or without the headers."""
    waiting = [sys.executable, "-c", "import time; time.sleep(600)"]

    def twice() -> list[int | None]:
        return [execution.execute(waiting, tmp_path, 600).status for _ in range(2)]

    def interrupted_soon() -> None:
        with executors.executor("local", 1) as (pool, _):
            asked.append(pool.submit(twice))
            until(lambda: len(execution._running) > 0)
            raise KeyboardInterrupt

    asked: list[Future[list[int | None]]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_soon()
    assert asked[0].result() == [-signal.SIGKILL, None]
    assert execution.execute([sys.executable, "-c", ""], tmp_path, 60).status == 0


@pytest.mark.parametrize("words", [["build", "{folder}", "--compiler", "hipcc"], ["certify"]])
def test_a_bar_says_what_is_compiled(
    words: list[str], many: Path, include: Path, tmp_path: Path
) -> None:
    more = ["--include", str(include), "--artifact", "object"]
    if words == ["certify"]:
        prepared(include)
        more = certified(include, tmp_path / "verdicts.sqlite")
    run = TerminalRun(*(w.format(folder=many) for w in words), *more, FAKE_COMPILER="hang",
                      FAKE_PIDS=str(tmp_path))  # fmt: skip
    assert run.until("0/12" if words != ["certify"] else "0/6"), run.seen
    assert run.interrupt() == 130, run.seen
    assert "Traceback" not in run.seen


@pytest.mark.parametrize("fork", [False, True])
def test_nothing_is_left_open_at_the_end(fork: bool, tmp_path: Path) -> None:
    """Python's warnings of a shell that runs and of its pipe; a forked child may hold the pipe."""
    code = f"""
import os, time
from pathlib import Path
from ckrules.compiling import execution
execution.execute(["/bin/true"], Path("."), 60)
if {fork} and not os.fork():
    time.sleep(600)
"""
    words = [sys.executable, "-X", "dev", "-c", code]
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as done:
        assert done.wait(60) == 0
        with suppress(ProcessLookupError):
            os.killpg(done.pid, signal.SIGKILL)  # the child
        assert done.stderr is not None
        assert fork or done.stderr.read() == ""


def test_a_command_gets_its_words_and_an_empty_input(tmp_path: Path) -> None:
    asked = [sys.executable, "-c", "import sys; print(sys.argv[1:], sys.stdin.read())", "a b", "$x"]
    ran = execution.execute(asked, tmp_path, 60)
    assert (ran.status, ran.output) == (0, "['a b', '$x'] \n")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_starts_compilers_of_its_own(tmp_path: Path) -> None:
    """A thread of its parent was about to start one, which it will not do in the child."""
    execution.execute(["true"], tmp_path, 60)
    with execution._starting, execution._guardian._lock:
        assert (
            in_child(lambda: execution.execute(["echo", "here"], tmp_path, 60).output) == "here\n"
        )
