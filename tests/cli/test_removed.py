"""The line of what each topic removes is counted once for the same question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.cli import removed
from ckrules.engine.rules.region import Region
from ckrules.engine.space import Space
from ckrules.kernels.selection import Books, select

GIVEN = {
    "variant": ["forward_depthwise"], "arch": ["gfx942"], "dtype": ["fp16"],
}  # fmt: skip


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """The number of points at each count of a space."""
    monkeypatch.setenv("CKRULES_CACHE_DIR", str(tmp_path))
    seen: list[int] = []
    count = Space.count

    def counting(self: Space) -> int:
        seen.append(count(self))
        return seen[-1]

    monkeypatch.setattr(Space, "count", counting)
    return seen


def _asked(*where: str) -> Region:
    return select(Books(), GIVEN, where)


def test_the_second_run_counts_nothing(counted: list[int]) -> None:
    """The same rules and options find their figures on disk."""
    first = removed.lines(_asked())
    assert counted
    assert first[0].startswith("candidates ")
    assert any("OP removes" in line or "DW removes" in line for line in first)
    counted.clear()

    assert removed.lines(_asked()) == first
    assert counted == []


def test_other_questions_count_again(counted: list[int]) -> None:
    """Another condition, other values or other rules are another question."""
    book = _asked().book
    regions = [
        _asked(),
        _asked("tile_h <= 16"),
        replace(_asked(), fixed={**_asked().fixed, "arch": ("gfx950",)}),
        replace(_asked(), book=book.select(lambda r: r is not book.rules[0])),
    ]
    for region in regions:
        counted.clear()
        total, families = removed.removed(region)
        assert counted[0] == total
        assert all(n > 0 for _, n in families)
