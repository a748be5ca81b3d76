"""Forms in which points are listed, one module each.

A module has ``SUFFIXES``, ``BINARY`` and ``write(chunks, fields, stream)``; its name
without ``_file`` is the format's name, and a new file here is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from ckrules.output.columns import Column


class PointFormat(Protocol):
    """A module of this package."""

    SUFFIXES: tuple[str, ...]
    BINARY: bool

    def write(
        self, chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[Any]
    ) -> None:
        """Writes chunk after chunk; ``fields`` are names and sorts of the columns."""


def available() -> list[str]:
    """The formats that exist.

    >>> available()
    ['csv', 'json', 'jsonl', 'names', 'parquet', 'table']
    """
    return sorted(m.name.removesuffix("_file") for m in pkgutil.iter_modules(__path__))


def point_format(name: str) -> PointFormat:
    """The module of a format, imported now and not before."""
    found = [m.name for m in pkgutil.iter_modules(__path__)]
    module = name if name in found else f"{name}_file"
    return cast(PointFormat, importlib.import_module(f"{__name__}.{module}"))


def suffixes() -> dict[str, tuple[str, ...]]:
    """The suffixes of files that ask for each format.

    >>> suffixes()["csv"]
    ('.csv',)
    """
    return {name: point_format(name).SUFFIXES for name in available()}
