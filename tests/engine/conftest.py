"""What the engine's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckrules.engine.diagram import compiler, problem


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
