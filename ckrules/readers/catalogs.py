"""Catalogs by name or file: the package's, a file of tables, or any file of configurations."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.constraints import catalogs
from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.constraints.catalogs.model import CatalogData, CatalogRows
from ckrules.kernels.families import family_of
from ckrules.readers.entries import Context, Remark, UnreadableText
from ckrules.readers.inputs import InputReading
from ckrules.readers.sweeps import is_sweep, read_sweep
from ckrules.support import opening
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.kernels.books import Books

Point = Mapping[str, Any]


def load_catalog(name: str, books: Books, archs: Sequence[str] | None = None) -> Catalog:
    """The catalog of this name, or the one that a file makes.

    A file of configurations (`ckrules.readers.formats`) is the catalog of its kernels, each listed
    once, of the CK version that they say; one of ranges (`ckrules.readers.sweeps`) of what its tool
    lists. ``data.remarks`` of the catalog says what else the file holds.

    Args:
        name: One of `ckrules.constraints.catalogs.names`, or the path of a file.
        archs: The GPUs of configurations that name none, in any spelling.

    Raises:
        UnknownNameError: For what is neither, with near matches.
        UsageError: With file, line and column, for what cannot be read, or names no GPU.
    """
    if name in catalogs.names() or _has_tables(name):
        asked = None if archs is None else [books.plain_arch(a) for a in archs]
        return catalogs.load(name, ck=books.ck, gpus=books.gpus, archs=asked)
    if is_sweep(name):
        return Catalog(read_sweep(name, books), ck=books.ck, gpus=books.gpus)
    if not os.path.lexists(name):
        if os.sep in name or os.path.splitext(name)[1]:
            raise UsageError(f"{name}: no such file")
        raise unknown("catalog", name, catalogs.names())
    read = _File(name, books, list(dict.fromkeys(map(books.plain_arch, archs or ()))))
    return Catalog(read.data(), ck=read.ck or books.ck, gpus=books.gpus)


def _has_tables(name: str) -> bool:
    """Whether a file is a catalog's own TOML, and not configurations in TOML."""
    if not name.lower().endswith(".toml") or not os.path.isfile(name):
        return False
    try:
        with opening.binary(name) as stream:
            data = tomllib.loads(stream.read().decode("utf-8-sig"))
            return "kernels" not in data or "catalog" in data
    except (OSError, ValueError, RecursionError):
        return True  # whose reader says what is wrong


_LEAVE_OUT = ("CFG005", "CFG006")
"""Codes of remarks in whose place the file has an entry that is not read."""


class _File:
    """The kernels of a file, once for each GPU that is asked about."""

    def __init__(self, name: str, books: Books, archs: Sequence[str]) -> None:
        self.name, self._books = name, books
        self.points: dict[tuple[Any, ...], Point] = {}
        self._versions: set[str] = set()
        for arch in archs:
            self._read(arch)
        if not archs:
            self._read(None)
        if not self.points:
            raise UsageError(f"{name}: empty: there is no configuration in it")

    def _read(self, arch: str | None) -> None:
        faults: list[UnreadableText] = []
        found: dict[tuple[Any, ...], Point] = {}
        self._left_out: Counter[str] = Counter()
        self._repeated = 0
        for item in InputReading(self.name, Context(self._books, arch)):
            if isinstance(item, UnreadableText):
                faults.append(item)
            elif isinstance(item, Remark):
                self._left_out[item.code] += item.code in _LEAVE_OUT
            else:
                point = item.config.point
                self._versions.add(item.config.ck)
                self._repeated += tuple(point.values()) in found
                found[tuple(point.values())] = point
        if faults:
            raise _fault(faults)
        self.points |= found

    @property
    def ck(self) -> str:
        """The CK version that the rows say; empty where none says one."""
        said = sorted(self._versions - {""})
        if len(said) > 1:
            raise UsageError(f"{self.name}: rows for CK {' and '.join(said)}, expected one version")
        return "".join(said)

    def data(self) -> CatalogData:
        by_family: dict[str, list[Point]] = {}
        for point in self.points.values():
            by_family.setdefault(family_of(str(point["variant"])).name, []).append(point)
        own = next(iter(by_family), family_of(None).name)
        return CatalogData(
            name=os.path.basename(self.name),
            title=f"the kernels of {self.name}",
            source=self.name,
            family=own,
            rows=tuple(
                CatalogRows(family, tuple(rows), {}, {}, (), guests=family != own)
                for family, rows in by_family.items()
            ),
            remarks=tuple(self._remarks()),
        )

    def _remarks(self) -> Iterable[str]:
        if self._repeated:
            yield f"{count(self._repeated, 'entry')} repeated"
        for code, number in sorted((+self._left_out).items()):
            yield f"{count(number, 'entry')} left out ({code})"


def _fault(faults: Sequence[UnreadableText]) -> UsageError:
    place, message = faults[0].lines()[0]
    more = f" ({len(faults) - 1:,} more cannot be read)" if len(faults) > 1 else ""
    return UsageError(f"{place}: {message}{more}")
