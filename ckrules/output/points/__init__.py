"""Forms in which points are listed, one module each.

A module has ``SUFFIXES``, ``BINARY`` and ``pieces(chunks, fields)``; its name is the format's, and
a new file here is found by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ckrules.support.submodules import submodule, submodules

if TYPE_CHECKING:
    from ckrules.output.columns import Column


class PointFormat(Protocol):
    """A module of this package."""

    SUFFIXES: tuple[str, ...]
    BINARY: bool

    def pieces(
        self, chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]
    ) -> Iterator[Any]:
        """The text or bytes of chunk after chunk; ``fields`` are names and sorts of columns."""


def available() -> list[str]:
    """The formats that exist.

    >>> available()
    ['csv', 'json', 'jsonl', 'names', 'parquet', 'table']
    """
    return submodules(__path__)


def point_format(name: str) -> PointFormat:
    """The module of a format, imported now and not before."""
    module: PointFormat = submodule(__name__, name)
    return module


def suffixes() -> dict[str, tuple[str, ...]]:
    """The suffixes of files that ask for each format.

    >>> suffixes()["csv"]
    ('.csv',)
    """
    return {name: point_format(name).SUFFIXES for name in available()}
