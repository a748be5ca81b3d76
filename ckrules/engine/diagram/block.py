"""Blocks: a trimmed layered diagram over consecutive variables, and every answer it gives."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.numbering import spread
from ckrules.engine.diagram.product import Layer

Array = npt.NDArray[Any]
_DENSE_CELLS = 1 << 24
_SUFFIXES = 1 << 18  # rows of the table of shared suffixes,
_FEW = 1 << 12  # or fewer, in proportion to all points, but this many always


class Block:
    """Points of consecutive variables, in lexicographic order of their codes.

    Args:
        names: The variables in order.
        layers: Edges without dead ends, positions already exchanged for codes.
        counts: Completions of each state of each layer (see `trim`).
    """

    whole = True

    def __init__(
        self, names: Sequence[str], layers: Sequence[Layer], counts: Sequence[Array]
    ) -> None:
        self.names = tuple(names)
        self.layers = list(layers)
        self.counts = list(counts)
        self.count: int = int(counts[0][0]) if len(counts[0]) else 0

    @property
    def edges(self) -> int:
        """The number of edges, which is what memory depends on."""
        return sum(len(layer.targets) for layer in self.layers)

    @cached_property
    def before(self) -> list[Array]:
        """For each edge, how many points its state has before that edge."""
        out = []
        for layer, after in zip(self.layers, self.counts[1:], strict=True):
            sizes = after[layer.targets]
            running = np.zeros(len(sizes) + 1, dtype=sizes.dtype)
            np.cumsum(sizes, out=running[1:])
            origin = np.repeat(running[layer.starts[:-1]], np.diff(layer.starts))
            out.append(running[:-1] - origin)
        return out

    # -- single points -----------------------------------------------------------------------

    @cached_property
    def _quick(self) -> list[tuple[Any, Any, Any, Any]]:
        """Layers as memory views, which index and bisect faster than arrays."""
        return [
            (
                memoryview(layer.starts.data),
                memoryview(layer.positions.data),
                memoryview(layer.targets.data),
                before.tolist() if before.dtype == object else memoryview(before.data),
            )
            for layer, before in zip(self.layers, self.before, strict=True)
        ]

    def unrank(self, index: int) -> list[int]:
        """The codes of the point at ``index``."""
        state = 0
        codes = []
        for starts, positions, targets, before in self._quick:
            edge = bisect_right(before, index, starts[state], starts[state + 1]) - 1
            index -= before[edge]
            codes.append(positions[edge])
            state = targets[edge]
        return codes

    def rank(self, codes: Sequence[int]) -> int | None:
        """The index of a point, None if it is not among the points."""
        if not self.count:
            return None
        state = index = 0
        for code, (starts, positions, targets, before) in zip(codes, self._quick, strict=True):
            stop = starts[state + 1]
            edge = bisect_left(positions, code, starts[state], stop)
            if edge == stop or positions[edge] != code:
                return None
            index += before[edge]
            state = targets[edge]
        return int(index)

    # -- many points -------------------------------------------------------------------------

    def unrank_many(self, indices: Array) -> list[Array]:
        """Columns of codes of the points at ``indices`` (in any order)."""
        state = np.zeros(len(indices), dtype=np.int64)
        rest = indices
        columns = []
        for layer, before in zip(self.layers, self.before, strict=True):
            edge = _last_not_above(before, rest, layer.starts[state], layer.starts[state + 1])
            rest = rest - before[edge]
            columns.append(layer.positions[edge])
            state = layer.targets[edge]
        return columns

    def contains(self, columns: Sequence[Array], sizes: Sequence[int]) -> Array:
        """For each row of (signed) code columns whether it is a point; a code of -1 never is."""
        total = len(columns[0])
        found = np.zeros(total, dtype=np.bool_)
        if not self.count:
            return found
        rows = np.arange(total)
        state = np.zeros(total, dtype=np.int32)
        for layer, column, size in zip(self.layers, columns, sizes, strict=True):
            state = _follow(layer, state, column[rows] if len(rows) < total else column, size)
            alive = state >= 0
            if not alive.all():
                rows, state = rows[alive], state[alive]
        found[rows] = True
        return found

    def table(self, start: int, stop: int) -> list[Array]:
        """Columns of codes of the points ``start`` to ``stop``.

        Prefixes are expanded variable by variable and repeated as often as they have points in
        the range; the suffixes, which many prefixes share, are copied from a table made once.
        """
        if len(self.layers) == 1:
            return [self.layers[0].positions[start:stop]]
        level, starts, suffixes = self._suffixes
        low, high = _bounds(start, stop, self.counts[0].dtype)
        columns, states, low, high = self._expand(0, level, np.zeros(1, np.int64), low, high)
        first = starts[states] + low.astype(np.int64)
        if len(states) == 1:
            one = slice(int(first[0]), int(first[0]) + stop - start)
            return columns + [c[one] for c in suffixes]
        rows = spread(first, (high - low).astype(np.int64))
        return columns + [c.take(rows) for c in suffixes]

    @cached_property
    def _suffixes(self) -> tuple[int, Array, list[Array]]:
        """A level, and the points from there on of all its states, one state after the other."""
        exact = self.counts[0].dtype == object
        totals = [c.sum() if exact else c.sum(dtype=np.float64) for c in self.counts]
        most = max(_FEW, min(_SUFFIXES, self.count // 16))
        level = next(i for i, t in enumerate(totals) if t <= most)
        counts = self.counts[level].astype(np.int64)
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        end = len(self.layers)
        states = np.arange(len(counts))
        columns, *_ = self._expand(level, end, states, np.zeros_like(counts), counts)
        return level, starts, columns

    def _expand(
        self, level: int, end: int, states: Array, low: Array, high: Array
    ) -> tuple[list[Array], Array, Array, Array]:
        """Columns of layers ``level`` to ``end`` for points ``low`` to ``high`` of each state.

        Returns the columns, the states that are reached and the range of points of each.
        """
        columns = []
        zipped = zip(self.layers, self.counts[1:], self.before, strict=True)
        for layer, after, before in list(zipped)[level:end]:
            first = layer.starts[states]
            lengths = layer.starts[states + 1] - first
            edges = spread(first, lengths)
            target = layer.targets[edges]
            sizes = after[target]
            lows, highs = _clip(edges, before, sizes, lengths, low, high)
            reps = highs - lows
            if (reps <= 0).any():
                keep = reps > 0
                edges, target, reps = edges[keep], target[keep], reps[keep]
                lows, highs = lows[keep], highs[keep]
            columns.append((layer.positions[edges], reps))
            states, low, high = target, lows, highs
        repeated = [np.repeat(c, r.astype(np.int64)) for c, r in columns]
        return repeated, states, low, high

    # -- histograms --------------------------------------------------------------------------

    @cached_property
    def paths(self) -> list[Array]:
        """How many prefixes lead to each state of each layer."""
        kind = self.counts[0].dtype
        out = [np.ones(1, dtype=kind)]
        for layer, after in zip(self.layers, self.counts[1:], strict=True):
            out.append(_push(out[-1], layer, len(after)))
        return out

    def histogram(self, which: int, size: int) -> Array:
        """Number of points for each code of variable ``which``."""
        out = np.zeros(size, dtype=self.counts[0].dtype)
        if self.count:
            layer = self.layers[which]
            weights = np.repeat(self.paths[which], np.diff(layer.starts))
            np.add.at(out, layer.positions, weights * self.counts[which + 1][layer.targets])
        return out

    def histogram2(self, first: int, second: int, sizes: tuple[int, int]) -> Array:
        """Number of points for each pair of codes of two variables, ``first`` before ``second``."""
        out = np.zeros(sizes, dtype=self.counts[0].dtype)
        layer = self.layers[first]
        weights = np.repeat(self.paths[first], np.diff(layer.starts)) if self.count else None
        for code in np.unique(layer.positions).tolist() if self.count else ():
            assert weights is not None
            mine = layer.positions == code
            paths = np.zeros(len(self.counts[first + 1]), dtype=out.dtype)
            np.add.at(paths, layer.targets[mine], weights[mine])
            for i in range(first + 1, second):
                paths = _push(paths, self.layers[i], len(self.counts[i + 1]))
            last = self.layers[second]
            flow = np.repeat(paths, np.diff(last.starts)) * self.counts[second + 1][last.targets]
            np.add.at(out[code], last.positions, flow)
        return out


def _push(paths: Array, layer: Layer, count: int) -> Array:
    out = np.zeros(count, dtype=paths.dtype)
    np.add.at(out, layer.targets, np.repeat(paths, np.diff(layer.starts)))
    return out


def _bounds(start: int, stop: int, dtype: Any) -> tuple[Array, Array]:
    return np.asarray([start], dtype=dtype), np.asarray([stop], dtype=dtype)


def _clip(
    edges: Array, before: Array, sizes: Array, lengths: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """The part of each edge's points that lies in its prefix's range.

    Only the first and the last prefix can be partly in the range.
    """
    lows = np.zeros(len(edges), dtype=sizes.dtype)
    highs = sizes.copy()
    head, tail = int(lengths[0]) if len(lengths) else 0, len(edges) - int(lengths[-1:].sum())
    if head:
        lows[:head] = np.maximum(low[0] - before[edges[:head]], 0)
    if tail < len(edges):
        highs[tail:] = np.minimum(high[-1] - before[edges[tail:]], sizes[tail:])
    return lows, highs


def _last_not_above(sorted_values: Array, wanted: Array, low: Array, high: Array) -> Array:
    """For each row the last index in ``[low, high)`` whose value is at most ``wanted``."""
    low, high = low.copy(), high.copy()
    while True:
        gap = high - low
        if int(gap.max(initial=1)) <= 1:
            return low
        middle = low + gap // 2
        up = np.asarray(sorted_values[middle] <= wanted, dtype=np.bool_) & (gap > 1)
        low = np.where(up, middle, low)
        high = np.where(up | (gap <= 1), high, middle)


def _follow(layer: Layer, state: Array, codes: Array, size: int) -> Array:
    """The target of each (state, code) pair, -1 where there is no such edge or the code is -1."""
    count = len(layer.starts) - 1
    width = size + 1
    if count * width <= _DENSE_CELLS:
        if layer.matrix is None:
            matrix = np.full(count * width, -1, dtype=np.int32)
            owner = np.repeat(np.arange(count), np.diff(layer.starts))
            matrix[owner * width + layer.positions + 1] = layer.targets
            layer.matrix = matrix
        found: Array = layer.matrix.take(state * width + (codes + 1))
        return found
    edge = _last_not_above(layer.positions, codes, layer.starts[state], layer.starts[state + 1])
    return np.where(layer.positions[edge] == codes, layer.targets[edge], -1)
