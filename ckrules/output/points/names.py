"""Upstream kernel names, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO

from ckrules.output.columns import NAME, Column
from ckrules.support.visible import visible

SUFFIXES = (".txt", ".names")
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes the column of names."""
    for chunk in chunks:
        stream.writelines(f"{visible(name)}\n" for name in chunk[NAME].values)
