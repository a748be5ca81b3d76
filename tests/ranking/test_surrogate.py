"""Searches that measure: corrections, budgets, and what is remembered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ckrules.kernels.parts import Point
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.search import Search
from ckrules.ranking.surrogate import Correction, MeasuredSearch, Tried
from tests.ranking.test_search import candidates

PART = "tile_m <= 128 & tile_n <= 128 & wave_k == 1 & pipeline in ('compv3', 'compv4')"


class Made:
    """A TEST DOUBLE: made-up times, in which compv4 is far faster than estimated."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.asked: list[Point] = []
        self.old: list[tuple[Point, float | None]] = []

    def time(self, point: Point) -> float | None:
        """Microseconds; some kernels do not work."""
        if self.broken or point["vector_c"] == 2:
            return None
        tile = abs(math.log2(point["tile_m"] / 32)) + abs(math.log2(point["tile_n"] / 128))
        return (20.0 if point["pipeline"] == "compv4" else 60.0) * (1 + 0.2 * tile)

    def before(self) -> list[tuple[Point, float | None]]:
        return self.old

    def measure(self, points: Sequence[Point]) -> list[float | None]:
        self.asked += points
        return [self.time(p) for p in points]


def search() -> Search:
    return Search(candidates(PART), Ranker(False), seed=3, limit=400)


def test_a_search_that_measures_finds_what_was_not_predicted() -> None:
    made, told = Made(), list[Tried]()
    found = MeasuredSearch(search(), made).run(60, 2000, tell=told.append)
    assert found.tried[0].ranked.point["pipeline"] == "compv4"
    assert found.tried[0].microseconds == min(t for p in made.asked if (t := made.time(p)))
    first = next(t for p in made.asked if (t := made.time(p)))
    assert (found.tried[0].microseconds or 0) < first
    assert len(told) == len(made.asked) == len(found.tried)
    # Nothing is measured twice, and kernels without a time are never the answer.
    assert len({repr(sorted(p.items())) for p in made.asked}) == len(made.asked)
    assert [t.microseconds for t in found.tried] == sorted(
        (t.microseconds for t in found.tried), key=lambda us: us or math.inf
    )


def test_budgets_count_what_was_tried_before() -> None:
    made = Made()
    one = MeasuredSearch(search(), made, batch=3).run(7, 1000)
    assert (len(made.asked), one.ended, one.known) == (7, "kernels", 0)
    again = Made()
    again.old = [(p, made.time(p)) for p in made.asked]
    two = MeasuredSearch(search(), again).run(7, 1000)
    assert (again.asked, two.known, two.ended) == ([], 7, "kernels")
    three = MeasuredSearch(search(), again).run(9, 1000)
    assert (len(again.asked), len(three.tried)) == (2, 9)
    assert not [p for p in again.asked if p in made.asked]


def test_kernels_of_other_searches_are_passed_over() -> None:
    made = Made()
    other = candidates(variant="bwd_weight", arch="gfx942", dtype="bf16").space.sample(1, seed=1)
    made.old = [(other[0], 1.0)]
    found = MeasuredSearch(search(), made).run(2, 500)
    assert (found.known, len(found.tried)) == (0, 2)


def test_no_kernel_works() -> None:
    found = MeasuredSearch(search(), Made(broken=True)).run(5, 500)
    assert [t.microseconds for t in found.tried] == [None] * 5


def test_no_time_is_left() -> None:
    found = MeasuredSearch(search(), Made()).run(5, 500, seconds=0.0)
    assert (found.ended, found.tried) == ("time", [])


def test_corrections_follow_measurements() -> None:
    x = np.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    mean, spread = Correction(x, np.asarray([0.4, 0.4, -0.4])).of(x)
    assert np.allclose(mean, [0.4, 0.4, -0.4], atol=0.05)
    assert (spread < 0.05).all()
    none, wide = Correction(x[:0], np.asarray([])).of(x)
    assert not none.any()
    assert (wide > 0.5).all()
