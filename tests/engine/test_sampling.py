"""Samples of any size: different numbers, determined by the seed, in flat memory."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.engine import sampling
from ckrules.engine.expr.variables import Int
from ckrules.engine.sampling import Permutation, drawn
from ckrules.engine.space import Space


@given(st.integers(1, 5000), st.integers(0, 3))
def test_a_permutation_has_every_number_once(count: int, seed: int) -> None:
    whole = Permutation(count, seed).of(0, count).tolist()
    assert sorted(whole) == list(range(count))
    assert (
        Permutation(count, seed).of(count // 3, count // 2).tolist()
        == (whole[count // 3 : count // 2])
    )


@pytest.mark.parametrize("count", [2**62 - 1, 2**62 + 1, 10**40])
def test_numbers_beyond_64_bits(count: int) -> None:
    found = Permutation(count, 1).of(0, 500).tolist()
    assert len(set(found)) == 500
    assert all(0 <= k < count for k in found)
    assert abs(sum(found) / 500 / count - 0.5) < 0.05


def test_pairs_are_equally_likely() -> None:
    """Every ordered pair comes as often as every other (20 of them, 400 times each)."""
    seen = Counter(tuple(Permutation(5, s).of(0, 2).tolist()) for s in range(8_000))
    assert len(seen) == 20
    assert all(abs(n - 400) < 114 for n in seen.values())


@given(st.integers(0, 300), st.integers(0, 400), st.integers(1, 50))
def test_pieces_are_one_sample(count: int, n: int, chunk: int) -> None:
    """A sample has no repeats, whatever the size of the pieces."""
    whole = [k for piece in drawn(count, n, 5) for k in piece]
    pieces = [list(piece) for piece in drawn(count, n, 5, chunk)]
    assert [k for piece in pieces for k in piece] == whole
    assert len(set(whole)) == len(whole) == min(n, count)
    assert max(map(len, pieces), default=0) <= chunk


def test_a_large_sample_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the tables that are read are drawn, and together they have no repeats."""
    monkeypatch.setattr(sampling, "LISTED", 100)
    asked: list[tuple[int, int]] = []
    part = Permutation.of

    def counting(self: Permutation, start: int, stop: int) -> object:
        asked.append((start, stop))
        return part(self, start, stop)

    monkeypatch.setattr(Permutation, "of", counting)
    space = Space([Int(f"x{i}", range(50)) for i in range(20)])
    tables = space.sample_tables(10**12, seed=3, chunk=64)
    assert [rows for _, rows in islice(tables, 2)] == [64, 64]
    assert asked == [(0, 64), (64, 128)]
    small = Space([Int("a", range(30)), Int("b", range(30))], [Int("a", range(30)) != 3])
    points = small.sample(500, seed=1)
    assert len({tuple(p.values()) for p in points}) == 500
    assert [small[i] for i in small.sample_indices(500, seed=1)] == points
    assert all(p in small for p in points)
