"""Tables of measured kernels in CSV: a row a problem, with the names of the best kernels.

Which columns hold names, and whose, a family says under ``tuned`` of its readers
(`ckrules.kernels.reader_tables.TunedTable`). Names of other libraries are skipped; how many
there are is said once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ckrules.kernels.families import reader_tables
from ckrules.kernels.names import beginnings
from ckrules.kernels.reader_tables import TunedTable
from ckrules.readers.entries import Context, Entry, Place, Remark, UnreadableText, entry_from_name
from ckrules.readers.source import Head, SourceFile
from ckrules.readers.table_rows import TableRow, header_words, table_rows
from ckrules.support.errors import CkrulesError
from ckrules.support.tables import count

SUFFIXES: tuple[str, ...] = ()
ORDER = 2
COMMENT = ""


def sniff(head: Head) -> bool:
    """Whether the first line is a header with a column of names."""
    return bool(head) and _table(header_words(head[0])) is not None


def _table(header: Collection[str]) -> TunedTable | None:
    tables: list[TunedTable] = list(reader_tables("tuned").values())
    return next(
        (t for t in tables if t.gpu in header and any(c in header for c in t.columns)), None
    )


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every named kernel of the rows below the header."""
    table: TunedTable | None = None
    others = tags = 0
    for row in table_rows(source):
        if isinstance(row, UnreadableText):
            yield row
        elif table is None:
            table = _table(row.cells)
            if table is None:
                place = Place(source.name, row.number, 1)
                yield UnreadableText(place, "no header with a GPU and the names of kernels")
                return
        else:
            columns: dict[str, str] = {}
            for column in table.columns:
                columns.setdefault(row.word(column), column)
            columns.pop("", None)
            for word, column in columns.items():
                if table.mark not in word:
                    others += 1
                elif not word.startswith(beginnings()):
                    tags += 1
                else:
                    yield _entry(row, column, context, table)
    first = Place(source.name, 1, 1)
    if others:
        text = f"{count(others, 'name')} of other libraries skipped"
        yield Remark(first, "CFG006", text)
    if tags:
        yield Remark(first, "CFG006", f"{count(tags, 'name')} of which no configuration is known")


def _entry(
    row: TableRow, column: str, context: Context, table: TunedTable
) -> Entry | UnreadableText:
    word, gpu, start = row.word(column), row.word(table.gpu), row.cells[column].start
    place = Place(row.source, row.number, start + 1)
    try:
        arch = context.books.plain_arch(gpu) if gpu else context.arch
    except CkrulesError as error:
        return UnreadableText(
            Place(row.source, row.number, row.cells[table.gpu].start + 1), str(error)
        )
    plain = row.text.startswith(word, start)
    return entry_from_name(word, replace(context, arch=arch), place, spread=plain)
