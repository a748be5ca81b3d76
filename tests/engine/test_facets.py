"""Counts under choices are those of the restricted space, for every variable and choice."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.engine.diagram.facets import Facets, ListedFacets
from ckrules.engine.drawn import DrawnFacets
from ckrules.engine.expr.variables import Bool, Int
from ckrules.engine.space import Space


def _same(space: Space, chosen: dict[str, list[int]]) -> None:
    """Holds `Facets` against `Space.bind` and `Space.counts_by`."""
    total, found = Facets(space.compile()).under(chosen)
    values = {n: [space.domains[n][c] for c in codes] for n, codes in chosen.items()}
    assert total == space.bind(**values).count()
    if space.count() < 10_000:
        assert ListedFacets(space.compile()).under(chosen) == (total, found)
        free = Space([space.vocabulary[n] for n in space.names])
        drawn = DrawnFacets(free, space.conditions).under(chosen)  # which draws every point
        assert (drawn.total, dict(drawn.by)) == (total, found)
    for name in space.names:
        others = {n: v for n, v in values.items() if n != name}
        counts = space.bind(**others).counts_by(name)
        assert found[name] == [counts[v] for v in space.domains[name]], name


@given(st.integers(0, 2**32), st.integers(0, 5))
def test_counts_are_those_of_restricted_spaces(seed: int, held: int) -> None:
    draw = random.Random(seed)
    names = [f"x{i}" for i in range(6)]
    nodes = {n: Int(n, range(1, draw.randint(2, 5))) for n in names}
    rules = []
    for _ in range(draw.randint(0, 4)):
        a, b = draw.sample(names, 2)
        rules.append((nodes[a] + nodes[b]) % draw.randint(2, 3) != 0)
    space = Space(nodes.values(), rules)
    chosen = {}
    for name in draw.sample(names, held):
        codes = range(len(space.domains[name]))
        chosen[name] = draw.sample(codes, draw.randint(1, len(codes)))
    _same(space, chosen)


def test_spaces_beyond_64_bits() -> None:
    nodes = [Int(f"x{i}", range(10)) for i in range(40)]
    space = Space(nodes, [nodes[i] != nodes[i + 1] for i in range(39)])
    assert space.count() > 2**100
    _same(space, {"x3": [0, 4], "x20": [7]})


def test_values_that_exclude_each_other_leave_nothing() -> None:
    a, b = Int("a", [1, 2, 3]), Int("b", [1, 2, 3])
    free = Bool("free")
    space = Space([a, b, free], [a == b])
    facets = Facets(space.compile())
    assert facets.under({"a": [0], "b": [1]}) == (
        0, {"a": [0, 2, 0], "b": [2, 0, 0], "free": [0, 0]},
    )  # fmt: skip


@pytest.mark.parametrize("rules", [[], [False]])
def test_an_empty_space_and_one_without_rules(rules: list[bool]) -> None:
    a = Int("a", [1, 2])
    _same(Space([a], [a > 2 for _ in rules]), {"a": [1]})
