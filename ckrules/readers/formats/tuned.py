"""Tables of measured kernels in CSV: a row a problem, with the names of the best kernels.

Which columns hold names, and whose, a family says under ``tuned`` of its readers
(`ckrules.kernels.reader_tables.TunedTable`). Names of other libraries are skipped; how many
there are is said once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ckrules.kernels.families import reader_tables
from ckrules.kernels.names import beginnings
from ckrules.kernels.reader_tables import TunedTable
from ckrules.readers.entries import Context, Entry, Place, Problem, Remark, entry_from_name
from ckrules.readers.formats.csv import cells_of, sign_of
from ckrules.readers.source import Head, Line, Source
from ckrules.support.errors import CkrulesError
from ckrules.support.tables import count

SUFFIXES: tuple[str, ...] = ()
ORDER = 2
COMMENT = ""


def sniff(head: Head) -> bool:
    """Whether the first line is a header with a column of names."""
    return bool(head) and _table(_words(head[0])) is not None


def _words(line: str) -> list[str]:
    return [word.strip().strip('"') for word in line.split(sign_of(line))]


def _table(header: Sequence[str]) -> TunedTable | None:
    tables: list[TunedTable] = list(reader_tables("tuned").values())
    return next(
        (t for t in tables if t.gpu in header and any(c in header for c in t.columns)), None
    )


def read(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every named kernel of the rows below the header."""
    header: list[str] = []
    table: TunedTable | None = None
    sign, others, tags = ",", 0, 0
    for line in source.lines():
        place = Place(source.name, line.number, line.column)
        if line.fault:
            yield Problem(place, line.fault)
        elif not line.text.strip():
            continue
        elif not header:
            sign = sign_of(line.text)
            header = [word for word, _ in cells_of(line.text, sign)]
            table = _table(header)
            if table is None:
                yield Problem(place, "no header with a GPU and the names of kernels")
                return
        elif table is not None:
            for item in _row(line, header, sign, source.name, context, table):
                if item is None:
                    others += 1
                elif isinstance(item, str):
                    tags += 1
                else:
                    yield item
    first = Place(source.name, 1, 1)
    if others:
        said = f"{count(others, 'name')} of other libraries skipped"
        yield Remark(first, "CFG006", said)
    if tags:
        yield Remark(first, "CFG006", f"{count(tags, 'name')} of which no configuration is known")


def _row(
    line: Line, header: Sequence[str], sign: str, source: str, context: Context, table: TunedTable
) -> Iterator[Entry | Problem | str | None]:
    """The kernels of one row; None for a name of another library, a word for one of ours that
    says no configuration.
    """
    cells = cells_of(line.text, sign)
    if len(cells) != len(header):
        yield Problem(
            Place(source, line.number, 1, line.number, len(line.text) + 1),
            f"{len(cells)} cells below a header of {len(header)}",
        )
        return
    found = dict(zip(header, cells, strict=True))
    seen: set[str] = set()
    for column in table.columns:
        word, (start, _) = found.get(column, ("", (0, 0)))
        if not word or word in seen:
            continue
        seen.add(word)
        if table.mark not in word:
            yield None
        elif not word.startswith(beginnings()):
            yield word
        else:
            gpu, span = found[table.gpu]
            try:
                own = replace(context, arch=context.books.plain_arch(gpu) if gpu else context.arch)
            except CkrulesError as error:
                yield Problem(Place(source, line.number, span[0] + 1), str(error))
                continue
            plain = line.text.startswith(word, start)
            place = Place(source, line.number, start + 1)
            yield entry_from_name(word, own, place, spread=plain)
