"""The nearest repairs of a point: cheapest changed fields first, then the smallest steps.

A repair is a set of changes that makes the point legal; one that another, listed one is a part of
is none, so all that are listed say something of their own.

What changing a field costs is the vocabulary's (`Vocabulary.cost`). A step leads from a candidate
value of a field to the next one in declared order (numbers in ascending order). Points at low cost
are all visited (`ckrules.reasoning.neighbourhood`); beyond that a solver minimises the cost of the
changed fields and then the steps. Either proves that nothing is nearer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from ckrules.engine.codec import Point
from ckrules.engine.expr import BOOL, ENUM, BoolExpr, Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.restrictions import book_of
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space
from ckrules.reasoning.conflict import Assumptions, Conflict, FixedField, minimal
from ckrules.reasoning.decider import Decider
from ckrules.reasoning.neighbourhood import Neighbourhood
from ckrules.reasoning.oracle import TIMEOUT, SolverOracle
from ckrules.reasoning.reduce import reduced
from ckrules.reasoning.why import widened
from ckrules.support.errors import UndecidedError, UsageError, unknown
from ckrules.support.plain_values import mapping, seconds, several, whole

_TIES = 200  # points at one distance that are listed to order them by their values


@dataclass(frozen=True, slots=True)
class Change:
    """A field's value before and after, and how many steps lie between."""

    field: str
    before: Value
    after: Value
    steps: int


@dataclass(frozen=True, slots=True)
class Fix:
    """A legal point near the given one."""

    point: Mapping[str, Value]
    changes: tuple[Change, ...]
    cost: int
    steps: int

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        changes = {
            c.field: {"from": c.before, "to": c.after, "steps": c.steps} for c in self.changes
        }
        return {
            "configuration": dict(self.point),
            "changes": changes,
            "cost": self.cost,
            "steps": self.steps,
        }


@dataclass(frozen=True, slots=True)
class Fixes:
    """The nearest repairs in order, or what makes them impossible.

    ``complete`` is true if there are no others: every legal point that keeps what must be kept has
    the changes of one of them. ``undecided`` says why the solver ended before it knew whether there
    are; empty where it did not.
    """

    point: Mapping[str, Value]
    kept: tuple[str, ...]
    fixes: tuple[Fix, ...]
    complete: bool = False
    obstacle: Conflict | None = field(default=None)
    undecided: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "configuration": dict(self.point),
            "kept": list(self.kept),
            "fixes": [f.to_dict() for f in self.fixes],
            "complete": self.complete,
            "obstacle": self.obstacle.to_dict() if self.obstacle else None,
            **({"undecided": self.undecided} if self.undecided else {}),
        }


class Metric:
    """Distances from one point: weighted changed fields, then weighted steps.

    Args:
        point: The point to measure from.
        domains: Values of each field, the point's own among them.
        sorts: Sort of each field.
        weights: What changing a field costs (default 1 each).

    >>> metric = Metric({"m": 16}, {"m": (64, 16, 32)}, {"m": "int"})
    >>> metric.distance({"m": 64})
    (1, 2)
    """

    def __init__(
        self,
        point: Mapping[str, Value],
        domains: Mapping[str, Sequence[Any]],
        sorts: Mapping[str, str],
        weights: Mapping[str, int] | None = None,
    ) -> None:
        self.point = dict(point)
        self.weights = {n: (weights or {}).get(n, 1) for n in point}
        self.weighted = any(w != 1 for w in self.weights.values())
        self.rank: dict[str, dict[Any, int]] = {}
        for name, values in domains.items():
            ordered = values if sorts[name] in (BOOL, ENUM) else sorted(values)
            self.rank[name] = {v: k for k, v in enumerate(ordered)}

    def steps(self, name: str, value: Value) -> int:
        """Steps from the point's value of a field to another."""
        return abs(self.rank[name][value] - self.rank[name][self.point[name]])

    def distance(self, other: Mapping[str, Value]) -> tuple[int, int]:
        """Cost of the changed fields, and the steps of all of them."""
        changed = [n for n, v in self.point.items() if other[n] != v]
        cost = sum(self.weights[n] for n in changed)
        return cost, sum(self.weights[n] * self.steps(n, other[n]) for n in changed)

    def key(self, other: Mapping[str, Value]) -> tuple[Any, ...]:
        """Orders points by distance; ties by the changed fields' places and values."""
        own = self.point
        changed = [(k, self.rank[n][other[n]]) for k, n in enumerate(own) if other[n] != own[n]]
        return (*self.distance(other), changed)

    def changed(self, other: Mapping[str, Value]) -> frozenset[tuple[str, Value]]:
        """The changed fields with their new values."""
        return frozenset((n, other[n]) for n, v in self.point.items() if other[n] != v)

    def fix(self, other: Mapping[str, Value]) -> Fix:
        """The other point with what it changes."""
        changes = tuple(
            Change(n, v, other[n], self.steps(n, other[n]))
            for n, v in self.point.items()
            if other[n] != v
        )
        return Fix(dict(other), changes, *self.distance(other))


def fix(
    book: RuleBook | Space,
    point: Mapping[str, Any],
    *,
    n: int = 1,
    keep: Iterable[str] = (),
    weights: Mapping[str, int] | None = None,
    timeout: float = TIMEOUT,
) -> Fixes:
    """The ``n`` nearest repairs of a point, none of whose changes are a part of another's.

    No legal point that is left out is nearer, unless it has all changes of one that is listed.

    Args:
        book: The rules, or a space, whose restrictions are then named.
        point: A full point, legal or not (a legal one is its own only fix).
        keep: Fields that keep their value, or one field.
        weights: What changing a field costs, an integer from 1 (default: `Vocabulary.cost`).
        timeout: Seconds: at most half of them for listing, what is left for the solver.

    Raises:
        UsageError: For a point that lacks a field, or an ``n`` or a weight below 1.
        UndecidedError: When nothing is found in time.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.rules import Rule
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("m", [16, 32, 64]), Int("w", [1, 2, 4])])
    >>> fits = Rule("TILE001", "not-covered", "compile", words.m % (words.w * 16) == 0)
    >>> book = RuleBook("toy", words, [fits], check=False)
    >>> [f.point for f in fix(book, {"m": 16, "w": 4}, n=2, keep=["m"]).fixes]
    [{'m': 16, 'w': 1}]
    """
    book = book_of(book)
    full = book.point(point)
    n, timeout = whole("n", n, 1), seconds(timeout)
    kept = tuple(dict.fromkeys(several("keep", keep)))
    given = mapping("weights", {} if weights is None else weights)
    for name in [*kept, *given]:
        if name not in book.fields:
            raise unknown("field", name, book.fields)
    weights = {name: whole(f"weight of {name}", weight, 1) for name, weight in given.items()}
    domains = widened(book, full)
    domains |= {name: (full[name],) for name in kept}
    sorts = {name: domain_of(node).sort for name, node in book.fields.items()}
    costs = {name: book.vocabulary.cost(name) for name in book.fields} | weights
    metric = Metric(full, domains, sorts, costs)
    conditions = [r.condition for r in book.rules]
    began = time.monotonic()
    found, done, complete = _listed(metric, domains, conditions, n, began + timeout / 2)
    undecided = ""
    if len(found) < n and not complete:
        left = began + timeout - time.monotonic()
        try:
            complete = _search(book, metric, domains, n, left, (found, done))
        except UndecidedError as error:
            over = time.monotonic() - began >= timeout
            undecided = f"not known within {timeout:g} s" if over else str(error)
            if not found:
                raise UndecidedError(undecided) from None
    found = found[:n]
    for other in found:
        if book.violations(other):
            raise UndecidedError("the solver's point is not legal")
    obstacle = None if found else _obstacle(book, full, kept, timeout)
    fixes = tuple(metric.fix(p) for p in found)
    return Fixes(full, kept, fixes, complete, obstacle, undecided)


def _listed(
    metric: Metric,
    domains: Mapping[str, Sequence[Any]],
    conditions: Sequence[BoolExpr],
    n: int,
    until: float,
) -> tuple[list[Point], int, bool]:
    """The nearest repairs by listing, up to which cost that is all, and whether it is all.

    No further cost is begun when the clock is at ``until``.
    """
    near = Neighbourhood(metric.point, domains, conditions, metric.weights)
    found: list[Point] = []
    done = -1
    try:
        for cost, level in near.levels():
            found += sorted(level, key=metric.key)
            done = cost
            if len(found) >= n or time.monotonic() >= until:
                return found, done, False
    except UsageError:  # numbers beyond 64 bits at too many points to list them
        return found, done, False
    return found, done, near.finished


def _obstacle(
    book: RuleBook, full: Mapping[str, Value], kept: Sequence[str], timeout: float
) -> Conflict:
    """Why no legal point keeps the fields."""
    held = [FixedField(n, (full[n],)) for n in kept]
    decider = Decider(book.fields, widened(book, full), timeout=timeout)
    return minimal(Assumptions(book.fields, rules=book.rules, held=held), decider)


def _search(
    book: RuleBook,
    metric: Metric,
    domains: Mapping[str, tuple[Any, ...]],
    n: int,
    timeout: float,
    listed: tuple[list[Point], int],
) -> bool:
    """Adds the rest of the ``n`` nearest repairs by a solver; whether that is all.

    Those up to some cost are ``listed`` already.
    """
    smaller = reduced(domains, [r.condition for r in book.rules])
    found, done = listed
    if smaller is None:
        return True
    left, rest = smaller
    search = _Search(SolverOracle(book.fields, left, timeout=timeout), rest, metric)
    if done >= 0:
        search.beyond(done, found)
    while len(found) < n:
        level = search.level(n - len(found))
        if not level:
            return True
        found += sorted(level, key=metric.key)
    return False


class _Search:
    """Minimises the distance from a point over the points that meet some conditions."""

    def __init__(
        self, oracle: SolverOracle, conditions: Sequence[BoolExpr], metric: Metric
    ) -> None:
        self.oracle, self.conditions, self.metric = oracle, list(conditions), metric
        self.until = time.monotonic() + oracle.timeout
        self.costs: list[tuple[Any, int]] = []
        self.strides: list[tuple[Any, int]] = []
        self.base = (0, 0)
        self.low = -1
        for name, values in oracle.domains.items():
            node = oracle.declare(name)
            own = metric.point[name]
            weight = metric.weights[name]
            if own not in values:  # reduction proved that it must change
                self.base = self.base[0] + weight, self.base[1]
            elif len(values) > 1:
                self.costs.append((z3.Not(oracle.encoder.equals(node, own)), weight))
            for v in values:
                if v != own and len(values) == 1:
                    self.base = self.base[0], self.base[1] + weight * metric.steps(name, v)
                elif v != own:
                    stride = weight * metric.steps(name, v)
                    self.strides.append((oracle.encoder.equals(node, v), stride))
        self.total = [_sum(self.costs), _sum(self.strides)]

    def beyond(self, done: int, found: Iterable[Point]) -> None:
        """Leaves out points that cost ``done`` or less, and those that hold a known one."""
        self.low = done
        for point in found:
            self._exclude(point)
        self.oracle.solver.add(self.total[0] > min(done - self.base[0], _top(self.total[0])))

    def level(self, wanted: int) -> list[Point]:
        """All points at the least distance (or `_TIES` of them), which are then ruled out."""
        first = self._ask([])
        if first is None:
            return []
        cost, best = self._least(0, first, [])
        at_cost = self._at_most(0, cost)
        steps, best = self._least(1, best, [at_cost])
        at = [at_cost, self._at_most(1, steps)]
        found: list[Point] = []
        point: Point | None = best
        while point is not None:
            found.append(point)
            self._exclude(point)
            if len(found) >= max(wanted, _TIES):
                break
            point = self._ask(at)
        return found

    def _ask(self, extra: Sequence[Any]) -> Point | None:
        self.oracle.timeout = self.until - time.monotonic()
        if self.oracle.timeout <= 0:
            raise UndecidedError("timeout")
        return self.oracle.find(self.conditions, extra=extra)

    def _least(self, which: int, point: Point, extra: Sequence[Any]) -> tuple[int, Point]:
        """The least total that is possible with ``extra``, and a point that has it."""
        best = self.metric.distance(point)[which]
        low = -1 if which else self.low  # totals up to here are impossible
        while best - low > 1:
            middle = (best + low) // 2 if which or self.metric.weighted else low + 1
            other = self._ask([*extra, self._at_most(which, middle)])
            if other is None:
                low = middle
            else:
                best, point = self.metric.distance(other)[which], other
        return best, point

    def _at_most(self, which: int, limit: int) -> Any:
        terms = self.total[which]
        bound = limit - self.base[which]
        if bound < 0:
            return self.oracle.switch(z3.BoolVal(False))
        return self.oracle.switch(terms <= min(bound, _top(terms)))

    def _exclude(self, point: Point) -> None:
        """Leaves out all points that have the changes of this one."""
        changed = sorted(self.metric.changed(point))
        open_ = [(n, v) for n, v in changed if len(self.oracle.domains[n]) > 1]
        same = [self.oracle.encoder.equals(self.oracle.variables[n], v) for n, v in open_]
        self.oracle.solver.add(z3.Not(z3.And(same)) if same else z3.BoolVal(False))


def _top(term: Any) -> int:
    return int((1 << (term.size() - 1)) - 1)


def _sum(weighted: Sequence[tuple[Any, int]]) -> Any:
    """The sum of the weights of true terms, as a bit vector wide enough for all of them."""
    width = sum(w for _, w in weighted).bit_length() + 1
    terms = [z3.If(t, z3.BitVecVal(w, width), z3.BitVecVal(0, width)) for t, w in weighted]
    while len(terms) > 1:  # a balanced tree keeps the adders short
        terms = [sum(terms[k + 1 : k + 2], terms[k]) for k in range(0, len(terms), 2)]
    return terms[0] if terms else z3.BitVecVal(0, width)
