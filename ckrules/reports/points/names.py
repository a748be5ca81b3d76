"""Upstream kernel names, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO

from ckrules.reports.columns import NAME, Column

TITLE = "upstream kernel names, one a line (a name says no GPU)"
SUFFIXES = (".txt", ".names")
BINARY = False


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[str]
) -> None:
    """Writes the column of names."""
    for chunk in chunks:
        stream.writelines(f"{name}\n" for name in chunk[NAME].values)
