"""Only regular files are opened, and what a shell hands over."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.support import opening


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def make_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (make_pipe, "a pipe"),
        (make_socket, "a socket"),
        (make_zero, "a device"),
        (Path.mkdir, "a folder"),
    ],
)
def test_what_is_no_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], what: str
) -> None:
    path = tmp_path / "p"
    make(path)
    with pytest.raises(OSError, match=f"{what}, expected a file"):
        opening.read(path)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    assert opening.read(path) == b"abc"
    assert opening.read(str(path), most=3) == b"abc"
    with pytest.raises(OSError, match="larger than"):
        opening.read(path, most=2)
    with pytest.raises(FileNotFoundError):
        opening.read(path.with_name("absent"))
    with pytest.raises(ValueError, match="null"):
        opening.read("a\0b")


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    ours, theirs = os.pipe()

    def write() -> None:
        with open(theirs, "wb") as stream:
            stream.write(b"x" * 200_000)  # more than a pipe holds: the reader has to wait

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert opening.read(f"/dev/fd/{ours}") == b"x" * 200_000
    finally:
        writer.join()
        os.close(ours)


def test_a_device_of_the_shell_is_refused() -> None:
    with open("/dev/zero", "rb") as zero, pytest.raises(OSError, match="a device"):
        opening.read(f"/dev/fd/{zero.fileno()}")


def test_a_file_that_becomes_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p"
    os.mkfifo(path)
    (tmp_path / "f").touch()
    real = os.stat

    def before(name: str | Path) -> os.stat_result:
        return real(tmp_path / "f" if name == path else name)

    monkeypatch.setattr(opening.os, "stat", before)
    with pytest.raises(OSError, match="a pipe"):
        opening.read(path)


def test_handles_are_closed(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    before = len(os.listdir("/proc/self/fd"))
    opening.read(tmp_path / "f")
    os.mkfifo(tmp_path / "p")
    with pytest.raises(OSError, match="a pipe"):
        opening.read(tmp_path / "p")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_may_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "in").symlink_to("file")
    (home / "out").symlink_to("../elsewhere")
    assert opening.inside(home, "in") == home / "in"
    assert opening.inside(home, "new") == home / "new"
    for name in ("out", "../elsewhere", "/etc/passwd"):
        with pytest.raises(OSError, match="leads out of its folder"):
            opening.inside(home, name)
    (tmp_path / "link").symlink_to(home)
    assert opening.inside(tmp_path / "link", "in") == tmp_path / "link" / "in"
