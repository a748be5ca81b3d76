"""Files are replaced as a whole or left as they were."""

from __future__ import annotations

import importlib
import stat
import sys
import threading
from pathlib import Path

import pytest

from ckrules.support import files
from tests.helpers.forking import in_child
from tests.helpers.full_disk import no_file_beyond


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a content."""
    found = tmp_path / "file"
    found.write_text("old")
    return found


def only(path: Path) -> str:
    """The content of a file that is alone in its folder."""
    assert list(path.parent.iterdir()) == [path]
    return path.read_text()


@pytest.mark.parametrize("data", ["new\r\nß", b"new\r\n\xff", "", b""])
def test_the_content_is_as_given(path: Path, data: str | bytes) -> None:
    files.replace(path, data)
    expected = data.encode() if isinstance(data, str) else data
    assert path.read_bytes() == expected
    assert files.holds(path, expected)
    assert not files.holds(path, expected + b"x")
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert not files.holds(tmp_path / "absent", b"")


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_an_error_in_the_middle_leaves_the_old_file(path: Path, error: BaseException) -> None:
    def write() -> None:
        with files.replacing(path) as stream:
            stream.write(b"half")
            stream.flush()
            assert path.read_text() == "old"
            raise error

    with pytest.raises(type(error)):
        write()
    assert only(path) == "old"


def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    with no_file_beyond(10), pytest.raises(OSError, match=f"File too large: '{path}'"):
        files.replace(path, "x" * 11)
    assert only(path) == "old"


def test_a_full_disk_leaves_no_compiled_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would keep the first bytes of one, and fail wherever it is imported again."""
    (tmp_path / "imported_when_full.py").write_text("VALUE = " + repr(list(range(100))))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with no_file_beyond(64):
        importlib.import_module("imported_when_full")
    assert not (tmp_path / "__pycache__").exists()


def test_a_full_disk_is_named_where_scratch_files_are_written(tmp_path: Path) -> None:
    path = tmp_path / "probe.cpp"
    with no_file_beyond(10), pytest.raises(OSError, match=f"File too large: '{path}'"):
        files.put(path, "x" * 11)


def test_a_folder_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.replace(tmp_path / "folder", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError):
        files.replace(tmp_path / "absent" / "file", "new")


def test_permissions_are_kept_or_set(path: Path) -> None:
    path.chmod(0o640)
    files.replace(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    files.replace(path, "new", mode=0o755)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    plain = path.with_name("plain")
    plain.touch()
    files.replace(path.with_name("new"), "new")
    assert path.with_name("new").stat().st_mode == plain.stat().st_mode


def test_the_temporary_file_can_be_elsewhere(path: Path) -> None:
    other = path.with_name("scratch")
    other.mkdir()
    with files.replacing(path, text=True, folder=other) as stream:
        stream.write("new")
        assert len(list(other.iterdir())) == 1
    assert list(other.iterdir()) == []
    assert path.read_text() == "new"


def test_writers_at_once_do_not_mix(path: Path) -> None:
    texts = [str(i) * 100_000 for i in range(4)]

    def write(text: str) -> None:
        for _ in range(5):
            files.replace(path, text)

    threads = [threading.Thread(target=write, args=(t,)) for t in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert only(path) in texts


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_keeps_no_folder_of_its_parent(tmp_path: Path) -> None:
    """It has the folder open, too, and would wait for itself."""
    within, leave = threading.Event(), threading.Event()

    def work() -> None:
        with files.alone(tmp_path):
            within.set()
            leave.wait(60)

    def leaves() -> None:
        leave.set()
        thread.join(60)

    def enters() -> str:
        with files.alone(tmp_path):
            return "alone"

    thread = threading.Thread(target=work)
    thread.start()
    assert within.wait(60)
    assert in_child(enters, leaves) == "alone"
