"""Native code of the emulator that runs of the tests leave to the next one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.helpers import native_code


def _library(folder: Path, name: str, age: float = 0.0) -> Path:
    path = folder / "ckrules" / "native" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"code")
    changed = path.stat().st_mtime - age
    os.utime(path, (changed, changed))
    return path


def test_what_a_run_made_is_there_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path / "tools"))
    _library(tmp_path / "first", "new.so")
    _library(tmp_path / "first", "old.so", age=31 * 86400)
    native_code.keep(tmp_path / "first")
    native_code.take(tmp_path / "next")
    found = list((tmp_path / "next" / "ckrules" / "native").iterdir())
    assert [p.name for p in found] == ["new.so"]
    assert stat.S_IMODE(found[0].parent.stat().st_mode) == 0o700


def test_without_a_toolchain_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path / "none"))
    _library(tmp_path / "first", "new.so")
    native_code.keep(tmp_path / "first")
    native_code.take(tmp_path / "next")
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "next").exists()
