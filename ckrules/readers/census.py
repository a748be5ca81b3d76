"""What a run reads beside configurations: rows of tables, other libraries, winners of shapes."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ckrules.engine.expr import Value
from ckrules.kernels.reader_tables import OtherLibrary
from ckrules.support.tables import count, plural

#: Fields in which kernels of a list and of a table may differ: lists leave launch bounds and pads
#: to the tool, tables leave types to it.
_LEFT_OPEN = ("k_block_per_cu", "block_per_cu", "pad_m", "pad_n", "pad_k", "dtype", "dtype_c")


class ShapeWinner(NamedTuple):
    """The kernel that a row of a table takes for a shape."""

    source: str
    line: int
    kernel: str
    time: float


@dataclass(slots=True)
class OtherKernels:
    """How many names and listed kernels of a library were read, and in which files."""

    reason: str
    names: int = 0
    files: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Census:
    """What all files of a run hold together.

    >>> census = Census()
    >>> census.add_other(OtherLibrary("classic CK", "no rule book"), "a.csv", 2)
    >>> list(census.sentences())
    ['not covered: 2 kernels of classic CK in 1 file: no rule book']
    """

    rows: int = 0
    _tables: set[str] = field(default_factory=set)
    _others: dict[str, OtherKernels] = field(default_factory=dict)
    _winners: dict[Hashable, ShapeWinner] = field(default_factory=dict)
    _listed: dict[str, set[Hashable]] = field(default_factory=dict)
    _told: set[Hashable] = field(default_factory=set)
    _used: dict[tuple[str, Hashable], tuple[object, str]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forgets everything, before the same sources are read again."""
        self.rows = 0
        for kept in (
            self._tables, self._others, self._winners, self._listed, self._told, self._used,
        ):  # fmt: skip
            kept.clear()

    @property
    def found(self) -> bool:
        """Whether there were rows or kernels of other libraries."""
        return bool(self.rows or self._others)

    def add_row(self, source: str) -> None:
        """Counts a row of a table."""
        self.rows += 1
        self._tables.add(source)

    def add_other(self, library: OtherLibrary, source: str, names: int = 1) -> None:
        """Counts kernels of another library."""
        if library.title not in self._others:
            self._others[library.title] = OtherKernels(library.reason)
        found = self._others[library.title]
        found.names += names
        found.files.add(source)

    def winner(self, key: Hashable, row: ShapeWinner) -> ShapeWinner | None:
        """The first row of a shape, None where this is it."""
        first = self._winners.setdefault(key, row)
        return None if first is row else first

    def first_told(self, *what: Hashable) -> bool:
        """Whether something is to be said for the first time in the run."""
        if what in self._told:
            return False
        self._told.add(what)
        return True

    def listed(self, point: Mapping[str, Value]) -> None:
        """Remembers a kernel of a list."""
        self._listed.setdefault(str(point["variant"]), set()).add(_identity(point))

    def used(self, point: Mapping[str, Value], name: str, place: object) -> None:
        """Remembers the first row that takes a kernel."""
        self._used.setdefault((str(point["variant"]), _identity(point)), (place, name))

    def unlisted(self) -> Iterator[tuple[object, str]]:
        """Place and name of kernels that no list of the run has, of variants that have lists."""
        for (variant, identity), (place, name) in self._used.items():
            known = self._listed.get(variant)
            if known is not None and identity not in known:
                yield place, name

    def sentences(self) -> Iterator[str]:
        """How many rows there were, and a line for each library that no rules are known of."""
        if self.rows:
            yield f"{count(self.rows, 'row')} of {count(len(self._tables), 'tuned table')}"
        for title, found in self._others.items():
            files = count(len(found.files), "file")
            kernels = f"{found.names:,} {plural(found.names, 'kernel')} of {title}"
            yield f"not covered: {kernels} in {files}: {found.reason}"


def _identity(point: Mapping[str, Value]) -> Hashable:
    return tuple(value for name, value in point.items() if name not in _LEFT_OPEN)


@lru_cache(maxsize=256)
def merged_name(source: str, pattern: str) -> str:
    """The table that a file is a part of, by its name; the file itself where it says none.

    >>> merged_name("model_configs/dsv3_a8w8_tuned_gemm_v2.csv", "(a8w8_tuned_gemm)")
    'a8w8_tuned_gemm'
    """
    found = re.search(pattern, os.path.basename(source)) if pattern else None
    return source if found is None else found[1]
