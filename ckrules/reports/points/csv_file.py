"""CSV with a header; Booleans are true and false, an undefined quantity is empty."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import IO, Any

from ckrules.reports.columns import Column

TITLE = "CSV with a header"
SUFFIXES = (".csv",)
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes header and rows."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(fields)
    for chunk in chunks:
        writer.writerows(zip(*(c.texts(_cell) for c in chunk.values()), strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
