"""What the engine's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckrules.engine.diagram import cache, compiler, problem


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of its own, into which every space goes."""
    monkeypatch.setenv("CKRULES_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "WORTH", 0.0)
    return tmp_path / "ckrules" / "spaces"


@pytest.fixture(scope="module", params=["as it chooses", "layers only"])
def ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to compile a small space: tables of all combinations, and layers.

    Tests ask for little, so that without this they would never reach the layers, which is
    where all large spaces go.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "layers only":
            patch.setattr(compiler, "CELLS", 0)
            patch.setattr(problem, "_DIRECT", 0)
        yield
