"""Files that commands write appear whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ckrules.cli.output import binary_output, text_output
from ckrules.support.errors import UsageError
from tests.cli.run import ILLEGAL, SMALL, run
from tests.helpers.full_disk import no_file_beyond


def test_a_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    with text_output(str(path)) as stream:
        stream.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def write() -> None:
        with binary_output(str(path)) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.txt", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with text_output(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """What is not a file stays what it is; nothing is renamed over it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with text_output(str(path)) as stream:
        stream.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a folder, expected a file"), text_output(str(tmp_path)):
        pass


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "no" / "out.csv"
    result = run("enumerate", *SMALL, "-o", str(path))
    assert result.exit_code == 2
    assert result.stderr == f"error: {path}: cannot write: No such file or directory\n"


@pytest.mark.parametrize(
    "words",
    [
        *(["check", "IN", "--format", "json"], ["check", "IN#/kernels/0", "--format=json"]),
        ["count", "--catalog", "IN", "--arch", "gfx942", "--format", "json"],
        ["train", "IN"],
    ],
)
def test_no_input_is_replaced(tmp_path: Path, words: list[str]) -> None:
    """Whatever it is called: by a link, or as one configuration of it."""
    path, link = tmp_path / "in.json", tmp_path / "link.json"
    path.write_text("old")
    link.symlink_to(path)
    given = [word.replace("IN", str(path)) for word in words]
    for order in ([*given, "-o", str(link)], [given[0], f"-o{link}", *given[1:]]):
        result = run(*order)
        assert result.exit_code == 2
        assert result.stderr == f"error: -o {link}: is also read: choose another file\n"
    assert path.read_text() == "old"


def test_words_are_no_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be called as a value that the command is given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fp16").write_text("old")
    assert run("count", *SMALL, "-o", "fp16").exit_code == 0
    assert (tmp_path / "fp16").read_text() != "old"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("old")
    words = [sys.executable, "-m", "ckrules", "enumerate", *SMALL, "-o", str(path)]
    with no_file_beyond(4096):
        done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"error: {path}: cannot write: File too large\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("command", "code"),
    [("why", 1), ("check", 1), ("check --exit-zero", 0), ("check --format json", 1)],
)
def test_a_closed_pipe_keeps_the_exit_code(tmp_path: Path, command: str, code: int) -> None:
    """Whoever reads the first lines only is told no other verdict."""
    names = tmp_path / "names.txt"
    names.write_text(f"{ILLEGAL}\n" * 300)
    given = ILLEGAL if command == "why" else str(names)
    words = [sys.executable, "-m", "ckrules", *command.split(), "--arch", "gfx942", given]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, "error" in done.stderr) == (code, False)


def test_a_pipe_of_the_shell_is_written_to(tmp_path: Path) -> None:
    """`-o /dev/stdout | …` and `-o >(gzip)`: their real names are no files."""
    ck = f"{sys.executable} -m ckrules enumerate {' '.join(SMALL)} --limit 1 -q --format names"
    script = (
        f"{ck} -o /dev/stdout | cat; {ck} -o >(cat >{tmp_path}/got); {ck} -o /dev/fd/3 3>&1 | cat"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    first, again = done.stdout.splitlines()
    assert first == again
    assert (
        run("enumerate", *SMALL, "-o", "").stderr == "error: -o: an empty name, expected a file\n"
    )
