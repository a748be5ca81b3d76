"""Facets: how many points each value of each variable has while other variables are restricted.

The counts for one variable are with the choices of all the others: what a value would leave if it
were chosen. The prefixes that reach an edge and the completions behind it do not depend on the
edge's own variable, so one walk forward and one back give the counts of every variable at once,
whatever has been chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import Compiled
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.split_block import stream
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]
MOST = 2_000_000
"""Points that are listed at most."""
_CHUNK = 1 << 16


class Facets:
    """Counts by value under any choice of values, from one compiled space.

    Args:
        compiled: The points, compiled as a whole.

    Raises:
        UsageError: If the space is too hard to be compiled as a whole.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
    >>> space = Space([m, w], [m % (w * 16) == 0])
    >>> facets = Facets(space.compile())
    >>> facets.under({"waves": [1]})
    (2, {'tile_m': [0, 1, 1], 'waves': [3, 2, 1]})
    """

    def __init__(self, compiled: Compiled) -> None:
        self._sizes = compiled.sizes
        self._blocks: list[_BlockFacets] = []
        for block in compiled.blocks:
            layered = block.layered if isinstance(block, DenseBlock) else block
            if not isinstance(layered, Block):
                raise UsageError("the space is too hard to count in at once: restrict it first")
            self._blocks.append(_BlockFacets(layered, compiled.sizes))

    def under(self, chosen: Mapping[str, Sequence[int]]) -> tuple[int, dict[str, list[int]]]:
        """The number of points under a choice, and for each variable that of each of its codes.

        Args:
            chosen: The codes that are left of each variable that is restricted.
        """
        masks = {name: _mask(codes, self._sizes[name]) for name, codes in chosen.items()}
        counted = [b.under(masks) for b in self._blocks]
        totals = [total for total, _ in counted]
        found: dict[str, list[int]] = {}
        for k, (_, histograms) in enumerate(counted):
            others = prod(totals[:k]) * prod(totals[k + 1 :])
            for name, histogram in histograms.items():
                found[name] = [n * others for n in histogram]
        return prod(totals), found


class ListedFacets:
    """`Facets` of points that are listed: for spaces that are not compiled as a whole, such as
    those of catalogs.

    Args:
        compiled: The points, at most `MOST`.

    Raises:
        UsageError: If there are more.
    """

    def __init__(self, compiled: Compiled) -> None:
        self._sizes = compiled.sizes
        parts: list[dict[str, Array]] = []
        rows = 0
        for table in stream(compiled, _CHUNK):
            parts.append(table)
            rows += len(next(iter(table.values())))
            if rows > MOST:
                raise UsageError("the space is too hard to count in at once: restrict it first")
        self._rows = rows
        self._columns = {
            name: np.concatenate([t[name] for t in parts]) if parts else np.zeros(0, dtype=np.int64)
            for name in compiled.order
        }

    def under(self, chosen: Mapping[str, Sequence[int]]) -> tuple[int, dict[str, list[int]]]:
        """As `Facets.under`: a row counts for a field where the others have chosen values."""
        kept = {n: _mask(codes, self._sizes[n])[self._columns[n]] for n, codes in chosen.items()}
        lacking = np.zeros(self._rows, dtype=np.int64)
        for good in kept.values():
            lacking += ~good
        found = {}
        for name, column in self._columns.items():
            fits = lacking == 0
            if name in kept:
                fits |= (lacking == 1) & ~kept[name]
            found[name] = np.bincount(column[fits], minlength=self._sizes[name]).tolist()
        return int((lacking == 0).sum()), found


def facets(compiled: Compiled) -> Facets | ListedFacets:
    """The counts of a compiled space; where it is not compiled as a whole its points are listed.

    Raises:
        UsageError: If it is not, and has more points than can be listed.
    """
    return Facets(compiled) if compiled.whole else ListedFacets(compiled)


def _mask(codes: Sequence[int], size: int) -> Array:
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(codes)] = True
    return mask


class _BlockFacets:
    """The walks through one block; what no choice changes is kept from one to the next."""

    def __init__(self, block: Block, sizes: Mapping[str, int]) -> None:
        self.block, self.sizes = block, sizes
        self.sources = [
            np.repeat(np.arange(len(layer.starts) - 1, dtype=np.int32), np.diff(layer.starts))
            for layer in block.layers
        ]
        self.exact = block.counts[0].dtype == object

    def under(self, masks: Mapping[str, Array]) -> tuple[int, dict[str, list[int]]]:
        """The block's points under the masks, and the counts by code of each of its variables."""
        names, layers = self.block.names, self.block.layers
        mine = [masks.get(n) for n in names]
        if all(m is None for m in mine):
            whole = {n: self._unmasked(i) for i, n in enumerate(names)}
            return self.block.count, whole
        after = self._completions(mine)
        before = np.ones(1, dtype=self.block.counts[0].dtype)
        found: dict[str, list[int]] = {}
        for i, (name, layer, source) in enumerate(zip(names, layers, self.sources, strict=True)):
            paths = before[source]
            flow = paths * after[i + 1][layer.targets]
            found[name] = self._sums(layer.positions, flow, self.sizes[name]).tolist()
            mask = mine[i]
            if mask is not None:
                paths = paths * mask[layer.positions]
            before = self._sums(layer.targets, paths, len(after[i + 1]))
        return int(after[0][0]) if len(after[0]) else 0, found

    def _unmasked(self, which: int) -> list[int]:
        found = self.block.histogram(which, self.sizes[self.block.names[which]])
        return [int(n) for n in found.tolist()]

    def _completions(self, masks: Sequence[Array | None]) -> list[Array]:
        """The completions of each state of each layer under the masks."""
        counts = list(self.block.counts)
        last = max(i for i, m in enumerate(masks) if m is not None)
        for i in range(last, -1, -1):
            layer, mask = self.block.layers[i], masks[i]
            values = counts[i + 1][layer.targets]
            if mask is not None:
                values = values * mask[layer.positions]
            running = np.zeros(len(values) + 1, dtype=values.dtype)
            np.cumsum(values, out=running[1:])  # may wrap around, which differences undo
            counts[i] = running[layer.starts[1:]] - running[layer.starts[:-1]]
        return counts

    def _sums(self, at: Array, values: Array, size: int) -> Array:
        """The sum of the values at each place, exact."""
        out = np.zeros(size, dtype=values.dtype)
        np.add.at(out, at, values)
        return out
