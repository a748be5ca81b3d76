"""The plugin that ends tests that hang, on small test files of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ckrules.support import usage
from tests.helpers.small_runs import run_tests

pytestmark = [pytest.mark.skipif(not usage.KNOWN, reason="needs Linux's /proc"), pytest.mark.whole]

SLEEPS = """
def forgotten(): time.sleep(30)
def test_sleeps(): forgotten()
"""
FIXTURES = """
@pytest.fixture
def waits(): threading.Event().wait(30)
def test_setup(waits): pass
@pytest.fixture
def waits_at_the_end():
    yield
    time.sleep(30)
def test_teardown(waits_at_the_end): pass
"""
LOOPS = """
def test_loops():
    while True: pass
def test_a_child_loops():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try: process.wait()
        finally: process.kill()
"""
CHILD = """
LOOP = "import time\\nwhile time.process_time() < 0.9: pass"
def test_child(): subprocess.run([sys.executable, "-c", LOOP], check=True)
"""
WORKS = f"""
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def test_little_work():
    for _ in range(6):
        time.sleep(0.15)
        burn(0.05)
{CHILD}
from tests.plugins.hangs import excused
def test_excused():
    with excused(): time.sleep(0.9)
class Debugger:
    def trace(self, *given): return None
Debugger.trace.__module__ = "bdb"
@pytest.fixture
def debugger():
    sys.settrace(Debugger().trace)
    yield
    sys.settrace(None)
def test_debugged(debugger): time.sleep(0.9)
"""
WAITS_FOR_ANOTHER = """
def test_it():
    with open("lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        end = time.process_time() + 0.9
        while time.process_time() < end: pass
def test_other():
    time.sleep(0.3)
    with open("lock", "w") as lock: fcntl.flock(lock, fcntl.LOCK_EX)
"""


def _pytest(folder: Path, body: str, *args: str) -> subprocess.CompletedProcess[str]:
    head = "import fcntl, pytest, subprocess, sys, threading, time\n"
    (folder / "test_it.py").write_text(head + body, encoding="utf-8")
    return run_tests(folder, "-p", "tests.plugins.hangs", "-o", "hang_idle=0.6", "-rfEp", *args)


def _outcomes(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Of the summary, each with the name of its test."""
    found = re.findall(r"^(PASSED|FAILED|ERROR) test_it\.py::test_(\w+)", done.stdout, re.M)
    return {" ".join(each) for each in found}


def test_what_sleeps_is_ended_with_its_stack(tmp_path: Path) -> None:
    """In a test, and in the fixtures before and after it, each of which is ended by itself."""
    done = _pytest(tmp_path, SLEEPS + FIXTURES)
    assert done.returncode == 1, done.stdout + done.stderr
    assert _outcomes(done) == {
        "FAILED sleeps", "ERROR setup", "ERROR teardown", "PASSED teardown"
    }  # fmt: skip
    assert (
        len(re.findall("^E .*hangs: the whole run did nothing for 0.6 s$", done.stdout, re.M)) == 3
    )
    assert "in forgotten" in done.stdout


def test_in_a_worker_too(tmp_path: Path) -> None:
    done = _pytest(tmp_path, SLEEPS, "-n", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hangs: the whole run did nothing for 0.6 s" in done.stdout
    assert "in forgotten" in done.stdout
    assert "1 failed" in done.stdout.splitlines()[-1]


def test_loops_end_at_the_limit_of_processor_time(tmp_path: Path) -> None:
    """Its own, and those of a child."""
    done = _pytest(tmp_path, LOOPS, "-o", "hang_processor=0.5")
    assert done.returncode == 1
    assert _outcomes(done) == {"FAILED loops", "FAILED a_child_loops"}
    assert (
        len(re.findall("^E .*hangs: more than 0.5 s of processor time in one", done.stdout, re.M))
        == 2
    )


@pytest.mark.parametrize(
    ("body", "jobs", "passed"),
    [
        pytest.param(WORKS, (), {"little_work", "child", "excused", "debugged"}, id="alone"),
        pytest.param(CHILD, ("-n", "2"), {"child"}, id="a child's work in a worker"),
        pytest.param(WAITS_FOR_ANOTHER, ("-n", "2"), {"it", "other"}, id="another worker's work"),
    ],
)
def test_what_works_or_waits_for_work_goes_on(
    tmp_path: Path, body: str, jobs: tuple[str, ...], passed: set[str]
) -> None:
    done = _pytest(tmp_path, body, *jobs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _outcomes(done) == {f"PASSED {name}" for name in passed}
