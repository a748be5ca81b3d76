"""Variable orders: where each variable is bound decides how wide the layers become.

An order is rated without building anything: at each variable the *frontier* is the set of bound
variables that a pending clause still mentions, and its weight is the logarithm of the number of
value combinations. Everything is deterministic: ties are broken by declared position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import or_

Scope = tuple[int, ...]
_STARTS = 4


class Orders:
    """Rates and finds orders of variables 0, 1, … with given sizes and clause scopes.

    >>> orders = Orders([2, 2, 2, 2], [(0, 2), (2, 1), (1, 3)])
    >>> orders.best()
    [0, 2, 1, 3]
    """

    def __init__(self, sizes: Sequence[int], scopes: Sequence[Scope]) -> None:
        self.logs = [math.log2(max(2, s)) for s in sizes]
        self.count = len(sizes)
        self.scopes = sorted({sum(1 << v for v in s) for s in scopes})
        self.touching = [[s for s in self.scopes if s >> v & 1] for v in range(self.count)]
        self._weights: dict[int, float] = {}  # by bound variables: orders share most of theirs

    def weights(self, order: Sequence[int]) -> list[float]:
        """Log2 of the frontier's value combinations after each variable of ``order``."""
        return [self._weight(bound) for bound in accumulate((1 << v for v in order), or_)]

    def cost(self, order: Sequence[int]) -> float:
        """Log2 of the sum of the frontiers' combinations: small is good."""
        return math.log2(sum(2.0**w for w in self.weights(order)))

    def _weight(self, bound: int) -> float:
        """Log2 of the value combinations of the frontier of a set of bound variables."""
        known = self._weights.get(bound)
        if known is not None:
            return known
        frontier = 0
        for s in self.scopes:
            if s & ~bound:
                frontier |= s & bound
        total = 0.0
        while frontier:
            low = frontier & -frontier
            total += self.logs[low.bit_length() - 1]
            frontier ^= low
        self._weights[bound] = total
        return total

    def greedy(self, first: int, slack: float) -> list[int]:
        """The order that starts with ``first`` and keeps the next frontier smallest.

        Args:
            first: The first variable.
            slack: How much a variable's own size counts against it.
        """
        order = [first]
        bound = 1 << first
        while len(order) < self.count:
            best: tuple[float, int] | None = None
            for v in range(self.count):
                if bound >> v & 1:
                    continue
                rating = self._weight(bound | 1 << v) + slack * self.logs[v]
                if best is None or rating < best[0] - 1e-9:
                    best = rating, v
            assert best is not None
            order.append(best[1])
            bound |= 1 << best[1]
        return order

    def candidates(self) -> list[list[int]]:
        """Greedy orders and the declared one, best first, without repetitions."""
        declared = tuple(range(self.count))
        found = {declared: self.cost(declared)}
        small = sorted(declared, key=lambda v: (self.logs[v], v))
        busy = sorted(declared, key=lambda v: (-len(self.touching[v]), v))
        for first in dict.fromkeys(small[:_STARTS] + busy[:_STARTS]):
            for slack in (0.0, 0.3):
                order = tuple(self.greedy(first, slack))
                if order not in found:
                    found[order] = self.cost(order)
        return [list(o) for o in sorted(found, key=lambda o: (round(found[o], 6), o))]

    def best(self, effort: int = 300) -> list[int]:
        """A good order: the best greedy one, improved by moving single variables.

        Args:
            effort: How many moves are tried.
        """
        order = self.candidates()[0]
        cost = self.cost(order)
        moves = [(i, j) for i in range(self.count) for j in range(self.count) if i != j]
        since = at = 0
        while since < len(moves) and effort > 0 and cost > 0:
            i, j = moves[at]
            other = order[:i] + order[i + 1 :]
            other.insert(j, order[i])
            new = self.cost(other)
            since += 1
            if new < cost - 1e-6:
                order, cost, since = other, new, 0
            at = (at + 1) % len(moves)
            effort -= 1
        return order
