"""A validation that is killed: no finished run is lost, and no worker is left on the GPU."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.compiling.database import FILE
from ckrules.device.store import Runs
from tests.device.test_session import kernel, validate
from tests.helpers.waiting import until

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import sys
from pathlib import Path
from tests.device.test_session import kernel, validate
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    validate(folder, "reference", [kernel(folder, n) for n in ("a", "b", "stuck", "z")])
"""


def stored(folder: Path) -> int:
    """Runs so far, while another process writes."""
    with contextlib.suppress(sqlite3.Error):
        db = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)
        with contextlib.closing(db):
            return int(db.execute("SELECT count(*) FROM run").fetchone()[0])
    return 0


def children(pid: int) -> list[int]:
    """The processes that one has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_validation(
    number: signal.Signals, tmp_path: Path, double: Callable[..., str]
) -> None:
    double({"stuck": "hang"})
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: stored(tmp_path) >= 2 or process.poll() is not None)
        workers = children(process.pid)
    finally:
        process.send_signal(number)
        process.wait()
    until(lambda: not any(Path(f"/proc/{w}/cmdline").exists() for w in workers))
    assert workers
    with Runs(tmp_path / FILE) as runs:
        before = list(runs.records())
    assert {r["name"] for r in before} == {"a", "b"}
    double()
    validate(tmp_path, "reference", [kernel(tmp_path, n) for n in ("stuck", "z")])
    with Runs(tmp_path / FILE) as runs:
        after = list(runs.records())
    assert len(after) == 2 + 4
    assert [r for r in after if r["name"] in ("a", "b")] == before
