"""Covering arrays have every pair that some point has, and claim no other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine.codec import Point
from ckrules.engine.covering import Factor, Pair, Pairs
from ckrules.engine.expr.variables import Bool, Enum, Int
from ckrules.engine.space import Space

SOME = settings(max_examples=20)
FACTORS = [
    Factor("x0"),
    Factor("x1", level=lambda v: v > 2),
    Factor("word"),
    Factor("both", ("x2", "flag")),
    Factor("sum", ("x3", "x2"), lambda a, b: (a + b) % 3),
]


def _space(seed: int) -> Space:
    draw = random.Random(seed)
    nodes = [Int(f"x{i}", range(draw.randint(2, 5))) for i in range(5)]
    flag, word = Bool("flag"), Enum("word", ["mem", "compv3", "compv4"])
    rules = [(word == "mem") | ~flag] * draw.randint(0, 1)
    for _ in range(draw.randint(0, 4)):
        a, b = draw.sample(nodes, 2)
        rules.append((a + b * 2) % draw.randint(2, 3) != draw.randint(0, 1))
    return Space([*nodes, flag, word], rules)


def _brute(points: list[Point]) -> set[Pair]:
    found: set[Pair] = set()
    for p in points:
        levels = [(f.name, f.at(p)) for f in FACTORS]
        found |= set(combinations(levels, 2))
    return found


@SOME
@given(st.integers(0, 2**32))
def test_every_pair_that_can_occur_does(seed: int) -> None:
    space = _space(seed)
    pairs, every = Pairs(space, FACTORS), _brute(space.sample(space.count()))
    assert len(pairs) == len(every)
    assert set(pairs) == every
    found = list(pairs.cover(seed))
    assert all(p in space for p in found)
    assert _brute(found) == every
    assert pairs.coverage(found).uncovered == ()
    assert list(pairs.cover(seed)) == found


@SOME
@given(st.integers(0, 2**32), st.integers(0, 9))
def test_each_point_adds_a_pair_and_the_first_add_most(seed: int, n: int) -> None:
    space = _space(seed)
    pairs, every = Pairs(space, FACTORS), _brute(space.sample(space.count()))
    found = list(pairs.cover(seed))
    covered = [_brute(found[:k]) for k in range(len(found) + 1)]
    gains = [len(b) - len(a) for a, b in pairwise(covered)]
    assert all(gains)
    assert gains[:1] == [10] * bool(found)
    begun = pairs.coverage(found[:n])
    assert (begun.covered, set(begun.uncovered)) == (
        len(covered[min(n, len(found))]), every - covered[min(n, len(found))],
    )  # fmt: skip


@SOME
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_what_is_there_already_need_not_occur_again(seed: int, n: int) -> None:
    space = _space(seed)
    pairs, every = Pairs(space, FACTORS), _brute(space.sample(space.count()))
    there = space.sample(n, seed)
    more = list(pairs.cover(seed, given=there))
    assert _brute([*there, *more]) == every
    known = _brute(there)
    for point in more:
        assert _brute([point]) - known
        known |= _brute([point])
    assert list(pairs.cover(seed, given=[*there, *more])) == []


def test_the_preferred_one_of_points_alike_is_taken() -> None:
    m, k, flags = Int("m", range(1, 60)), Int("k", range(1, 60)), [Bool(n) for n in "abcd"]
    space = Space([m, k, *flags], [flags[0] | (m > 30)])
    pairs = Pairs(space, "abcd")

    def size(point: Point) -> int:
        return int(point["m"]) * int(point["k"])

    def small(points: Sequence[Point]) -> Point:
        return min(points, key=size)

    found = list(pairs.cover(3, prefer=small))
    assert pairs.coverage(found).uncovered == ()
    assert all(size(p) < (100 if p["a"] else 400) for p in found)


def test_a_pair_of_one_point_in_a_large_space_occurs() -> None:
    nodes = [Int(f"x{i}", range(10)) for i in range(12)]
    only = [(nodes[0] != 7) | (nodes[1] != 7) | (node == 3) for node in nodes[2:]]
    space = Space(nodes, only)
    assert space.counts_by("x0", "x1")[7, 7] == 1
    pairs = Pairs(space, [f"x{i}" for i in range(4)])
    found = list(pairs.cover(1))
    assert pairs.coverage(found).uncovered == ()
    assert any(p["x0"] == p["x1"] == 7 for p in found)


def test_a_covering_array_is_near_the_least_possible() -> None:
    """Ten flags need six points; a greedy choice from few points is near that."""
    space = Space([Bool(f"f{i}") for i in range(10)])
    assert len(list(Pairs(space, space.names).cover(1))) <= 9


def test_nothing_to_pair() -> None:
    a, b = Int("a", [1, 2]), Int("b", [1, 2])
    assert list(Pairs(Space([a, b]), ["a"]).cover(0)) == []
    empty = Pairs(Space([a, b], [a > 2]), ["a", "b"])
    assert (len(empty), list(empty.cover(0)), empty.coverage([{"a": 1, "b": 1}]).covered) == (
        0, [], 0,
    )  # fmt: skip
