"""Columns of points: few different values and a code for each row, as spaces stream them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ckrules.engine.codec import completed
from ckrules.engine.diagram.columns import evaluated
from ckrules.engine.evaluate.vector import decoded, encode
from ckrules.engine.expr import ENUM, Expr, Value
from ckrules.kernels.names import styled_name
from ckrules.support.errors import unknown

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook

#: The column of upstream kernel names.
NAME = "name"
_TABULATED = 1 << 16


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a chunk: row ``i`` holds ``values[codes[i]]``."""

    values: Sequence[Any]
    codes: Any

    def __len__(self) -> int:
        return len(self.codes)

    def used(self) -> list[Any]:
        """The values that a row has, each once and in the order of `values`.

        >>> Column(("a", "b", "c"), np.asarray([2, 0, 2])).used()
        ['a', 'c']
        """
        return [self.values[i] for i in np.unique(self.codes)]

    def texts(self, show: Any) -> list[str]:
        """The rows as texts; each different value is turned into text once."""
        shown = np.empty(len(self.values), dtype=object)
        shown[:] = [show(v) for v in self.values]
        return cast("list[str]", shown[self.codes].tolist())

    def rows(self) -> list[Any]:
        """The rows as values."""
        return self.texts(lambda v: v)


class Columns:
    """Turns chunks of codes into the columns that were asked for.

    Args:
        book: Whose fields, derived quantities and names may be asked for.
        fields: The columns' names (None: every field).
        style: Whose names the column of names has (`ckrules.kernels.names.styles`).

    Raises:
        UnknownNameError: For a column that does not exist, with near matches.
    """

    def __init__(
        self, book: RuleBook, fields: Sequence[str] | None, style: str | None = None
    ) -> None:
        known = {**book.fields, **book.vocabulary.quantities}
        for field in fields or ():
            if field not in known and field != NAME:
                raise unknown("field", field, [*known, NAME])
        self.book, self.style = book, style
        self.fields = {
            f: "enum" if f == NAME else known[f].sort for f in (fields or tuple(book.fields))
        }
        self._derived = {f: known[f] for f in self.fields if f != NAME and f not in book.fields}

    def chunks(
        self, tables: Iterable[Mapping[str, Any]], domains: Mapping[str, Sequence[Value]]
    ) -> Iterator[dict[str, Column]]:
        """The columns of each table of codes."""
        for table in tables:
            whole = {name: Column(values, table[name]) for name, values in domains.items()}
            yield self._made(whole)

    def of_points(self, points: Sequence[Mapping[str, Value]]) -> dict[str, Column]:
        """The columns of points that are at hand."""
        full = [completed(p, self.book.fields) for p in points]
        whole = {name: factor([p[name] for p in full]) for name in self.book.fields}
        return self._made(whole)

    def _made(self, whole: Mapping[str, Column]) -> dict[str, Column]:
        known = {**whole, **_evaluate(self._derived, whole)}
        if NAME in self.fields:
            found = names(whole, self.style)
            known[NAME] = Column(found, np.arange(len(found)))
        return {f: known[f] for f in self.fields}


def rows_of(table: Mapping[str, Any]) -> int:
    """How many rows a table of columns has."""
    return len(next(iter(table.values())))


def first_rows(tables: Iterable[Mapping[str, Any]], n: int) -> Iterator[Mapping[str, Any]]:
    """Tables of columns or codes up to their ``n``-th row."""
    for table in tables:
        rows = rows_of(table)
        yield table if rows <= n else {name: c[:n] for name, c in table.items()}
        n -= rows
        if n <= 0:
            return


def with_version(chunk: Mapping[str, Column], ck: str) -> Mapping[str, Column]:
    """A chunk with the CK version, which other commands take."""
    return {**chunk, "ck": factor([ck] * rows_of(chunk))}


def factor(rows: Sequence[Any]) -> Column:
    """The column of these rows.

    >>> factor(["a", "b", "a"]).codes.tolist()
    [0, 1, 0]
    """
    places: dict[Any, int] = {}
    codes = [places.setdefault(row, len(places)) for row in rows]
    return Column(tuple(places), np.asarray(codes, dtype=np.int64))


def names(columns: Mapping[str, Column], style: str | None = None) -> list[str]:
    """The upstream name of every row."""
    fields = tuple(columns)
    rows = zip(*(c.rows() for c in columns.values()), strict=True)
    return [styled_name(dict(zip(fields, row, strict=True)), style) for row in rows]


def _evaluate(nodes: Mapping[str, Expr], whole: Mapping[str, Column]) -> dict[str, Column]:
    """Derived quantities for every row; None where one is undefined."""
    size = rows_of(whole) if whole else 0

    def column(variable: Expr) -> Any:
        found = whole[variable.data.name]
        return encode(found.values, variable.sort)[found.codes]

    made = {}
    pairs = evaluated(list(nodes.values()), column, size)
    for (name, node), (value, defined) in zip(nodes.items(), pairs, strict=True):
        values, codes = _distinct(value)
        listed: list[Any] = values.tolist()
        if node.sort == ENUM:
            listed = list(decoded(listed))
        if defined is not None:
            codes = np.where(defined, codes, len(listed))
            listed.append(None)
        made[name] = Column(listed, codes)
    return made


def _distinct(rows: Any) -> tuple[Any, Any]:
    """The values of rows in order and the place of each; integers of a small range faster."""
    if rows.dtype.kind in "iu" and len(rows):
        low, high = int(rows.min()), int(rows.max())
        if high - low < _TABULATED:
            there = np.zeros(high - low + 1, dtype=np.bool_)
            there[rows - low] = True
            places = np.cumsum(there) - 1
            return np.flatnonzero(there) + low, places[rows - low]
    values, codes = np.unique(rows, return_inverse=True)
    return values, codes
