"""Codes and values: a code is a position among the candidate values of a variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import BOOL, ENUM, INT, REAL, Expr, Value
from ckrules.engine.expr.variables import domain_of
from ckrules.support.errors import UsageError, unknown
from ckrules.support.plain_values import PLAIN, plain

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled

Point = dict[str, Value]
Domains = dict[str, tuple[Any, ...]]
#: The types of the values of each sort.
_TYPES = {BOOL: (bool,), INT: (int,), REAL: (float, int), ENUM: (str,)}


def completed(point: Mapping[str, Any], variables: Mapping[str, Expr]) -> Mapping[str, Any]:
    """A point that says every variable; one that has a single candidate may be left out.

    Values of numpy and members of enumerations become plain values.

    Raises:
        UnknownNameError: For a variable that does not exist, with near matches.
        UsageError: For variables that are missing, and what is not a mapping.

    >>> from ckrules.engine.expr.variables import Int
    >>> completed({"m": 1}, {"m": Int("m", [1, 2]), "bound": Int("bound", [0], hi=8)})
    {'m': 1, 'bound': 0}
    """
    if not isinstance(point, Mapping):
        raise UsageError(f"a point is a mapping from variables to values, not {point!r}")
    for key in point:
        if key not in variables:
            raise unknown("field", str(key), variables)
    if not PLAIN.issuperset(map(type, point.values())):
        point = {name: plain(value) for name, value in point.items()}
    left_out = {n: domain_of(v).values for n, v in variables.items() if n not in point}
    missing = [n for n, values in left_out.items() if len(values) != 1]
    if missing:
        raise UsageError(f"missing field{'s' * (len(missing) > 1)} {', '.join(missing)}")
    return {**point, **{n: values[0] for n, values in left_out.items()}} if left_out else point


def judged(point: Mapping[str, Any], variables: Mapping[str, Expr]) -> Mapping[str, Any]:
    """A point that says every variable (`completed`) with values of the variables' sorts.

    Numbers may be any, beside the candidates and the documented range, too.

    Raises:
        UnknownNameError: For a variable that does not exist, with near matches.
        UsageError: For variables that are missing, and values of another sort.
    """
    point = completed(point, variables)
    for name, node in variables.items():
        value = point[name]
        word = node.sort == ENUM and value not in domain_of(node).values
        if word or type(value) not in _TYPES[node.sort]:
            domain_of(node).accept(value)
    return point


def _length(name: str, column: Any) -> int:
    try:
        if not isinstance(column, (str, bytes, Mapping, Set)):
            return len(column)
    except TypeError:
        pass
    raise UsageError(f"the column {name} is not a list of values")


class Codec:
    """Turns codes into values and back.

    Args:
        variables: Variable nodes by name, in the order in which points show them.
        domains: The candidate values of each.

    >>> from ckrules.engine.expr.variables import Int
    >>> codec = Codec({"m": Int("m", [16, 32])}, {"m": (16, 32)})
    >>> codec.codes({"m": 32}), codec.codes({"m": 8}), codec.point({"m": 1})
    ({'m': 1}, None, {'m': 32})
    """

    def __init__(self, variables: Mapping[str, Expr], domains: Domains) -> None:
        self.variables, self.domains = variables, domains

    def __reduce__(self) -> tuple[Any, ...]:
        return Codec, (self.variables, self.domains)  # look-up tables are made again

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names in declared order."""
        return tuple(self.variables)

    @cached_property
    def _places(self) -> dict[str, dict[Any, int]]:
        return {n: {v: i for i, v in enumerate(vs)} for n, vs in self.domains.items()}

    def completed(self, point: Mapping[str, Any]) -> Mapping[str, Any]:
        """The point with every variable (see `completed`)."""
        return completed(point, self.variables)

    def judged(self, point: Mapping[str, Any]) -> Mapping[str, Any]:
        """The point with every variable and values of their sorts (see `judged`)."""
        return judged(point, self.variables)

    def codes(self, point: Mapping[str, Any]) -> dict[str, int] | None:
        """The codes of a point, None if a value is not a candidate."""
        point = self.completed(point)
        codes: dict[str, int] = {}
        for name, place in self._places.items():
            value = point[name]
            try:
                code = place.get(value)
            except TypeError:  # a list or another value that cannot be hashed
                return None
            if code is None:
                return None
            if isinstance(value, bool) != isinstance(self.domains[name][code], bool):
                return None
            codes[name] = code
        return codes

    def point(self, codes: Mapping[str, int]) -> Point:
        """The point with the given codes."""
        return {n: values[codes[n]] for n, values in self.domains.items()}

    def tuples(self, table: Mapping[str, Any], count: int) -> list[tuple[Value, ...]]:
        """The ``count`` rows of a table of codes as tuples of values, in the order of `names`."""
        from ckrules.engine.diagram.columns import to_rows

        return to_rows(table, self.domains) if self.domains else [()] * count

    def points(self, table: Mapping[str, Any], count: int) -> Iterator[Point]:
        """The ``count`` rows of a table of codes as points."""
        names = self.names
        return (dict(zip(names, row, strict=True)) for row in self.tuples(table, count))

    def derived(self, nodes: Mapping[str, Expr], table: Mapping[str, Any], count: int) -> Any:
        """Derived quantities at the ``count`` rows of a table of codes, by name (see `columns`)."""
        from ckrules.engine.diagram.columns import derived

        return derived(nodes, table, self.domains, count)

    def contains(self, compiled: Compiled, columns: Mapping[str, Sequence[Any]]) -> Any:
        """For each row of columns of values whether it is one of the compiled points."""
        from ckrules.engine.diagram.columns import contains

        if not isinstance(columns, Mapping):
            raise UsageError(f"columns are a mapping from variables to values, not {columns!r}")
        sizes = [_length(name, column) for name, column in columns.items()]
        only = self.completed(dict.fromkeys(columns, 0))
        rows = min(sizes, default=0)
        added = {n: [v] * rows for n, v in only.items() if n not in columns}
        return contains(compiled, {**columns, **added}, self.domains)

    def bound(self, values: Mapping[str, Any]) -> Domains:
        """The candidates that are left where variables are restricted to the given values.

        Raises:
            UnknownNameError: For a field or word that does not exist, with near matches.
            UsageError: For a value that the variable cannot take.
        """
        domains = dict(self.domains)
        for name, given in values.items():
            if name not in self.variables:
                raise unknown("field", name, self.variables)
            domain = domain_of(self.variables[name])
            given = plain(given)
            many = isinstance(given, (list, tuple, set, frozenset, range))
            many = many and not (isinstance(given, tuple) and given in domain.values)
            wanted = [domain.accept(v) for v in (given if many else (given,))]
            kept = tuple(v for v in domains[name] if v in wanted)
            if domains[name] == domain.values:  # not bound before
                outside = {v for v in wanted if v not in domain.values}
                kept += tuple(sorted(outside, key=lambda v: (type(v).__name__, v)))
            domains[name] = kept
        return domains
