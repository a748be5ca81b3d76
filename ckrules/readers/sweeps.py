"""Files of ranges, of which a tool lists what passes its own checks.

They are JSON: sections with ``{"values": [...]}``, ``{"min", "max", "step"}`` or bare lists as the
tool has them, and scalars beside the sections. Which keys there are, and what they mean, a family
says under ``sweep`` of its readers (`ckrules.kernels.reader_tables.SweepTable`), one table a tool.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

from ckrules.constraints.catalogs.model import CatalogData, Sweep
from ckrules.engine.expr import ENUM, Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.kernels.books import Books
from ckrules.kernels.families import named, reader_tables
from ckrules.kernels.family import Family
from ckrules.kernels.reader_tables import SaidError, SweepTable
from ckrules.readers.json_text import DocumentError, items, path_place, refuse_repeats
from ckrules.readers.source import LocatedText, SourceError, read_file
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, unknown
from ckrules.support.json_values import Path, decoded

Values = TypeVar("Values", list[Any], range)
_RANGE = ("min", "max", "step")
#: Values that one key may name.
_MOST = 4096
#: Combinations of the values of all keys; upstream's largest file has 3 million.
_COMBINATIONS = 100_000_000
#: What a file may say of what its kernels are for; the tool is asked for the rest.
PURPOSES = ("variant", "arch", "dtype", "layout")


@dataclass(frozen=True)
class SweepFile:
    """A file of ranges that has been read.

    Raises:
        UsageError: As `read_sweep`.
    """

    data: CatalogData
    table: SweepTable
    family: Family
    said: Mapping[str, tuple[Value, ...]]
    """The values of `PURPOSES` that the file names, by field."""
    fixed: Mapping[str, Value]
    """Further fields that it says for all of its kernels."""
    where: Mapping[str, Path]
    """The path of the values of each field."""


def is_sweep(name: str) -> bool:
    """Whether a file is JSON with the sections of some family's ranges."""
    if not name.lower().endswith(".json") or not os.path.isfile(name):
        return False
    return table_of(_object(name), name) is not None


def _object(name: str) -> dict[str, Any]:
    try:
        with opening.binary(name) as stream:
            value = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def tables() -> Iterator[tuple[str, SweepTable]]:
    """Every table with its family, in the order in which they are tried."""
    for family, found in reader_tables("sweep").items():
        for table in found:
            yield family, table


def table_of(
    value: Mapping[str, Any], path: str = "", variant: str = ""
) -> tuple[str, SweepTable] | None:
    """The family and table whose files look like the object, those that say so by a key first."""
    found = [(f, t) for f, t in tables() if t.applies(value, path, variant)]
    return min(found, key=lambda item: _unlikely(item[1], path, variant), default=None)


def _unlikely(table: SweepTable, path: str, variant: str) -> tuple[bool, bool]:
    return not table.chosen(path, variant), not table.marks


def read_sweep(name: str, books: Books) -> CatalogData:
    """The ranges of a file as a catalog's data.

    Raises:
        UsageError: With file, line and column, for what the tool could not read either.
    """
    return read_file(name, lambda text: sweep_file(name, text, books).data)


def sweep_file(name: str, text: LocatedText, books: Books, variant: str = "") -> SweepFile:
    """What a text of ranges says; where a variant is asked for, to the tool that makes it.

    Raises:
        SourceError: With line and column, for what the tool could not read either.
    """
    try:
        value = decoded(text.text)
    except (ValueError, RecursionError):
        list(items(text))  # says what is wrong, and where
        raise SourceError("not JSON", 1, 1) from None
    found = table_of(value, name, variant) if isinstance(value, dict) else None
    if found is None:
        raise SourceError("not a file of ranges", 1, 1)
    try:
        refuse_repeats(value, (), below=True)
        return _Making(name, value, found[1], named(found[0]), books).file()
    except DocumentError as fault:
        raise SourceError(str(fault), *path_place(text, fault.path)) from None


def _unread(given: Any) -> list[str]:
    """The keys beside those that values are taken from: ``values`` goes before a range."""
    if not isinstance(given, dict):
        return []
    read = ("values",) if "values" in given else _RANGE
    return [k for k in given if k not in read and k[:1] != "_"]


class _Making:
    def __init__(
        self, name: str, value: Mapping[str, Any], table: SweepTable, family: Family, books: Books
    ) -> None:
        self._name, self._value, self._table, self._family = name, value, table, family
        self._fields = books.of(family.variants[0]).fields
        self._where: dict[str, Path] = {}
        self._used: set[str] = {s for s in table.sections if s}
        self._ignored: list[str] = []

    def file(self) -> SweepFile:
        table, value = self._table, self._value
        axes: dict[str, tuple[Value, ...]] = {}
        for section in table.sections:
            axes |= self._section(section)
        if prod(map(len, axes.values())) > _COMBINATIONS:
            raise DocumentError((), f"more than {_COMBINATIONS:,} combinations")
        fixed: dict[str, Value] = {}
        for key, meant in table.scalars.items():
            if key in value:
                fixed[meant] = self._accepted(meant, value[key], (key,))
                self._used.add(key)
        said, beside = self._said()
        known = {*self._used, *table.labels}
        ignored = [*self._ignored, *(k for k in value if k not in known and k[:1] != "_")]
        told = [f"{table.tool} does not read {', '.join(sorted(ignored))}"] if ignored else []
        data = CatalogData(
            name=os.path.basename(self._name),
            title=f"what {table.tool} lists for {self._name}",
            source=self._name,
            family=self._family.name,
            sweep=Sweep(axes, table.profile, fixed, table.beside, table.derive, table.shape),
            remarks=tuple(told),
        )
        return SweepFile(data, table, self._family, said, beside, self._where)

    def _section(self, section: str) -> dict[str, tuple[Value, ...]]:
        table, keys = self._table, self._table.sections[section]
        given: Any = self._value if not section else self._value.get(section, {})
        if not isinstance(given, dict):
            raise DocumentError((section,), f"{section} is not an object")
        axes: dict[str, tuple[Value, ...]] = {}
        for key, meant in keys.items():
            path: Path = (section, key) if section else (key,)
            if key in given:
                self._where[meant] = path
                self._used |= set() if section else {key}
                found = self._values(given[key], key, path)
                self._ignored += [f"{'.'.join(map(str, path))}.{k}" for k in _unread(given[key])]
                axes[meant] = tuple(self._accepted(meant, v, path) for v in found)
            elif key in table.absent:
                axes[meant] = table.absent[key]
            else:
                what = section or "the object"
                raise DocumentError((section,) if section else (), f"{what} has no {key}")
        if section:
            self._ignored += [f"{section}.{k}" for k in given if k not in (*keys, *table.labels)]
        return axes

    def _said(self) -> tuple[dict[str, tuple[Value, ...]], dict[str, Value]]:
        """What the file says of its kernels' purpose, and their further fields."""
        try:
            found = self._table.said(self._value)
        except SaidError as error:
            raise DocumentError((error.key,), str(error)) from None
        said: dict[str, tuple[Value, ...]] = {}
        fixed: dict[str, Value] = {}
        for name, (key, values) in found.items():
            self._used.add(key)
            self._where[name] = (key,)
            if name == "arch":
                said[name] = tuple(str(v) for v in values)
                continue
            accepted = tuple(self._accepted(name, v, (key,)) for v in values)
            if name in PURPOSES:
                said[name] = accepted
            else:
                fixed[name] = accepted[0]
        return said, fixed

    def _accepted(self, name: str, value: Any, path: Path) -> Value:
        domain: Domain = domain_of(self._fields[name])
        if domain.sort == ENUM and isinstance(value, str):
            value = self._family.canonical(domain.name, value, domain.values)
            if value not in domain.values:
                raise DocumentError(path, str(unknown(domain.name, value, map(str, domain.values))))
        try:
            return domain.accept(value)
        except CkrulesError as error:
            raise DocumentError(path, str(error)) from None

    def _values(self, given: Any, key: str, path: Path) -> list[Any]:
        table = self._table
        if table.plain:
            if not isinstance(given, list):
                raise DocumentError(path, f"{key} is not a list")
            return self._few(given, key, path)
        if isinstance(given, dict) and "values" in given:
            values = given["values"]
            if not isinstance(values, list):
                raise DocumentError((*path, "values"), f"the values of {key} are not a list")
            return self._few(values, key, path)
        needed = set(_RANGE) - ({"step"} if table.step is not None else set())
        if not isinstance(given, dict) or key not in table.ranges or needed - given.keys():
            form = '{"values": [...]}'
            more = ' or {"min", "max", "step"}' if key in table.ranges else ""
            raise DocumentError(path, f"{key} is not of the form {form}{more}")
        bounds: list[Any] = [given.get(k, table.step) for k in _RANGE]
        low, high, step = bounds
        if not all(type(n) is int for n in (low, high, step)) or step < 1:
            raise DocumentError(path, f"{key}: min, max and step are integers, and step at least 1")
        return list(self._few(range(low, high + 1, step), key, path))

    def _few(self, values: Values, key: str, path: Path) -> Values:
        if len(values[: _MOST + 1]) > _MOST:
            raise DocumentError(path, f"{key} has more than {_MOST:,} values")
        return values
