"""JSON Lines: one object a point, as ``ckrules check`` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ckrules.output.columns import Column
from ckrules.support.visible import json_text

SUFFIXES = (".jsonl", ".ndjson")
BINARY = False


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[str]:
    """The objects."""
    for chunk in chunks:
        yield from (f"{text}\n" for text in lines(chunk))


def lines(chunk: Mapping[str, Column]) -> Iterator[str]:
    """The objects of a chunk; the text of each different value is made once."""
    parts = [_pairs(name, column) for name, column in chunk.items()]
    return ("{" + ", ".join(row) + "}" for row in zip(*parts, strict=True))


def _pairs(name: str, column: Column) -> list[str]:
    key = json_text(name)
    return column.texts(lambda v: f"{key}: {json_text(v)}")
