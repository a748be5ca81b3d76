"""Vector back end: expressions over whole columns of points, with numpy.

Numbers are int64 (float64 for reals), words are codes of one table shared by the process
(`word_code`), Booleans are numpy Booleans. Expressions whose bounds leave 64 bits are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.engine.rewrite.lower import Lowering
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]
_words: dict[Any, int] = {}
_DENSE = 50_000_000  # cells up to which a table has one for each combination of its keys' values


def word_code(word: Any) -> int:
    """The number that stands for a word in this process."""
    return _words.setdefault(word, len(_words))


def decoded(codes: Sequence[int]) -> list[str]:
    """The words that numbers of `word_code` stand for."""
    words = list(_words)
    return [words[code] for code in codes]


def encode(values: Sequence[Value], sort: str = "") -> Array:
    """A column of values as the array that expressions are evaluated on.

    Args:
        values: The values.
        sort: That of their variable, of which labels are words, be they numbers or not.

    >>> encode([True, False]).dtype, encode([1, 2]).dtype
    (dtype('bool'), dtype('int64'))
    """
    if sort == ENUM or not all(isinstance(v, (bool, int, float)) for v in values):
        return np.asarray([word_code(v) for v in values], dtype=np.int64)
    if len(values) and isinstance(values[0], bool):
        return np.asarray(values, dtype=np.bool_)
    if any(isinstance(v, float) for v in values):
        return np.asarray(values, dtype=np.float64)
    return np.asarray(values, dtype=np.int64)


def plain(value: Any) -> Any:
    """A value as it stands in an encoded column: words as their codes."""
    return word_code(value) if isinstance(value, str) else value


_ARITH: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide,
    "mod": np.remainder, "truediv": np.true_divide, "min": np.minimum, "max": np.maximum,
    "ceil_div": lambda a, b: -np.floor_divide(-np.asarray(a), b),
}  # fmt: skip

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


class Vectors:
    """Algebra over numpy arrays (and scalars where a term does not vary).

    Args:
        column: The array of a variable's values.
    """

    def __init__(self, column: Callable[[Expr], Array]) -> None:
        self._column = column

    def const(self, node: Expr) -> Any:
        value = plain(node.data)
        if isinstance(value, bool):
            return np.bool_(value)
        return np.float64(value) if isinstance(value, float) else np.int64(value)

    def var(self, node: Expr) -> Any:
        return self._column(node)

    def arith(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        if node.sort == REAL and op in ("min", "max"):  # numpy would pass on a NaN of either side
            return np.where(b < a if op == "min" else b > a, b, a)
        return _ARITH[op](a, b)

    def compare(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        return _COMPARE[op](a, b)

    def isin(self, a: Any, values: tuple[Any, ...], node: Expr) -> Any:
        out = np.zeros(np.shape(a), dtype=np.bool_)
        for v in values:
            out = out | (a == plain(v))
        return out

    def is_pow2(self, a: Any, node: Expr) -> Any:
        whole = np.asarray(a)
        if whole.dtype.kind == "f":
            return (whole >= 1) & (np.frexp(whole)[0] == 0.5)
        return (whole > 0) & ((whole & (whole - 1)) == 0)

    def logic(self, op: str, args: Sequence[Any]) -> Any:
        if op == "not":
            return np.logical_not(args[0])
        if op == "implies":
            return np.logical_not(args[0]) | args[1]
        if op == "iff":
            return np.equal(args[0], args[1])
        out = args[0]
        for a in args[1:]:
            out = np.logical_and(out, a) if op == "and" else np.logical_or(out, a)
        return out

    def select(self, cond: Any, a: Any, b: Any, node: Expr) -> Any:
        return np.where(cond, a, b)

    def nonzero(self, a: Any, node: Expr) -> Any:
        return np.not_equal(a, 0)

    def number(self, value: int, like: Expr) -> Any:
        return np.float64(value) if like.sort == REAL else np.int64(value)

    def truth(self, value: bool) -> Any:
        return np.bool_(value)

    def rel(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        of = _index(table, tuple(a.sort for a in node.args))
        index, known = of.rows(keys)
        return known & of.present[index]

    def lookup(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        of = _index(table, tuple(a.sort for a in node.args))
        return of.values[of.rows(keys)[0]]


class _Index:
    """A table by the distinct values of each key column: dense if it is small, else by its rows.

    By its rows, the numbers of the columns so far are looked up in the sorted ones that rows have,
    column by column, so that they never grow beyond rows times values.
    """

    def __init__(self, table: Table, sorts: tuple[str, ...]) -> None:
        columns = list(zip(*table.rows, strict=True)) or [() for _ in table.keys]
        coded = [_axis(c, s) for c, s in zip(columns, sorts, strict=True)]
        self.axes = [np.unique(c) for c in coded]
        self.shape = tuple(max(1, len(a)) for a in self.axes)
        self.dense = prod(self.shape) <= _DENSE
        self.levels: list[Array] = []
        place: Array = np.zeros(len(table.rows), dtype=np.int64)
        for axis, extent, column in zip(self.axes, self.shape, coded, strict=True):
            place = place * extent + np.searchsorted(axis, column)
            if not self.dense:
                self.levels.append(np.unique(place))
                place = np.searchsorted(self.levels[-1], place)
        size = prod(self.shape) if self.dense else len(table.rows)
        self.present = np.zeros(size, dtype=np.bool_)
        # a cell without a row holds a value of the table, so that bounds hold there as well
        fill = next(iter(table.rows.values()), 0)
        dtype = np.float64 if table.sort == REAL else np.int64
        self.values: Array = np.full(size, plain(fill), dtype=dtype)
        self.present[place] = True
        self.values[place] = [plain(v) for v in table.rows.values()]

    def rows(self, keys: Sequence[Any]) -> tuple[Any, Any]:
        place: Any = np.int64(0)
        known: Any = np.bool_(True)
        for n, (axis, extent, key) in enumerate(zip(self.axes, self.shape, keys, strict=True)):
            key = np.asarray(key)
            at = np.minimum(np.searchsorted(axis, key), extent - 1)
            known = known & (axis[at] == key) if len(axis) else np.zeros(key.shape, dtype=np.bool_)
            place = place * extent + at
            if not self.dense:
                wanted, level = place, self.levels[n]
                place = np.minimum(np.searchsorted(level, wanted), len(level) - 1)
                known = known & (level[place] == wanted)
        return place, known


def _axis(values: Sequence[Value], sort: str) -> Array:
    real = sort == REAL or (sort != ENUM and any(isinstance(v, float) for v in values))
    codes = [word_code(v) for v in values] if sort == ENUM else values
    return np.asarray(codes, dtype=np.float64 if real else np.int64)


@lru_cache(maxsize=512)
def _index(table: Table, sorts: tuple[str, ...]) -> _Index:
    return _Index(table, sorts)


def check_width(roots: Sequence[Expr], bounds: Bounds) -> None:
    """Refuse expressions that 64-bit numbers might not hold, and any others bounded so far.

    Raises:
        UsageError: Names the sub-expression and its bounds.
    """
    for root in roots:
        bounds.of(root)
    node = bounds.too_wide
    if node is not None:
        if node.sort == BOOL or node.sort == REAL:
            raise UsageError(f"`{node}` rounds integers of more than 53 bits, as Python does not")
        _, hi = bounds.of(node)
        raise UsageError(f"`{node}` can reach {hi:.3g}, more than 64-bit integers hold")


def evaluate_columns(
    roots: Sequence[BoolExpr], columns: Mapping[str, Array], size: int
) -> list[npt.NDArray[np.bool_]]:
    """Truth of every root for each of ``size`` points given as encoded columns.

    >>> from ckrules.engine.expr.variables import Int
    >>> x = Int("x", range(8))
    >>> evaluate_columns([6 % x == 0], {"x": np.arange(4)}, 4)[0].tolist()
    [False, True, True, True]
    """
    bounds = Bounds({n: _extent(c) for n, c in columns.items() if c.dtype.kind in "if"})
    check_width(roots, bounds)
    low: Lowering[Any] = Lowering(Vectors(lambda v: columns[v.data.name]), bounds.never_zero)
    return [np.broadcast_to(np.asarray(low.bool(r), dtype=np.bool_), (size,)) for r in roots]


def _extent(column: Array) -> tuple[float, float]:
    return (column.min().item(), column.max().item()) if len(column) else (0, 0)
