"""The plugin that ends tests that hang, on small test files of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckrules.support import usage

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not usage.KNOWN, reason="needs Linux's /proc")

SLEEPS = """
def forgotten(): time.sleep(30)
def test_it(): forgotten()
"""
FIXTURE = """
@pytest.fixture
def waits(): threading.Event().wait(30)
def test_it(waits): pass
"""
TEARDOWN = """
@pytest.fixture
def waits():
    yield
    time.sleep(30)
def test_it(waits): pass
"""
BUSY = """
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def test_it():
    for _ in range(10):
        time.sleep(0.4)
        burn(0.1)
"""
CHILD = """
LOOP = "import time\\nwhile time.process_time() < 3: pass"
def test_it(): subprocess.run([sys.executable, "-c", LOOP], check=True)
"""
LOOPS = "def test_it():\n    while True: pass"
CHILD_LOOPS = """
def test_it():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try: process.wait()
        finally: process.kill()
"""
WAITS_FOR_ANOTHER = """
def test_it():
    with open("lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        end = time.process_time() + 3
        while time.process_time() < end: pass
def test_other():
    time.sleep(0.5)
    with open("lock", "w") as lock: fcntl.flock(lock, fcntl.LOCK_EX)
"""
EXCUSED = """
from tests.plugins.hangs import excused
def test_it():
    with excused(): time.sleep(3)
"""
DEBUGGED = """
class Debugger:
    def trace(self, *given): return None
Debugger.trace.__module__ = "bdb"
sys.settrace(Debugger().trace)
def test_it(): time.sleep(3)
"""


def _pytest(folder: Path, body: str, *args: str) -> subprocess.CompletedProcess[str]:
    head = "import fcntl, pytest, subprocess, sys, threading, time\n"
    (folder / "test_it.py").write_text(head + body, encoding="utf-8")
    options = ["-p", "tests.plugins.hangs", "-p", "no:cacheprovider", "-o", "addopts=", *args]
    options += ["-o", "hang_idle=2", "--rootdir", str(folder), str(folder)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.parametrize("jobs", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_what_sleeps_is_ended_with_its_stack(tmp_path: Path, jobs: tuple[str, ...]) -> None:
    done = _pytest(tmp_path, SLEEPS, *jobs)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hangs: the whole run did nothing for 2 s" in done.stdout
    assert "in forgotten" in done.stdout
    assert "1 failed" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(FIXTURE, "1 error", id="setup"),
        pytest.param(TEARDOWN, "1 passed, 1 error", id="teardown"),
    ],
)
def test_fixtures_hang_too(tmp_path: Path, body: str, said: str) -> None:
    done = _pytest(tmp_path, body)
    assert "hangs: the whole run did nothing for 2 s" in done.stdout
    assert said in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("body", [LOOPS, CHILD_LOOPS], ids=["itself", "a child"])
def test_loops_end_at_the_limit_of_processor_time(tmp_path: Path, body: str) -> None:
    done = _pytest(tmp_path, body, "-o", "hang_processor=1")
    assert done.returncode == 1
    assert "hangs: more than 1 s of processor time in one phase" in done.stdout


@pytest.mark.parametrize(
    ("body", "jobs"),
    [
        pytest.param(BUSY, (), id="little work"),
        pytest.param(CHILD, (), id="a child's work"),
        pytest.param(CHILD, ("-n", "2"), id="a child's work in a worker"),
        pytest.param(WAITS_FOR_ANOTHER, ("-n", "2"), id="another worker's work"),
        pytest.param(EXCUSED, (), id="excused"),
        pytest.param(DEBUGGED, (), id="debugged"),
    ],
)
def test_what_works_or_waits_for_work_goes_on(
    tmp_path: Path, body: str, jobs: tuple[str, ...]
) -> None:
    done = _pytest(tmp_path, body, *jobs)
    assert done.returncode == 0, done.stdout + done.stderr
