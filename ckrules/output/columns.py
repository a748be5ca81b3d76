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
            yield {f: self._column(f, whole) for f in self.fields}

    def of_points(self, points: Sequence[Mapping[str, Value]]) -> dict[str, Column]:
        """The columns of points that are at hand."""
        full = [completed(p, self.book.fields) for p in points]
        whole = {name: factor([p[name] for p in full]) for name in self.book.fields}
        return {f: self._column(f, whole) for f in self.fields}

    def _column(self, field: str, whole: Mapping[str, Column]) -> Column:
        if field == NAME:
            found = names(whole, self.style)
            return Column(found, np.arange(len(found)))
        if field in self._derived:
            return _evaluate(self._derived[field], whole)
        return whole[field]


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


def _evaluate(node: Expr, whole: Mapping[str, Column]) -> Column:
    """A derived quantity for every row; None where it is undefined."""
    size = len(next(iter(whole.values())))

    def column(name: str) -> Any:
        return encode(whole[name].values)[whole[name].codes]

    value, defined = evaluated(node, column, size)
    values, codes = np.unique(value, return_inverse=True)
    listed: list[Any] = values.tolist()
    if node.sort == ENUM:
        listed = list(decoded(listed))
    if defined is not None:
        codes = np.where(defined, codes, len(listed))
        listed.append(None)
    return Column(listed, codes)
