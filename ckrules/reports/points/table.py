"""Plain aligned columns, without lines between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, Any

from ckrules.reports.columns import Column

TITLE = "aligned columns"
SUFFIXES: tuple[str, ...] = ()
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes a header and the rows; a column is as wide as its first chunk needs."""
    widths: dict[str, int] = {}
    for chunk in chunks:
        if not widths:
            widths = {name: width(name, column) for name, column in chunk.items()}
            stream.write(_line(fields, widths.values()))
        rows = zip(*(c.texts(cell) for c in chunk.values()), strict=True)
        stream.writelines(_line(row, widths.values()) for row in rows)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = (f"{c:<{w}}" for c, w in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip() + "\n"


def width(name: str, column: Column) -> int:
    """The width of a column: of its title or its longest value."""
    return max([len(name), *(len(cell(v)) for v in column.values)])


def cell(value: Any) -> str:
    """A value as tables show it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
