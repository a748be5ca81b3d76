"""Benchmarks begin to measure; nobody waits here for what they measure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.known_options import taken
from ckrules.engine.rules.region import Region
from tests.helpers.scripts import load


def test_names_are_written_and_every_row_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = load("check", "benchmarks")
    lines: dict[str, int] = {}

    def measured(*words: str) -> tuple[float, float, float]:
        lines[Path(words[-1]).name] = len(Path(words[-1]).read_text(encoding="utf-8").splitlines())
        return 0.0, 0.0, 0.0

    monkeypatch.setattr(check, "measured", measured)
    monkeypatch.setattr("sys.argv", ["check.py", "0", "30"])
    check.main()
    assert lines["distinct.names"] == lines["repeated.names"] == 30
    assert "30 distinct names, junit" in capsys.readouterr().out


def test_sides_of_differences_are_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    reasoning = load("reasoning", "benchmarks")
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(reasoning, "diff", lambda *sides: asked.append(sides))
    for which in range(len(reasoning.DIFFS)):
        reasoning.one_diff(which)
    assert len(asked) == len(reasoning.DIFFS)
    assert all(isinstance(side, Region) and side.title for sides in asked for side in sides)


def test_the_compiler_that_waits_takes_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = load("builds", "benchmarks")
    monkeypatch.setattr(builds, "_WAITS", builds._WAITS.replace(f"sleep {builds.SECONDS}", ""))
    for name in ("PATH", "ROCM_PATH"):  # are set, and set back
        monkeypatch.setenv(name, os.environ.get(name, ""))
    builds._tools(tmp_path)
    assert taken(tmp_path / "hipcc", "2025.11")
