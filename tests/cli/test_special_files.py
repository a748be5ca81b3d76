"""Files that are none end a command with one line, and what a shell hands over is read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import ILLEGAL, LEGAL, run, write

Make = Callable[[Path], None]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


CHECK = ("check", "--arch", "gfx942", ILLEGAL)


@pytest.mark.parametrize(("make", "what"), [(pipe, "a pipe"), (zero, "a device")])
@pytest.mark.parametrize(
    "words",
    [
        (*CHECK, "--config", "F"),
        (*CHECK, "--baseline", "F"),
        (*CHECK, "--arch-file", "F"),
        ("check", "F"),
        ("count", "--arch", "gfx942", "--variant", "forward", "--arch-file", "F"),
        ("space", "F", "count"),
        ("cover", ILLEGAL, "--arch", "gfx942", "--problems", "F"),
        ("generate", "F", "-o", "out"),
        ("results", "F"),
        ("results", "F", "--runs"),
        ("diff", "tiny", "F.toml", "--arch", "gfx942", "--variant", "forward"),
    ],
    ids=lambda w: " ".join(w[:1] + w[-2:]) if isinstance(w, tuple) else None,
)
def test_what_is_no_file(
    words: tuple[str, ...],
    make: Make,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / ("F.toml" if "F.toml" in words else "F"))
    done = run(*words)
    assert done.exit_code == 2
    assert any(t.endswith(f"{what}, expected a file") for t in done.stderr.splitlines())


@pytest.mark.parametrize("make", [pipe, zero])
def test_what_lies_in_a_folder(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "p.conf")
    (tmp_path / "gone.conf").symlink_to("absent")
    write(tmp_path, "good.ck.json", LEGAL)
    done = run("check", ".")
    assert done.exit_code == 2
    first, last = done.stderr.splitlines()
    assert first.startswith("p.conf: error: cannot read the file: a ")
    assert last == "1 configuration: 1 legal; 1 could not be read"


@pytest.mark.parametrize("make", [pipe, zero])
def test_settings_that_lie_about(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "ckrules.toml")
    done = run(*CHECK)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path}/ckrules.toml: cannot read the settings: a ")
    (tmp_path / "ckrules.toml").unlink()
    make(tmp_path / "pyproject.toml")  # another tool's
    assert run(*CHECK).exit_code == 1


def test_what_a_shell_hands_over(tmp_path: Path) -> None:
    ck = f"{sys.executable} -m ckrules check --arch gfx942 -q"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = f"""
        {ck} <(echo {ILLEGAL}) && exit 9
        echo {ILLEGAL} | {ck} /dev/stdin && exit 9
        echo {ILLEGAL} | {ck} - && exit 9
        {ck} /dev/null
        test $? = 2
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.count("TILE") == 3
    assert "/dev/null: error: empty" in done.stderr


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"version": 1, "entries": [{"file": "a", "count": 1e999}]}', "\ud800"]
)
def test_baselines_that_are_none(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, "b.json", text.encode(errors="surrogatepass"))
    done = run(*CHECK, "--baseline", path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"{path}: not a baseline" in done.stderr
