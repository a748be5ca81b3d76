"""Spaces: all points of finite variables at which every rule holds.

A space is immutable and lazy. It is compiled when something is asked that needs all points, into
a form from which counts, single points by number, samples and tables follow without listing
anything. Membership and violations of single points import neither numpy nor z3.

Points are ordered lexicographically by `Space.order`, a list of the variables that is a function
of the variables and rules that the first space was made with; `where` and `bind` keep it. The
values of a variable come in the order in which they were declared.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ckrules.engine.codec import Codec, Domains, Point
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.conditions import condition_over
from ckrules.engine.rules.rule import Rule, RuleDef
from ckrules.engine.rules.violation import Violation, violation
from ckrules.engine.sampling import drawn
from ckrules.engine.slices import CHUNK, Listing, SpaceSlice
from ckrules.support.errors import HardSpaceWarning, UsageError, unknown
from ckrules.support.plain_values import mapping, plain, several
from ckrules.support.tables import count, html_table

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled


AnyRule = BoolExpr | Rule
_SHOWN = 12  # values of a variable in a notebook
_MADE_AGAIN = ("_compiled", "_problem", "vocabulary", "conditions", "holds", "numbered")


def _not_a_rule(given: object) -> str:
    if isinstance(given, str):
        return f"`{given}` is a text: give it to `where` of the space, or write it as an expression"
    if isinstance(given, RuleDef):
        return f"rule {given.code} is only declared: a rule book makes it a rule of its fields"
    return f"`{given!r}` is not a condition"


class Space(Listing):
    """The points of finite variables that meet every rule.

    Args:
        variables: Variable nodes; points show them in this order.
        rules: Conditions, or rules.
        names: Derived quantities that `where` texts may use, beside the variables and the named
            quantities of the rules.
        fixed: Values to which variables are restricted from the start. Unlike `bind`, this takes
            part in the choice of `order`, which pays if it settles most of the rules.
        order: The order of the points, if it is known which one compiles well; variables that it
            leaves out come last. By default several orders are tried.

    Raises:
        UnknownNameError: When a rule reads a variable that the space does not have.
        UsageError: For what is not a variable, a rule or a condition.

    >>> from ckrules.engine.expr.variables import Int
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
        for node in several("variables", variables):
            name = domain_of(node).name
            if name in self._variables:
                raise UsageError(f"variable {name} is given twice")
            self._variables[name] = node
        self._rules = several("rules", rules)
        for rule in self._rules:
            if not isinstance(rule, (BoolExpr, Rule)):
                raise UsageError(_not_a_rule(rule))
        self._names = dict(mapping("names", names or {}))
        for name, expression in self._names.items():
            if not isinstance(expression, Expr):
                raise UsageError(f"names: {name} = {expression!r} is not an expression")
        for condition in self.conditions:
            for name in sorted(condition.support - self._variables.keys()):
                raise unknown("variable", name, self._variables)
        candidates = {n: domain_of(v).values for n, v in self._variables.items()}
        bound = Codec(self._variables, candidates).bound(mapping("fixed", fixed or {}))
        self.codec = Codec(self._variables, bound)
        self._parent: Space | None = None
        self._wanted = tuple(dict.fromkeys(several("order", order)))
        for name in self._wanted:
            if name not in self._variables:
                raise unknown("variable", name, self._variables)

    def _derived(self, rules: tuple[AnyRule, ...], domains: Domains) -> Space:
        child = Space.__new__(Space)
        child._variables, child._names = self._variables, self._names
        child._wanted, child._parent = self._wanted, self
        child._rules, child.codec = rules, Codec(self._variables, domains)
        return child

    def __getstate__(self) -> dict[str, Any]:
        # large, and made again where it is asked for: out of the cache on disk, mostly
        return {k: v for k, v in self.__dict__.items() if k not in _MADE_AGAIN}

    def __copy__(self) -> Space:
        return self  # nothing in it ever changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Space:
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names in declared order."""
        return tuple(self._variables)

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules, those of `where` last."""
        return self._rules

    @property
    def hint(self) -> tuple[str, ...]:
        """The order of variables that was asked for, if one was."""
        return self._wanted

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables in the order that sorts the points.

        >>> from ckrules.engine.expr.variables import Int
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

        return prepare(self.codec.domains, self.conditions)

    @cached_property
    def conditions(self) -> list[BoolExpr]:
        """The condition of each rule."""
        return [r if isinstance(r, BoolExpr) else r.condition for r in self._rules]

    def __repr__(self) -> str:
        known = "_compiled" in self.__dict__
        points = f"; {self.count():,} points" if known else ""
        return f"Space({len(self._variables)} variables, {len(self._rules)} rules{points})"

    def _repr_html_(self) -> str:
        """The space as notebooks show it: the values that its variables have in points."""
        rows = [["variable", "values"]]
        for name, values in self.domains.items():
            more = f", … ({len(values)})" if len(values) > _SHOWN else ""
            rows.append([name, ", ".join(map(str, values[:_SHOWN])) + more])
        return html_table(rows, count(self.count(), "point"))

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

        def work() -> Compiled:
            found = compile_problem(self._problem, self.order)
            if not found.whole:
                text = "the space is too hard to compile as a whole: its parts are gone through"
                warnings.warn(f"{text}, which may take long", HardSpaceWarning, stacklevel=6)
            return found

        return cache.compiled(lambda: self._key, work)

    @cached_property
    def _key(self) -> str:
        """The content hash under which the compiled form is kept on disk."""
        from ckrules.engine.diagram.content import digest

        imposed = self._wanted if self._parent is None else self.order
        return digest(self.codec.domains, self.conditions, imposed)

    def _restriction(self) -> Compiled | None:
        """This space cut out of the nearest compiled space that it was derived from."""
        above = self._parent
        while above is not None and "_compiled" not in above.__dict__:
            above = above._parent
        if above is None:
            return None
        from ckrules.engine.diagram.restrict import cut

        added = self.conditions[len(above._rules) :]
        return cut(above._compiled, above.codec.domains, self.codec.domains, added)

    def __contains__(self, point: object) -> bool:
        if not isinstance(point, Mapping):
            raise UsageError(f"a point is a mapping from variables to values, not {point!r}")
        if self.codec.codes(point) is None:
            return False
        at = At(self.codec.completed(point))
        return all(map(at.holds, self.conditions))

    def violated(self, point: Mapping[str, Value]) -> list[AnyRule]:
        """The rules whose condition is false at the point, in the order of `rules`."""
        at = At(self.codec.judged(point))
        pairs = zip(self._rules, self.conditions, strict=True)
        return [r for r, condition in pairs if not at.holds(condition)]

    def violations(self, point: Mapping[str, Value]) -> list[Violation]:
        """Every broken rule with the values it read and a message made from them.

        A bare condition is reported as a rule of its own, numbered by its place: ``R1``, ``R2``.

        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0, m <= 32])
        >>> [(v.code, v.message) for v in space.violations({"tile_m": 48, "waves": 1})]
        [('R2', 'tile_m <= 32, but tile_m = 48 is more than 32')]
        """
        point = self.codec.judged(point)
        at = At(point)
        return [v for r in self.numbered if (v := violation(r, at, point))]

    @cached_property
    def numbered(self) -> tuple[Rule, ...]:
        """The rules; a bare condition is one that is numbered by its place: ``R1``, ``R2``."""
        from ckrules.engine.rules.restriction import restriction

        given = enumerate(self._rules, 1)
        return tuple(restriction(n, r) if isinstance(r, BoolExpr) else r for n, r in given)

    @cached_property
    def holds(self) -> Callable[[Mapping[str, Value]], tuple[bool, ...]]:
        """For a point of candidate values, whether each rule's condition holds; compiled once."""
        from ckrules.engine.evaluate.compiled import compile_function

        return compile_function(self.conditions)

    def where(self, *conditions: BoolExpr | str) -> Space:
        """The points of this space at which the conditions hold too.

        Args:
            conditions: Expressions, or texts in the language of ``--where``.

        >>> from ckrules.engine.expr.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64]), Int("tile_n", [16, 32, 64])])
        >>> space.where("tile_m * tile_n >= 1024 & tile_m < tile_n").count()
        2
        """
        added: list[BoolExpr] = []
        for condition in conditions:
            if isinstance(condition, str):
                from ckrules.engine.lang.where import parse_condition, warn_of_strangers

                condition = parse_condition(condition, self.vocabulary)
                warn_of_strangers([condition], self.codec.domains)
            condition = condition_over(condition, self.vocabulary, self._variables)
            added.append(condition)
        return self._derived((*self._rules, *added), self.codec.domains)

    @cached_property
    def vocabulary(self) -> dict[str, Expr]:
        """Variables and derived quantities by name: what texts, counts and columns may name."""
        nodes = walk(*self.conditions)
        named = {n.data.name: n for n in nodes if n.op == "named"}
        return {**named, **self._names, **self._variables}

    def bind(self, **values: Any) -> Space:
        """The points of this space at which variables have the given values.

        Args:
            values: A value, or a list, tuple, set or range of values, by variable. A value that
                is not a candidate but lies in the variable's documented range is allowed.

        Raises:
            UnknownNameError: For a field or word that does not exist, with near matches.
            UsageError: For a value that the variable cannot take.

        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64], lo=1, hi=256), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.bind(waves=[2, 4]).count(), space.bind(tile_m=96).count()
        (3, 2)
        """
        return self._derived(self._rules, self.codec.bound(values))

    # -- all points ----------------------------------------------------------------------------

    def count(self) -> int:
        """The exact number of points.

        >>> from ckrules.engine.expr.variables import Int
        >>> Space([Int(f"x{i}", range(100)) for i in range(20)]).count() == 100**20
        True
        """
        return self.compile().count

    def __len__(self) -> int:
        count = self.count()
        if count > sys.maxsize:
            raise OverflowError(f"{count:,} points are more than len() can return: use count()")
        return count

    def __bool__(self) -> bool:
        return self.count() > 0

    def __reversed__(self) -> Iterator[Point]:
        return iter(self[::-1])

    def tables(self, chunk: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Tables of codes in compiled order with their numbers of rows, at most ``chunk`` each."""
        from ckrules.engine.diagram.split_block import stream

        for table in stream(self.compile(), chunk):
            yield table, len(next(iter(table.values()))) if table else self.count()

    def tuples(self, table: Mapping[str, Any]) -> Iterator[tuple[Value, ...]]:
        """The rows of a table of codes as tuples of values, in the order of `names`."""
        return iter(self.codec.tuples(table, self.count() if not table else 0))

    def contains_columns(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        """For each row of columns of values whether it is a point, as a numpy array.

        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.contains_columns({"tile_m": [16, 64, 99], "waves": [2, 4, 1]}).tolist()
        [False, True, False]
        """
        return self.codec.contains(self.compile(), columns)

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> SpaceSlice: ...
    def __getitem__(self, at: int | slice) -> Point | SpaceSlice:
        return SpaceSlice(self, 0, self.count())[at]

    def index(self, point: Mapping[str, Value]) -> int:
        """The number of a point, so that ``space[space.index(point)] == point``.

        Raises:
            UsageError: When the point is not in the space.

        >>> from ckrules.engine.expr.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])])
        >>> space.index({"tile_m": 64, "waves": 1})
        4
        """
        rank = self._rank(point)
        if rank is None:
            raise UsageError(f"{dict(point)} is not a point of the space")
        return rank

    def counts_by(self, *fields: str) -> dict[Any, int]:
        """The number of points for each value of a field, or each combination of several.

        Fields may be derived quantities (see `vocabulary`); None is the value of one that is
        undefined at a point. With derived quantities, or more than two fields, the combinations
        are those that points have.

        Raises:
            UnknownNameError: For a field that does not exist, with near matches.
            UsageError: When there are too many combinations to count.

        >>> from ckrules.engine.expr import named
        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2])
        >>> space = Space([m, w], [m % (w * 16) == 0], names={"rows": named("rows", m // w)})
        >>> space.counts_by("waves")
        {1: 3, 2: 2}
        >>> space.counts_by("waves", "tile_m")[2, 16]
        0
        >>> space.counts_by("rows")
        {16: 2, 32: 2, 64: 1}
        """
        from ckrules.engine.counting import counts_by

        return counts_by(self, fields, self.bind)

    def neighbors(self, point: Mapping[str, Value], method: str = "Hamming") -> Iterator[Point]:
        """The points of the space next to a point, which need not be one of them itself.

        Args:
            point: A value for each variable.
            method: As Kernel Tuner names it. ``Hamming``: one variable differs.
                ``Hamming-adjacent``: one differs, by the nearest value below or above that gives a
                point. ``strictly-adjacent``: every variable differs by one candidate at most.
                ``adjacent``: the same, among values that some point has.

        Raises:
            UnknownNameError: For another method, or a variable that does not exist.
            UsageError: For a missing variable, or a value without a place among the candidates.

        >>> from ckrules.engine.expr.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> [tuple(p.values()) for p in space.neighbors({"tile_m": 64, "waves": 1})]
        [(16, 1), (32, 1), (64, 2), (64, 4)]
        >>> list(space.neighbors({"tile_m": 64, "waves": 1}, "Hamming-adjacent"))
        [{'tile_m': 32, 'waves': 1}, {'tile_m': 64, 'waves': 2}]
        """
        from ckrules.engine.neighbors import neighbors

        def within(box: Mapping[str, Any]) -> Iterator[Point]:
            return iter(self.bind(**box))

        return neighbors(self.codec, self.holds, within, self.counts_by, point, method)

    def sample(self, n: int, seed: int | None = None) -> list[Point]:
        """``n`` different points in random order; all points if n is larger.

        Up to a million, every set of points is equally likely; a larger sample is the beginning
        of a seeded permutation of all points.

        >>> from ckrules.engine.expr.variables import Int
        >>> space = Space([Int("tile_m", [16, 32, 64, 128])])
        >>> len(space.sample(2, seed=1)), len(space.sample(9, seed=1))
        (2, 4)
        """
        tables = self.sample_tables(n, seed)
        return [p for table, count in tables for p in self.codec.points(table, count)]

    def sample_indices(self, n: int, seed: int | None = None) -> list[int]:
        """The numbers of the points that `sample` returns, in the same order."""
        return [int(k) for piece in drawn(self.count(), n, seed) for k in piece]

    def sample_tables(
        self, n: int, seed: int | None = None, chunk: int = CHUNK
    ) -> Iterator[tuple[dict[str, Any], int]]:
        """The points that `sample` returns as tables of codes, of at most ``chunk`` rows each.

        No more than one table is held at a time, however many points are drawn.
        """
        for piece in drawn(self.count(), n, seed, chunk):
            yield self.compile().unrank_many(piece), len(piece)

    def shard(self, i: int, n: int) -> SpaceSlice:
        """The ``i``-th of ``n`` consecutive parts, equal to within one point; ``i`` counts from 0.

        The command line counts from 1: ``--shard 1/3`` is ``shard(0, 3)``.

        Raises:
            UsageError: For a part that does not exist.

        >>> from ckrules.engine.expr.variables import Int
        >>> space = Space([Int("x", range(10))])
        >>> [len(space.shard(i, 3)) for i in range(3)]
        [3, 3, 4]
        """
        i, n = plain(i), plain(n)
        if not (isinstance(i, int) and isinstance(n, int)):
            raise UsageError(f"shard {i!r} of {n!r}: expected two integers")
        if n < 1 or not 0 <= i < n:
            near = f" (shards count from 0: the last is shard({n - 1}, {n}))" if i == n > 0 else ""
            known = f"expected 0 to {n - 1}" if n > 0 else "there is at least one shard"
            raise UsageError(f"shard {i} of {n} does not exist: {known}{near}")
        count = self.count()
        return SpaceSlice(self, i * count // n, (i + 1) * count // n)
