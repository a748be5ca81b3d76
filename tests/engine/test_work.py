"""What the engine is asked again costs no work again: counted in calls, never in seconds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckrules.engine.diagram import cache, compiler, problem, restrict
from ckrules.engine.expr.variables import Int
from ckrules.engine.space import Space
from ckrules.output.counts import grouped


def _space(**values: Any) -> Space:
    tile_m, tile_n, waves, k = (
        Int(n, [16, 32, 64, 128]) for n in ("tile_m", "tile_n", "waves", "k")
    )
    rules = [tile_m % waves == 0, tile_m * tile_n <= 4096, waves * tile_n >= 512, k >= tile_n]
    return Space([tile_m, tile_n, waves, k], rules)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of conditions of each problem that is prepared."""
    seen: list[int] = []
    prepare = problem.prepare

    def counting(domains: Any, conditions: Any, *args: Any) -> Any:
        listed = list(conditions)
        seen.append(len(listed))
        return prepare(domains, listed, *args)

    for module in (problem, restrict):
        monkeypatch.setattr(module, "prepare", counting)
    return seen


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a space is compiled from its rules."""
    seen: Counter[str] = Counter()
    compile_problem = compiler.compile_problem

    def counting(*args: Any, **options: Any) -> Any:
        seen["compile"] += 1
        return compile_problem(*args, **options)

    monkeypatch.setattr(compiler, "compile_problem", counting)
    monkeypatch.setenv("CKRULES_CACHE_DIR", "")
    return seen


def test_smaller_spaces_prepare_only_what_is_added(prepared: list[int]) -> None:
    """A space cut out of a compiled one looks at the new conditions, not at all rules again."""
    space = _space()
    space.compile()
    prepared.clear()

    assert space.where("tile_m < 64").count() < space.count()
    assert space.bind(waves=[32, 64]).count() < space.count()
    assert space.where("tile_m < 16").count() == 0
    assert prepared == [1, 0, 1]


def test_parts_of_an_empty_space_are_empty(compiled: Counter[str]) -> None:
    """Rules that only together leave nothing give empty parts, without compiling again."""
    a, b, c = (Int(n, [0, 1]) for n in "abc")
    space = Space([a, b, c], [a != b, b != c, a != c])

    assert space.count() == 0
    assert space.where("a <= b").count() == 0
    assert space.bind(a=1).to_tuples() == []
    assert compiled["compile"] == 1


def test_groups_are_cut_out_of_one_compiled_space(compiled: Counter[str]) -> None:
    """Counting by many fields compiles once, however many values the outer fields have."""
    groups = list(grouped(_space(), ["tile_m", "tile_n", "waves"]))

    assert sum(n for _, n in groups) == _space().count()
    assert compiled["compile"] == 2  # the groups, and the space of the line above


def test_spaces_of_the_same_rules_share_their_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule whose fields have the same candidates in two spaces is simplified once."""
    seen: list[str] = []
    clauses = problem.clauses

    def counting(root: Any) -> Any:
        seen.append(str(root))
        return clauses(root)

    monkeypatch.setattr(problem, "clauses", counting)
    names = ("m", "n", "k", "w")
    m, n, k, w = (Int(name, range(1, 200)) for name in names)
    rules = [m * n * k <= 4096 * 199, n * k * w >= 64]
    sizes = {name: tuple(range(1, 200)) for name in names}
    for only in (2, 4):
        problem.prepare({**sizes, "w": (only,)}, rules)

    assert seen == ["m * n * k <= 815104", "n * k * 2 >= 64", "n * k * 4 >= 64"]


def test_figures_are_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The figures of a summary are read from disk the second time; damage is noticed."""
    monkeypatch.setenv("CKRULES_CACHE_DIR", str(tmp_path))
    calls: list[int] = []

    def count() -> list[int]:
        calls.append(1)
        return [10**30, 0, 7]

    assert cache.figures("key", count) == cache.figures("key", count) == [10**30, 0, 7]
    assert len(calls) == 1
    (kept,) = (tmp_path / "ckrules" / "spaces").iterdir()
    for damage in (b"", b"[1, 2", b'{"a": 1}', b"[1.5]"):
        kept.write_bytes(damage)
        assert cache.figures("key", count) == [10**30, 0, 7]
    assert len(calls) == 5
    cache.clear()
    assert cache.figures("key", count) == [10**30, 0, 7]
    assert len(calls) == 6
    monkeypatch.setenv("CKRULES_CACHE_DIR", "")
    assert cache.figures("key", count) == [10**30, 0, 7]
    assert len(calls) == 7


def test_orders_are_rated_by_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Improving an order looks at each set of bound variables once."""
    from ckrules.engine.diagram.order import Orders

    scopes = [(i, (i * 7 + 3) % 24, (i * 5 + 1) % 24) for i in range(24)]
    orders = Orders([8] * 24, scopes)
    first = orders.best()
    known = dict(orders._weights)

    assert len(known) < 24 * 150  # 300 moves of 24 variables would be 7,200 frontiers
    assert orders.best() == first
    assert orders._weights == known
