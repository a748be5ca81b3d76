"""The plug-in as pip would install it beside the product."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ckrules.kernels.families import families
from tests.cli.run import process

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugins" / "cutlass"


def distribution(folder: Path) -> None:
    """Metadata with the entry points that the plug-in's project declares."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    info = folder / "ckrules_cutlass-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]))


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What PYTHONPATH has to hold."""
    folder = tmp_path_factory.mktemp("cutlass")
    distribution(folder)
    return os.pathsep.join(map(str, (folder, PLUGIN, ROOT)))


@pytest.fixture(scope="session")
def command(path: str) -> Callable[..., CompletedProcess[str]]:
    """The command line in a process that has the family."""

    def call(*words: str, **options: Any) -> CompletedProcess[str]:
        return process(*words, env={**os.environ, "PYTHONPATH": path}, **options)

    return call


@pytest.fixture(scope="module", autouse=True)
def plugged(path: str) -> Iterator[None]:
    """This process has the family while a module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        for entry in reversed(path.split(os.pathsep)):
            patch.syspath_prepend(entry)
        families.cache_clear()
        yield
    families.cache_clear()
