"""Clause diagrams: what a clause still asks for after each of its variables is bound.

A `ClauseDiagram` is the reduced decision diagram of one condition under a variable order: two
partial assignments lead to the same node exactly if the rest of the condition is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.numbering import number
from ckrules.engine.diagram.truth import Truth

Array = npt.NDArray[Any]

TRUE_NODE = 0
DEAD = -1


@dataclass
class ClauseDiagram:
    """Transitions of one condition.

    ``tables[j][node, position]`` is the node of level ``j + 1`` that the value at ``position`` of
    the variable ``axes[j]`` leads to; `TRUE_NODE` asks for nothing more, `DEAD` cannot be met.
    """

    axes: tuple[int, ...]
    tables: list[Array]
    root: int


def from_truth(truth: Truth) -> ClauseDiagram:
    """The diagram of a truth table.

    >>> table = np.array([[True, True], [False, True], [False, True]])
    >>> d = from_truth(Truth((0, 1), table))
    >>> d.root, [t.tolist() for t in d.tables]
    (1, [[[0, 0, 0], [0, 1, 1]], [[0, 0], [-1, 0]]])
    """
    ids: Array = truth.table.reshape(-1).astype(np.int32) - 1
    return reduced(truth.axes, ids, truth.table.shape)


def reduced(axes: tuple[int, ...], leaves: Array, shape: Sequence[int]) -> ClauseDiagram:
    """The diagram whose leaves (`TRUE_NODE` or `DEAD`) are listed in row-major order."""
    tables: list[Array] = []
    ids = leaves
    for extent in reversed(shape):
        ids, table = fold(ids.reshape(-1, extent))
        tables.append(table)
    return ClauseDiagram(axes, tables[::-1], int(ids[0]))


def fold(rows: Array) -> tuple[Array, Array]:
    """The node of each row of successors, and the table of the distinct rows (row 0 all true)."""
    low, high = rows.min(axis=1), rows.max(axis=1)
    nodes = np.full(len(rows), DEAD, dtype=np.int32)
    nodes[(low == TRUE_NODE) & (high == TRUE_NODE)] = TRUE_NODE
    open_rows = np.flatnonzero((high >= 0) & ((low != high) | (high > 0)))
    true_row = np.zeros((1, rows.shape[1]), dtype=np.int32)
    if not len(open_rows):
        return nodes, true_row
    some = rows[open_rows] if len(open_rows) < len(rows) else rows
    classes, firsts, _ = number_rows(some)
    nodes[open_rows] = classes + 1
    return nodes, np.concatenate([true_row, some[firsts]])


def number_rows(rows: Array) -> tuple[Array, Array, int]:
    """`number` for the rows of a matrix with entries from `DEAD` upwards."""
    radix = int(rows.max()) + 2
    per_word = max(1, int(61 // np.log2(radix))) if radix > 1 else rows.shape[1]
    words = []
    radices = []
    for start in range(0, rows.shape[1], per_word):
        part = rows[:, start : start + per_word].astype(np.int64) + 1
        weights = np.asarray([radix**k for k in range(part.shape[1])], dtype=np.int64)
        words.append(part @ weights)
        radices.append(radix ** part.shape[1])
    return number(words, radices, len(rows))
