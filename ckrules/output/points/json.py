"""JSON: one list with an object a point, as in `jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO

from ckrules.output.columns import Column
from ckrules.output.points import jsonl

SUFFIXES = (".json",)
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes the list, an object a line."""
    stream.write("[")
    sign = "\n"
    for text in _objects(chunks):
        stream.write(sign + text)
        sign = ",\n"
    stream.write("\n]\n")


def _objects(chunks: Iterable[Mapping[str, Column]]) -> Iterator[str]:
    for chunk in chunks:
        yield from jsonl.lines(chunk)
