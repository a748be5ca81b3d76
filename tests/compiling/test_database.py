"""The results database: one file for builds and runs, of this version, an older or a later one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckrules.compiling.database import FILE, DatabaseTable, ResultsError
from ckrules.compiling.reading import ReadOnlyConnection
from ckrules.compiling.results import Result, Results
from ckrules.device.store import Runs
from tests.cli.run import run
from tests.helpers.full_disk import no_file_beyond

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
def test_an_older_file_gets_the_columns_it_lacks(kind: type[DatabaseTable], tmp_path: Path) -> None:
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
def test_a_later_file_is_left_alone(kind: type[DatabaseTable], tmp_path: Path) -> None:
    path = tmp_path / FILE
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(ResultsError, match=rf"^{path}: written by a later version of ckrules$"):
        kind(path)
    assert columns(path, kind.NAME) == []


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_no_database(kind: type[DatabaseTable], tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database" * 100)
    with pytest.raises(ResultsError, match="cannot open the results: file is not a database"):
        kind(path)
    with pytest.raises(ResultsError, match="there are no results"):
        kind(tmp_path / "absent", reading=True)
    with pytest.raises(ResultsError, match="cannot open the results"):
        kind(tmp_path / "no folder" / FILE)


def state(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE build (name TEXT, x INTEGER)")
        db.execute("INSERT INTO build VALUES ('a', 1)")
        db.commit()


def foreign_beside(path: Path) -> None:
    with Results(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE places (url TEXT)")


def foreign_view(path: Path) -> None:
    columns = ", ".join(f"1 AS {name}" for name in Results.COLUMNS)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE VIEW build AS SELECT {columns}")
        db.execute("PRAGMA user_version=1")


@pytest.mark.parametrize("make", [foreign, foreign_beside, foreign_view, Path.touch])
@pytest.mark.parametrize("kind", TABLES)
def test_somebody_elses_file_is_left_alone(
    kind: type[DatabaseTable], make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / FILE
    make(path)
    before = state(tmp_path)
    with pytest.raises(ResultsError, match=rf"^{path}: not a results database of ckrules$"):
        kind(path, reading=True)
    if make is not Path.touch:
        with pytest.raises(ResultsError, match="not a results database of ckrules"):
            kind(path)
    done = run("results", str(path), *(["--runs"] if kind is Runs else []))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: {path}: not a results database of ckrules\n"
    assert state(tmp_path) == before


@pytest.mark.parametrize("kind", TABLES)
def test_a_damaged_file_is_refused_in_one_line(kind: type[DatabaseTable], tmp_path: Path) -> None:
    """What SQLite says of it quotes bytes that are not text."""
    path = tmp_path / FILE
    with kind(path):
        pass
    data = path.read_bytes()
    assert b"arch TEXT" in data
    path.write_bytes(data.replace(b"arch TEXT", b"arch T\xffXT"))
    before = state(tmp_path)
    for reading in (False, True):
        with pytest.raises(ResultsError, match=r'unknown datatype for .*arch: "T\\xffXT"'):
            kind(path, reading=reading)
    done = run("results", str(path), *(["--runs"] if kind is Runs else []))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: {path}: cannot open the results: malformed")
    assert state(tmp_path) == before


@pytest.mark.parametrize("kind", TABLES)
def test_an_older_file_is_read_as_it_is(kind: type[DatabaseTable], tmp_path: Path) -> None:
    path = tmp_path / FILE
    with kind(path):
        pass
    kept = [c for c in kind.COLUMNS if c in (*kind.IDENTITY, "config", "op_type")]
    lost = [c for c in kind.COLUMNS if c not in kept]
    with closing(sqlite3.connect(path)) as db:
        for name in lost:
            db.execute(f"ALTER TABLE {kind.NAME} DROP COLUMN {name}")
        values = ["{}" if c == "config" else "x" for c in kept]
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO {kind.NAME} ({', '.join(kept)}) VALUES ({marks})", values)
        db.commit()
    before = state(tmp_path)
    with kind(path, reading=True) as table:
        (row,) = table.records()
        assert (row["name"], row[lost[0]], table.count()) == ("x", None, 1)
    assert state(tmp_path) == before


def test_builds_without_runs_have_none(tmp_path: Path) -> None:
    with Results(tmp_path / FILE) as results:
        results.put(result("a"))
    before = state(tmp_path)
    with Runs(tmp_path / FILE, reading=True) as runs:
        assert list(runs.records()) == []
    with Results(tmp_path / FILE, reading=True) as results, pytest.raises(ResultsError):
        results.put(result("b"))
    assert state(tmp_path) == before


@pytest.mark.parametrize("locked", [False, True])
def test_a_writer_is_read_along_with(
    locked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``locked``: in a folder where no index of the writer's log can be made."""
    path = tmp_path / FILE
    connected = ReadOnlyConnection._connected
    tried: list[Path] = []

    def refused(self: ReadOnlyConnection, place: Path, more: str = "") -> sqlite3.Connection:
        tried.append(place)
        if place == path:
            return connected(self, path.with_name("unable"), more)
        return connected(self, place, more)

    if locked:
        monkeypatch.setattr(ReadOnlyConnection, "_connected", refused)
        monkeypatch.setattr("ckrules.compiling.reading.os.access", lambda *_: False)
    with Results(path) as writer:
        writer.put(result("a"))
        before = state(tmp_path)
        with Results(path, reading=True) as reader:
            assert reader.count() == 1
            writer.put(result("b"))
            assert reader.count() == (1 if locked else 2)
        assert state(tmp_path).keys() == before.keys()
    assert len(tried) == 2 * locked
    assert not any(p.parent.exists() for p in tried[1:])


def test_a_file_that_changes_under_its_reader_is_said(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with Results(path) as results:
        results.put(result("a"))
    with Results(path, reading=True) as reader:
        assert reader.count() == 1
        with Results(path) as writer:
            writer.put(result("b"))
        with pytest.raises(ResultsError, match="written to while it was read: ask again"):
            reader.count()


@pytest.mark.parametrize("reading", [False, True])
def test_what_is_no_file(reading: bool, tmp_path: Path) -> None:
    path = tmp_path / FILE
    os.mkfifo(path)
    with pytest.raises(ResultsError, match="a pipe, expected a file"):
        Results(path, reading=reading)


@pytest.mark.parametrize("config", ["[" * 100_000, "[]", "7", '{"a": {}}', '{"a": []}', "x", None])
def test_rows_that_somebody_else_wrote(config: str | None, tmp_path: Path) -> None:
    path = tmp_path / FILE
    with Runs(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        values = {**dict.fromkeys(Runs.IDENTITY, "x"), "config": config, "status": "ok"}
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO run ({', '.join(values)}) VALUES ({marks})", [*values.values()])
        db.commit()
    done = run("results", str(path), "--runs")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {path}: ")


def test_results_of_a_gpu_are_found_by_its_words(tmp_path: Path) -> None:
    path = str(tmp_path / FILE)
    with Results(Path(path)) as results:
        results.put(result("a"))
        results.put(replace(result("b"), arch="gfx999"))
    for word, name in (("gfx942:xnack-", "a"), ("MI300X", "a"), ("gfx999", "b")):
        done = run("results", path, "--arch", word, "--format", "names")
        assert (done.exit_code, done.stdout) == (0, f"{name}\n")
    assert run("results", path, "--arch", "gfx950").exit_code == 3
    done = run("results", path, "--arch", "gfx943")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: unknown arch 'gfx943': did you mean 'gfx942'")


OPENER = """
import sys
from pathlib import Path
from ckrules.compiling.results import Results
from tests.compiling.test_database import result
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
    assert [w.communicate()[1] for w in writers] == [b""] * 4
    with Results(path, reading=True) as results:
        assert results.count() == 80


def test_one_that_makes_it_is_waited_for(tmp_path: Path) -> None:
    """Before the file has a log; SQLite itself gives up at once."""
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            opened = pool.submit(Results, tmp_path / FILE)
            time.sleep(0.1)
            other.execute("ROLLBACK")
            with opened.result() as results:
                assert results.count() == 0


def test_why_a_file_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says "disk I/O error" of a full disk, and that a file cannot be opened of the rest."""
    with pytest.raises(ResultsError, match=r"database file: its folder: No such file"):
        Results(tmp_path / "none" / "r.sqlite")
    refused = r"r\.sqlite: cannot open the results: disk I/O error"
    with (
        no_file_beyond(100),
        pytest.raises(ResultsError, match=rf"{refused} \(SQLITE_IOERR_\w+\):"),
    ):
        Results(tmp_path / "r.sqlite")
    disk = SimpleNamespace(f_bavail=3, f_frsize=4096, f_flag=0)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    with no_file_beyond(100), pytest.raises(ResultsError, match=f"{refused}: the disk is full"):
        Results(tmp_path / "r.sqlite")
    disk.f_bavail, disk.f_flag = 1 << 20, os.ST_RDONLY
    error = sqlite3.OperationalError("unable to open database file")
    text = str(Results.cannot_open(tmp_path / "r.sqlite", error))
    assert text.endswith("database file: its folder cannot be written to")
