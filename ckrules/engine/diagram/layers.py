"""Clause diagrams of conditions over too many values for a truth table.

The clause is evaluated one variable at a time. A partial assignment is remembered as the values
of the largest sub-expressions that are fully bound and still needed: a sub-expression that only
serves a disjunct whose clause is already satisfied is forgotten, so that assignments merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.clause_diagram import DEAD, TRUE_NODE, ClauseDiagram, fold
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.partial import Partial, evaluate, merge
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rewrite.lower import Lowering, Pair

Array = npt.NDArray[Any]


def layered(
    grid: Grid, clause: BoolExpr, max_cells: int, filters: Sequence[ClauseDiagram] = ()
) -> ClauseDiagram:
    """The diagram of a clause, built forward and then reduced backward.

    Args:
        clause: The condition; parts of a conjunction are dropped as soon as they are decided.
        max_cells: Limit of the states times values of a layer.
        filters: Conditions over some of the clause's variables that hold as well; what they rule
            out is left out of the result, which keeps the layers narrow.

    Raises:
        BudgetExceededError: When a layer passes the limit.
    """
    axes = tuple(sorted(grid.place[n] for n in clause.support))
    nodes = walk(clause)
    states: dict[int, Pair] = {}
    filtered = [np.full(1, f.root, dtype=np.int32) for f in filters]
    count = 1
    targets: list[Array] = []
    for step, axis in enumerate(axes):
        shape = (count, grid.sizes[axis])
        if shape[0] * shape[1] > max_cells:
            text = f"{shape[0] * shape[1]:,} partial states of {len(axes)} variables"
            raise BudgetExceededError(f"{text} at {grid.names[axis]}")
        bound = frozenset(grid.names[a] for a in axes[: step + 1])
        low = evaluate(grid, axis, states)
        alive = _decided(clause, bound, low, shape)
        filtered = _filter(filters, filtered, axis, alive)
        if step + 1 == len(axes):
            targets.append(alive.astype(np.int32) - 1)
            break
        rows = np.flatnonzero(alive)
        merged = merge(Partial(nodes, nodes[-1:], bound), low, shape, rows, filtered)
        states, classes, firsts, count = merged
        filtered = [f.reshape(-1)[firsts] for f in filtered]
        target = np.full(shape[0] * shape[1], -1, dtype=np.int32)
        target[rows] = classes
        targets.append(target.reshape(shape))
    return _reduced(axes, targets)


def relation_in(clause: BoolExpr) -> BoolExpr | None:
    """The relation between variables that a clause is or denies; None for other clauses."""
    found = clause.args[0] if clause.op == "not" else clause
    named = {a.data.name for a in found.args if a.op == "var"} if found.op == "rel" else ()
    constants = sum(a.op == "const" for a in found.args)
    return cast(BoolExpr, found) if named and len(named) + constants == len(found.args) else None


def from_relation(grid: Grid, clause: BoolExpr) -> ClauseDiagram | None:
    """The diagram of a relation or of none between variables, by rows; None for other clauses.

    A table of few rows over many variables is a clause of few prefixes, whatever the number of
    combinations. Keys of one value are constants; rows with others are left out.

    >>> from ckrules.engine.expr import rel
    >>> from ckrules.engine.expr.relation import Table
    >>> from ckrules.engine.expr.variables import Int
    >>> m, n = Int("m", [16, 32]), Int("n", [16, 32])
    >>> pairs = Table.relation("pairs", ("m", "n"), [(16, 16), (16, 32), (32, 16)])
    >>> found = from_relation(Grid(["m", "n"], {"m": (16, 32), "n": (16, 32)}), rel(pairs, m, n))
    >>> [t.tolist() for t in found.tables]
    [[[0, 0], [0, 1]], [[0, 0], [0, -1]]]
    """
    inside = relation_in(clause)
    if inside is None:
        return None
    hit, miss = (TRUE_NODE, DEAD) if inside is clause else (DEAD, TRUE_NODE)
    keys = {a.data.name: i for i, a in enumerate(inside.args) if a.op == "var"}
    fixed = [(i, a.data) for i, a in enumerate(inside.args) if a.op == "const"]
    axes = tuple(sorted(grid.place[n] for n in keys))
    order = [keys[grid.names[a]] for a in axes]
    places = [{v: i for i, v in enumerate(grid.values[grid.names[a]])} for a in axes]
    meant = [key for key in inside.data.rows if all(key[i] == value for i, value in fixed)]
    known = [[p.get(key[i], -1) for p, i in zip(places, order, strict=True)] for key in meant]
    rows = np.asarray([r for r in known if min(r) >= 0], dtype=np.int64).reshape(-1, len(axes))
    if not len(rows):
        true = [np.zeros((1, grid.sizes[a]), dtype=np.int32) for a in axes]
        return ClauseDiagram(axes, true, miss)
    state, count = np.zeros(len(rows), dtype=np.int64), 1
    targets: list[Array] = []
    for step, axis in enumerate(axes):
        size = grid.sizes[axis]
        edges, after = np.unique(state * size + rows[:, step], return_inverse=True)
        last = step + 1 == len(axes)
        target = np.full(count * size, miss if last else -1, dtype=np.int32)
        target[edges] = hit if last else np.arange(len(edges))
        targets.append(target.reshape(count, size))
        state, count = after.reshape(-1), len(edges)
    return _reduced(axes, targets, miss)


def _decided(
    clause: BoolExpr, bound: frozenset[str], low: Lowering[Any], shape: tuple[int, int]
) -> Array:
    """Where no part of the conjunction is known to be false."""
    alive = np.ones(shape, dtype=np.bool_)
    for part in clause.args if clause.op == "and" else (clause,):
        if part.support <= bound:
            alive &= np.asarray(low.bool(part), dtype=np.bool_)
    return alive


def _filter(
    filters: Sequence[ClauseDiagram], nodes: Sequence[Array], axis: int, alive: Array
) -> list[Array]:
    """The filters' nodes after ``axis``; what they rule out is taken from ``alive``."""
    out = []
    for diagram, node in zip(filters, nodes, strict=True):
        if axis in diagram.axes:
            after = diagram.tables[diagram.axes.index(axis)][node]
            alive &= after != DEAD
        else:
            after = np.broadcast_to(node[:, None], alive.shape)
        out.append(after)
    return out


def _reduced(axes: tuple[int, ...], targets: list[Array], miss: int = DEAD) -> ClauseDiagram:
    tables: list[Array] = []
    successor: Array | None = None
    for target in reversed(targets):
        # a target of -1 reads the entry that is put at the end
        rows = target if successor is None else np.append(successor, miss)[target]
        successor, table = fold(rows)
        tables.append(table)
    assert successor is not None
    return ClauseDiagram(axes, tables[::-1], int(successor[0]))
