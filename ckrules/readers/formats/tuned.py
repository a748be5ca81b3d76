"""Tables of measured kernels in CSV: a row a problem, with the names of the best kernels.

Which columns hold names, and whose, a family says under ``tuned`` of its readers
(`ckrules.kernels.reader_tables.TunedTable`). Rows are checked whosever kernels they name
(`ckrules.readers.tuned_rows`); kernels of other libraries are counted (`ckrules.readers.census`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ckrules.kernels.config import Config, ConfigError, config_from_parsed, read_exactly
from ckrules.kernels.families import reader_tables
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import ParsedName, beginnings
from ckrules.kernels.reader_tables import OtherLibrary, TunedTable
from ckrules.readers.entries import (
    Context,
    Entry,
    NamedEntry,
    Place,
    Remark,
    UnreadableText,
    entry_from_name,
    taken_remarks,
)
from ckrules.readers.source import Head, SourceFile
from ckrules.readers.table_rows import TableRow, header_words, table_rows
from ckrules.readers.tuned_rows import RowChecks, sold_with
from ckrules.support.errors import CkrulesError

SUFFIXES: tuple[str, ...] = ()
ORDER = 2
COMMENT = ""
QUOTED, COMMENT_ALONE = False, False
Item = Entry | UnreadableText | Remark


class _Known(NamedTuple):
    """A name's configuration, what was taken for the rest, and whether the row's type fits.

    ``listed`` are the fields that lists, as names do, say otherwise than the table.
    """

    config: Config
    taken: Mapping[str, Any]
    listed: Mapping[str, Any]
    fits: bool = True


def sniff(head: Head) -> bool:
    """Whether the first line is a header with a column of names."""
    return bool(head) and _table(header_words(head[0])) is not None


def _table(header: Collection[str]) -> TunedTable | None:
    tables: list[TunedTable] = list(reader_tables("tuned").values())
    return next((t for t in tables if t.has(header)), None)


def read(source: SourceFile, context: Context) -> Iterator[Item]:
    """What is odd about each row below the header, and every kernel that it names."""
    found: _Rows | None = None
    for row in table_rows(source):
        if isinstance(row, UnreadableText):
            yield row
        elif found is None:
            table = _table(row.cells)
            if table is None:
                place = Place(source.name, row.number, 1)
                yield UnreadableText(place, "no header with a GPU and the names of kernels")
                return
            found = _Rows(table, source.name, context)
        else:
            yield from found.of(row)


class _Rows:
    def __init__(self, table: TunedTable, source: str, context: Context) -> None:
        self._table, self._source, self._context = table, source, context
        self._gpus = {g.name: g for g in context.books.gpus}
        self._checks = RowChecks(table, source, context.census, self._gpus)
        self._known: dict[tuple[str, str, str], _Known | None] = {}
        self._archs: dict[tuple[str, str], str] = {}
        self._libraries: dict[tuple[str, str], OtherLibrary] = {}

    def of(self, row: TableRow) -> Iterator[Item]:
        """What is odd about the row, then its kernels."""
        table, context = self._table, self._context
        context.census.add_row(self._source)
        gpu = self._arch(row)
        yield from self._checks.of(row, gpu)
        names: dict[str, str] = {}
        for column in table.columns:
            names.setdefault(row.word(column), column)
        names.pop("", None)
        for word, column in names.items():
            if table.mark in word and word.startswith(beginnings()):
                yield from self._kernel(row, word, column, gpu)
            else:
                library = self._library(word, row.word(table.library).lower())
                context.census.add_other(library, self._source)

    def _arch(self, row: TableRow) -> str:
        """The GPU that a row says, or that alone has its number of compute units."""
        said = row.word(self._table.gpu), row.word(self._table.units)
        if said not in self._archs:
            name, units = said
            if name.startswith("gfx"):
                self._archs[said] = self._plain(name)
            else:
                self._archs[said] = self._context.arch or self._by_units(units)
        return self._archs[said]

    def _plain(self, name: str) -> str:
        try:
            return self._context.books.plain_arch(name)
        except CkrulesError:
            return name

    def _by_units(self, units: str) -> str:
        found = [g.name for g in self._gpus.values() if units.isdigit() and g.isa == "gfx9"
                 and sold_with(g, int(units))]  # fmt: skip
        return found[0] if len(found) == 1 else ""

    def _kernel(self, row: TableRow, word: str, column: str, gpu: str) -> Iterator[Item]:
        dtype = self._dtype(row)
        key = word, gpu, dtype
        if key not in self._known:
            self._known[key] = self._read(word, gpu, dtype)
        known, start = self._known[key], row.cells[column].start
        place = Place(row.source, row.number, start + 1)
        plain = row.text.startswith(word, start)
        if known is None:
            yield self._faulty(row, word, gpu, place, plain)
            return
        config, taken, listed, fits = known
        if not fits:
            said = f"the row is of {dtype}, and the kernel multiplies {config.point['dtype']}"
            yield Remark(row.at(column) or place, "ROW009", said)
        self._context.census.used({**config.point, **listed}, word, place)
        first = self._context.census.first_told(config.variant, *taken)
        remarks = taken_remarks(taken, place) if first else ()
        sizes = self._problem(row)
        launched = self._table.launched(config.point, sizes)
        yield NamedEntry(word, config, place, plain, remarks, sizes, launched)

    def _faulty(
        self, row: TableRow, word: str, gpu: str, place: Place, plain: bool
    ) -> Entry | UnreadableText:
        if gpu in self._gpus:
            return entry_from_name(word, replace(self._context, arch=gpu), place, spread=plain)
        at = row.at(self._table.gpu) or row.place
        try:
            self._context.books.plain_arch(gpu or "none")
        except CkrulesError as error:
            text = str(error) if gpu else f"no {self._table.gpu}: name a GPU with --arch"
            return UnreadableText(Place(at.source, at.line, at.column), text)
        raise AssertionError(gpu)  # a known GPU, which the rows name as the books do

    def _dtype(self, row: TableRow) -> str:
        """The word of the field ``dtype`` that the columns say; empty where they do not."""
        if not any(c in row.cells for c in self._table.operands):
            return ""
        a, b = self._checks.types(row)
        return a if a == b else self._table.mixed.get((a, b), "")

    def _read(self, word: str, gpu: str, dtype: str) -> _Known | None:
        """The configuration of a name with the types of its row, if it is one."""
        try:
            parsed, exact = read_exactly(word)
            form = self._table.form(parsed.point, Path(self._source).name)
            listed = {name: parsed.point[name] for name in form}
            parsed = replace(parsed, point={**parsed.point, **form}) if form else parsed
            name = word if exact else None

            def configuration(found: ParsedName) -> Config:
                return config_from_parsed(found, self._context.books, arch=gpu or None, name=name)

            plain = configuration(parsed)
        except (KernelNameError, ConfigError):
            return None
        if not dtype or dtype == plain.point["dtype"]:
            rest = {k: v for k, v in parsed.taken.items() if k != "dtype" or not dtype}
            return _Known(plain, rest, listed)
        if "dtype" not in parsed.taken:
            return _Known(plain, parsed.taken, listed, fits=False)
        rest = {k: v for k, v in parsed.taken.items() if k != "dtype"}
        try:
            point = {**parsed.point, "dtype": dtype}
            return _Known(configuration(replace(parsed, point=point, taken=rest)), rest, listed)
        except ConfigError:
            return _Known(plain, rest, listed, fits=False)

    def _problem(self, row: TableRow) -> Mapping[str, int]:
        """M, N and K of the row, and the parts that K is split into; empty where one is missing.

        Rows of experts count tokens and say the sizes of a layer: the GEMMs of its two stages have
        others.
        """
        table = self._table
        words = {c: row.word(c) for c in table.product if row.word(c).isdecimal()}
        sizes = {c: int(word) for c, word in words.items() if len(word) < 16}
        if len(sizes) < len(table.product):
            return {}
        split = row.word(table.split)
        return {**sizes, "k_batch": 1 << int(split) if split.isdecimal() and len(split) < 3 else 1}

    def _library(self, word: str, said: str) -> OtherLibrary:
        """The other library that a name is of: as its column says, else by the name."""
        key = word, said
        if key not in self._libraries:
            others = self._table.others
            named = [o for o in others if said and said in o.words]
            called = (o for o in named or others if o.names and re.match(o.names, word))
            self._libraries[key] = next(called, named[0] if named else others[-1])
        return self._libraries[key]
