"""Kernels whose sources were generated again after they were built are not run for these."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.folder import manifests
from ckrules.device.store import made_again
from tests.cli.run import run
from tests.compiling import fake

SAID = "generated again after it was built: run ckrules build"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one kernel, whose host library was compiled and whose code object is there."""
    include = fake.install(tmp_path / "tools", monkeypatch)
    folder = fake.kernels(tmp_path / "out", 1)
    words = ("--artifact", "host", "--compiler", "hipcc", "--include", str(include))
    done = run("build", str(folder), *words)
    assert done.stderr == "1 artifact built\n"
    (kernel,) = manifests(folder)
    kernel.result(Artifact.DEVICE).write_bytes(b"compiled elsewhere")
    return folder


def test_they_are_said_and_left_out(built: Path) -> None:
    (kernel,) = manifests(built)
    source = kernel.source(Artifact.HOST)
    text = source.read_text()
    problem = ("--problem", "N=1,C=8,K=8,H=5,W=5,Y=1,X=1")
    source.write_text(f"// another version\n{text}")  # which does not change the code
    assert made_again([kernel]) == set()
    source.write_text(f"{text}// other code\n")
    validated = run("validate", str(built), "--device", "cpu", *problem)
    assert validated.exit_code == 3
    assert validated.stderr == f"1 kernel left out; {kernel.name}: {SAID}\nnothing to run\n"
    one = run("run", kernel.name, "--dir", str(built), "--device", "cpu", *problem)
    assert (one.exit_code, one.stderr) == (2, f"error: {kernel.name}: {SAID}\n")
    source.write_text(text)
    assert made_again([kernel]) == set()


def test_what_others_compiled_is_taken(built: Path) -> None:
    """By `make`, say, or where the sources did not come along."""
    (kernel,) = manifests(built)
    source = kernel.source(Artifact.HOST)
    source.write_text(f"{source.read_text()}// other code\n")
    kernel.result(Artifact.HOST).write_bytes(b"compiled elsewhere")
    assert made_again([kernel]) == set()


def test_artifacts_alone_are_taken(built: Path) -> None:
    (kernel,) = manifests(built)
    kernel.source(Artifact.HOST).unlink()
    assert made_again([kernel]) == set()
