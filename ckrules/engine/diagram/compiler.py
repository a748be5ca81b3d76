"""Compilation: from a problem and a variable order to blocks of layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.clause import ClauseDiagram, from_truth
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.errors import TooHardError
from ckrules.engine.diagram.layers import layered
from ckrules.engine.diagram.numbering import code_type
from ckrules.engine.diagram.order import Orders
from ckrules.engine.diagram.problem import Problem, components, prepare
from ckrules.engine.diagram.product import Budget, Layer, forward, trim
from ckrules.engine.diagram.search import SplitBlock
from ckrules.engine.diagram.truth import Grid, Truth, absorb
from ckrules.engine.expr import BoolExpr

_DENSE = 400_000  # cells up to which a clause is evaluated as one table
_JOINT = 30_000  # cells up to which tables are merged


def choose_order(problem: Problem) -> list[str]:
    """The order in which a problem's variables are bound; variables without clauses come last.

    Connected variables stay together. The order is a function of the problem alone.
    """
    out: list[str] = []
    free: list[str] = []
    for names, clauses in components(problem):
        if not clauses:
            free.extend(names)
            continue
        place = {n: i for i, n in enumerate(names)}
        sizes = [len(problem.variables[n].codes) for n in names]
        scopes = [tuple(sorted(place[v] for v in c.support)) for c in clauses]
        out.extend(names[i] for i in Orders(sizes, scopes).best())
    return out + free


def compile_blocks(problem: Problem, order: Sequence[str], budget: Budget) -> list[AnyBlock]:
    """The problem's points as independent blocks of consecutive variables of ``order``."""
    with np.errstate(all="ignore"):
        return [_block(problem, n, clauses, budget) for n, clauses in _spans(problem, order)]


def compile_problem(problem: Problem, order: Sequence[str], budget: Budget) -> Compiled:
    """The problem's points, compiled as far as the budget allows."""
    sizes = {n: len(v.values) for n, v in problem.variables.items()}
    if problem.empty:
        return Compiled([empty(list(order))], sizes)
    return Compiled(compile_blocks(problem, order, budget), sizes)


def _block(
    problem: Problem, names: Sequence[str], clauses: Sequence[BoolExpr], budget: Budget
) -> AnyBlock:
    """One block, split by the values of its first open variable if it is too hard."""
    try:
        return _compile(problem, names, clauses, budget)
    except (TooHardError, MemoryError):
        open_at = [i for i, n in enumerate(names) if len(problem.variables[n].codes) > 1]
        if not open_at:
            raise
    at = open_at[0]
    kept = {n: problem.variables[n].codes for n in names}
    domains = {n: problem.variables[n].values for n in names}

    def part(k: int) -> Compiled:
        some = {**kept, names[at]: [kept[names[at]][k]]}
        return compile_problem(prepare(domains, clauses, some), names, budget)

    return SplitBlock(names, kept[names[at]], at, part)


def empty(names: list[str]) -> Block:
    """The block without points."""
    starts = np.zeros(2, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int32)
    none = np.zeros(0, dtype=np.int64)
    layers = [Layer(starts[:1], nothing.astype(np.uint8), nothing) for _ in names]
    return Block(names, layers, [*(none for _ in names), none])


def _spans(problem: Problem, order: Sequence[str]) -> list[tuple[list[str], list[BoolExpr]]]:
    """Components as runs of ``order``; components whose runs overlap become one."""
    place = {n: i for i, n in enumerate(order)}
    spans: list[tuple[int, int, list[BoolExpr]]] = []
    for names, clauses in components(problem):
        where = [place[n] for n in names]
        spans.append((min(where), max(where), clauses))
    spans.sort(key=lambda s: s[:2])
    merged: list[tuple[int, int, list[BoolExpr]]] = []
    for low, high, clauses in spans:
        if merged and low <= merged[-1][1]:
            first, last, others = merged.pop()
            merged.append((first, max(last, high), others + clauses))
        else:
            merged.append((low, high, list(clauses)))
    return [(list(order[low : high + 1]), clauses) for low, high, clauses in merged]


def _compile(
    problem: Problem, names: Sequence[str], clauses: Sequence[BoolExpr], budget: Budget
) -> Block:
    variables = [problem.variables[n] for n in names]
    kept = [np.asarray(v.codes, dtype=code_type(len(v.values))) for v in variables]
    extents = [len(k) for k in kept]
    diagrams = clause_diagrams(problem, names, clauses, budget) if clauses else []
    layers, counts = trim(forward(extents, diagrams, budget, [np.int32] * len(names)))
    coded = [
        Layer(layer.starts, codes[layer.positions], layer.targets)
        for layer, codes in zip(layers, kept, strict=True)
    ]
    return Block(names, coded, counts)


def clause_diagrams(
    problem: Problem, names: Sequence[str], clauses: Sequence[BoolExpr], budget: Budget
) -> list[ClauseDiagram]:
    """The diagrams of all clauses over ``names``; small ones are merged first."""
    grid = Grid(names, {n: problem.variables[n].kept for n in names})
    grid.check(clauses)
    truths: list[Truth] = []
    large: list[ClauseDiagram] = []
    for clause in sorted(clauses, key=grid.cells):
        if grid.cells(clause) <= _DENSE:
            truths.append(grid.truth(clause))
        else:
            large.append(layered(grid, clause, budget.cells))
    merged = absorb(truths, grid.sizes, _JOINT)
    return [from_truth(t) for t in merged] + large
