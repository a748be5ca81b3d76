"""Clause diagrams of conditions over too many values for a truth table.

The clause is evaluated one variable at a time. A partial assignment is remembered as the values
of the largest sub-expressions that are fully bound and still needed: a sub-expression that only
serves a disjunct whose clause is already satisfied is forgotten, so that assignments merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.backends.vector import Vectors
from ckrules.engine.diagram.clause import ClauseDiagram, fold
from ckrules.engine.diagram.errors import TooHardError
from ckrules.engine.diagram.numbering import number
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.expr import BoolExpr, Expr, walk
from ckrules.engine.lower import Lowering, Pair

Array = npt.NDArray[Any]


def layered(grid: Grid, clause: BoolExpr, max_cells: int) -> ClauseDiagram:
    """The diagram of a clause, built forward and then reduced backward.

    Raises:
        TooHardError: When a layer has more than ``max_cells`` states times values.
    """
    axes = tuple(sorted(grid.place[n] for n in clause.support))
    nodes = walk(clause)
    states: dict[int, Pair] = {}
    count = 1
    targets: list[Array] = []
    for step, axis in enumerate(axes):
        extent = grid.sizes[axis]
        if count * extent > max_cells:
            cells, name = count * extent, grid.names[axis]
            raise TooHardError(f"`{clause}` has {cells:,} partial states at {name}")
        bound = frozenset(grid.names[a] for a in axes[: step + 1])
        low = _evaluate(grid, axis, states)
        shape = (count, extent)
        if step + 1 == len(axes):
            truth = np.broadcast_to(np.asarray(low.bool(clause), dtype=np.bool_), shape)
            targets.append(truth.astype(np.int32) - 1)
            break
        frontier = _frontier(nodes, bound)
        pairs = {n.id: low.pair(n) for n in frontier}
        needs = _needs(clause, bound, low)
        states, classes, count = _merge(frontier, pairs, needs, shape)
        targets.append(classes.reshape(shape))
    return _reduced(axes, targets)


def _evaluate(grid: Grid, axis: int, states: dict[int, Pair]) -> Lowering[Any]:
    name = grid.names[axis]
    column = grid.columns[axis][None, :]

    def lookup(wanted: str) -> Array:
        assert wanted == name, wanted
        return column

    return Lowering(Vectors(lookup), grid.bounds.never_zero, states)


def _frontier(nodes: Sequence[Expr], bound: frozenset[str]) -> list[Expr]:
    """The largest bound sub-expressions: operands of nodes that are not bound."""
    found: dict[int, Expr] = {}
    for node in nodes:
        if node.support <= bound:
            continue
        for a in node.args:
            if a.op != "const" and a.support and a.support <= bound:
                found.setdefault(a.id, a)
    return list(found.values())


def _needs(root: Expr, bound: frozenset[str], low: Lowering[Any]) -> dict[int, Any]:
    """For each frontier node, where its value can still change the clause (None: everywhere)."""
    needs: dict[int, Any] = {}
    seen: dict[int, Any] = {root.id: np.bool_(True)}
    for node in reversed(walk(root)):
        if node.id not in seen or node.support <= bound:
            continue
        for arg, need in _operand_needs(node, bound, low, seen[node.id]):
            into = needs if arg.support <= bound else seen
            into[arg.id] = need if arg.id not in into else into[arg.id] | need
    return needs


def _operand_needs(
    node: Expr, bound: frozenset[str], low: Lowering[Any], need: Any
) -> list[tuple[Expr, Any]]:
    args = node.args
    if node.op == "ite" and args[0].support <= bound:
        cond = low.bool(args[0])
        return [(args[0], need), (args[1], need & cond), (args[2], need & ~cond)]
    if node.op in ("and", "or", "implies"):
        decided: Any = np.bool_(False)
        for i, a in enumerate(args):
            if a.support <= bound:
                truth = low.bool(a)
                stops = ~truth if node.op == "and" or (node.op == "implies" and i == 0) else truth
                decided = decided | stops
        rest = need & ~decided
        return [(a, need if a.support <= bound else rest) for a in args]
    return [(a, need) for a in args]


def _merge(
    frontier: Sequence[Expr], pairs: dict[int, Pair], needs: dict[int, Any], shape: tuple[int, int]
) -> tuple[dict[int, Pair], Array, int]:
    """Number the rows of frontier values; equal rows become one state of the next layer."""
    size = shape[0] * shape[1]
    columns: list[Array] = []
    radices: list[int] = []
    kept: list[tuple[Expr, Array, Array | None]] = []
    for node in frontier:
        value, defined = pairs[node.id]
        need = needs.get(node.id, np.bool_(True))
        live = need if defined is None else need & defined
        flat = np.broadcast_to(np.where(live, value, np.zeros((), np.asarray(value).dtype)), shape)
        flat = flat.reshape(-1)
        flags = None
        codes, radix = _codes(flat)
        columns.append(codes)
        radices.append(radix)
        if defined is not None:
            flags = np.broadcast_to(live, shape).reshape(-1)
            columns.append(flags)
            radices.append(2)
        kept.append((node, flat, flags))
    classes, rows, count = number(columns, radices, size)
    states: dict[int, Pair] = {}
    for node, flat, flags in kept:
        states[node.id] = flat[rows][:, None], None if flags is None else flags[rows][:, None]
    return states, classes, count


def _codes(values: Array) -> tuple[Array, int]:
    """Small non-negative integers that tell the values apart."""
    if values.dtype == np.bool_:
        return values, 2
    if values.dtype.kind in "iu":
        lo, hi = int(values.min()), int(values.max())
        if hi - lo < 1 << 20:
            return values - lo, hi - lo + 1
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1), len(distinct)


def _reduced(axes: tuple[int, ...], targets: list[Array]) -> ClauseDiagram:
    tables: list[Array] = []
    successor: Array | None = None
    for target in reversed(targets):
        rows = target if successor is None else successor[target]
        successor, table = fold(rows)
        tables.append(table)
    assert successor is not None
    return ClauseDiagram(axes, tables[::-1], int(successor[0]))


