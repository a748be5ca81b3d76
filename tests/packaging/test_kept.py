"""What runs of the tests leave to the next one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.helpers import kept


def _made(folder: Path, name: str, age: float = 0.0) -> Path:
    path = folder / "ckrules" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"made")
    changed = path.stat().st_mtime - age
    os.utime(path, (changed, changed))
    return path


@pytest.fixture
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path / "tools"))


@pytest.mark.usefixtures("_tools")
@pytest.mark.parametrize("name", ["native/{}.so", "spaces/{}.space", "spaces/{}.json"])
def test_what_a_run_made_is_there_for_the_next(tmp_path: Path, name: str) -> None:
    new = _made(tmp_path / "first", name.format("new"))
    _made(tmp_path / "first", name.format("old"), age=31 * 86400)
    kept.keep(tmp_path / "first")
    kept.take(tmp_path / "next")
    found = list((tmp_path / "next" / "ckrules" / new.parent.name).iterdir())
    assert [p.name for p in found] == [new.name]
    assert stat.S_IMODE(found[0].parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("_tools")
def test_spaces_are_those_of_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _made(tmp_path / "first", "spaces/one.space")
    kept.keep(tmp_path / "first")
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "space.py").write_text("changed = 1")
    monkeypatch.setattr("ckrules.engine.__path__", [str(tmp_path / "engine")])
    kept.take(tmp_path / "next")
    assert not (tmp_path / "next" / "ckrules" / "spaces").exists()


def test_without_a_toolchain_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path / "none"))
    _made(tmp_path / "first", "native/new.so")
    kept.keep(tmp_path / "first")
    kept.take(tmp_path / "next")
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "next").exists()
