"""The spaces of other tuners have the counts that their papers publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.adapters.kernel_tuner import space_of

FILES = sorted((Path(__file__).parent.parent / "data" / "spaces").glob("*.json"))


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_published_counts(path: Path) -> None:
    """The count is the published one, and the table has that many different rows."""
    data = json.loads(path.read_text())
    params = {v["name"]: v["values"] for v in data["variables"]}
    space = space_of(params, data["constraints"])
    if data["valid"] is not None:
        assert space.count() == data["valid"]
    rows = {r for t in space.columns(50_000) for r in space.tuples(t)}
    assert rows == set(space.to_tuples())
    assert len(rows) == space.count()
    for index in range(0, space.count(), space.count() // 20 + 1):
        assert space[index] in space
