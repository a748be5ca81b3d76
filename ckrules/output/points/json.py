"""JSON: one list with an object a point, as in `jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ckrules.output.columns import Column
from ckrules.output.points import jsonl

SUFFIXES = (".json",)
BINARY = False


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[str]:
    """The list, an object a line."""
    yield "["
    sign = "\n"
    for chunk in chunks:
        for text in jsonl.lines(chunk):
            yield sign + text
            sign = ",\n"
    yield "\n]\n"
