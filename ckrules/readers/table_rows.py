"""Rows of CSV text below a header, each cell with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ckrules.readers.entries import Place, UnreadableText
from ckrules.readers.source import SourceFile

#: Blanks, then text in quotes or without any. No quantifier gives back what it took.
_CELL = r'[^\S{0}]*+(?:"(?:[^"]++|"")*+"[^\S{0}]*+|[^"{0}]*+)(?:{0}|\Z)'
_CELLS = {sign: re.compile(_CELL.format(sign)) for sign in (",", "\t", ";")}


@dataclass(frozen=True, slots=True)
class CsvCell:
    """The word of a cell, and its columns in the line from 0."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table.

    Args:
        source: The name of the file.
        number: The line's number.
        cells: The cells by column; those of a column without a name are left out.
    """

    source: str
    number: int
    text: str
    cells: dict[str, CsvCell]

    @property
    def place(self) -> Place:
        """The whole line."""
        return Place(self.source, self.number, 1, self.number, len(self.text) + 1)

    def word(self, column: str) -> str:
        """The word in a column; empty where there is none such."""
        cell = self.cells.get(column)
        return "" if cell is None else cell.word

    def at(self, column: str) -> Place | None:
        """The place of a cell; None where there is no such column."""
        cell = self.cells.get(column)
        if cell is None:
            return None
        return Place(self.source, self.number, cell.start + 1, self.number, cell.end + 1)


def table_rows(source: SourceFile) -> Iterator[TableRow | UnreadableText]:
    """The header as a row, then each row below it, and a problem for each faulty line.

    A column that is there twice ends the table.
    """
    columns: list[str] | None = None
    delimiter = ","
    for line in source.lines():
        if line.fault:
            yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
            continue
        if not line.text.strip():
            continue
        delimiter = delimiter if columns is not None else delimiter_of(line.text)
        cells = _cells(line.text, delimiter)
        if columns is None:
            columns = [cell.word for cell in cells]
            header = TableRow(source.name, line.number, line.text, {})
            for cell in cells:
                if cell.word in header.cells:
                    header.cells[cell.word] = cell
                    yield UnreadableText(header.at(cell.word) or header.place,
                                  f"column {cell.word!r} twice")  # fmt: skip
                    return
                if cell.word:
                    header.cells[cell.word] = cell
            yield header
            continue
        row = TableRow(source.name, line.number, line.text, {})
        if len(cells) != len(columns):
            text = f"{len(cells)} cells below a header of {len(columns)}"
            yield UnreadableText(row.place, text)
            continue
        row.cells.update((c, cell) for c, cell in zip(columns, cells, strict=True) if c)
        yield row


def delimiter_of(line: str) -> str:
    """What stands between the cells of a header.

    >>> delimiter_of("variant;arch;tile_m")
    ';'
    """
    return max(_CELLS, key=line.count)


def header_words(line: str) -> list[str]:
    """The words of a header.

    >>> header_words('"name", arch')
    ['name', 'arch']
    """
    return [word.strip().strip('"') for word in line.split(delimiter_of(line))]


def _cells(text: str, delimiter: str) -> list[CsvCell]:
    return _quoted(text, delimiter) if '"' in text else _plain(text, delimiter)


def _plain(text: str, delimiter: str) -> list[CsvCell]:
    """The cells of a line without quotes, as most are: three times as fast."""
    cells, pos = [], 0
    for raw in text.split(delimiter):
        word = raw.strip()
        start = pos if len(word) == len(raw) else pos + len(raw) - len(raw.lstrip())
        cells.append(CsvCell(word, start, start + len(word)))
        pos += len(raw) + 1
    return cells


def _quoted(text: str, delimiter: str) -> list[CsvCell]:
    cells, pos = [], 0
    while True:
        match = _CELLS[delimiter].match(text, pos)
        end = match.end() if match else len(text)
        raw = text[pos:end]
        body = raw.removesuffix(delimiter) if match and end > pos else raw
        start = pos + len(body) - len(body.lstrip())
        stop = max(start, pos + len(body.rstrip()))
        cells.append(CsvCell(_word(text[start:stop]), start, stop))
        if not raw.endswith(delimiter) or end == pos:
            return cells
        pos = end


def _word(raw: str) -> str:
    if not raw.startswith('"'):
        return raw
    import csv

    try:
        return next(iter(next(csv.reader([raw]), [""])), "")
    except csv.Error:  # longer than that module takes: no value is
        return raw
