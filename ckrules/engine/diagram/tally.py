"""Tallies: how many points have each combination of values of some expressions.

A tally goes through the layers of a compiled space once. What it carries is, for each state and
each value that the expressions' bound parts have, the number of prefixes; points are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import Compiled
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.numbering import spread
from ckrules.engine.diagram.partial import Partial, evaluate, merge
from ckrules.engine.diagram.split_block import pieces
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.evaluate.vector import Vectors, decoded
from ckrules.engine.expr import ENUM, Expr, Value
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rewrite.lower import Lowering, Pair

Array = npt.NDArray[Any]
Domains = Mapping[str, Sequence[Value]]
Counts = dict[tuple[Value | None, ...], int]

_CELLS = 24_000_000  # states times values of a layer
_BIG = 1 << 62


def tally(compiled: Compiled, domains: Domains, wanted: Sequence[Expr]) -> Counts:
    """The number of points for each combination of values that points have; exact.

    None stands for the value of an expression that is undefined at a point.

    Raises:
        BudgetExceededError: When the expressions take too many values on the way.
        UsageError: For an expression that 64-bit integers do not hold.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("m", [16, 32, 64]), Int("w", [1, 2])
    >>> space = Space([m, w], [m % (w * 16) == 0])
    >>> tally(space.compile(), space.domains, [m // w])
    {(16,): 2, (32,): 2, (64,): 1}
    """
    found: Counts = {}
    for piece in pieces(compiled.blocks, compiled.sizes):
        if piece.count:
            for values, count in _Tally(piece, domains, wanted).counts().items():
                found[values] = found.get(values, 0) + count
    return found


class _Tally:
    """The walk through the blocks that the expressions read; the others are a factor."""

    def __init__(self, compiled: Compiled, domains: Domains, wanted: Sequence[Expr]) -> None:
        self.wanted, self.nodes = wanted, walk(*wanted)
        read = frozenset().union(*(w.support for w in wanted))
        mine = [b for b in compiled.blocks if read & set(b.names)]
        self.blocks = [b.layered if isinstance(b, DenseBlock) else b for b in mine]
        self.read = read
        self.factor = compiled.count
        for block in mine:
            self.factor //= block.count
        names = [n for b in mine for n in b.names]
        self.grid = Grid(names, domains)
        self.grid.check(wanted)
        self.kind: Any = object if compiled.count >= _BIG else np.int64
        self.bound: frozenset[str] = frozenset()
        self.states: dict[int, Pair] = {}
        self.weights: Array = np.ones(1, dtype=self.kind)

    def counts(self) -> Counts:
        """The number of points by the values of the expressions."""
        with np.errstate(all="ignore"):
            for block in self.blocks:
                assert isinstance(block, Block)
                self._through(block)
            columns = [self._values(w) for w in self.wanted]
        weights = (int(w) * self.factor for w in self.weights)
        found: Counts = {}
        for *values, count in zip(*columns, weights, strict=True):
            found[tuple(values)] = found.get(tuple(values), 0) + count
        return found

    def _through(self, block: Block) -> None:
        """Goes on through one block, from its first layer that is read to its last."""
        places = [i for i, n in enumerate(block.names) if n in self.read]
        at = np.zeros(len(self.weights), dtype=np.int64)
        first = 0
        if len(self.weights) == 1 and not self.bound:  # prefixes need not be told apart
            first = places[0]
            at = np.arange(len(block.paths[first]))
            self.weights = block.paths[first].astype(self.kind) * self.weights[0]
        for i in range(first, places[-1] + 1):
            at = self._step(block, i, at)
        self.weights = self.weights * block.counts[places[-1] + 1].astype(self.kind)[at]

    def _step(self, block: Block, i: int, at: Array) -> Array:
        """Binds one variable; returns the block's state of each state of the tally."""
        layer, name = block.layers[i], block.names[i]
        axis = self.grid.place[name]
        shape = len(at), self.grid.sizes[axis]
        if shape[0] * shape[1] > _CELLS:
            raise BudgetExceededError(f"{shape[0] * shape[1]:,} partial values at {name}")
        first = layer.starts[at]
        lengths = layer.starts[at + 1] - first
        edges = spread(first, lengths)
        source = np.repeat(np.arange(len(at)), lengths)
        rows = source * shape[1] + layer.positions[edges]
        order = np.argsort(rows, kind="stable")  # rows are looked up in the order of the cells
        rows, source, edges = rows[order], source[order], edges[order]
        target = np.zeros(shape[0] * shape[1], dtype=np.int64)
        target[rows] = layer.targets[edges]
        low = evaluate(self.grid, axis, self.states)
        self.bound |= {name}
        partial = Partial(self.nodes, self.wanted, self.bound)
        self.states, classes, cells, count = merge(
            partial, low, shape, rows, [target.reshape(shape)]
        )
        weights = np.zeros(count, dtype=self.kind)
        np.add.at(weights, classes, self.weights[source])
        self.weights = weights
        return target[cells]

    def _values(self, node: Expr) -> list[Value | None]:
        """The values of an expression of which everything is bound, None where undefined."""
        low: Lowering[Any] = Lowering(Vectors(_unbound), self.grid.bounds.never_zero, self.states)
        value, defined = low.pair(node)
        size = len(self.weights)
        listed: list[Any] = np.broadcast_to(np.reshape(value, -1), (size,)).tolist()
        if node.sort == ENUM:
            listed = decoded(listed)
        if defined is None:
            return listed
        known = np.broadcast_to(np.reshape(defined, -1), (size,)).tolist()
        return [v if ok else None for v, ok in zip(listed, known, strict=True)]


def _unbound(variable: Expr) -> Array:
    raise AssertionError(f"{variable} is not bound")


def in_order(counts: Counts, domains: Sequence[Sequence[Value] | None]) -> Counts:
    """The same counts sorted: by place among candidates, where they are known, or by value.

    >>> in_order({(2, "b"): 1, (None, "a"): 1, (2, "a"): 3}, [None, ("a", "b")])
    {(2, 'a'): 3, (2, 'b'): 1, (None, 'a'): 1}
    """
    places = [None if d is None else {v: i for i, v in enumerate(d)} for d in domains]

    def key(values: tuple[Value | None, ...]) -> tuple[Any, ...]:
        pairs = zip(values, places, strict=True)
        return reduce(lambda k, p: (*k, *_key(*p)), pairs, ())

    return {values: counts[values] for values in sorted(counts, key=key)}


def _key(value: Any, place: Mapping[Any, int] | None) -> tuple[bool, Any]:
    if value is None:
        return True, 0
    return False, value if place is None else place[value]
