"""Products: the layers of one block of variables, from the diagrams of all its clauses.

A state is what all pending clauses still ask for, one clause node each. Going from one variable
to the next is table look-up on distinct combinations only; no expression is evaluated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.clause_diagram import DEAD, TRUE_NODE, ClauseDiagram
from ckrules.engine.diagram.errors import BudgetExceededError, TooHardError
from ckrules.engine.diagram.numbering import number, spread

Array = npt.NDArray[Any]


class CompileMeter:
    """Work that the compilations behind one question did so far, in edges and states' entries.

    Args:
        limit: Work after which the question is given up.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.restart()

    def restart(self) -> None:
        """Begin again: something was found, and the next thing may take as much."""
        self.spent = self.parts = 0

    def charge(self, work: int) -> None:
        """Add work.

        Raises:
            TooHardError: When the limit is passed.
        """
        self.spent += work
        if self.spent > self.limit:
            parts = self.parts
            self.restart()  # for the next question
            raise TooHardError(
                "the space is too hard: orders of its variables were tried, then "
                f"{parts:,} parts, until they had {self.limit:,} edges and states; "
                "fix variables to fewer values, or leave out rules that tie many together "
                "(listing the first points takes less than counting)"
            )


@dataclass(frozen=True)
class Budget:
    """Limits that bound the memory of a compilation.

    Args:
        layer: Edges of one layer.
        edges: Edges of all layers of a block.
        cells: Cells of a truth table, and states times values while a clause is evaluated.
        entries: States of a layer times the clauses that are pending there.
        split: How many times smaller the budget of a part is: failing must be cheap.
        meter: Counts the work of all compilations together, if that is to be limited.
    """

    layer: int = 6_000_000
    edges: int = 24_000_000
    cells: int = 3_000_000
    entries: int = 48_000_000
    split: int = 8
    meter: CompileMeter | None = field(default=None, compare=False)

    def over(self, part: int) -> Budget:
        """This budget divided, but for what every small compilation needs."""
        return replace(
            self,
            layer=max(self.layer // part, min(self.layer, 50_000)),
            edges=max(self.edges // part, min(self.edges, 200_000)),
            cells=max(self.cells // part, min(self.cells, 250_000)),
            entries=max(self.entries // part, min(self.entries, 400_000)),
        )


@dataclass
class Layer:
    """The edges of one variable, grouped by the state that they leave.

    ``starts[s]`` to ``starts[s + 1]`` are the edges of state ``s``; each has a ``position`` of
    the variable's value and the ``target`` state in the next layer. ``matrix`` is the same as
    one flat table of targets, made by who asks for many single points.
    """

    starts: Array
    positions: Array
    targets: Array
    matrix: Array | None = field(default=None, compare=False, repr=False)


def forward(
    extents: Sequence[int], diagrams: Sequence[ClauseDiagram], budget: Budget
) -> list[Layer]:
    """The layers that are reachable from the front; the last layer's targets are all 0.

    Args:
        extents: Number of values of each variable of the block.
        diagrams: Clause diagrams whose axes count from 0 in the block.

    Raises:
        BudgetExceededError: When a limit is passed.
    """
    if any(d.root == DEAD for d in diagrams):
        none = np.zeros(0, dtype=np.int32)
        return [Layer(np.zeros(2, dtype=np.int64), none, none) for _ in extents]
    pending = [d for d in diagrams if d.root != TRUE_NODE]
    columns: dict[int, Array] = {}
    count, total = 1, 0
    layers = []
    for axis, extent in enumerate(extents):
        for k, d in enumerate(pending):
            if d.axes[0] == axis:
                columns[k] = np.full(count, d.root, dtype=np.int32)
        involved = [k for k in columns if axis in pending[k].axes]
        step = _step([pending[k] for k in involved], [columns[k] for k in involved], axis, count)
        ends = {k for k in involved if pending[k].axes[-1] == axis}
        layer, columns, count = _advance(
            step or _free(extent, count), involved, ends, columns, count, budget
        )
        layers.append(layer)
        total += len(layer.targets)
        if total > budget.edges:
            raise BudgetExceededError(
                f"more than {budget.edges:,} edges after {axis + 1} variables"
            )
    return layers


@dataclass
class _Step:
    """What one variable does to the distinct combinations of the clause nodes involved.

    ``starts`` delimits the edges of each combination; ``next_id`` numbers the combinations that
    follow, and ``next_nodes`` are their clause nodes.
    """

    combination: Array
    starts: Array
    positions: Array
    next_id: Array
    next_count: int
    next_nodes: list[Array]


def _step(
    diagrams: Sequence[ClauseDiagram], columns: Sequence[Array], axis: int, count: int
) -> _Step | None:
    if not diagrams:
        return None
    tables = [d.tables[d.axes.index(axis)] for d in diagrams]
    combination, rows, distinct = number(columns, [len(t) for t in tables], count)
    nodes = [c[rows] for c in columns]
    alive: Array | None = None
    for table, node in zip(tables, nodes, strict=True):
        good = (table != DEAD)[node]
        alive = good if alive is None else alive & good
    assert alive is not None
    state, position = np.nonzero(alive)
    starts = np.zeros(distinct + 1, dtype=np.int64)
    np.cumsum(alive.sum(axis=1), out=starts[1:])
    following = [t[n[state], position] for t, n in zip(tables, nodes, strict=True)]
    radices = [int(f.max()) + 1 if len(f) else 1 for f in following]
    next_id, firsts, next_count = number(following, radices, len(state))
    return _Step(combination, starts, position, next_id, next_count, [f[firsts] for f in following])


def _advance(
    step: _Step,
    involved: Sequence[int],
    ends: set[int],
    columns: Mapping[int, Array],
    count: int,
    budget: Budget,
) -> tuple[Layer, dict[int, Array], int]:
    """One layer, and the clause node columns and number of the states after it."""
    others = [k for k in columns if k not in involved]
    radices = [int(columns[k].max()) + 1 if count else 1 for k in others]
    rest, rest_rows, rest_count = number([columns[k] for k in others], radices, count)
    lengths = np.diff(step.starts)[step.combination]
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    edges = int(starts[-1])
    if edges > budget.layer:
        raise BudgetExceededError(f"a layer has {edges:,} edges")
    source = spread(step.starts[:-1][step.combination], lengths)
    following = step.next_id[source]
    outer = np.repeat(rest, lengths)
    targets, firsts, next_count = number(
        [outer, following], [max(rest_count, 1), max(step.next_count, 1)], edges
    )
    _check_entries(next_count, len(others) + len(set(involved) - ends), edges, budget)
    after: dict[int, Array] = {}
    some_rest = rest_rows[outer[firsts]]
    some_next = following[firsts]
    for k in others:
        after[k] = columns[k][some_rest]
    for k, nodes in zip(involved, step.next_nodes, strict=True):
        if k not in ends:
            after[k] = nodes[some_next]
    after = {k: c for k, c in after.items() if c.any()}
    layer = Layer(starts, step.positions[source], targets.astype(np.int32, copy=False))
    return layer, after, next_count


def _check_entries(states: int, pending: int, edges: int, budget: Budget) -> None:
    """Refuse a layer whose states would take too much memory, and count the work."""
    entries = states * pending
    if budget.meter is not None:
        budget.meter.charge(edges + min(entries, budget.entries))
    if entries > budget.entries:
        raise BudgetExceededError(f"a layer has {states:,} states of {pending} clauses")


def _free(extent: int, count: int) -> _Step:
    zeros = np.zeros(extent, dtype=np.int32)
    return _Step(
        np.zeros(count, dtype=np.int32),
        np.asarray([0, extent], dtype=np.int64),
        np.arange(extent),
        zeros,
        1,
        [],
    )


def trim(layers: list[Layer]) -> tuple[list[Layer], list[Array]]:
    """The layers without dead ends, and the number of completions of every state.

    ``counts[i][s]`` counts the paths from state ``s`` of layer ``i`` to the end; ``counts[-1]``
    is one. Counts are int64, or Python integers where 62 bits do not hold them.
    """
    counts = _count(layers, big=False)
    if counts is None:
        counts = _count(layers, big=True)
    assert counts is not None
    out: list[Layer] = []
    renumber: Array | None = None
    for i in range(len(layers) - 1, -1, -1):
        layer, renumber, counts[i] = _trim_layer(layers[i], counts[i], renumber)
        out.append(layer)
    return out[::-1], counts


def _count(layers: Sequence[Layer], big: bool) -> list[Array] | None:
    counts: list[Array] = [np.ones(1, dtype=object if big else np.int64)]
    estimate = np.ones(1)
    for layer in reversed(layers):
        counts.append(_sums(counts[-1][layer.targets], layer.starts))
        if not big:
            estimate = _sums_float(estimate[layer.targets], layer.starts)
            if len(estimate) and estimate.max() >= 2.0**61:
                return None
    return counts[::-1]


def _sums(values: Array, starts: Array) -> Array:
    running = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=running[1:])  # may wrap around, which differences undo
    return running[starts[1:]] - running[starts[:-1]]


def _sums_float(values: Array, starts: Array) -> Array:
    # differences of a running sum would lose small values beside large ones
    out = np.zeros(len(starts) - 1)
    full = np.flatnonzero(np.diff(starts))
    if len(full):
        out[full] = np.add.reduceat(values, starts[full])
    return out


def _trim_layer(layer: Layer, counts: Array, renumber: Array | None) -> tuple[Layer, Array, Array]:
    targets = layer.targets
    dead_ends = renumber is not None and bool((renumber < 0).any())
    starts, positions = layer.starts, layer.positions
    alive = np.asarray(counts != 0, dtype=np.bool_)
    if renumber is not None:
        targets = renumber[targets]
    if dead_ends:
        keep = targets >= 0
        kept = np.zeros(len(keep) + 1, dtype=np.int64)
        np.cumsum(keep, out=kept[1:])
        starts, positions, targets = kept[starts], positions[keep], targets[keep]
    numbers = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
    if not alive.all():
        starts = np.concatenate([starts[:-1][alive], starts[-1:]])
        counts = counts[alive]
    return Layer(starts, positions, targets), numbers, counts
