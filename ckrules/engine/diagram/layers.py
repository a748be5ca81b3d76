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

from ckrules.engine.backends.vector import Vectors, plain
from ckrules.engine.diagram.clause import DEAD, ClauseDiagram, fold
from ckrules.engine.diagram.errors import TooHardError
from ckrules.engine.diagram.numbering import number
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.lower import Lowering, Pair
from ckrules.engine.traversal import walk

Array = npt.NDArray[Any]


def layered(
    grid: Grid, clause: BoolExpr, max_cells: int, filters: Sequence[ClauseDiagram] = ()
) -> ClauseDiagram:
    """The diagram of a clause, built forward and then reduced backward.

    Args:
        grid: The variables and their values.
        clause: The condition; parts of a conjunction are dropped as soon as they are decided.
        max_cells: Limit of the states times values of a layer.
        filters: Conditions over some of the clause's variables that hold as well; what they rule
            out is left out of the result, which keeps the layers narrow.

    Raises:
        TooHardError: When a layer passes the limit.
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
            raise TooHardError(f"{text} at {grid.names[axis]}")
        bound = frozenset(grid.names[a] for a in axes[: step + 1])
        low = _evaluate(grid, axis, states)
        alive = _decided(clause, bound, low, shape)
        filtered = _filter(filters, filtered, axis, alive)
        if step + 1 == len(axes):
            targets.append(alive.astype(np.int32) - 1)
            break
        frontier = _frontier(nodes, bound)
        pairs = {n.id: low.pair(n) for n in frontier}
        needs = _needs(clause, bound, low)
        rows = np.flatnonzero(alive)
        states, classes, firsts, count = _merge(frontier, pairs, needs, shape, rows, filtered)
        filtered = [f.reshape(-1)[firsts] for f in filtered]
        target = np.full(shape[0] * shape[1], -1, dtype=np.int32)
        target[rows] = classes
        targets.append(target.reshape(shape))
    return _reduced(axes, targets)


def from_relation(grid: Grid, clause: BoolExpr) -> ClauseDiagram | None:
    """The diagram of a relation between variables, row by row; None for other clauses.

    A table of few rows over many variables is a clause of few prefixes, whatever the number of
    combinations.

    >>> from ckrules.engine.expr import rel
    >>> from ckrules.engine.table import Table
    >>> from ckrules.engine.variables import Int
    >>> m, n = Int("m", [16, 32]), Int("n", [16, 32])
    >>> pairs = Table.relation("pairs", ("m", "n"), [(16, 16), (16, 32), (32, 16)])
    >>> found = from_relation(Grid(["m", "n"], {"m": (16, 32), "n": (16, 32)}), rel(pairs, m, n))
    >>> [t.tolist() for t in found.tables]
    [[[0, 0], [0, 1]], [[0, 0], [0, -1]]]
    """
    names = [a.data.name for a in clause.args if a.op == "var"]
    if clause.op != "rel" or not names or len(set(names)) < len(clause.args):
        return None
    axes = tuple(sorted(grid.place[n] for n in names))
    order = [names.index(grid.names[a]) for a in axes]
    places = [{v: i for i, v in enumerate(grid.columns[a].tolist())} for a in axes]
    codes = [[plain(key[i]) for i in order] for key in clause.data.rows]
    known = [[p.get(v, -1) for p, v in zip(places, row, strict=True)] for row in codes]
    rows = np.asarray([r for r in known if min(r) >= 0], dtype=np.int64).reshape(-1, len(axes))
    if not len(rows):
        return ClauseDiagram(axes, [], DEAD)
    state, count = np.zeros(len(rows), dtype=np.int64), 1
    targets: list[Array] = []
    for step, axis in enumerate(axes):
        size = grid.sizes[axis]
        edges, after = np.unique(state * size + rows[:, step], return_inverse=True)
        target = np.full(count * size, -1, dtype=np.int32)
        last = step + 1 == len(axes)
        target[edges] = 0 if last else np.arange(len(edges))
        targets.append(target.reshape(count, size))
        state, count = after.reshape(-1), len(edges)
    return _reduced(axes, targets)


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
    frontier: Sequence[Expr],
    pairs: dict[int, Pair],
    needs: dict[int, Any],
    shape: tuple[int, int],
    rows: Array,
    filtered: Sequence[Array],
) -> tuple[dict[int, Pair], Array, Array, int]:
    """Number the rows of frontier values; equal rows become one state of the next layer."""
    whole = len(rows) == shape[0] * shape[1]

    def chosen(array: Any) -> Array:
        flat = np.broadcast_to(array, shape).reshape(-1)
        return flat if whole else flat[rows]

    columns = [chosen(f) for f in filtered]
    radices = [int(c.max(initial=0)) + 1 for c in columns]
    kept: list[tuple[Expr, Array, Array | None]] = []
    for node in frontier:
        value, defined = pairs[node.id]
        need = needs.get(node.id, np.bool_(True))
        live = need if defined is None else need & defined
        zero = np.zeros((), np.asarray(value).dtype)
        flat = chosen(value if live is np.True_ else np.where(live, value, zero))
        codes, radix = _codes(flat)
        columns.append(codes)
        radices.append(radix)
        flags = None
        if defined is not None:
            flags = chosen(live)
            columns.append(flags)
            radices.append(2)
        kept.append((node, flat, flags))
    classes, firsts, count = number(columns, radices, len(rows))
    states: dict[int, Pair] = {}
    for node, flat, flags in kept:
        states[node.id] = flat[firsts][:, None], None if flags is None else flags[firsts][:, None]
    return states, classes, firsts if whole else rows[firsts], count


def _codes(values: Array) -> tuple[Array, int]:
    """Small non-negative integers that tell the values apart."""
    if values.dtype == np.bool_:
        return values, 2
    if not len(values):
        return np.zeros(0, dtype=np.int64), 1
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
        # a target of -1, dead, reads the entry that is put at the end
        rows = target if successor is None else np.append(successor, DEAD)[target]
        successor, table = fold(rows)
        tables.append(table)
    assert successor is not None
    return ClauseDiagram(axes, tables[::-1], int(successor[0]))
