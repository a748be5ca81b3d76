"""Tables of the points of a space: columns of codes, tuples, and Arrow record batches."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import Value
from ckrules.engine.points import CHUNK, check_chunk

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled


class Tables(ABC):
    """What can list its points, in the order of `names`, from a compiled form."""

    _domains: dict[str, tuple[Any, ...]]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]: ...

    @abstractmethod
    def compile(self) -> Compiled: ...

    def columns(self, chunk: int = CHUNK) -> Iterator[dict[str, Any]]:
        """All points as tables of at most ``chunk`` rows: numpy arrays of codes by variable.

        A code is a position in `domains`; no more than one table is held at a time.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.variables import Int
        >>> space = Space([Int("tile_m", [16, 32]), Int("waves", [1, 2])])
        >>> [{n: c.tolist() for n, c in t.items()} for t in space.columns(chunk=3)]
        [{'tile_m': [0, 0, 1], 'waves': [0, 1, 0]}, {'tile_m': [1], 'waves': [1]}]
        """
        from ckrules.engine.diagram.search import stream

        check_chunk(chunk)
        for table in stream(self.compile(), chunk):
            yield {n: table[n] for n in self.names}

    def tuples(self, table: Mapping[str, Any]) -> Iterator[tuple[Value, ...]]:
        """The rows of a table of codes as tuples of values, in the order of `names`."""
        return iter(self._rows(table))

    def _rows(self, table: Mapping[str, Any]) -> list[tuple[Value, ...]]:
        from ckrules.engine.diagram.columns import to_rows

        return to_rows(table, self._domains) if self._domains else [()] * self.compile().count

    def to_tuples(self) -> list[tuple[Value, ...]]:
        """All points at once, as tuples of values in the order of `names`.

        The garbage collector is off meanwhile: it would go through all tuples again and again,
        which takes longer than to make them.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.variables import Int
        >>> Space([Int("tile_m", [16, 32]), Int("waves", [1, 2])]).to_tuples()
        [(16, 1), (16, 2), (32, 1), (32, 2)]
        """
        out: list[tuple[Value, ...]] = []
        collects = gc.isenabled()
        gc.disable()
        try:
            for table in self.columns():
                out += self._rows(table)
        finally:
            if collects:
                gc.enable()
        return out

    def to_arrow_batches(self, chunk: int = CHUNK) -> Iterator[Any]:
        """All points as Arrow record batches of at most ``chunk`` rows.

        Numbers and Booleans are plain columns, words are dictionary encoded.
        """
        for table in self.columns(chunk):
            yield self.record_batch(table)

    def record_batch(self, table: Mapping[str, Any]) -> Any:
        """A table of codes as one Arrow record batch of values."""
        from ckrules.engine.diagram.columns import to_arrow

        return to_arrow(table, self._domains)
