"""Compilation: from a problem and a variable order to blocks of layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.clause_diagram import TRUE_NODE, ClauseDiagram, from_truth
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.dense import CELLS, DenseBlock, cells, truth_table
from ckrules.engine.diagram.errors import BudgetExceededError, TooHardError
from ckrules.engine.diagram.layers import from_relation, layered
from ckrules.engine.diagram.numbering import code_type
from ckrules.engine.diagram.order import Orders
from ckrules.engine.diagram.problem import Array, ConstraintProblem, narrowed, part
from ckrules.engine.diagram.product import Budget, CompileMeter, Layer, forward, trim
from ckrules.engine.diagram.split_block import SplitBlock
from ckrules.engine.diagram.trial import try_orders
from ckrules.engine.diagram.truth import Grid, Table, Truth, join

_TRY = 14.0  # log2 of the estimated combinations from which orders are built and compared

_BUDGET = Budget()
#: Work that compiling a space part by part may take before a question is given up.
SEARCH = 800_000_000
_CLAUSE = 30_000  # work that a clause of a part is taken for: it is simplified again
_VALUE = 20  # and a value of a variable: clauses are evaluated at each, and bounds looked for


def choose_order(problem: ConstraintProblem) -> list[str]:
    """The order in which a problem's variables are bound; variables without clauses come last.

    Connected variables stay together. The order is a function of the problem alone.
    """
    out: list[str] = []
    free: list[str] = []
    for names in problem.components:
        if len(names) == 1:
            free.extend(names)
            continue
        inner = part(problem, names)
        if not inner.clauses and cells(problem, names) <= CELLS:
            out.extend(names)  # one table, whatever the order
            continue
        place = {n: i for i, n in enumerate(names)}
        sizes = [len(problem.variables[n].codes) for n in names]
        scopes = [tuple(sorted(place[v] for v in s)) for s in inner.scopes]
        orders = Orders(sizes, scopes)
        best = orders.best()
        estimated = [names[i] for i in best]
        hard = orders.cost(best) > _TRY
        out.extend(_tried(problem, [names, estimated]) if hard else estimated)
    return out + free


def _tried(problem: ConstraintProblem, candidates: list[list[str]]) -> list[str]:
    """The better of the declared and the estimated order, as building them shows."""

    def edges(order: list[str], budget: Budget) -> int:
        with np.errstate(all="ignore"):
            try:
                block = _compile(part(problem, order), budget)
            except (BudgetExceededError, MemoryError):
                if budget == full:
                    problem.built[tuple(order)] = None
                raise
        built[tuple(order)] = block
        return block.edges

    built: dict[tuple[str, ...], Block] = {}
    full = Budget()
    best = try_orders(candidates, edges, full)
    if tuple(best) in built:
        problem.built[tuple(best)] = built[tuple(best)]
    return best


def compile_blocks(
    problem: ConstraintProblem, order: Sequence[str], budget: Budget
) -> list[AnyBlock]:
    """The problem's points as independent blocks of consecutive variables of ``order``."""
    with np.errstate(all="ignore"):
        return [_block(part(problem, names), budget) for names in _spans(problem, order)]


def compile_problem(
    problem: ConstraintProblem, order: Sequence[str], budget: Budget = _BUDGET
) -> Compiled:
    """The problem's points, compiled as far as the budget allows.

    Raises:
        TooHardError: When parts that must be compiled for it take more work than `SEARCH`.
    """
    sizes = {n: len(v.values) for n, v in problem.variables.items()}
    if problem.empty:
        return nothing(order, sizes)
    if budget.meter is None:
        budget = replace(budget, meter=CompileMeter(SEARCH))
    return Compiled(compile_blocks(problem, order, budget), sizes)


def _block(problem: ConstraintProblem, budget: Budget) -> AnyBlock:
    """One block, split by the values of its first open variable if it is too hard."""
    names = list(problem.variables)
    known = tuple(names) in problem.built
    done: Block | None = problem.built.get(tuple(names))
    if done is not None:
        return done
    room = min(CELLS, budget.cells)
    if len(names) > 1 and not problem.clauses and cells(problem, names) <= room:
        return _dense(problem, budget)
    open_at = [i for i, n in enumerate(names) if len(problem.variables[n].codes) > 1]
    try:
        if not known:
            return _compile(problem, budget)
    except TooHardError:
        raise
    except (BudgetExceededError, MemoryError):
        if not open_at:
            raise
        if budget.meter is not None:
            budget.meter.charge(budget.cells)  # a clause may have taken as much
    at = open_at[0]
    meter = budget.meter or CompileMeter(SEARCH)
    smaller = replace(budget.over(budget.split), split=1, meter=meter)

    values = sum(len(v.codes) for v in problem.variables.values())
    again = _CLAUSE * len(problem.scopes) + _VALUE * values

    def branch(k: int) -> Compiled:
        meter.parts += 1
        meter.charge(again)
        return compile_problem(narrowed(problem, names[at], k), names, smaller)

    return SplitBlock(names, problem.variables[names[at]].codes, at, branch, meter)


def nothing(names: Sequence[str], sizes: dict[str, int]) -> Compiled:
    """The compiled form without points."""
    starts = np.zeros(2, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int32)
    none = np.zeros(0, dtype=np.int64)
    layers = [Layer(starts[:1], nothing.astype(np.uint8), nothing) for _ in names]
    return Compiled([Block(names, layers, [*(none for _ in names), none])], sizes)


def _spans(problem: ConstraintProblem, order: Sequence[str]) -> list[list[str]]:
    """Components as runs of ``order``; components whose runs overlap become one."""
    place = {n: i for i, n in enumerate(order)}
    spans = sorted(
        (min(place[n] for n in names), max(place[n] for n in names)) for names in problem.components
    )
    merged: list[tuple[int, int]] = []
    for low, high in spans:
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return [list(order[low : high + 1]) for low, high in merged]


def _compile(problem: ConstraintProblem, budget: Budget) -> Block:
    names = list(problem.variables)
    kept = [np.asarray(v.codes, code_type(len(v.values))) for v in problem.variables.values()]
    if len(names) == 1 and not problem.scopes:
        return _free(names, kept[0])
    diagrams = clause_diagrams(problem, budget)
    layers, counts = trim(forward([len(k) for k in kept], diagrams, budget))
    coded = [
        Layer(layer.starts, codes[layer.positions], layer.targets)
        for layer, codes in zip(layers, kept, strict=True)
    ]
    return Block(names, coded, counts)


def _dense(problem: ConstraintProblem, budget: Budget) -> DenseBlock:
    """The block of a problem that is small enough for one truth table."""

    def layers() -> Block:
        with np.errstate(all="ignore"):
            return _compile(problem, budget)

    variables = problem.variables.values()
    codes, sizes = [v.codes for v in variables], [len(v.values) for v in variables]
    return DenseBlock(list(problem.variables), codes, sizes, truth_table(problem), layers)


def _free(names: list[str], codes: Array) -> Block:
    """The block of one variable that nothing restricts further."""
    starts = np.asarray([0, len(codes)], dtype=np.int64)
    layer = Layer(starts, codes, np.zeros(len(codes), dtype=np.int32))
    return Block(names, [layer], [starts[1:], np.ones(1, dtype=np.int64)])


def clause_diagrams(problem: ConstraintProblem, budget: Budget) -> list[ClauseDiagram]:
    """The diagrams of all tables and clauses of a problem, in the order of its variables."""
    names = list(problem.variables)
    grid = Grid(names, {n: v.kept for n, v in problem.variables.items()})
    done = [from_truth(_placed(grid, *t)) for t in problem.tables]
    for clause in problem.clauses:
        listed = from_relation(grid, clause)
        if listed is not None:
            done.append(listed)
            continue
        filters = [from_truth(_placed(grid, *t)) for t in _projections(problem, clause.support)]
        useful = [f for f in filters if f.root != TRUE_NODE]
        done.append(layered(grid, clause, budget.cells, useful))
    return done


def _projections(problem: ConstraintProblem, names: frozenset[str]) -> list[Table]:
    """What the tables say about some variables alone, for tables that share at least two."""
    found = []
    for axes, table in problem.tables:
        lost = tuple(i for i, n in enumerate(axes) if n not in names)
        if len(axes) - len(lost) >= 2:
            kept = tuple(n for n in axes if n in names)
            found.append((kept, np.asarray(table.any(axis=lost)) if lost else table))
    sizes = {n: len(problem.variables[n].codes) for n in names}
    return join(found, sizes)


def _placed(grid: Grid, names: Sequence[str], table: Array) -> Truth:
    """A truth table with its axes in the order of the grid."""
    places = [grid.place[n] for n in names]
    by_place = sorted(range(len(names)), key=places.__getitem__)
    return Truth(tuple(sorted(places)), table.transpose(by_place))
