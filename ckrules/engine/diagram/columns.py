"""Columns of codes and columns of values: translation both ways, and derived quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.numbering import number
from ckrules.engine.evaluate.vector import Vectors, check_width, decoded, encode
from ckrules.engine.expr import ENUM, Expr
from ckrules.engine.rewrite.bounds import WHOLE, bounds_of
from ckrules.engine.rewrite.lower import Lowering
from ckrules.support.errors import UsageError
from ckrules.support.plain_values import plain

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled

Array = npt.NDArray[Any]
Row = tuple[Any, ...]


_WEIGHT = np.uint64(0x9E3779B97F4A7C15)  # odd, so that its powers stay distinct
_ROWS = 1 << 15  # rows that are looked at together, few enough to stay in the processor's cache


def contains(
    compiled: Compiled, columns: Mapping[str, Sequence[Any]], domains: Mapping[str, tuple[Any, ...]]
) -> Array:
    """For each row of columns of values whether it is a point of ``compiled``."""
    if not domains:
        return np.zeros(0, dtype=np.bool_)
    coders = {n: _Coder(values) for n, values in domains.items()}
    arrays = {n: coders[n].array(c) for n, c in columns.items()}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise UsageError(f"the column {name} is not a list of single values")
    sizes = {n: len(a) for n, a in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise UsageError(f"the columns differ in length: {sizes}")
    total = next(iter(sizes.values()))
    out = np.zeros(total, dtype=np.bool_)
    for start in range(0, total, _ROWS):
        some = slice(start, start + _ROWS)
        out[some] = compiled.contains({n: coders[n](arrays[n][some]) for n in domains})
    return out


class _Coder:
    """Turns values of one variable into codes; a value that is not a candidate becomes -1.

    >>> _Coder((16, 32))(np.asarray([32, 7, 16])).tolist()
    [1, -1, 0]
    """

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self.place = {v: i for i, v in enumerate(values)}
        self.boolean = bool(values) and isinstance(values[0], bool)
        self.word = bool(values) and all(isinstance(v, str) for v in values)
        #: Values that no column of numbers holds as they are, looked up one by one.
        self.labels = not self.word and not are_plain(values)
        self.table: Array | None = None
        if values and not self.word and not self.labels:
            self.known = np.asarray(values)
            self.order = np.argsort(self.known, kind="stable")
            if self.known.dtype.kind in "ib":
                self._tabulate()

    def _tabulate(self) -> None:
        known = self.known.astype(np.int64)
        self.low, high = int(known.min()), int(known.max())
        if high - self.low < 1 << 16:  # several times faster than a binary search
            self.table = np.full(high - self.low + 1, -1, dtype=np.int32)
            self.table[known - self.low] = np.arange(len(self.values))

    def __call__(self, array: Array) -> Array:
        kind = array.dtype.kind
        if kind == "U" and self.word and array.dtype.isnative:
            return self._words(array)
        if kind not in "iufb" or self.labels or self._rounds(array):
            return np.fromiter(map(self._code, array.tolist()), dtype=np.int32, count=len(array))
        if not self.values or self.word or (kind == "b") != self.boolean:
            return np.full(len(array), -1, dtype=np.int32)
        if self.table is not None and kind != "f" and len(array):
            whole = array.astype(np.int64)
            if int(whole.min()) >= self.low and int(whole.max()) < self.low + len(self.table):
                return self.table.take(whole - self.low)
        at = np.minimum(np.searchsorted(self.known[self.order], array), len(self.values) - 1)
        codes = self.order[at]
        return np.where(self.known[codes] == array, codes, -1).astype(np.int32)

    def array(self, column: Sequence[Any]) -> Array:
        """A column as an array.

        Labels are objects, since a tuple is not a row of a matrix, and so are values of several
        types, of which numpy would make others: strings of the numbers beside a word.
        """
        if isinstance(column, np.ndarray) or not hasattr(column, "__iter__"):
            return np.asarray(column)
        if self.labels or len(set(map(type, column))) > 1:
            return np.fromiter(map(plain, column), dtype=object, count=len(column))
        return np.asarray(column)

    def _code(self, value: Any) -> int:
        value = plain(value)
        try:
            code = self.place.get(value, -1)
        except TypeError:  # a list or another value that cannot be hashed
            return -1
        return code if isinstance(value, bool) == isinstance(self.values[code], bool) else -1

    def _rounds(self, array: Array) -> bool:
        """True if floats do not tell the integers of an array apart."""
        if array.dtype.kind not in "iu" or self.table is not None or not len(array):
            return False
        floats = not self.word and self.values and self.known.dtype.kind == "f"
        return bool(floats) and max(-int(array.min()), int(array.max())) > WHOLE

    def _words(self, array: Array) -> Array:
        """Codes of words, found by a hash of their characters and then compared."""
        width = max(1, array.dtype.itemsize // 4)
        weights = _WEIGHT ** np.arange(1, width + 1, dtype=np.uint64)
        short = [v for v in self.values if len(v) <= width]
        if not short or not array.dtype.itemsize:
            return np.full(len(array), -1, dtype=np.int32)
        known = np.asarray(short, dtype=f"<U{width}").astype(array.dtype)
        hashes = known.view(np.uint32).reshape(-1, width) @ weights
        order = np.argsort(hashes, kind="stable")
        letters = np.ascontiguousarray(array).view(np.uint32).reshape(-1, width)
        at = np.searchsorted(hashes[order], letters @ weights)
        place = order[np.minimum(at, len(short) - 1)]
        codes = np.asarray([self.place[v] for v in short], dtype=np.int32)
        return np.where(known[place] == array, codes[place], np.int32(-1))


def are_plain(values: Sequence[Any]) -> bool:
    """True for numbers, or Booleans, that a numpy array holds as they are."""
    held = (isinstance(v, float) or (isinstance(v, int) and abs(v) <= WHOLE) for v in values)
    return all(held) and len({isinstance(v, bool) for v in values}) < 2


def to_rows(table: Mapping[str, Array], domains: Mapping[str, tuple[Any, ...]]) -> list[Row]:
    """The rows of a (not empty) table of codes as tuples of values.

    Neighbouring variables are taken together: their distinct combinations become short tuples
    once, and a row is the few short tuples that belong to it, joined.

    >>> to_rows({"m": np.array([1, 0]), "w": np.array([0, 1])}, {"m": (16, 32), "w": (1, 2)})
    [(32, 1), (16, 2)]
    """
    total = len(next(iter(table.values())))
    rows: list[Row] | None = None
    for names in _groups({n: len(v) for n, v in domains.items()}, max(64, total // 4)):
        more = _short_rows([table[n] for n in names], [domains[n] for n in names], total)
        rows = more if rows is None else list(map(add, rows, more))
    return rows or []


def _groups(sizes: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Runs of variables that have at most ``most`` combinations, or one variable."""
    run: list[str] = []
    span = 1
    for name, size in sizes.items():
        if run and span * size > most:
            yield run
            run, span = [], 1
        run.append(name)
        span *= size
    yield run


def _short_rows(codes: list[Array], values: list[tuple[Any, ...]], total: int) -> list[Row]:
    """Few columns of codes as tuples; equal rows share one tuple."""
    classes, firsts, count = number(codes, [len(v) for v in values], total)
    lists = [_objects(v)[c[firsts]].tolist() for c, v in zip(codes, values, strict=True)]
    distinct: list[Row] = list(zip(*lists, strict=True))
    if count == 1:
        return distinct * total
    shared = np.empty(count, dtype=object)
    shared[:] = distinct
    rows: list[Row] = shared.take(classes).tolist()
    return rows


@lru_cache(maxsize=1024)
def _objects_of(kind: tuple[type, ...], values: tuple[Any, ...]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _objects(values: tuple[Any, ...]) -> Array:
    return _objects_of(tuple(map(type, values)), values)  # 1, 1.0 and True are equal as keys


def evaluated(
    nodes: Sequence[Expr], column: Callable[[Expr], Array], size: int
) -> list[tuple[Array, Array | None]]:
    """Quantities for each of some rows, and where each is defined (None: everywhere).

    Args:
        nodes: The quantities, what they share is computed once; words are numbers of `word_code`.
        column: The encoded column of each variable.
        size: The number of rows.
    """
    lowering = Lowering[Any](Vectors(column))
    with np.errstate(all="ignore"):
        pairs = [lowering.pair(node) for node in nodes]
    shape = (size,)
    return [
        (np.broadcast_to(np.asarray(v), shape), None if d is None else np.broadcast_to(d, shape))
        for v, d in pairs
    ]


def derived(
    nodes: Mapping[str, Expr],
    table: Mapping[str, Array],
    domains: Mapping[str, tuple[Any, ...]],
    size: int,
) -> dict[str, Array]:
    """Derived quantities at ``size`` rows of codes, as values, masked where undefined."""
    check_width(list(nodes.values()), bounds_of(domains))

    def column(variable: Expr) -> Array:
        name = variable.data.name
        return encode(domains[name], variable.sort)[table[name]]

    out: dict[str, Array] = {}
    found = evaluated(list(nodes.values()), column, size)
    for (name, node), (values, known) in zip(nodes.items(), found, strict=True):
        if node.sort == ENUM:
            values = np.asarray(decoded(values.tolist()), dtype=object)
        out[name] = values if known is None else np.ma.masked_array(values, ~known)
    return out
