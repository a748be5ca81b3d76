"""Ensembles of trees evaluated by numpy, for many rows at once and as LightGBM does it.

No row walks down a tree. Each feature says of each tree which leaves its value rules out, as the
bits of a word, of which there are few: one for each value between two thresholds. The first leaf
from the left that no feature rules out is where the walk ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ckrules.ranking.trees import DEFAULT_LEFT, LEAVES, MISSING_NAN, MISSING_ZERO, Ensemble

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Words = NDArray[np.uint16]
    Whole = NDArray[np.int64]

_ALL = np.uint16((1 << LEAVES) - 1)
#: Values up to this one from zero count as zero: LightGBM's kZeroThreshold, a float of C.
ZERO = float(np.float32(1e-35))
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class _Split:
    """What one feature says of the trees that look at it."""

    feature: int
    edges: Floats
    """Values above one edge and up to the next are alike."""
    trees: Whole
    left: Words
    """Of each such tree, for each kind of values (the last: NaN), the leaves that are left."""

    def of(self, column: Floats) -> Words:
        kinds = np.searchsorted(self.edges, column)
        kinds[np.isnan(column)] = len(self.edges) + 1
        if (kinds == kinds[0]).all():
            return self.left[:, kinds[:1]]
        return np.take(self.left, kinds, axis=1)


class Forest:
    """What evaluates an ensemble; what it needs for that is made when it is first asked.

    >>> from ckrules.ranking.trees import Ensemble
    >>> import numpy as np
    >>> node, none = np.zeros((1, 15), dtype=np.int64), np.full((1, 15), -1)
    >>> value = np.arange(16.0)[None, :]
    >>> two = Ensemble("", np.asarray([2]), node, node * 1.0, node, none, none - 1, value)
    >>> Forest(two).predict(np.asarray([[-1.0], [0.0], [2.5]])).tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble

    def predict(self, rows: Floats) -> Floats:
        """The sum of each row's leaves, added in the order of the trees."""
        parts = [self._some(rows[i : i + _ROWS]) for i in range(0, len(rows), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _some(self, rows: Floats) -> Floats:
        columns = np.array(rows.T, order="C")
        columns[np.abs(columns) <= ZERO] = 0.0  # as LightGBM does with the rows that it is given
        left = np.full((len(self.ensemble), len(rows)), _ALL)
        for split in self._splits:
            left[split.trees] &= split.of(columns[split.feature])
        first = _LOWEST[left & -left]
        first += np.arange(0, len(left) * LEAVES, LEAVES)[:, None]
        values = np.take(self._values, first)
        # One after the other, as LightGBM does: sums of pairs have other last digits.
        return np.asarray(np.add.accumulate(values, axis=0)[-1])

    @cached_property
    def _order(self) -> tuple[Whole, Whole]:
        """For each node, the first leaf below it as counted from the left, and how many there are.

        Each tree's own leaves follow its nodes, as node 15 and above.
        """
        e = self.ensemble
        trees, nodes = e.left.shape
        row = np.arange(trees)
        sizes = np.ones((trees, nodes + LEAVES), dtype=np.int64)
        first = np.zeros_like(sizes)
        left, right = (np.where(c >= 0, c, nodes + ~c) for c in (e.left, e.right))
        for n in range(nodes - 1, -1, -1):
            sizes[:, n] = sizes[row, left[:, n]] + sizes[row, right[:, n]]
        for n in range(nodes):
            used = row[n < e.leaves - 1]
            at = first[used, n]
            first[used, left[used, n]] = at
            first[used, right[used, n]] = at + sizes[used, left[used, n]]
        return first, sizes

    @cached_property
    def _values(self) -> Floats:
        """The leaves' values as counted from the left, the trees' one after the other."""
        first, _ = self._order
        value = self.ensemble.value
        found = np.zeros_like(value)
        leaf = np.arange(LEAVES)
        used = leaf < self.ensemble.leaves[:, None]
        row, place = np.nonzero(used)
        found[row, first[:, -LEAVES:][used]] = value[row, place]
        return found.ravel()

    @cached_property
    def _splits(self) -> list[_Split]:
        return list(self._made())

    def _made(self) -> Iterator[_Split]:
        e = self.ensemble
        first, sizes = self._order
        tree, node = np.nonzero(np.arange(e.left.shape[1]) < e.leaves[:, None] - 1)
        nodes = e.left.shape[1]
        child = e.left[tree, node]
        below = sizes[tree, np.where(child >= 0, child, nodes + ~child)]
        # Going right rules out the leaves below the left child.
        out = ((1 << below) - 1) << first[tree, node]
        feature = e.feature[tree, node]
        for each in np.unique(feature):
            at = np.flatnonzero(feature == each)  # in the order of the trees
            threshold = e.threshold[tree[at], node[at]]
            decision = e.decision[tree[at], node[at]]
            edges = threshold
            if (decision & MISSING_ZERO).any():
                edges = np.concatenate([edges, [np.nextafter(-ZERO, -1.0), ZERO]])
            edges = np.unique(edges)
            kinds = np.concatenate([edges, [np.inf, np.nan]])[:, None]
            right = goes_right(kinds, threshold, decision)
            words = np.where(right, ~out[at], int(_ALL)).astype(np.uint16)
            trees, begin = np.unique(tree[at], return_index=True)
            left = np.bitwise_and.reduceat(words, begin, axis=1)
            yield _Split(int(each), edges, trees, np.ascontiguousarray(left.T))


def goes_right(value: Floats, threshold: Floats, decision: Whole) -> NDArray[np.bool_]:
    """Whether values go right at nodes; where they are missing, the node's bits say it.

    NaN that does not count as missing counts as 0, as LightGBM has it.
    """
    nan = np.isnan(value)
    counts = (decision & MISSING_NAN) > 0
    number = np.where(nan & ~counts, 0.0, value)
    zero = (np.abs(number) <= ZERO) & ((decision & MISSING_ZERO) > 0)
    missing = zero | (nan & counts)
    return np.where(missing, (decision & DEFAULT_LEFT) == 0, ~(number <= threshold))


def _lowest() -> NDArray[np.int32]:
    """For each word the place of its lowest bit; only words of one bit are asked for."""
    found = np.zeros(1 << LEAVES, dtype=np.int32)
    found[1 << np.arange(LEAVES)] = np.arange(LEAVES)
    return found


_LOWEST = _lowest()
