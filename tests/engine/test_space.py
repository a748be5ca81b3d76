"""Spaces answer what brute force answers."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine import expr as e
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr.variables import Bool, Enum, Int, Real, domain_of
from ckrules.engine.space import Space
from ckrules.support.errors import UnknownNameError, UsageError

from . import spaces as sp

SOME = settings(max_examples=100, deadline=None)

pytestmark = [
    pytest.mark.usefixtures("ways"),
    pytest.mark.filterwarnings("error:.*encountered in:RuntimeWarning"),  # numpy's, of floats
]


@SOME
@given(sp.spaces())
def test_points_are_complete_ordered_and_indexed(made: Any) -> None:
    """Count, iteration, slices, indices and tables tell one story."""
    vs, rules = made
    space = Space(vs, rules)
    expected = sp.in_order(space, sp.brute(vs, rules))

    assert space.count() == len(expected)
    assert list(space) == expected
    assert space.to_tuples() == [tuple(p.values()) for p in expected]
    assert [space[i] for i in range(len(expected))] == expected
    assert [space.index(p) for p in expected] == list(range(len(expected)))
    assert list(space[1:-1]) == expected[1:-1]
    assert list(space[::-2]) == expected[::-2]
    for chunk in (1, 3, 1000):
        assert sum(len(next(iter(t.values()), [0])) for t in space.columns(chunk)) == len(expected)


@SOME
@given(sp.spaces())
def test_membership(made: Any) -> None:
    """A point of the grid is in the space exactly if no rule is violated."""
    vs, rules = made
    space = Space(vs, rules)
    points = sp.grid(vs)
    legal = [p in space for p in points]

    assert legal == [not space.violated(p) for p in points]
    assert sum(legal) == space.count()
    if vs:
        columns = {n: [p[n] for p in points] for n in space.names}
        assert space.contains_columns(columns).tolist() == legal
    for p, ok in zip(points, legal, strict=True):
        if not ok:
            with pytest.raises(UsageError):
                space.index(p)


_TINY_TO_HUGE = [s * 10.0**k for k in range(-320, 309, 9) for s in (1, -1)]
_LARGE = [Real(n, [*_TINY_TO_HUGE, *sp.EXTREMES[:6]]) for n in ("x0", "x1")]


@settings(max_examples=15, deadline=None)
@given(sp.conditions(_LARGE), sp.conditions(_LARGE))
def test_large_domains_of_extreme_floats(first: Any, second: Any) -> None:
    """Too many combinations to skip simplification: it must not change one answer."""
    holds = compile_function([first & second])
    expected = [p for p in sp.grid(_LARGE) if holds(p)[0]]
    space = Space(_LARGE, [first, second])

    assert prod(map(len, space.domains.values())) > 20_000
    assert space.count() == len(expected)
    some = range(0, space.count(), max(1, space.count() // 50))
    assert all(space[i] in space and not space.violations(space[i]) for i in some)
    assert all(space.index(p) < len(space) for p in expected[::50])


def test_products_of_floats_underflow() -> None:
    """A factor that is not zero does not make a product that is not."""
    values = [10.0 ** -(2 * k) for k in range(1, 161)]
    x, y = Real("x", values), Real("y", values)
    space = Space([x, y], [x * y != 0])

    assert space.count() == sum(a * b != 0 for a in values for b in values) == 12_880
    assert space[-1] in space


def test_a_minimum_with_minus_one_is_kept() -> None:
    """Large domains are simplified, where a neutral number may not be mistaken for -1."""
    a, b = Int("a", range(-100, 100)), Int("b", range(-100, 100))
    space = Space([a, b], [e.minimum(a, -1) * b > 40])

    assert space.count() == sum(
        min(i, -1) * j > 40 for i in range(-100, 100) for j in range(-100, 100)
    )


@SOME
@given(sp.spaces(), st.data())
def test_where_and_bind_filter(made: Any, data: Any) -> None:
    """Restricting a compiled space and compiling the restricted one give the same points."""
    vs, rules = made
    extra = data.draw(sp.conditions(vs))
    bound = {}
    for v in vs:
        if data.draw(st.booleans()):
            values = domain_of(v).values
            bound[domain_of(v).name] = data.draw(st.lists(st.sampled_from(values), unique=True))
    expected = [
        p for p in sp.brute(vs, [*rules, extra]) if all(p[n] in some for n, some in bound.items())
    ]
    warm = Space(vs, rules)
    warm.compile()
    for base in (Space(vs, rules), warm):
        small = base.where(extra).bind(**bound)
        assert list(small) == sp.in_order(base, expected)
        other = base.bind(**bound).where(extra)
        assert list(other) == sp.in_order(base, expected)


@SOME
@given(sp.spaces(), st.integers(1, 5))
def test_shards_partition(made: Any, n: int) -> None:
    """Shards are consecutive, complete and equal to within one point."""
    space = Space(*made)
    shards = [list(space.shard(i, n)) for i in range(n)]

    assert [p for s in shards for p in s] == list(space)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@SOME
@given(sp.spaces())
def test_counts_by(made: Any) -> None:
    """Counts per value and per pair of values are those of the listed points."""
    vs, rules = made
    space = Space(vs, rules)
    points = list(space)
    for a in space.names:
        found = Counter(p[a] for p in points)
        assert space.counts_by(a) == {v: found[v] for v in space.domains[a]}
        for b in space.names:
            if a != b:
                pairs = Counter((p[a], p[b]) for p in points)
                assert {k: v for k, v in space.counts_by(a, b).items() if v} == dict(pairs)


@SOME
@given(sp.spaces(), st.integers(0, 12), st.integers(0, 9))
def test_sample(made: Any, n: int, seed: int) -> None:
    """A sample has distinct legal points, depends on the seed only and may be everything."""
    space = Space(*made)
    found = space.sample(n, seed=seed)

    assert len(found) == min(n, space.count())
    assert len({space.index(p) for p in found}) == len(found)
    assert found == space.sample(n, seed=seed)


def test_sample_is_uniform() -> None:
    """Every point is drawn equally often (chi-squared far below its limit)."""
    m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    space = Space([m, w], [m % (w * 16) == 0])
    counts = Counter(i for s in range(3000) for i in space.sample_indices(2, seed=s))

    assert len(counts) == 6
    assert all(abs(c - 1000) < 120 for c in counts.values())


def test_counts_beyond_64_bits() -> None:
    """Counts, indices, samples and shards are exact where 64 bits do not hold them."""
    xs = [Int(f"x{i}", range(1, 31)) for i in range(30)]
    rules = [xs[i] % xs[i + 1] == 0 for i in range(0, 30, 2)]
    rules += [xs[i] <= xs[i + 2] for i in range(0, 28, 2)]
    space = Space(xs, rules)
    free = Space([*xs, *(Int(f"y{i}", range(50)) for i in range(12))], rules)

    assert free.count() == space.count() * 50**12 > 2**63
    with pytest.raises(OverflowError, match="use count"):
        len(free)
    with pytest.raises(OverflowError, match="use size"):
        len(free[1:])
    assert free[1:]
    assert next(reversed(free)) == next(reversed(free[1:])) == free[-1]
    assert list(reversed(free[:3])) == [free[2], free[1], free[0]]
    for i in (0, free.count() - 1, free.count() // 3):
        assert free.index(free[i]) == i
    assert len(free.sample(20, seed=1)) == 20
    assert free[-1] == free[free.count() - 1]
    shard = free.shard(1, 10**20)
    assert shard.size == free.count() * 2 // 10**20 - free.count() // 10**20
    assert shard[-1] == free[shard.start + shard.size - 1]
    assert sum(free.counts_by("x0").values()) == free.count()
    assert list(free[free.count() - 3 :]) == [free[i] for i in (-3, -2, -1)]


def test_one_block_beyond_64_bits() -> None:
    """A single connected block may hold more points than 64 bits count."""
    xs = [Int(f"x{i}", range(20)) for i in range(20)]
    space = Space(xs, [xs[i] <= xs[i + 1] + 15 for i in range(19)])
    total = space.count()

    assert total > 2**63
    assert [space.index(space[i]) for i in (0, total // 7, total - 1)] == [0, total // 7, total - 1]
    assert sum(space.counts_by("x3").values()) == total
    assert sum(space.counts_by("x3", "x9").values()) == total
    assert [dict(p) for p in space[total - 2 :]] == [space[-2], space[-1]]


def test_bind_accepts_values_of_the_documented_range() -> None:
    """A bound value may lie outside the candidates, not outside the range."""
    m, w = Int("tile_m", [16, 32], lo=1, hi=256), Int("waves", [1, 2])
    space = Space([m, w], [m % (w * 16) == 0])

    assert list(space.bind(tile_m=96)) == [
        {"tile_m": 96, "waves": 1},
        {"tile_m": 96, "waves": 2},
    ]
    assert space.bind(tile_m={96, 16}).domains["tile_m"] == (16, 96)
    assert space.bind(tile_m=[16, 32]).bind(tile_m=32).count() == 2
    assert space.bind(tile_m=16).bind(tile_m=32).count() == 0
    others = range(96, 96 + len(space.domains["tile_m"]))
    assert space.bind(tile_m=others).bind(tile_m=200).domains["tile_m"] == ()
    with pytest.raises(UsageError, match="out of range"):
        space.bind(tile_m=999)
    with pytest.raises(UnknownNameError, match="did you mean 'tile_m'"):
        space.bind(tile_n=16)


def test_words_get_near_matches() -> None:
    """A misspelt word is an error that names the nearest one."""
    space = Space([Enum("pipeline", ["mem", "compv3"]), Bool("flag")])
    with pytest.raises(UnknownNameError, match="compv3"):
        space.bind(pipeline="compv4")
    with pytest.raises(UsageError, match="compv3"):
        space.where("pipeline == 'compv4'")


def test_bad_points_are_errors() -> None:
    """Missing and unknown fields are errors; values that are not candidates are not."""
    space = Space([Int("m", [1, 2]), Bool("b")])
    assert {"m": 3, "b": True} not in space
    assert {"m": True, "b": True} not in space
    assert {"m": 1, "b": 1} not in space
    assert {"m": [1], "b": True} not in space
    with pytest.raises(UsageError, match="missing field b"):
        _ = {"m": 1} in space
    with pytest.raises(UnknownNameError, match="unknown field 'n'"):
        _ = {"m": 1, "b": True, "n": 1} in space
    with pytest.raises(IndexError):
        space[4]
    with pytest.raises(UsageError):
        space.shard(3, 3)
    with pytest.raises(UnknownNameError):
        Space([Int("m", [1])], [Int("k", [1]) == 1])


def test_empty_spaces() -> None:
    """No variables means one point, an unsatisfiable rule none."""
    a = Int("a", [1, 2])
    assert list(Space([])) == [{}]
    none = Space([a, Int("b", [1, 2])], [a > 5])
    assert (none.count(), list(none), none.sample(3), bool(none)) == (0, [], [], False)
    assert none.counts_by("a") == {1: 0, 2: 0}
    assert none.counts_by("a", "b")[1, 1] == 0
    assert list(none.shard(0, 2)) == []
    assert list(Space([], [sp.e.FALSE])) == []
    assert none.where(a < 9).count() == 0


def test_fixed_takes_part_in_the_order() -> None:
    """``fixed`` restricts like `bind`; only the order of the points may differ."""
    m, n, w = Int("m", [16, 32]), Int("n", [16, 32]), Int("w", [1, 2])
    rules = [m % (w * 16) == 0, (m == 16) | (n == 16)]
    a, b = Space([m, n, w], rules, fixed={"m": 32}), Space([m, n, w], rules).bind(m=32)
    assert sorted(map(str, a)) == sorted(map(str, b))


def test_repr() -> None:
    """The count is shown when it is known, and never computed for the text."""
    space = Space([Int("a", range(2000))])
    assert repr(space) == "Space(1 variables, 0 rules)"
    space.count()
    assert repr(space) == "Space(1 variables, 0 rules; 2,000 points)"


def test_single_points_need_no_numpy() -> None:
    """Membership and violations import neither numpy, nor z3, nor networkx."""
    code = """
import sys
from ckrules.engine.space import Space
from ckrules.engine.expr.variables import Int
m, w = Int("m", [16, 32]), Int("w", [1, 2])
s = Space([m, w], [m % (w * 16) == 0])
assert {"m": 32, "w": 2} in s and s.violated({"m": 16, "w": 2})
print([n for n in ("numpy", "z3", "networkx") if n in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_order_is_independent_of_hash_seeds() -> None:
    """Another process with another hash seed lists the same points in the same order."""
    code = """
from ckrules.engine.space import Space
from ckrules.engine.expr.variables import Enum, Int
x = [Int(f"x{i}", range(1, 5)) for i in range(6)]
e = Enum("e", ["a", "b"])
s = Space([*x, e], [x[0] % x[3] == 0, x[1] < x[4], (e == "a") | (x[2] * x[5] < 9), x[0] != x[5]])
print(s.order, [tuple(p.values()) for p in s[100:110]])
"""
    outs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in (0, 1, 77)
    }  # fmt: skip
    assert len(outs) == 1


def test_arrow_batches() -> None:
    """Record batches hold the values, with their sorts."""
    pytest.importorskip("pyarrow")
    space = Space([Int("m", [16, 32]), Enum("p", ["mem", "compv3"]), Bool("b")])
    batches = list(space.to_arrow_batches(chunk=3))
    assert [b.num_rows for b in batches] == [3, 3, 2]
    assert [row for b in batches for row in b.to_pylist()] == list(space)


def test_columns_of_words() -> None:
    """Columns of words are found exactly, whatever their width; others are not members."""
    words = ["mem", "compv3", "compv4", "basic_async_v1"]
    space = Space([Enum("p", words), Int("m", [16, 32]), Bool("b")])
    given = ["mem", "compv", "basic_async_v1", "", "compv4", "basic_async_v1_long"]
    columns = {"p": given, "m": [16] * 6, "b": [True] * 6}
    assert space.contains_columns(columns).tolist() == [w in words for w in given]
    assert not space.contains_columns({**columns, "p": ["x"] * 6}).any()
    assert not space.contains_columns({**columns, "p": [1] * 6}).any()
    assert not space.contains_columns({**columns, "b": [1] * 6}).any()
    assert not space.contains_columns({**columns, "m": [16.5] * 6}).any()
    assert space.contains_columns({**columns, "m": [16.0] * 6}).sum() == 3
    with pytest.raises(UsageError, match="differ in length"):
        space.contains_columns({**columns, "m": [16]})


def test_large_indices_are_fast_to_find() -> None:
    """Ranking and unranking agree on random indices of a large space."""
    rng = random.Random(0)
    xs = [Int(f"x{i}", range(1, 17)) for i in range(12)]
    space = Space(xs, [xs[i] % xs[i + 1] == 0 for i in range(11)])
    for _ in range(50):
        i = rng.randrange(space.count())
        assert space.index(space[i]) == i


def test_a_point_is_found_in_a_slice_without_going_through_it() -> None:
    space = Space([Int(f"x{i}", range(100)) for i in range(20)])
    part, back = space.shard(1, 3), space[90:10:-7]
    assert part[5] in part
    assert part.index(part[10**30]) == 10**30
    assert space[0] not in part
    assert [back.index(p) for p in back] == list(range(len(back)))
    assert [p in back for p in (space[90], space[89], space[10])] == [True, False, False]
    with pytest.raises(UsageError, match="is not a point of the slice"):
        part.index(space[0])
    with pytest.raises(UsageError, match="is not a point of the slice"):
        back.index(back[0], 1)
