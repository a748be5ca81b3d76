"""Points of a space as codes and back: columns, tuples, Arrow record batches, and membership."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import BOOL, Expr, Value
from ckrules.engine.points import CHUNK, check_chunk
from ckrules.engine.variables import Domain

if TYPE_CHECKING:
    from ckrules.engine.diagram.compiled import Compiled


class Tables(ABC):
    """What can list and recognise its points, in the order of `names`, by a compiled form."""

    _domains: dict[str, tuple[Any, ...]]
    _variables: dict[str, Expr]

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

    def contains_columns(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        """For each row of columns of values whether it is a point, as a numpy array.

        >>> from ckrules.engine.space import Space
        >>> from ckrules.engine.variables import Int
        >>> m, w = Int("tile_m", [16, 32, 64]), Int("waves", [1, 2, 4])
        >>> space = Space([m, w], [m % (w * 16) == 0])
        >>> space.contains_columns({"tile_m": [16, 64, 99], "waves": [2, 4, 1]}).tolist()
        [False, True, False]
        """
        from ckrules.engine.diagram.columns import contains

        self._check_keys(columns)
        return contains(self.compile(), columns, self._domains)

    def _check_keys(self, point: Mapping[str, Any]) -> None:
        for key in point:
            if key not in self._variables:
                raise unknown("field", str(key), self._variables)
        missing = [n for n in self._variables if n not in point]
        if missing:
            raise UsageError(f"the point lacks {', '.join(missing)}")

    @cached_property
    def _places(self) -> dict[str, dict[Any, int]]:
        return {n: {v: i for i, v in enumerate(vs)} for n, vs in self._domains.items()}

    def _codes_of(self, point: Mapping[str, Any]) -> dict[str, int] | None:
        """The codes of a point, None if a value is no candidate."""
        self._check_keys(point)
        codes: dict[str, int] = {}
        for name, place in self._places.items():
            value = point[name]
            domain: Domain = self._variables[name].data
            try:
                code = place.get(value)
            except TypeError:  # a list or another value that cannot be hashed
                return None
            if code is None or isinstance(value, bool) != (domain.sort == BOOL):
                return None
            codes[name] = code
        return codes
