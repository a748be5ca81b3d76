"""CSV with a header; Booleans are true and false, an undefined quantity is empty.

Words that a spreadsheet would take for formulas are changed: see `csv_cell`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import IO

from ckrules.output.columns import Column
from ckrules.support.visible import csv_cell

SUFFIXES = (".csv",)
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes header and rows."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(csv_cell, fields))
    for chunk in chunks:
        writer.writerows(zip(*(c.texts(csv_cell) for c in chunk.values()), strict=True))
