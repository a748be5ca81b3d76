"""Plain aligned columns, without lines between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ckrules.output.columns import Column
from ckrules.support.tables import line
from ckrules.support.visible import visible

SUFFIXES: tuple[str, ...] = ()
BINARY = False


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[str]:
    """A header and the rows; a column is as wide as its first chunk needs."""
    widths: dict[str, int] = {}
    for chunk in chunks:
        if not widths:
            widths = {name: width(name, column) for name, column in chunk.items()}
            yield line(map(visible, fields), widths.values()) + "\n"
        rows = zip(*(c.texts(cell) for c in chunk.values()), strict=True)
        yield from (line(row, widths.values()) + "\n" for row in rows)


def width(name: str, column: Column) -> int:
    """The width of a column: of its title or its longest value."""
    return max([len(visible(name)), *(len(cell(v)) for v in column.values)])


def cell(value: Any) -> str:
    """A value as tables show it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value))
