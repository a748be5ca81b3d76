"""Upstream kernel names, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ckrules.output.columns import NAME, Column
from ckrules.support.visible import visible

SUFFIXES = (".txt", ".names")
BINARY = False


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[str]:
    """The column of names."""
    for chunk in chunks:
        yield from (f"{visible(name)}\n" for name in chunk[NAME].values)
