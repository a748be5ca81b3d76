"""A family from outside the package, installed beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ckrules.kernels.families import families
from tests.cli.run import process

PLUGIN = Path(__file__).parent / "plugin"


def distribution(folder: Path) -> None:
    """Metadata as pip leaves it, with the family's entry point."""
    info = folder / "rowsum-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rowsum\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ckrules.families]\nrowsum = rowsum.family:FAMILY\n"
        "[ckrules.devices]\nrowsum = rowsum.device:Plugin\n"
    )


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What PYTHONPATH has to hold."""
    folder = tmp_path_factory.mktemp("installed")
    distribution(folder)
    root = Path(__file__).parents[2]
    return os.pathsep.join(map(str, (folder, PLUGIN, root)))


@pytest.fixture
def command(path: str) -> Callable[..., CompletedProcess[str]]:
    """The command line in a process that has the family."""

    def call(*words: str, **options: Any) -> CompletedProcess[str]:
        return process(*words, env={**os.environ, "PYTHONPATH": path}, **options)

    return call


@pytest.fixture
def plugged(path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process has the family."""
    for entry in reversed(path.split(os.pathsep)):
        monkeypatch.syspath_prepend(entry)
    families.cache_clear()
    yield
    monkeypatch.undo()
    families.cache_clear()
