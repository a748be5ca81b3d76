"""The oracle: whether some point meets a set of conditions, and which of them rule it out.

One incremental SAT solver (z3's finite-domain engine over bit vectors) holds the candidate values
of every field; each condition is switched on by a literal that is assumed, so that the same
solver answers about any subset. A point that it gives is checked by the pointwise back end before
it is returned, and "unknown" or a time-out raises `UndecidedError`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import z3

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.bits import BitEncoder
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Expr, Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.support.errors import UndecidedError, unknown

TIMEOUT = 60.0


class SolverOracle:
    """Answers whether conditions over finite variables can hold together.

    Args:
        variables: Variable nodes by name.
        domains: The values that each variable may take (default: its candidates).
        ranges: Least and greatest value of integer variables that may take any value between,
            instead of candidates.
        timeout: Seconds after which an answer counts as undecided.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32]), Int("w", [1, 2, 4])
    >>> oracle = SolverOracle({"m": m, "w": w})
    >>> oracle.find([m % (w * 16) == 0, w > 1])
    {'m': 32, 'w': 2}
    >>> oracle.find([m % (w * 16) == 0, w > 2]) is None
    True
    """

    def __init__(
        self,
        variables: Mapping[str, Expr],
        domains: Mapping[str, Sequence[Any]] | None = None,
        *,
        ranges: Mapping[str, tuple[int, int]] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.variables = dict(variables)
        self.domains: dict[str, Sequence[Any]] = {
            n: tuple((domains or {}).get(n, domain_of(v).values)) for n, v in variables.items()
        }
        self.ranges = dict(ranges or {})
        self.domains |= {n: range(lo, hi + 1) for n, (lo, hi) in self.ranges.items()}
        self.timeout = timeout
        numbers = {
            n: (d[0], d[-1]) if isinstance(d, range) else (min(d), max(d))
            for n, d in self.domains.items()
            if len(d) and domain_of(variables[n]).sort not in (BOOL, ENUM)
        }
        self.encoder = BitEncoder(Bounds(numbers), domains=self.domains)
        self.solver = z3.SolverFor("QF_FD")
        self._literals: dict[int, tuple[BoolExpr, Any]] = {}
        self._declared: set[str] = set()
        self._names = 0
        self._core: frozenset[int] = frozenset()
        self.checks = 0

    # -- literals ----------------------------------------------------------------------------

    def literal(self, condition: BoolExpr) -> Any:
        """The literal that switches a condition on; the same one for the same condition."""
        known = self._literals.get(condition.id)
        if known is None:
            self._declare(condition)
            known = condition, self.switch(self.encoder.bool(condition))
            self._literals[condition.id] = known
        return known[1]

    def switch(self, term: Any) -> Any:
        """A new literal that switches a z3 term on."""
        self._names += 1
        literal = z3.Bool(f"!{self._names}")
        self.solver.add(z3.Implies(literal, term))
        return literal

    def declare(self, name: str) -> Expr:
        """The variable, with its values known to the solver."""
        if name not in self.variables:
            raise unknown("field", name, self.variables)
        node = self.variables[name]
        if name not in self._declared:
            self._declared.add(name)
            if name in self.ranges:
                lo, hi = self.ranges[name]
                self.solver.add(self.encoder.between(node, lo, hi))
            else:
                self.solver.add(self.encoder.within(node, self.domains[name]))
        return node

    def _declare(self, condition: BoolExpr) -> None:
        for name in sorted(condition.support):
            self.declare(name)

    # -- questions ---------------------------------------------------------------------------

    def find(self, conditions: Iterable[BoolExpr], *, extra: Sequence[Any] = ()) -> Point | None:
        """A point that meets every condition, or None if there is none.

        Args:
            conditions: What the point must meet.
            extra: Further literals of `switch`.

        Raises:
            UndecidedError: When the solver gives up or the time is over.
        """
        wanted = list(conditions)
        if any(not len(d) for d in self.domains.values()):
            self._core = frozenset()
            return None
        literals = [self.literal(c) for c in wanted]
        answer = self._check([*literals, *extra])
        if answer is None:
            names = {str(x) for x in self.solver.unsat_core()}
            self._core = frozenset(
                c.id for c, x in zip(wanted, literals, strict=True) if str(x) in names
            )
            return None
        point = self._point(answer)
        at = At(point)
        for condition in wanted:
            if not at.holds(condition):
                raise UndecidedError(f"the solver's point does not meet `{condition}`")
        return point

    @property
    def core(self) -> frozenset[int]:
        """Ids of the conditions that the last fruitless question needed; not minimal."""
        return self._core

    def _check(self, literals: Sequence[Any]) -> Any:
        self.checks += 1
        self.solver.set("timeout", max(1, int(self.timeout * 1000)))
        began = time.monotonic()
        try:
            answer = self.solver.check(*literals)
        except z3.Z3Exception as error:
            raise UndecidedError(f"z3: {error}") from None
        if answer == z3.sat:
            return self.solver.model()
        if answer == z3.unsat:
            return None
        seconds = time.monotonic() - began
        raise UndecidedError(f"{self.solver.reason_unknown()} after {seconds:.1f} s")

    def _point(self, model: Any) -> Point:
        terms = self.encoder.terms
        words = {code: word for word, code in terms.words.items()}
        floats = {code: number for number, code in terms.floats.items()}
        point: Point = {}
        for name, node in self.variables.items():
            term = terms.variables.get(name)
            value = None if term is None else model.eval(term)
            sort = domain_of(node).sort
            codes: Mapping[int, Any] | None = (
                words if sort == ENUM else floats if sort == REAL else None
            )
            point[name] = _read(value, self.domains[name], codes)
        return point


def _read(value: Any, domain: Sequence[Any], codes: Mapping[int, Any] | None) -> Value:
    """A value of the model; the first candidate where the model leaves it open."""
    found: list[Any] = []
    if z3.is_bool(value):
        found = [True] if z3.is_true(value) else [False] if z3.is_false(value) else []
    elif z3.is_bv_value(value):
        number = value.as_signed_long()
        found = [number] if codes is None else [codes[number]] if number in codes else []
    known = bool(found) and found[0] in domain
    answer: Value = domain[domain.index(found[0]) if known else 0]  # 1 and True are equal words
    return answer


def shrink(
    items: Sequence[BoolExpr], impossible: Callable[[Sequence[BoolExpr]], frozenset[int] | None]
) -> list[int]:
    """Positions of a minimal part of ``items`` that is impossible, earlier items preferred.

    The answer depends on what is possible only, not on which core a solver happens to find: the
    last item of the shortest impossible prefix must be in, then the same is asked again with it.

    Args:
        items: Conditions that cannot hold together.
        impossible: For some conditions the ids of a part that already cannot hold together, or
            None if they can.

    >>> from ckrules.engine.expr.variables import Int
    >>> x = Int("x", range(8))
    >>> oracle = SolverOracle({"x": x})
    >>> shrink([x > 1, x < 6, x > 3, x < 2], lambda c: None if oracle.find(c) else oracle.core)
    [0, 3]
    """
    kept: list[int] = []
    top = len(items)
    while True:
        fixed = [items[k] for k in kept]
        if impossible(fixed) is not None:
            return sorted(kept)
        low, high = 0, top  # items[:low] + kept can hold, items[:high] + kept cannot
        reach = 1
        while high - low > 1:
            # short prefixes first: what comes late is often costly and seldom needed
            middle = min(low + reach, (low + high) // 2) if high == top else (low + high) // 2
            reach *= 2
            core = impossible([*fixed, *items[:middle]])
            if core is None:
                low = middle
            else:
                inside = [k for k in range(middle) if items[k].id in core]
                high = max(inside, default=0) + 1 if inside else low + 1
                high = max(high, low + 1)
        kept.append(high - 1)
        top = high - 1
