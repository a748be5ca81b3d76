"""Spaces: all points of finite variables at which every rule holds.

A space is immutable and lazy. It is compiled when something is asked that needs all points, into
a form from which counts, single points by number, samples and tables follow without listing
anything. Membership and violations of single points import neither numpy nor z3.

Points are ordered lexicographically by `Space.order`, a list of the variables that is a function
of the variables and rules that the first space was made with; `where` and `bind` keep it. The
values of a variable come in the order in which they were declared.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

from ckrules.engine.backends.pointwise import At
from ckrules.engine.errors import HardSpaceWarning, UsageError, unknown
from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.points import Point, Points, slice_bounds
from ckrules.engine.tables import Tables
from ckrules.engine.traversal import walk
from ckrules.engine.variables import domain_of

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled
    from ckrules.engine.rules import Violation


class HasCondition(Protocol):
    """Anything with a condition, such as a `ckrules.engine.rules.Rule`."""

    @property
    def condition(self) -> BoolExpr: ...


AnyRule = BoolExpr | HasCondition


class Space(Tables):
    """The points of finite variables that meet every rule.

    Args:
        variables: Variable nodes; points show them in this order.
        rules: Conditions, or objects with a ``condition``.
        names: Derived quantities that `where` texts may use, beside the variables and the named
            quantities of the rules.
        fixed: Values to which variables are restricted from the start. Unlike `bind`, this takes
            part in the choice of `order`, which pays if it settles most of the rules.
        order: The order of the points, if it is known which one compiles well; variables that it
            leaves out come last. By default several orders are tried.

    Raises:
        UnknownNameError: When a rule reads a variable that the space does not have.

    >>> from ckrules.engine.variables import Int
    >>> tile_m = Int("tile_m", [16, 32, 64, 128])
    >>> tile_n = Int("tile_n", [16, 32, 64, 128])
    >>> waves = Int("waves", [1, 2, 4, 8])
    >>> rules = [tile_m % (waves * 16) == 0, tile_m * tile_n <= 4096]
    >>> space = Space([tile_m, tile_n, waves], rules)
    >>> len(space)
    29
    >>> space[5] in space, {"tile_m": 16, "tile_n": 16, "waves": 8} in space
    (True, False)
    """

    def __init__(
        self,
        variables: Iterable[Expr],
        rules: Iterable[AnyRule] = (),
        *,
        names: Mapping[str, Expr] | None = None,
        fixed: Mapping[str, Any] | None = None,
        order: Iterable[str] = (),
    ) -> None:
        self._variables: dict[str, Expr] = {}
        for node in variables:
            name = domain_of(node).name
            if name in self._variables:
                raise UsageError(f"variable {name} is given twice")
            self._variables[name] = node
        self._rules = tuple(rules)
        self._names = dict(names or {})
        for rule in self._rules:
            for name in sorted(_condition(rule).support - self._variables.keys()):
                raise unknown("variable", name, self._variables)
        self._domains = {n: domain_of(v).values for n, v in self._variables.items()}
        self._parent: Space | None = None
        self._domains = self._bound(fixed or {})
        self._wanted = tuple(dict.fromkeys(order))
        for name in self._wanted:
            if name not in self._variables:
                raise unknown("variable", name, self._variables)

    @classmethod
    def from_restrictions(
        cls, tune_params: Mapping[str, Sequence[Any]], restrictions: Any = None
    ) -> Space:
        """The space of Kernel Tuner's parameter dictionary and restriction strings or lambdas.

        >>> params = {"block_size_x": [16, 32, 64], "tile_size": [1, 2, 3]}
        >>> Space.from_restrictions(params, ["block_size_x * tile_size <= 64"]).count()
        6
        """
        from ckrules.engine.restrictions import space_of

        return space_of(tune_params, restrictions)

    def _derived(self, rules: tuple[AnyRule, ...], domains: dict[str, tuple[Any, ...]]) -> Space:
        child = Space.__new__(Space)
        child._variables, child._names = self._variables, self._names
        child._wanted = self._wanted
        child._rules, child._domains, child._parent = rules, domains, self
        return child

    # -- what it is made of ------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names in declared order."""
        return tuple(self._variables)

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules, those of `where` last."""
        return self._rules

    @property
    def domains(self) -> dict[str, tuple[Any, ...]]:
        """The candidate values of each variable; a code is a position in this list.

        >>> from ckrules.engine.variables import Int
        >>> Space([Int("tile_m", [16, 32, 64])]).bind(tile_m=[64, 16]).domains
        {'tile_m': (16, 64)}
        """
        return dict(self._domains)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables in the order that sorts the points.

        >>> from ckrules.engine.variables import Int
        >>> a, b, c = Int("a", [1, 2]), Int("b", [1, 2]), Int("c", [1, 2])
        >>> Space([a, b, c], [a <= c]).order
        ('a', 'c', 'b')
        """
        if self._parent is not None:
            return self._parent.order
        if self._wanted:
            return tuple(dict.fromkeys((*self._wanted, *self._variables)))
        from ckrules.engine.diagram.compiler import choose_order

        return tuple(choose_order(self._problem))

    @cached_property
    def _problem(self) -> Any:
        from ckrules.engine.diagram.problem import prepare

        return prepare(self._domains, [_condition(r) for r in self._rules])

    def __repr__(self) -> str:
        known = "_compiled" in self.__dict__
        points = f"; {self.count():,} points" if known else ""
        return f"Space({len(self._variables)} variables, {len(self._rules)} rules{points})"

    # -- compilation -------------------------------------------------------------------------

    def compile(self) -> Compiled:
        """The compiled form (made once); it answers in codes instead of values."""
        return self._compiled

    @cached_property
    def _compiled(self) -> Compiled:
        restricted = self._restriction()
        if restricted is not None:
            return restricted
        from ckrules.engine.diagram import cache
        from ckrules.engine.diagram.compiler import compile_problem

        began = time.perf_counter()
        found = cache.load(self._key) if cache.directory() else None
        if found is None:
            found = compile_problem(self._problem, self.order)
            if not found.whole:
                text = "the space is too hard to compile as a whole: its parts are gone through"
                warnings.warn(f"{text}, which may take long", HardSpaceWarning, stacklevel=4)
            if cache.directory() and time.perf_counter() - began > cache.WORTH:
                cache.store(self._key, found)
        return found

    @cached_property
    def _key(self) -> str:
        """The content hash under which the compiled form is kept on disk."""
        from ckrules.engine.diagram.content import digest

        imposed = () if self._parent is None else self.order
        return digest(self._domains, [_condition(r) for r in self._rules], imposed)

    def _restriction(self) -> Compiled | None:
        """This space cut out of the nearest compiled space that it was derived from."""
        above = self._parent
        while above is not None and "_compiled" not in above.__dict__:
            above = above._parent
        if above is None or self._problem.empty:
            return None
        from ckrules.engine.diagram.restrict import cut

        added = [_condition(r) for r in self._rules[len(above._rules) :]]
        return cut(above._compiled, above._domains, self._domains, added)

    # -- answers -----------------------------------------------------------------------------

    def count(self) -> int:
        """The exact number of points.

        >>> from ckrules.engine.variables import Int
        >>> Space([Int(f"x{i}", range(100)) for i in range(20)]).count() == 100**20
        True
        """
        return self._compiled.count

    def __len__(self) -> int:
        count = self.count()
        if count > sys.maxsize:
            raise OverflowError(f"{count:,} points are more than len() can return: use count()")
        return count

    def __bool__(self) -> bool:
        return self.count() > 0

    def __iter__(self) -> Iterator[Point]:
        names = self.names
        for table in self.columns():
            for row in self.tuples(table):
                yield dict(zip(names, row, strict=True))

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> Points: ...
    def __getitem__(self, at: int | slice) -> Point | Points:
        compiled = self._compiled
        count = compiled.count
        if isinstance(at, slice):
            return Points(self, *slice_bounds(at, count))
        if not -count <= at < count:
            raise IndexError(f"index {at} is outside the {count:,} points")
        found = compiled.unrank(at if at >= 0 else at + count)
        codes = dict(zip(compiled.order, found, strict=True))
        return {n: values[codes[n]] for n, values in self._domains.items()}

    def index(self, point: Mapping[str, Value]) -> int:
        """The number of a point, so that ``space[space.index(point)] == point``.

        Raises:
            UsageError: When the point is not in the space.

        >>> from ckrules.engine.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])])
        >>> space.index({"tile_m": 64, "waves": 1})
        4
        """
        codes = self._codes_of(point)
        compiled = self._compiled
        rank = None if codes is None else compiled.rank([codes[n] for n in compiled.order])
        if rank is None:
            raise UsageError(f"{dict(point)} is not a point of the space")
        return rank

    def __contains__(self, point: object) -> bool:
        if not isinstance(point, Mapping):
            raise UsageError(f"a point is a mapping from variables to values, not {point!r}")
        if self._codes_of(point) is None:
            return False
        at = At(point)
        return all(at.holds(_condition(r)) for r in self._rules)

    def violated(self, point: Mapping[str, Value]) -> list[AnyRule]:
        """The rules whose condition is false at the point, in the order of `rules`.

        >>> from ckrules.engine.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> Space([m, w], [m % (w * 16) == 0, m <= 32]).violated({"tile_m": 48, "waves": 2})
        [tile_m % (waves * 16) == 0, tile_m <= 32]
        """
        self._check_keys(point)
        at = At(point)
        return [r for r in self._rules if not at.holds(_condition(r))]

    def violations(self, point: Mapping[str, Value]) -> list[Violation]:
        """Every broken rule with the values it read and a message made from them.

        A bare condition is reported as a rule of its own, numbered by its place: ``R1``, ``R2``.

        >>> from ckrules.engine.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0, m <= 32])
        >>> [(v.code, v.message) for v in space.violations({"tile_m": 48, "waves": 1})]
        [('R2', 'tile_m = 48 is more than 32')]
        """
        from ckrules.engine.rules import Rule, violation

        self._check_keys(point)
        at = At(point)
        rules = (
            r if isinstance(r, Rule) else Rule(f"R{n}", "condition", "compile", _condition(r))
            for n, r in enumerate(self._rules, 1)
        )
        return [v for r in rules if (v := violation(r, at, point))]

    def counts_by(self, *fields: str) -> dict[Any, int]:
        """The number of points for each value of a field, or each pair of values of two fields.

        >>> from ckrules.engine.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.counts_by("waves")
        {1: 3, 2: 2}
        >>> space.counts_by("waves", "tile_m")[2, 16]
        0
        """
        for name in fields:
            if name not in self._variables:
                raise unknown("field", name, self._variables)
        if len(fields) == 1:
            (name,) = fields
            return dict(zip(self._domains[name], self._compiled.histogram(name), strict=True))
        if len(fields) != 2 or fields[0] == fields[1]:
            raise UsageError("counts_by takes one field or two different ones")
        a, b = fields
        rows = self._compiled.histogram2(a, b)
        return {
            (x, y): n
            for x, row in zip(self._domains[a], rows, strict=True)
            for y, n in zip(self._domains[b], row, strict=True)
        }

    def sample(self, n: int, seed: int | None = None) -> list[Point]:
        """``n`` different points, every set of them equally likely; all points if n is larger.

        >>> from ckrules.engine.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64, 128])])
        >>> len(space.sample(2, seed=1)), len(space.sample(9, seed=1))
        (2, 4)
        """
        indices = self.sample_indices(n, seed)
        names = self.names
        if not names or not indices:
            return [{} for _ in indices]
        table = self._compiled.unrank_many(indices)
        return [dict(zip(names, row, strict=True)) for row in self.tuples(table)]

    def sample_indices(self, n: int, seed: int | None = None) -> list[int]:
        """The numbers of the points that `sample` returns, in random order."""
        if n < 0:
            raise UsageError(f"cannot sample {n} points")
        count = self.count()
        n = min(n, count)
        rng = random.Random(seed)
        chosen: dict[int, None] = {}
        for top in range(count - n, count):  # Floyd's algorithm: n draws, no rejections
            draw = rng.randrange(top + 1)
            chosen.setdefault(draw if draw not in chosen else top)
        out = list(chosen)
        rng.shuffle(out)
        return out

    # -- smaller spaces ----------------------------------------------------------------------

    def where(self, *conditions: BoolExpr | str) -> Space:
        """The points of this space at which the conditions hold too.

        Args:
            conditions: Expressions, or texts in the language of ``--where``.

        >>> from ckrules.engine.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64]), Int("tile_n", [16, 32, 64])])
        >>> space.where("tile_m * tile_n >= 1024 & tile_m < tile_n").count()
        2
        """
        added: list[BoolExpr] = []
        for condition in conditions:
            if isinstance(condition, str):
                from ckrules.engine.parse import parse_condition

                condition = parse_condition(condition, self._vocabulary)
            if not isinstance(condition, BoolExpr):
                raise UsageError(f"`{condition!r}` is not a condition")
            for name in sorted(condition.support - self._variables.keys()):
                raise unknown("variable", name, self._variables)
            added.append(condition)
        return self._derived((*self._rules, *added), self._domains)

    @cached_property
    def _vocabulary(self) -> dict[str, Expr]:
        nodes = walk(*(_condition(r) for r in self._rules))
        named = {n.data.name: n for n in nodes if n.op == "named"}
        return {**named, **self._names, **self._variables}

    def bind(self, **values: Any) -> Space:
        """The points of this space at which variables have the given values.

        Args:
            values: A value, or a list, tuple, set or range of values, by variable. A value that
                is no candidate but lies in the variable's documented range is allowed.

        Raises:
            UnknownNameError: For a field or word that does not exist, with near matches.
            UsageError: For a value that the variable cannot take.

        >>> from ckrules.engine.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64], lo=1, hi=256), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.bind(waves=[2, 4]).count(), space.bind(tile_m=96).count()
        (3, 2)
        """
        return self._derived(self._rules, self._bound(values))

    def _bound(self, values: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        domains = dict(self._domains)
        for name, given in values.items():
            if name not in self._variables:
                raise unknown("field", name, self._variables)
            many = isinstance(given, (list, tuple, set, frozenset, range))
            domain = domain_of(self._variables[name])
            wanted = [domain.accept(v) for v in (given if many else (given,))]
            kept = tuple(v for v in domains[name] if v in wanted)
            if len(domains[name]) == len(domain.values):  # not bound before
                outside = {v for v in wanted if v not in domain.values}
                kept += tuple(sorted(outside, key=_sort_key))
            domains[name] = kept
        return domains

    def shard(self, i: int, n: int) -> Points:
        """The ``i``-th (from 0) of ``n`` consecutive parts, equal to within one point.

        >>> from ckrules.engine.variables import Int
        >>> space = Space([Int("x", range(10))])
        >>> [len(space.shard(i, 3)) for i in range(3)]
        [3, 3, 4]
        """
        if n < 1 or not 0 <= i < n:
            raise UsageError(f"shard {i} of {n} does not exist: expected 0 to {max(0, n - 1)}")
        count = self.count()
        return Points(self, i * count // n, (i + 1) * count // n)


def _condition(rule: AnyRule) -> BoolExpr:
    return rule if isinstance(rule, BoolExpr) else rule.condition


def _sort_key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value
