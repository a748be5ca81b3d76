"""Restriction: fewer values or further clauses applied to blocks that are compiled already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.clause_diagram import DEAD, TRUE_NODE, ClauseDiagram
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.compiler import clause_diagrams, nothing
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.numbering import code_type, number, spread
from ckrules.engine.diagram.problem import ConstraintProblem, part, prepare
from ckrules.engine.diagram.product import Budget, Layer, trim
from ckrules.engine.expr import BoolExpr

Array = npt.NDArray[Any]


Domains = Mapping[str, tuple[Any, ...]]

#: Cells in which a new clause is evaluated at the least. It is evaluated alone; where it has more
#: partial states than the space has edges, compiling again, all clauses beside it, takes less.
_CELLS = 300_000


def cut(
    compiled: Compiled, before: Domains, after: Domains, added: Sequence[BoolExpr]
) -> Compiled | None:
    """The compiled points with the candidates ``after`` at which ``added`` holds too.

    None if they must be compiled again: a candidate is not among those of ``before``, or the
    result would pass the budget.
    """
    recode: dict[str, dict[int, int]] = {}
    for name, values in after.items():
        old = before[name]
        if values is not old and values != old:
            place = {v: i for i, v in enumerate(old)}
            if any(v not in place for v in values):
                return None
            recode[name] = {place[v]: i for i, v in enumerate(values)}
    problem = prepare(after, added)
    if problem.empty or (compiled.whole and not compiled.count):
        return nothing(compiled.order, {n: len(values) for n, values in after.items()})
    full = Budget()
    cells = min(full.cells, max(_CELLS, compiled.edges))
    try:
        return restrict(compiled, problem, recode, replace(full, cells=cells))
    except BudgetExceededError:
        return None


def restrict(
    compiled: Compiled,
    problem: ConstraintProblem,
    recode: Mapping[str, Mapping[int, int]],
    budget: Budget,
) -> Compiled:
    """The points of ``compiled`` that are points of ``problem`` too.

    Args:
        compiled: Points over the same variables, possibly with more values.
        problem: The values that are left and the clauses that are new.
        recode: For each variable whose codes change, the new code by old code; codes that are
            left out are dropped.

    Raises:
        BudgetExceededError: When the result is too large, or a block is not compiled as a whole.
    """
    sizes = {n: len(v.values) for n, v in problem.variables.items()}
    with np.errstate(all="ignore"):
        blocks = [
            _restricted(run, problem, recode, budget) for run in _runs(compiled.blocks, problem)
        ]
    return Compiled(blocks, sizes)


def _restricted(
    run: Sequence[Block],
    problem: ConstraintProblem,
    recode: Mapping[str, Mapping[int, int]],
    budget: Budget,
) -> Block:
    """Consecutive blocks as one, restricted; a block to which nothing happens stays itself."""
    names = [n for b in run for n in b.names]
    layers = [layer for b in run for layer in b.layers]
    extra = part(problem, names)
    variables = list(extra.variables.values())
    kept = [np.asarray(v.codes, dtype=np.int64) for v in variables]
    fewer = [_filtered(a, recode.get(n), k) for a, n, k in zip(layers, names, kept, strict=True)]
    if extra.scopes:
        fewer = _product(fewer, kept, clause_diagrams(extra, budget), budget)
    elif len(run) == 1 and all(a is b for a, b in zip(fewer, layers, strict=True)):
        return run[0]
    done, counts = trim(fewer)
    typed = [
        Layer(a.starts, a.positions.astype(code_type(len(v.values)), copy=False), a.targets)
        for a, v in zip(done, variables, strict=True)
    ]
    return Block(names, typed, counts)


def _runs(blocks: Sequence[AnyBlock], problem: ConstraintProblem) -> list[list[Block]]:
    """Consecutive blocks that a table or clause connects, together."""
    owner = {n: k for k, b in enumerate(blocks) for n in b.names}
    spans = [(k, k) for k in range(len(blocks))]
    for scope in problem.scopes:
        where = [owner[n] for n in scope]
        spans.append((min(where), max(where)))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    out: list[list[Block]] = []
    for low, high in merged:
        mine = (b.layered if isinstance(b, DenseBlock) else b for b in blocks[low : high + 1])
        run = [b for b in mine if isinstance(b, Block)]
        if len(run) <= high - low:
            raise BudgetExceededError("the space is not compiled as a whole")
        out.append(run)
    return out


def _filtered(layer: Layer, recode: Mapping[int, int] | None, kept: Array) -> Layer:
    """The layer with the edges of dropped codes removed and the others recoded."""
    top = int(layer.positions.max(initial=0)) + 1
    if recode is None:
        table = np.arange(top)
    else:
        table = np.full(top, -1)
        for old, new in recode.items():
            if old < top:
                table[old] = new
    allowed = np.isin(table, kept)
    keep = allowed[layer.positions]
    if recode is None and keep.all():
        return layer
    running = np.zeros(len(keep) + 1, dtype=np.int64)
    np.cumsum(keep, out=running[1:])
    positions = table[layer.positions[keep]]
    return Layer(running[layer.starts], positions, layer.targets[keep])


def _product(
    layers: Sequence[Layer],
    kept: Sequence[Array],
    diagrams: Sequence[ClauseDiagram],
    budget: Budget,
) -> list[Layer]:
    """The layers whose states are a state of ``layers`` and a node of each clause."""
    if any(d.root == DEAD for d in diagrams):
        return [Layer(np.zeros_like(a.starts), a.positions[:0], a.targets[:0]) for a in layers]
    base = np.zeros(1, dtype=np.int64)
    nodes = [np.full(1, d.root, dtype=np.int32) for d in diagrams]
    out: list[Layer] = []
    for axis, (layer, codes) in enumerate(zip(layers, kept, strict=True)):
        first = layer.starts[base]
        lengths = layer.starts[base + 1] - first
        if int(lengths.sum()) > budget.layer:
            raise BudgetExceededError(f"a layer has {int(lengths.sum()):,} edges")
        edges = spread(first, lengths)
        source = np.repeat(np.arange(len(base)), lengths)
        alive = np.ones(len(edges), dtype=np.bool_)
        following = []
        position = np.searchsorted(codes, layer.positions[edges])
        for diagram, node in zip(diagrams, nodes, strict=True):
            after = node[source]
            if axis in diagram.axes:
                after = diagram.tables[diagram.axes.index(axis)][after, position]
                alive &= after != DEAD
            following.append(after)
        if not alive.all():
            edges, source = edges[alive], source[alive]
            following = [f[alive] for f in following]
        starts = np.zeros(len(base) + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=len(base)), out=starts[1:])
        targets = layer.targets[edges]
        radices = [int(f.max(initial=TRUE_NODE)) + 1 for f in following]
        span = int(targets.max(initial=0)) + 1
        classes, rows, _ = number([targets, *following], [span, *radices], len(edges))
        classes = classes.astype(np.int32, copy=False)
        out.append(Layer(starts, layer.positions[edges], classes))
        base = targets[rows].astype(np.int64)
        nodes = [f[rows] for f in following]
    return out
