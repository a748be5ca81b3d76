"""Spaces: all points of finite variables at which every rule holds.

A space is immutable and lazy. It is compiled when something is asked that needs all points, into
a form from which counts, single points by number, samples and tables follow without listing
anything. Membership and violations of single points import neither numpy nor z3.

Points are ordered lexicographically by `Space.order`, a list of the variables that is a function
of the variables and rules that the first space was made with; `where` and `bind` keep it. The
values of a variable come in the order in which they were declared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.engine.answers import Answers
from ckrules.engine.codec import Codec, Domains
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.rule import Rule
from ckrules.engine.rules.violation import Violation, violation
from ckrules.support.errors import HardSpaceWarning, UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled


AnyRule = BoolExpr | Rule
_MADE_AGAIN = ("_compiled", "_problem", "vocabulary", "conditions", "holds", "numbered")


class Space(Answers):
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
        for node in variables:
            name = domain_of(node).name
            if name in self._variables:
                raise UsageError(f"variable {name} is given twice")
            self._variables[name] = node
        self._rules = tuple(rules)
        self._names = dict(names or {})
        for condition in self.conditions:
            for name in sorted(condition.support - self._variables.keys()):
                raise unknown("variable", name, self._variables)
        candidates = {n: domain_of(v).values for n, v in self._variables.items()}
        bound = Codec(self._variables, candidates).bound(fixed or {})
        self.codec = Codec(self._variables, bound)
        self._parent: Space | None = None
        self._wanted = tuple(dict.fromkeys(order))
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
    def domains(self) -> dict[str, tuple[Any, ...]]:
        """The candidate values of each variable; a code is a position in this list.

        >>> from ckrules.engine.expr.variables import Int
        >>> Space([Int("tile_m", [16, 32, 64])]).bind(tile_m=[64, 16]).domains
        {'tile_m': (16, 64)}
        """
        return dict(self.codec.domains)

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

        imposed = () if self._parent is None else self.order
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
        at = At(self.codec.completed(point))
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
        point = self.codec.completed(point)
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
            if not isinstance(condition, BoolExpr):
                raise UsageError(f"`{condition!r}` is not a condition")
            for name in sorted(condition.support - self._variables.keys()):
                raise unknown("variable", name, self._variables)
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
