"""JSON Lines: one object a point, as ``ckrules check`` reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO

from ckrules.reports.columns import Column

TITLE = "one JSON object a line"
SUFFIXES = (".jsonl", ".ndjson")
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes the objects; the text of each different value is made once a chunk."""
    for chunk in chunks:
        parts = [_pairs(name, column) for name, column in chunk.items()]
        stream.writelines("{" + ", ".join(row) + "}\n" for row in zip(*parts, strict=True))


def _pairs(name: str, column: Column) -> list[str]:
    key = json.dumps(name)
    return column.texts(lambda v: f"{key}: {json.dumps(v, ensure_ascii=False)}")
