"""The plugin that says on the terminal what takes long, and what the building of kernels says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckrules.compiling import toolchain
from ckrules.compiling.artifacts import Artifact
from tests.compiling import fake, kernels
from tests.helpers.small_runs import run_tests

BODY = """
from tests.plugins.progress import say
def test_it(): say("built 1 of 2")
"""


@pytest.mark.parametrize("jobs", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_lines_come_through(tmp_path: Path, jobs: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text(BODY)
    done = run_tests(tmp_path, "-p", "tests.plugins.progress", *jobs)
    assert done.returncode == 0, done.stdout
    assert done.stderr.splitlines() == ["", "built 1 of 2"]


def test_one_kernel_is_built_and_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a compiler that compiles nothing: what is built is a matter of other tests."""
    include = fake.install(tmp_path / "tools", monkeypatch)
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "tools" / "bin"))
    (tmp_path / toolchain.TREES["2025.11"]).mkdir()
    (tmp_path / toolchain.TREES["2025.11"] / "include").symlink_to(include)
    said: list[str] = []
    monkeypatch.setattr(kernels, "say", said.append)
    points = kernels.convolutions().points[:3]
    places = tuple(tmp_path / each.name for each in kernels.convolutions().folders[:3])
    for _ in range(2):
        some = kernels.KernelSet("some", points)
        some.folders = places
        kernel = some.build(points[1], (Artifact.HOST,))
        assert (kernel.folder / f"{kernel.name}.host.so").is_file()
        assert [p.exists() for p in places] == [False, True, False]
    (line,) = said
    what = rf"{kernel.name} for {points[1]['arch']} \(host, \d+ s of the processor\)"
    assert re.fullmatch(rf"built 1 of 3 some kernels: {what}", line)
