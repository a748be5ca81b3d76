"""Nodes live as long as something uses them, and are one object while they do."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

from ckrules.engine.expr import Expr, named
from ckrules.engine.expr.variables import Int, domain_of
from ckrules.engine.space import Space


def _alive() -> int:
    gc.collect()
    return sum(isinstance(x, Expr) for x in gc.get_objects())


def _use(k: int) -> None:
    m, n = Int(f"m{k}", [1, 2, 3, 8 + k]), Int(f"n{k}", [1, 2, 3])
    space = Space([m, n], [(m % n == 0) | (m * n <= k), named("area", m * n) >= 1])
    space.where(f"m{k} > n{k}").bind(**{f"n{k}": 2}).count()
    space.violations({f"m{k}": 1, f"n{k}": 3})
    assert space._key


def test_nodes_of_dropped_spaces_are_gone() -> None:
    """A loop that makes, asks and drops spaces leaves no node behind."""
    _use(0)
    before = _alive()
    for k in range(1, 40):
        _use(k)

    assert _alive() <= before


def test_dropped_nodes_are_made_again() -> None:
    """A node that is gone comes back as a new one, with a number of its own."""
    x = Int("x", [1, 2])
    node = x + 1
    old, gone = node.id, weakref.ref(node)
    del node
    gc.collect()

    assert gone() is None
    assert (x + 1).id > old


def test_different_descriptions_are_different_variables() -> None:
    """A variable or quantity keeps the description that it was declared with."""
    one, two = Int("m", [1, 2], doc="Rows."), Int("m", [1, 2], doc="Columns.")
    a, b = named("area", one * 2, doc="All."), named("area", one * 2, doc="Some.")

    assert one is not two
    assert [domain_of(v).doc for v in (one, two)] == ["Rows.", "Columns."]
    assert [n.data.doc for n in (a, b)] == ["All.", "Some."]
    assert pickle.loads(pickle.dumps(a)) is a


def test_threads_share_nodes() -> None:
    """Two threads that make the same node get the same object."""
    x = Int("x", [1, 2])
    made: list[list[Any]] = [[] for _ in range(4)]

    def work(out: list[Any]) -> None:
        out.extend(x * k + k for k in range(500))

    threads = [threading.Thread(target=work, args=(out,)) for out in made]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert all(a is b for out in made for a, b in zip(made[0], out, strict=True))
