"""Finite tables: relations and functions given row by row, such as facts per GPU and dtype."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any

from ckrules.support.errors import RuleBookError
from ckrules.support.plain_values import plain, several

#: What the sorts of keys are called; the sort of a column of a table without rows is empty.
_SORTS = frozenset(("int", "enum", "bool", ""))


class Table:
    """A finite function from key tuples to values, or, with `relation`, a set of key tuples.

    Args:
        name: Shown in messages, for example ``"warp tiles"``.
        keys: Names of the key columns.
        rows: Values by key tuple (a single key may be given bare). All values have one sort.
        source: Where the rows are taken from.
        key_sorts: The sorts of the key columns, where the rows alone do not say them.

    Raises:
        RuleBookError: If a key has the wrong length, the values or a key column mix sorts, or a
            number is not finite.

    >>> t = Table("wave size", ("arch",), {"gfx942": 64, "gfx1201": 32})
    >>> t.rows[("gfx1201",)]
    32
    """

    __slots__ = ("digest", "key_sorts", "keys", "name", "rows", "sort", "source")

    def __init__(
        self,
        name: str,
        keys: Iterable[str],
        rows: Mapping[Any, Any],
        *,
        source: str = "",
        key_sorts: Iterable[str] | None = None,
    ) -> None:
        self.name = name
        self.keys = several(f"keys of table {name}", keys)
        self.source = source
        if not isinstance(rows, Mapping):
            raise RuleBookError(f"table {name}: the rows are not a mapping from keys to values")
        full = {
            tuple(map(plain, k if isinstance(k, tuple) else (k,))): plain(v)
            for k, v in rows.items()
        }
        for key, value in full.items():
            if len(key) != len(self.keys):
                raise RuleBookError(f"table {name}: row {key!r} does not have the keys {self.keys}")
            for part in (*key, value):
                if isinstance(part, float) and not isfinite(part):
                    raise RuleBookError(f"table {name}: {part} is not a finite number")
        self.rows: Mapping[tuple[Any, ...], Any] = MappingProxyType(full)
        self.sort = _sort_of(name, full.values()) or "bool"
        #: Per key column "int" for any numbers, "enum" or "bool"; empty in a table without rows.
        given = tuple("int" if s == "real" else s for s in key_sorts or ())
        if given and (len(given) != len(self.keys) or not _SORTS.issuperset(given)):
            raise RuleBookError(
                f"table {name}: {given!r} are not the sorts of the keys {self.keys}"
            )
        self.key_sorts = given or tuple(
            _sort_of(f"{name}, key {key}", column, whole=False)
            for key, column in zip(self.keys, _columns(full, len(self.keys)), strict=True)
        )
        text = repr((name, self.keys, self.key_sorts, sorted(full.items(), key=repr)))
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def relation(
        cls,
        name: str,
        keys: Iterable[str],
        rows: Iterable[Any],
        *,
        source: str = "",
        key_sorts: Iterable[str] | None = None,
    ) -> Table:
        """The table that only knows which key tuples exist."""
        if isinstance(rows, str):
            raise RuleBookError(f"table {name}: {rows!r} is not a list of rows")
        try:
            known = dict.fromkeys(rows, True)
        except TypeError:
            text = "the rows are not a list of values or tuples of values"
            raise RuleBookError(f"table {name}: {text}") from None
        return cls(name, keys, known, source=source, key_sorts=key_sorts)

    def where_true(self) -> Table:
        """The relation of the rows whose value is true (this table if all are)."""
        if all(self.rows.values()):
            return self
        kept = [k for k, v in self.rows.items() if v]
        return Table.relation(
            self.name, self.keys, kept, source=self.source, key_sorts=self.key_sorts
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self.rows)} rows)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.name, self.keys, dict(self.rows), self.source, self.key_sorts)


def _rebuild(
    name: str, keys: tuple[str, ...], rows: dict[Any, Any], source: str, sorts: tuple[str, ...]
) -> Table:
    return Table(name, keys, rows, source=source, key_sorts=sorts)


def _columns(rows: Iterable[tuple[Any, ...]], width: int) -> list[list[Any]]:
    listed = list(rows)
    return [[key[i] for key in listed] for i in range(width)]


def _sort_of(name: str, values: Iterable[Any], *, whole: bool = True) -> str:
    """The one sort of all values, empty for none; unless ``whole``, floats count as numbers."""
    sorts = {
        "bool" if isinstance(v, bool) else "int" if isinstance(v, int)
        else ("real" if whole else "int") if isinstance(v, float)
        else "enum" if isinstance(v, str) else "?"
        for v in values
    }  # fmt: skip
    if not sorts:
        return ""
    if sorts == {"int", "real"}:
        return "real"
    if len(sorts) != 1 or "?" in sorts:
        raise RuleBookError(
            f"table {name}: the values must be all numbers, all words or all Booleans"
        )
    return sorts.pop()
