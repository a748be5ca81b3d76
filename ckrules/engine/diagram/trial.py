"""Trials of variable orders: the one that builds smallest under a small budget wins.

Estimates count value combinations and cannot see that most of them are impossible or equivalent,
so on large problems the orders are built for real, with limits that cut the bad ones off early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.diagram.product import Budget

#: Limits of successive rounds, as parts of the full budget.
_ROUNDS = (64, 8, 1)
_ENOUGH = 400_000  # edges below which no better order is looked for


def try_orders(
    candidates: Sequence[list[str]], edges: Callable[[list[str], Budget], int], full: Budget
) -> list[str]:
    """The candidate with the fewest edges, among those that fit the tightest limits.

    Args:
        candidates: Orders, the most promising first; it wins where nothing fits the full budget.
        edges: Builds an order within a budget and counts its edges.
        full: The limits of the last round.
    """
    for part in _ROUNDS:
        found = list(_fitting(candidates, edges, full.over(part)))
        if found:
            return min(found, key=lambda pair: pair[0])[1]
    return candidates[0]


def _fitting(
    candidates: Sequence[list[str]], edges: Callable[[list[str], Budget], int], budget: Budget
) -> Iterator[tuple[int, list[str]]]:
    for order in candidates:
        try:
            size = edges(order, budget)
        except (BudgetExceededError, MemoryError):
            continue
        yield size, order
        if size <= _ENOUGH:
            return
