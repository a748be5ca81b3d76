"""Coverage: which problems a set of kernels leaves without any kernel that accepts them.

A rule book over the fields of kernels and of problems says when a kernel accepts a problem. For
each kernel the rules become conditions on the problem alone; kernels with the same conditions
are one, and a problem is uncovered where none of them holds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any

import z3

from ckrules.engine.codec import Point, judged
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import FALSE, TRUE, BoolExpr, Expr, Value, all_of
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.conditions import condition_over
from ckrules.reasoning.oracle import TIMEOUT, SolverOracle
from ckrules.support.errors import UndecidedError, UsageError, unknown
from ckrules.support.plain_values import several


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A problem that no kernel accepts, and how many kernels each rule refuses it for."""

    problem: Mapping[str, Value]
    refused_by: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {"problem": dict(self.problem), "refused_by": dict(self.refused_by)}


@dataclass(frozen=True, slots=True)
class ProblemCoverage:
    """What a set of kernels does for listed problems.

    ``accepted`` has for each problem the number of kernels that accept it.
    """

    kernels: int
    accepted: tuple[int, ...]
    uncovered: tuple[Uncovered, ...]

    @property
    def complete(self) -> bool:
        """True if some kernel accepts each problem."""
        return not self.uncovered

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "covered": self.complete,
            "kernels": self.kernels,
            "problems": len(self.accepted),
            "accepted": list(self.accepted),
            "uncovered": [u.to_dict() for u in self.uncovered],
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether every problem of a region is covered; if not, a problem that is not.

    It is ``smallest`` where the solver decided, in the time of one question, that it has the least
    sum of all sizes, and then the least value of one field after the other.
    """

    kernels: int
    distinct: int
    counterexample: Uncovered | None
    empty: bool = False
    smallest: bool = True

    @property
    def covered(self) -> bool:
        """True if it is proved that some kernel accepts each problem of the region."""
        return self.counterexample is None

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        worst = self.counterexample
        return {
            "covered": self.covered,
            "empty_region": self.empty,
            "kernels": self.kernels,
            "distinct_conditions": self.distinct,
            "counterexample": worst.to_dict() if worst else None,
            "smallest": self.smallest if worst else None,
        }


class Kernels:
    """Kernels grouped by the conditions that they put on problems.

    Args:
        book: Rules over the fields of kernels and problems.
        kernels: Values of all fields that are not the problem's.
        problem_fields: The fields of a problem.

    Raises:
        UnknownNameError: For a field that the book does not have, with near matches.
        UsageError: For kernels that leave out a field that rules read, and values of another sort.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.rules import Rule
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("v", [1, 2, 4]), Int("C", range(1, 9))])
    >>> book = RuleBook("toy", words, [Rule("PR001", "c-v", "launch", words.C % words.v == 0)],
    ...                 check=False)
    >>> kernels = Kernels(book, [{"v": 4}, {"v": 2}], ["C"])
    >>> kernels.cover([{"C": 6}, {"C": 3}]).accepted
    (1, 0)
    >>> kernels.prove({"C": (1, 8)}).counterexample.problem
    {'C': 1}
    >>> kernels.prove({"C": (1, 8)}, [words.C % 2 == 0]).covered
    True
    """

    def __init__(
        self, book: RuleBook, kernels: Iterable[Mapping[str, Value]], problem_fields: Sequence[str]
    ) -> None:
        self.names = several("problem_fields", problem_fields)
        for name in self.names:
            if name not in book.fields:
                raise unknown("field", name, book.fields)
        self.variables: dict[str, Expr] = {n: book.fields[n] for n in self.names}
        self.quantities: dict[str, Expr] = {}
        self.count = 0
        self.conditions: dict[tuple[int, ...], tuple[tuple[BoolExpr, ...], int]] = {}
        self._refusals: dict[tuple[str, int], tuple[BoolExpr, int]] = {}
        self.add(book, kernels)

    def add(self, book: RuleBook, kernels: Iterable[Mapping[str, Value]]) -> None:
        """Adds kernels, of another operator with a book of its own if need be.

        Raises:
            UsageError: If the book's problems have other fields.
        """
        read = {n: book.fields[n] for n in self.reads(book)}
        said = (judged({n: k[n] for n in read if n in k}, read) for k in kernels)
        self.add_groups(book, Counter(tuple(k[n] for n in read) for k in said))

    def reads(self, book: RuleBook) -> tuple[str, ...]:
        """The fields of kernels that rules read; kernels that agree in them are alike here."""
        read = {n for r in book.rules for n in r.condition.support}
        return tuple(n for n in book.fields if n not in self.variables and n in read)

    def add_groups(self, book: RuleBook, groups: Mapping[tuple[Value, ...], int]) -> None:
        """Adds so many kernels with each of some values of the fields that `reads` names.

        Raises:
            UsageError: If the book's problems have other fields.
        """
        if any(book.fields.get(n) is not node for n, node in self.variables.items()):
            raise UsageError("the problems of the two rule books have different fields")
        self.count += sum(groups.values())
        for name, node in book.vocabulary.quantities.items():
            if node.support <= self.variables.keys():
                self.quantities.setdefault(name, node)
        names = self.reads(book)
        kernels = list(groups)
        rules = [_Ruled(r, names, kernels) for r in book.rules]
        alike: Counter[tuple[int, ...]] = Counter()
        asked = zip(*(r.ids for r in rules), strict=True) if rules else repeat((), len(groups))
        for ids, number in zip(asked, groups.values(), strict=True):
            alike[ids] += number
        for ids, number in alike.items():
            found = [(r.code, r.conditions[id_]) for r, id_ in zip(rules, ids, strict=True)]
            self._group([(code, c) for code, c in found if c is not TRUE], number)

    def _group(self, asked: Sequence[tuple[str, BoolExpr]], number: int) -> None:
        parts = {p.id: p for _, c in asked for p in clauses(c) if p is not TRUE}
        key = tuple(sorted(parts))
        known = self.conditions.get(key)
        self.conditions[key] = (tuple(parts.values()), number + (known[1] if known else 0))
        for code, condition in asked:
            others = self._refusals.get((code, condition.id), (condition, 0))[1]
            self._refusals[code, condition.id] = condition, others + number

    def cover(self, problems: Iterable[Mapping[str, Value]]) -> ProblemCoverage:
        """How many kernels accept each problem, and why the others have none.

        Raises:
            UnknownNameError: For a field that problems do not have, with near matches.
            UsageError: For problems that leave out a field, and values that it cannot take.
        """
        usable = [(parts, n) for parts, n in self.conditions.values() if _possible(parts)]
        tested = {p.id: p for parts, _ in usable for p in parts}
        place = {id_: k for k, id_ in enumerate(tested)}
        needs = [([place[p.id] for p in parts], n) for parts, n in usable]
        test = compile_function(list(tested.values()))
        accepted: list[int] = []
        uncovered: list[Uncovered] = []
        for given in problems:
            said = judged(given, self.variables)
            problem = {n: domain_of(self.variables[n]).accept(v) for n, v in said.items()}
            holds = test(problem)
            number = sum(n for some, n in needs if all(holds[k] for k in some))
            accepted.append(number)
            if not number:
                uncovered.append(self._uncovered(problem))
        return ProblemCoverage(self.count, tuple(accepted), tuple(uncovered))

    def _uncovered(self, problem: Mapping[str, Value]) -> Uncovered:
        at = At(problem)
        refused: Counter[str] = Counter()
        for (code, _), (condition, number) in self._refusals.items():
            if not at.holds(condition):
                refused[code] += number
        return Uncovered(dict(problem), dict(sorted(refused.items())))

    def _undemanding(self) -> list[tuple[BoolExpr, ...]]:
        """The conditions of the kernels that no other kernel asks less than."""
        kept: list[tuple[frozenset[int], tuple[BoolExpr, ...]]] = []
        for parts, _ in sorted(self.conditions.values(), key=lambda c: len(c[0])):
            ids = frozenset(p.id for p in parts)
            if _possible(parts) and not any(less <= ids for less, _ in kept):
                kept.append((ids, parts))
        return [parts for _, parts in kept]

    def prove(
        self,
        ranges: Mapping[str, tuple[int, int]],
        region: Sequence[BoolExpr] = (),
        *,
        given: Sequence[BoolExpr] = (),
        timeout: float = TIMEOUT,
    ) -> Proof:
        """Whether some kernel accepts every problem of a region.

        Args:
            ranges: Least and greatest value of each problem field.
            region: Conditions on problems.
            given: Conditions that every sensible problem meets, such as a positive output size.
            timeout: Seconds for a question to the solver, and for all about smaller problems.

        Raises:
            UnknownNameError: For a range or a condition of another field.
            UsageError: For a field without a range, a range of values that it cannot take, and a
                range or region that is none.
            UndecidedError: When the solver does not decide in time whether there is a problem.
        """
        for name in ranges:
            if name not in self.variables:
                raise unknown("problem field", name, self.names)
        for name in self.names:
            _check_range(domain_of(self.variables[name]), ranges.get(name))
        named = {**self.variables, **self.quantities}
        refusals = [~all_of(*parts) for parts in self._undemanding()]
        oracle = SolverOracle(self.variables, ranges=ranges, timeout=timeout)
        wanted = [condition_over(c, named, self.variables) for c in (*region, *given)]
        if oracle.find(wanted) is None:
            return Proof(self.count, len(self.conditions), None, empty=True)
        asked = [*wanted, *refusals]
        point = oracle.find(asked)
        if point is None:
            return Proof(self.count, len(self.conditions), None)
        worst, smallest = _smallest(oracle, asked, point)
        found = self.cover([worst])
        at = At(worst)
        if found.complete or not all(at.holds(c) for c in wanted):
            raise UndecidedError("the solver's counterexample is covered")
        return Proof(self.count, len(self.conditions), found.uncovered[0], smallest=smallest)


def _check_range(domain: Domain, given: Any) -> None:
    name = domain.name
    if not (isinstance(given, Sequence) and len(given) == 2 and all(type(v) is int for v in given)):
        raise UsageError(f"the range of {name} is {given!r}: expected its least and greatest value")
    if given[0] > given[1]:
        raise UsageError(f"the range of {name} is empty: {given[0]} is more than {given[1]}")
    for end in given:
        domain.accept(end)  # conditions are simplified by what a problem can be


class _Ruled:
    """A rule as conditions on problems, by the values of the kernels' fields that it reads.

    ``ids`` has for each kernel the id of what the rule asks of problems, which is among
    ``conditions``.
    """

    def __init__(
        self, rule: Rule, names: Sequence[str], kernels: Sequence[tuple[Value, ...]]
    ) -> None:
        self.code = rule.code
        read = {n: k for k, n in enumerate(names) if n in rule.condition.support}
        own: list[Any] = [()] * len(kernels)
        if read:  # a value where there is one field, a tuple where there are several
            own = list(map(itemgetter(*read.values()), kernels))
        known: dict[Any, int] = {}
        self.conditions: dict[int, BoolExpr] = {}
        for values in dict.fromkeys(own):
            bound = dict(zip(read, (values,) if len(read) == 1 else values, strict=True))
            found = Simplifier(bound).condition(rule.condition)
            known[values] = found.id
            self.conditions[found.id] = found
        self.ids = [known[values] for values in own]


def _possible(parts: Sequence[BoolExpr]) -> bool:
    return all(p is not FALSE for p in parts)


def _smallest(oracle: SolverOracle, asked: Sequence[BoolExpr], point: Point) -> tuple[Point, bool]:
    """The point with the least sum, then the least value of one field after the other.

    With it, whether that is decided: the solver may take too long, and it is then the best found.
    """
    names = [n for n in oracle.variables if n in set().union(*(c.support for c in asked))]
    lows = {n: oracle.ranges[n][0] for n in oracle.variables}
    point = {n: point[n] if n in names else lows[n] for n in point}
    if not names:
        return point, True
    top = sum(oracle.ranges[n][1] for n in names)
    width = int(top).bit_length() + 2
    terms = [_wide(oracle.encoder.terms.var(oracle.variables[n]), width) for n in names]
    total = sum(terms[1:], terms[0])
    end = time.monotonic() + oracle.timeout

    def least(term: Any, now: int, low: int, measure: Any, fixed: list[Any]) -> int:
        nonlocal point
        best = now
        while low < best:
            middle = (low + best) // 2
            oracle.timeout = max(0.0, end - time.monotonic())
            other = oracle.find(asked, extra=[*fixed, oracle.switch(term <= middle)])
            if other is None:
                low = middle + 1
            else:
                point = {n: other[n] if n in names else lows[n] for n in other}
                best = measure(point)
        return best

    def size(p: Point) -> int:
        return sum(int(p[n]) for n in names)

    try:
        best = least(total, size(point), sum(lows[n] for n in names), size, [])
        fixed = [oracle.switch(total <= best)]
        for name, term in zip(names, terms, strict=True):
            now, low = int(point[name]), lows[name]
            value = least(term, now, low, lambda p, n=name: int(p[n]), fixed)
            fixed.append(oracle.switch(term <= value))
    except UndecidedError:
        return point, False
    return point, True


def _wide(term: Any, width: int) -> Any:
    return term if term.size() >= width else z3.SignExt(width - term.size(), term)
