"""Files of ranges, of which a tool lists what passes its own checks.

They are JSON: sections with ``{"values": [...]}``, or ``{"min", "max", "step"}`` where the family
says so, and scalars beside the sections. Which keys there are, and what they mean, a family says
under ``sweep`` of its readers (`ckrules.kernels.reader_tables.SweepTable`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ckrules.constraints.catalogs.model import CatalogData, Sweep
from ckrules.engine.expr import ENUM, Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.kernels.books import Books
from ckrules.kernels.families import named, reader_tables
from ckrules.kernels.reader_tables import SweepTable
from ckrules.readers.json_places import Path, places
from ckrules.readers.json_text import items
from ckrules.readers.source import Source, SourceError, Text
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError, unknown

_RANGE = ("min", "max", "step")
#: Values that one key may name.
_MOST = 4096


class _FaultError(UsageError):
    """What is wrong with the value at a path."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def is_sweep(name: str) -> bool:
    """Whether a file is JSON with the sections of some family's ranges."""
    if not name.lower().endswith(".json") or not os.path.isfile(name):
        return False
    return _table(_object(name)) is not None


def _object(name: str) -> dict[str, Any]:
    try:
        with opening.binary(name) as stream:
            value = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _table(value: Mapping[str, Any]) -> tuple[str, SweepTable] | None:
    for family, table in reader_tables("sweep").items():
        if all(section in value for section in table.sections):
            return family, table
    return None


def read_sweep(name: str, books: Books) -> CatalogData:
    """The ranges of a file as a catalog's data.

    Raises:
        UsageError: With file, line and column, for what the tool could not read either.
    """
    try:
        with opening.binary(name) as stream:
            return _read(name, Source(name, stream).text(), books)
    except SourceError as error:
        shown = [str(n) for n in (error.line, error.column) if n]
        raise UsageError(f"{':'.join([name, *shown])}: {error.message}") from None


def _read(name: str, text: Text, books: Books) -> CatalogData:
    try:
        value = json.loads(text.text)
    except (ValueError, RecursionError):
        list(items(text))  # says what is wrong, and where
        raise SourceError("not JSON", 1, 1) from None
    found = _table(value)
    if found is None:
        raise SourceError("not a file of ranges", 1, 1)
    family, table = found
    try:
        return _made(name, value, family, table, books)
    except _FaultError as fault:
        known, at = places(text.text), fault.path
        while at not in known:
            at = at[:-1]
        line, column = text.place(min(known[at], len(text.text)))[:2]
        raise SourceError(str(fault), line, column) from None


def _made(
    name: str, value: Mapping[str, Any], family: str, table: SweepTable, books: Books
) -> CatalogData:
    chosen = named(family)
    fields = books.of(chosen.variants[0]).fields
    axes: dict[str, tuple[Value, ...]] = {}
    ignored: list[str] = []
    for section, keys in table.sections.items():
        given = value[section]
        if not isinstance(given, dict):
            raise _FaultError((section,), f"{section} is not an object")
        for key, meant in keys.items():
            path: Path = (section, key)
            if key not in given:
                raise _FaultError((section,), f"{section} has no {key}")
            domain = domain_of(fields[meant])
            axes[meant] = tuple(
                _accepted(chosen, domain, v, path) for v in _values(given[key], key, table, path)
            )
        ignored += [f"{section}.{key}" for key in given if key not in keys]
    fixed: dict[str, Value] = {}
    for key, meant in table.scalars.items():
        if key in value:
            fixed[meant] = _accepted(chosen, domain_of(fields[meant]), value[key], (key,))
    ignored += [k for k in value if k not in table.sections and k not in table.scalars]
    told = [f"{table.tool} does not read {', '.join(sorted(ignored))}"] if ignored else []
    return CatalogData(
        name=os.path.basename(name),
        title=f"what {table.tool} lists for {name}",
        source=name,
        family=family,
        sweep=Sweep(axes, table.profile, fixed, table.beside, table.derive),
        remarks=tuple(told),
    )


def _accepted(family: Any, domain: Domain, value: Any, path: Path) -> Value:
    if domain.sort == ENUM and isinstance(value, str):
        value = family.canonical(domain.name, value, domain.values)
        if value not in domain.values:
            raise _FaultError(path, str(unknown(domain.name, value, map(str, domain.values))))
    try:
        return domain.accept(value)
    except CkrulesError as error:
        raise _FaultError(path, str(error)) from None


def _values(given: Any, key: str, table: SweepTable, path: Path) -> list[Any]:
    """The values of one key, in the file's order."""
    if isinstance(given, dict) and "values" in given:
        values = given["values"]
        if not isinstance(values, list):
            raise _FaultError((*path, "values"), f"the values of {key} are no list")
        return values
    if not isinstance(given, dict) or key not in table.ranges or set(_RANGE) - given.keys():
        form = '{"values": [...]}'
        more = ' or {"min", "max", "step"}' if key in table.ranges else ""
        raise _FaultError(path, f"{key} is not of the form {form}{more}")
    low, high, step = (given[k] for k in _RANGE)
    if not all(type(n) is int for n in (low, high, step)) or step < 1:
        raise _FaultError(path, f"{key}: min, max and step are integers, and step at least 1")
    if (high - low) // step >= _MOST:
        raise _FaultError(path, f"{key} has more than {_MOST:,} values")
    return list(range(low, high + 1, step))
