"""Counts by quantities, columns of them, tables for Arrow and pandas, neighbours and shards."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from ckrules.engine.diagram import tally
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import ite, named
from ckrules.engine.expr.variables import Int
from ckrules.engine.space import Space
from ckrules.support.errors import UnknownNameError, UsageError

from . import spaces as sp

SOME = settings(max_examples=100, deadline=None)

pytestmark = pytest.mark.usefixtures("ways")


@SOME
@given(sp.spaces(), st.data())
def test_counts_by_any_quantities(made: Any, data: Any) -> None:
    """Counts by derived quantities and by several fields are those of the listed points."""
    vs, rules = made
    quantities = {f"q{i}": data.draw(sp.numbers(vs)) for i in range(2)}
    space = Space(vs, rules, names=quantities)
    wanted = data.draw(
        st.lists(st.sampled_from([*quantities, *space.names]), min_size=1, max_size=4, unique=True)
    )
    nodes = [space.vocabulary[name] for name in wanted]
    found = Counter(tuple(At(p).value(n) for n in nodes) for p in space)
    try:
        counted = space.counts_by(*wanted)
    except UsageError:  # what would be rounded is refused
        reject()
    if len(wanted) == 1:
        counted = {(v,): n for v, n in counted.items()}
    assert {values: n for values, n in counted.items() if n} == dict(found)


def test_counts_by_words_and_undefined_values() -> None:
    """A derived word is counted as a word, an undefined quotient as None, in order."""
    a, b = Int("a", [0, 4, 2]), Int("b", [0, 1, 2])
    kind = named("kind", ite(a > b, "large", "small"))
    space = Space([a, b], [a + b >= 1], names={"kind": kind, "rate": named("rate", a // b)})
    assert space.counts_by("kind") == {"large": 5, "small": 3}
    assert list(space.counts_by("rate").items()) == [(0, 2), (1, 1), (2, 2), (4, 1), (None, 2)]
    assert list(space.counts_by("a", "kind")) == [
        (0, "small"), (4, "large"), (2, "large"), (2, "small"),
    ]  # fmt: skip


def test_counts_by_in_parts_and_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much at once is counted value by value, and what stays so is refused."""
    xs = [Int(f"x{i}", range(1, 9)) for i in range(4)]
    total = named("total", xs[0] * xs[1] + xs[2] * xs[3])
    space = Space(xs, [xs[0] <= xs[3]], names={"total": total})
    whole, pairs = space.counts_by("total"), space.counts_by("x1", "total")
    assert sum(whole.values()) == sum(pairs.values()) == space.count()
    monkeypatch.setattr(tally, "_CELLS", 300)
    assert space.counts_by("x1", "total") == pairs
    monkeypatch.setattr(tally, "_CELLS", 20)
    with pytest.raises(UsageError, match=r"counting by total: .* count a part of the space"):
        space.counts_by("total")
    with pytest.raises(UnknownNameError, match="did you mean 'total'"):
        space.counts_by("totl")
    with pytest.raises(UsageError, match="several different"):
        space.counts_by("x1", "x1")


def test_columns_of_derived_quantities() -> None:
    """Derived quantities are columns of values; undefined ones are masked, and null in Arrow."""
    a, b = Int("a", [0, 4, 6]), Int("b", [0, 2])
    names = {
        "rate": named("rate", a // b),
        "half": named("half", a / 4),
        "kind": named("kind", ite(a > 4, "large", "small")),
        "even": named("even", a >= 4),
    }
    space = Space([a, b], [a + b >= 1], names=names)
    points = list(space)
    expected = [{**p, **{n: At(p).value(node) for n, node in names.items()}} for p in points]
    assert space.to_arrow(derived=list(names)).to_pylist() == expected
    assert space[1:3].to_arrow(derived=["rate"]).column("rate").to_pylist() == [
        e["rate"] for e in expected[1:3]
    ]
    (table,) = space.columns(derived=["rate", "kind"])
    assert table["rate"].tolist() == [e["rate"] for e in expected]
    assert table["kind"].tolist() == [e["kind"] for e in expected]
    with pytest.raises(UnknownNameError, match="did you mean 'rate'"):
        space.to_arrow(derived=["rat"])
    empty = space.where("a > 99").to_arrow(derived=list(names))
    assert (empty.num_rows, empty.column_names) == (0, ["a", "b", *names])


def test_arrow_and_pandas_are_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages one line says what to install."""
    space = Space([Int("m", [16, 32])])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="this needs pandas: pip install pandas"):
        space.to_pandas()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"this needs pyarrow: pip install 'ckrules\[parquet\]'"):
        space.to_arrow()


@SOME
@given(sp.spaces(), st.data())
def test_neighbors(made: Any, data: Any) -> None:
    """Neighbours are the legal points that the definitions name, found by looking at all."""
    vs, rules = made
    assume(vs)
    space = Space(vs, rules)
    points = list(space)
    own = data.draw(st.sampled_from(sp.grid(vs)))
    place = {n: {v: i for i, v in enumerate(d)} for n, d in space.domains.items()}

    def steps(p: Any) -> list[int]:
        return [place[n][p[n]] - place[n][own[n]] for n in space.names]

    def same(found: Any, wanted: list[Any]) -> bool:
        return sorted(map(str, found)) == sorted(map(str, wanted))

    one = [p for p in points if sum(map(bool, steps(p))) == 1]
    assert same(space.neighbors(own), one)
    close = [p for p in points if p != own and max(map(abs, steps(p))) <= 1]
    assert same(space.neighbors(own, "strictly-adjacent"), close)
    used = {n: [v for v in d if space.counts_by(n)[v] or v == own[n]] for n, d in place.items()}
    box = [p for p in points if p != own and all(
        abs(vs.index(p[n]) - vs.index(own[n])) <= 1 for n, vs in used.items()
    )]  # fmt: skip
    assert same(space.neighbors(own, "adjacent"), box)
    nearest = []
    for i in range(len(vs)):
        for sign in (1, -1):
            side = [p for p in one if steps(p)[i] * sign > 0]
            nearest += sorted(side, key=lambda p: abs(steps(p)[i]))[:1]
    assert same(space.neighbors(own, "Hamming-adjacent"), nearest)


def test_shards_count_from_zero() -> None:
    """The command line counts from 1; a slip is answered with the way out."""
    space = Space([Int("m", range(10))])
    with pytest.raises(
        UsageError, match=r"expected 0 to 2 \(shards count from 0: .* shard\(2, 3\)"
    ):
        space.shard(3, 3)
    with pytest.raises(UsageError, match=r"expected 0 to 2$"):
        space.shard(7, 3)
    with pytest.raises(UsageError, match="at least one shard"):
        space.shard(0, 0)
