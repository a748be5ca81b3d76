"""CSV with a header; Booleans are true and false, an undefined quantity is empty.

Words that a spreadsheet would take for formulas are changed: see `csv_cell`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from ckrules.output.columns import Column
from ckrules.support.visible import csv_cell

SUFFIXES = (".csv",)
BINARY = False


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[str]:
    """Header and rows."""
    yield _lines([map(csv_cell, fields)])
    for chunk in chunks:
        yield _lines(zip(*(c.texts(csv_cell) for c in chunk.values()), strict=True))


def _lines(rows: Iterable[Iterable[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
