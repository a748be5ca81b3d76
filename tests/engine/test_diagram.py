"""The compiled form: layers, large clauses, splitting and the cache on disk."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ckrules.engine.diagram import cache, compiler, product
from ckrules.engine.diagram.clause_diagram import TRUE_NODE, from_truth
from ckrules.engine.diagram.compiled import Compiled
from ckrules.engine.diagram.compiler import choose_order, compile_problem
from ckrules.engine.diagram.content import digest
from ckrules.engine.diagram.errors import TooHardError
from ckrules.engine.diagram.layers import from_relation, layered
from ckrules.engine.diagram.order import Orders
from ckrules.engine.diagram.problem import ConstraintProblem, prepare
from ckrules.engine.diagram.product import Budget
from ckrules.engine.diagram.propagate import propagate
from ckrules.engine.diagram.split_block import SplitBlock, stream
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import const, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, domain_of
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.space import Space
from ckrules.support.errors import HardSpaceWarning, UndecidedError

from . import spaces as sp

SOME = settings(max_examples=100, deadline=None)

pytestmark = pytest.mark.usefixtures("ways")


def _domains(vs: list[Any]) -> dict[str, tuple[Any, ...]]:
    return {domain_of(v).name: domain_of(v).values for v in vs}


@SOME
@given(sp.spaces(4))
def test_layers_equal_truth_tables(made: Any) -> None:
    """A clause evaluated variable by variable has the diagram of its truth table."""
    vs, rules = made
    domains = _domains(vs)
    grid = Grid(list(domains), domains)
    for rule in rules:
        if not rule.support:
            continue
        with np.errstate(all="ignore"):
            whole = from_truth(grid.truth(rule))
            steps = layered(grid, rule, 10_000)
        assert (whole.axes, whole.root) == (steps.axes, steps.root)
        if whole.root > TRUE_NODE:
            assert _language(whole) == _language(steps)


@SOME
@given(st.data())
def test_relations_equal_truth_tables(data: Any) -> None:
    """A relation read row by row has the diagram of its truth table, in any order of its keys.

    So has one that is denied.
    """
    vs = [Int("a", [1, 2, 4]), Enum("w", ["mem", "compv3"]), Bool("f"), Int("b", [0, 3])]
    used = data.draw(st.permutations(vs))[: data.draw(st.integers(1, 4))]
    keys = st.tuples(*(st.sampled_from([*domain_of(v).values, _outside(v)]) for v in used))
    rows = data.draw(st.sets(keys, max_size=12))
    table = Table.relation("some", [domain_of(v).name for v in used], rows)
    domains = _domains(vs)
    grid = Grid(list(domains), domains)
    for clause in (rel(table, *used), ~rel(table, *used)):
        found, whole = from_relation(grid, clause), from_truth(grid.truth(clause))
        assert found is not None
        assert (found.axes, found.root) == (whole.axes, whole.root)
        if whole.root > TRUE_NODE:
            assert _language(found) == _language(whole)


def _outside(variable: Any) -> Any:
    """A value that is not a candidate, if the variable's sort has one."""
    return {"int": 99, "enum": "other", "bool": True}[domain_of(variable).sort]


def _language(diagram: Any) -> list[tuple[int, ...]]:
    """Every accepted row of positions."""
    found: list[tuple[int, ...]] = []

    def walk(level: int, node: int, row: tuple[int, ...]) -> None:
        if level == len(diagram.tables):
            found.append(row)
            return
        for position, after in enumerate(diagram.tables[level][node].tolist()):
            if after >= 0:
                walk(level + 1, after, (*row, position))

    walk(0, diagram.root, ())
    return found


@SOME
@given(sp.spaces(4))
def test_propagation_keeps_the_conjunction(made: Any) -> None:
    """Clauses weakened by each other still say the same together."""
    vs, rules = made
    simple = Simplifier(candidates=_domains(vs))
    weaker = propagate([simple.condition(r) for r in rules], simple)
    for p in sp.grid(vs):
        assert all(map(At(p).holds, weaker)) == all(map(At(p).holds, rules))


@st.composite
def _guarded(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Variables, rules, and rules that are guarded by those rules, as rule books have them."""
    vs = draw(sp.variables(3))
    some = draw(st.lists(sp.conditions(vs), min_size=3, max_size=6))
    third = len(some) // 3
    rules, others, bodies = some[:third], some[third : 2 * third], some[2 * third :]
    triples = zip(rules, others, bodies, strict=False)
    return vs, rules + [(r & o).implies(b) for r, o, b in triples]


@settings(SOME, max_examples=80)
@given(_guarded())
def test_guards_by_other_rules_vanish(made: Any) -> None:
    """Rules guarded by rules keep their meaning."""
    vs, guarded = made
    space = Space(vs, guarded)
    assert list(space) == sp.in_order(space, sp.brute(vs, guarded))


@SOME
@given(sp.spaces())
def test_split_blocks_answer_alike(made: Any) -> None:
    """With hardly any memory the space is taken apart, and every answer stays the same."""
    vs, rules = made
    assume(vs)
    problem = prepare(_domains(vs), rules)
    order = choose_order(problem)
    whole = compile_problem(problem, order)
    parts = compile_problem(problem, order, Budget(layer=3, edges=6, cells=20))

    assert parts.count == whole.count
    rows = [whole.unrank(i) for i in range(whole.count)]
    assert [parts.unrank(i) for i in range(whole.count)] == rows
    assert [parts.rank(r) for r in rows] == list(range(whole.count))
    found = list(stream(parts, 3))
    for name in order:
        column = np.concatenate([t[name] for t in found]) if found else np.zeros(0)
        assert column.tolist() == [r[order.index(name)] for r in rows]
        assert parts.histogram(name) == whole.histogram(name)
    if whole.count:
        table, same = whole.table(0, whole.count), parts.table(0, whole.count)
        assert all((table[n] == same[n]).all() for n in order)
        many = parts.unrank_many(range(whole.count - 1, -1, -1))
        assert all((many[n][::-1] == table[n]).all() for n in order)
        assert parts.contains(table).all()
    if len(order) > 1:
        assert parts.histogram2(order[1], order[0]) == whole.histogram2(order[1], order[0])


def test_splitting_happens() -> None:
    """A budget that does not suffice leads to split blocks, not to an error."""
    xs = [Int(f"x{i}", range(6)) for i in range(5)]
    problem = prepare(_domains(xs), [xs[0] + xs[1] + xs[2] + xs[3] + xs[4] == 11])
    found = compile_problem(problem, choose_order(problem), Budget(20, 40, 400))
    assert any(isinstance(b, SplitBlock) for b in found.blocks)
    assert found.count == compile_problem(problem, choose_order(problem)).count


def _products() -> ConstraintProblem:
    """Random products over random variables: no order keeps related variables together."""
    rng = random.Random(1)
    xs = [Int(f"x{i}", [1, 2, 4, 8]) for i in range(24)]
    rules = []
    for _ in range(48):
        a, b, c, d = rng.sample(xs, 4)
        rules.append(a * b * c * d <= rng.choice([16, 32, 64, 128]))
    return prepare(_domains(xs), rules)


def test_too_hard_is_said_after_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither memory nor time grows with what a hard space would take; work is counted."""
    layers: list[int] = []
    advance = product._advance

    def seen(*args: Any) -> Any:
        layer, columns, count = advance(*args)
        layers.append(count * len(columns))
        return layer, columns, count

    monkeypatch.setattr(product, "_advance", seen)
    monkeypatch.setattr(compiler, "SEARCH", 30_000_000)
    budget = Budget(entries=20_000)
    problem = _products()
    found = compile_problem(problem, list(problem.variables), budget)
    with pytest.raises(TooHardError, match=r"orders .* parts, until .* fix variables"):
        assert found.count
    assert max(layers) <= 20_000
    first = next(stream(found, 4))
    assert all(len(column) == 4 for column in first.values())


def test_parts_of_many_values_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part looks at every value again: a space of a million parts ends after a few."""
    parts: list[int] = []
    real = compiler.narrowed

    def seen(given: Any, name: str, which: int) -> Any:
        parts.append(which)
        return real(given, name, which)

    monkeypatch.setattr(compiler, "narrowed", seen)
    monkeypatch.setattr(compiler, "SEARCH", 8_000_000)
    a, b = Int("a", range(1, 50_001)), Int("b", range(1, 50_001))
    space = Space([a, b], [a * b % 977 == 5], order=["a", "b"])
    with (
        pytest.warns(HardSpaceWarning),
        pytest.raises(UndecidedError, match="the space is too hard"),
    ):
        space.count()
    assert len(parts) <= 8


def test_an_order_that_is_too_hard_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial of orders remembers what did not fit, so that it is not tried again."""
    tried: list[bool] = []
    real = compiler.forward

    def counting(extents: Any, diagrams: Any, budget: Budget) -> Any:
        tried.append(budget == Budget())
        return real(extents, diagrams, replace(budget, entries=20_000))

    monkeypatch.setattr(compiler, "forward", counting)
    problem = _products()
    order = choose_order(problem)
    found = compile_problem(problem, order)
    assert sum(tried) == 2
    assert not found.whole


def test_orders_keep_related_variables_together() -> None:
    """A chain declared out of order is bound along the chain."""
    orders = Orders([8] * 6, [(0, 3), (3, 1), (1, 4), (4, 2), (2, 5)])
    assert orders.cost(orders.best()) <= orders.cost([0, 3, 1, 4, 2, 5]) + 1e-9


def _space() -> Space:
    m, n, w = Int("m", [16, 32, 64]), Int("n", [16, 32, 64]), Int("w", [1, 2, 4])
    return Space([m, n, w], [m % (w * 16) == 0, m * n <= 2048])


def test_cache_returns_the_same_space(store: Path) -> None:
    """The second compilation reads the first one's file and answers alike."""
    first = list(_space())
    (entry,) = cache.entries()
    again = _space()
    assert again.order == _space().order
    assert list(again) == first
    assert again.index(first[3]) == 3
    assert [e.path for e in cache.entries()] == [entry.path]
    assert cache.clear() == 1
    assert cache.entries() == []


def test_cache_of_empty_and_huge_spaces(store: Path) -> None:
    """Spaces of no points and of more points than 64 bits count survive the way to disk."""
    xs = [Int(f"x{i}", range(20)) for i in range(20)]
    rules = [xs[i] <= xs[i + 1] + 15 for i in range(19)]
    none = [xs[0] < xs[1], xs[1] < xs[0]]
    for given_rules in (rules, none):
        cold, warm = Space(xs, given_rules), Space(xs, given_rules)
        assert cold.count() == warm.count()
        assert cold.counts_by("x3") == warm.counts_by("x3")
    assert cache.entries()


@pytest.mark.parametrize("damage", ["cut", "flip", "magic", "empty"])
def test_damaged_files_are_compiled_again(store: Path, damage: str) -> None:
    """A torn or changed file is noticed, removed and replaced."""
    expected = list(_space())
    (entry,) = cache.entries()
    data = bytearray(entry.path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[-80] ^= 1
    elif damage == "magic":
        data[0] ^= 1
    else:
        data = bytearray()
    entry.path.write_bytes(bytes(data))

    assert list(_space()) == expected
    assert cache.load(entry.path.stem) is not None


def test_old_files_make_room(store: Path) -> None:
    """Beyond the limit the least recently used files go first."""
    compiled = _space().compile()
    for i in range(4):
        cache.store(f"key{i}", compiled)
        os.utime(store / f"key{i}.space", (i, i))
    size = next(e.size for e in cache.entries() if e.path.stem == "key0")
    cache.store("key9", compiled, limit=2 * size + 200)
    kept = {e.path.stem for e in cache.entries()}
    assert "key9" in kept
    assert len(kept) == 2


def test_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty directory setting turns the cache off; an unusable one is ignored."""
    monkeypatch.setattr(cache, "WORTH", 0.0)
    monkeypatch.setenv("CKRULES_CACHE_DIR", "")
    assert _space().count() == 15
    assert cache.entries() == []
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("CKRULES_CACHE_DIR", str(blocked))
    assert _space().count() == 15


def test_digests_do_not_depend_on_the_process() -> None:
    """Another process that made other nodes first names the same content the same."""
    code = """
from ckrules.engine.expr.variables import Int
waste = [Int(f"w{i}", [1]) + i for i in range(5)]
from ckrules.engine.diagram.content import digest
m = Int("m", [16, 32])
print(digest({"m": (16, 32)}, [(m % 16 == 0) | m.isin(48)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    m = Int("m", [16, 32])
    assert done.stdout.strip() == digest({"m": (16, 32)}, [(m % 16 == 0) | m.isin(48)])


def test_compiled_form_of_nothing() -> None:
    """No variables: one point, one empty table."""
    nothing = Compiled([], {})
    assert (nothing.count, nothing.unrank(0), nothing.rank([])) == (1, [], 0)


def test_a_relation_with_a_bound_key_is_listed_by_its_rows() -> None:
    """As catalogs are, whose variant is always bound: they took a minute for a hundred kernels."""
    table = Table.relation("some", ("w", "m", "n"), [("a", 1, 2), ("a", 2, 1), ("b", 2, 2)])
    m, n = Int("m", [1, 2]), Int("n", [1, 2])
    grid = Grid(["m", "n"], {"m": (1, 2), "n": (1, 2)})
    found = from_relation(grid, rel(table, const("a"), m, n))
    assert found is not None
    space = Space([Enum("w", ["a", "b"]), m, n], [rel(table, Enum("w", ["a", "b"]), m, n)])
    assert [(p["m"], p["n"]) for p in space.bind(w="a")] == [(1, 2), (2, 1)]
    assert from_relation(grid, rel(table, const("a"), m, m)) is None
