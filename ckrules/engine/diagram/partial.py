"""Partial evaluation: expressions of which some variables are bound, over many assignments.

An assignment is remembered as the values of the *frontier*: the largest sub-expressions that are
fully bound and still needed. Assignments that agree on them need not be told apart. Exact for all
sorts: numpy tells floats apart as Python does, all NaN alike, and the sign of a zero, which is
lost, changes no answer: dividing by either zero is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.numbering import number
from ckrules.engine.diagram.truth import Grid
from ckrules.engine.evaluate.vector import Vectors
from ckrules.engine.expr import Expr
from ckrules.engine.rewrite.lower import Lowering, Pair

Array = npt.NDArray[Any]


def evaluate(grid: Grid, axis: int, states: dict[int, Pair]) -> Lowering[Any]:
    """Evaluates expressions where the variable of ``axis`` is a column beside known states."""

    def lookup(wanted: Expr) -> Array:
        assert wanted.data.name == grid.names[axis], wanted
        return grid.column(wanted)[None, :]

    return Lowering(Vectors(lookup), grid.bounds.never_zero, states)


@dataclass(frozen=True)
class Partial:
    """Expressions of which some variables are bound.

    Args:
        nodes: Every node below the wanted ones once, operands first.
        wanted: The expressions whose values matter in the end.
        bound: The variables that have values.
    """

    nodes: Sequence[Expr]
    wanted: Sequence[Expr]
    bound: frozenset[str]

    def frontier(self) -> list[Expr]:
        """The largest bound sub-expressions: operands of nodes that are not bound."""
        found = {n.id: n for n in self.wanted if n.support and n.support <= self.bound}
        for node in self.nodes:
            if node.support <= self.bound:
                continue
            for a in node.args:
                if a.op != "const" and a.support and a.support <= self.bound:
                    found.setdefault(a.id, a)
        return list(found.values())

    def needs(self, low: Lowering[Any]) -> dict[int, Any]:
        """For each frontier node, where its value can still change what is wanted."""
        always = {n.id: np.bool_(True) for n in self.wanted}
        needs: dict[int, Any] = {n.id: always[n.id] for n in self.wanted if n.support <= self.bound}
        seen: dict[int, Any] = dict(always)
        for node in reversed(self.nodes):
            if node.id not in seen or node.support <= self.bound:
                continue
            for arg, need in _operand_needs(node, self.bound, low, seen[node.id]):
                into = needs if arg.support <= self.bound else seen
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


def merge(
    partial: Partial,
    low: Lowering[Any],
    shape: tuple[int, int],
    rows: Array,
    others: Sequence[Array],
) -> tuple[dict[int, Pair], Array, Array, int]:
    """The assignments at some cells of ``shape``; equal ones become one state.

    Args:
        partial: The expressions, with the variable of the columns bound.
        low: Their values over the cells.
        shape: The number of states before, and of the variable's values.
        rows: The cells that matter, as places in the flat table.
        others: What else tells cells apart, over ``shape``.

    Returns:
        The values of each new state, the state of each row, a cell of each state, and how many.
    """
    frontier = partial.frontier()
    needs = partial.needs(low)
    whole = len(rows) == shape[0] * shape[1]

    def chosen(array: Any) -> Array:
        flat = np.broadcast_to(array, shape).reshape(-1)
        return flat if whole else flat[rows]

    columns = [chosen(f) for f in others]
    radices = [int(c.max(initial=0)) + 1 for c in columns]
    kept: list[tuple[Expr, Array, Array | None]] = []
    for node in frontier:
        value, defined = low.pair(node)
        need = needs.get(node.id, np.bool_(True))
        live = need if defined is None else need & defined
        zero = np.zeros((), np.asarray(value).dtype)
        flat = chosen(value if live is np.True_ else np.where(live, value, zero))
        codes, radix = coded(flat)
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


def coded(values: Array) -> tuple[Array, int]:
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
