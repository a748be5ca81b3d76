"""The results database: one file for builds and runs, of this version, an older or a later one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ckrules.build.database import FILE, ResultsError, Table
from ckrules.build.results import Result, Results
from ckrules.device.store import Runs

TABLES = [Results, Runs]

RESULT = Result(
    **dict.fromkeys(Result.__dataclass_fields__),  # type: ignore[arg-type]
)


def result(name: str) -> Result:
    """A row with nothing but its identity and what must not be empty."""
    values = {f: getattr(RESULT, f) for f in Result.__dataclass_fields__}
    values |= {"name": name, "arch": "gfx942", "artifact": "device", "ck": "2025.11"}
    return Result(**{**values, "legal": True, "status": "ok", "key": "k"})


def columns(path: Path, table: str) -> list[str]:
    """The columns that the file has."""
    with sqlite3.connect(path) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def test_builds_and_runs_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with Results(path) as results, Runs(path) as runs:
        results.put(result("a"))
        assert (results.count(), runs.count()) == (1, 0)
        assert next(results.rows()) == result("a")


@pytest.mark.parametrize("kind", TABLES)
def test_an_older_file_gets_the_columns_it_lacks(kind: type[Table], tmp_path: Path) -> None:
    path = tmp_path / FILE
    with kind(path):
        made = columns(path, kind.NAME)
    assert made == list(kind.COLUMNS)
    last = made[-3]
    with sqlite3.connect(path) as db:
        db.execute(f"ALTER TABLE {kind.NAME} DROP COLUMN {last}")
        fields = ", ".join(kind.IDENTITY)
        marks = ", ".join("'x'" for _ in kind.IDENTITY)
        db.execute(f"INSERT INTO {kind.NAME} ({fields}) VALUES ({marks})")
    with kind(path) as table:
        assert sorted(columns(path, kind.NAME)) == sorted(made)
        cells = table._query(f"SELECT name, {last} FROM {kind.NAME}")
        assert list(cells) == [("x", None)]


@pytest.mark.parametrize("kind", TABLES)
def test_a_later_file_is_left_alone(kind: type[Table], tmp_path: Path) -> None:
    path = tmp_path / FILE
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(ResultsError, match=rf"^{path}: written by a later version of ckrules$"):
        kind(path)
    assert columns(path, kind.NAME) == []


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_no_database(kind: type[Table], tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database" * 100)
    with pytest.raises(ResultsError, match="cannot open the results: file is not a database"):
        kind(path)
    with pytest.raises(ResultsError, match="there are no results"):
        kind(tmp_path / "absent", must_exist=True)
    with pytest.raises(ResultsError, match="cannot open the results"):
        kind(tmp_path / "no folder" / FILE)


OPENER = """
import sys
from pathlib import Path
from ckrules.build.results import Results
from tests.build.test_database import result
sys.stdin.readline()
with Results(Path(sys.argv[1])) as results:
    for i in range(20):
        results.put(result(f"{sys.argv[2]}-{i}"))
"""


def test_processes_that_make_it_at_once_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / FILE
    root = Path(__file__).resolve().parents[2]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path), str(i)],
            cwd=root,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    assert [w.communicate(timeout=120)[1] for w in writers] == [b""] * 4
    with Results(path, must_exist=True) as results:
        assert results.count() == 80
