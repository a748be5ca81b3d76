"""Times of `ckrules results --runs`: lines of bars, which terminals get alone, and damaged rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ckrules.cli import emit
from ckrules.cli.commands import results
from ckrules.compiling.database import FILE
from ckrules.compiling.folder import ManifestEntry
from ckrules.constraints import book
from ckrules.constraints.conv.problem import parse
from ckrules.device.jobs import RunOutcome, RunStatus
from ckrules.device.store import Runs, StoredRun
from tests.cli.run import run

MANY, ONE = "N=1,C=64,K=64,H=9,W=9,Y=3,X=3", "N=2,C=64,K=64,H=9,W=9,Y=1,X=1"
WORDS = ("--runs", "--format", "table")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Four kernels, one of them wrong, on one problem, and one of them on another."""
    point = dict(book("forward").vocabulary.baseline)
    with Runs(tmp_path / FILE) as runs:
        for name, problem, status, ms in (
            ("a", MANY, RunStatus.OK, 0.08), ("b", MANY, RunStatus.OK, 0.01),
            ("c", MANY, RunStatus.OK, 0.02), ("d", MANY, RunStatus.WRONG, 0.001),
            ("a", ONE, RunStatus.OK, 0.5),
        ):  # fmt: skip
            entry = ManifestEntry(tmp_path, name, "2026.06", "gfx942", (), "r", True, None, point)
            outcome = RunOutcome(status, "", time_ms=ms)
            runs.put(StoredRun(entry, parse(problem), outcome, "hip", None, True, None, 1, 1))
    return tmp_path


def test_bars_are_for_terminals(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("results", str(place), *WORDS).stdout
    assert "times of kernels" not in plain
    monkeypatch.setattr(emit, "is_terminal", lambda _: True)
    *_, head, line = run("results", str(place), *WORDS).stdout.splitlines()
    assert "in microseconds" in head  # of one time there is nothing to compare
    assert line.split() == ["10.0", "▁▃█", "80.0", str(parse(MANY))]
    monkeypatch.setattr(results, "encodes", lambda *_: False)
    assert "_-#" in run("results", str(place), *WORDS).stdout
    assert "times" not in run("results", str(place), *WORDS, "--failed").stdout
    assert "times" not in run("results", str(place), "--format", "table").stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("latency_ms = 9e999", "latency_ms of 'b' is not a time: inf"),
        ("latency_ms = 1e308", "latency_ms of 'b' is not a time: 1e+308"),
        ("latency_ms = -1.0", "latency_ms of 'b' is not a time: -1.0"),
        ("config = '[1]'", "the config of 'b' is not a plain object"),
        ("config = 'null'", "the config of 'b' is not a plain object"),
        ("sizes = '[1]'", "the sizes of 'b' is not a plain object"),
    ],
)
def test_a_damaged_row_is_said(place: Path, change: str, said: str) -> None:
    with closing(sqlite3.connect(place / FILE)) as db:
        db.execute(f"UPDATE run SET {change} WHERE name = 'b'")
        db.commit()
    for words in (("results", str(place), "--runs"), ("report", "results", str(place), "-o", "-")):
        done = run(*words)
        assert (done.exit_code, done.stderr) == (2, f"error: {place / FILE}: {said}\n")
