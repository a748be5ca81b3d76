"""Which problems tuned tables have a row for, on each product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckrules.kernels.families import reader_tables
from ckrules.kernels.reader_tables import TunedTable
from ckrules.readers.entries import UnreadableText
from ckrules.readers.source import SourceFile
from ckrules.readers.table_rows import table_rows
from ckrules.support import opening
from ckrules.support.errors import UsageError

Sizes = tuple[int, int, int]


@dataclass(slots=True)
class TableRows:
    """The sizes that the tables of one product have rows for.

    Args:
        gpu: The GPU, as the rows say it.
        units: The number of compute units, as they say it.
        table: What the columns mean, and how sizes are looked up.
    """

    gpu: str
    units: str
    table: TunedTable
    sizes: set[Sizes] = field(default_factory=set)

    def serving(self, problem: Mapping[str, int]) -> Sizes | None:
        """The sizes of the row that serves a problem, None where there is none."""
        return next((s for s in self.table.looked_up(problem) if s in self.sizes), None)


def read_rows(paths: Iterable[str]) -> list[TableRows]:
    """The rows of tuned tables by product; rows without whole sizes are left out.

    Raises:
        UsageError: For a file that cannot be read or is not a tuned table.
    """
    found: dict[tuple[str, str], TableRows] = {}
    for path in paths:
        for table, gpu, units, sizes in _rows(path):
            key = gpu, units
            found.setdefault(key, TableRows(gpu, units, table)).sizes.add(sizes)
    return [found[key] for key in sorted(found)]


def _rows(path: str) -> Iterable[tuple[TunedTable, str, str, Sizes]]:
    tables: list[TunedTable] = list(reader_tables("tuned").values())
    table: TunedTable | None = None
    try:
        with opening.binary(path) as stream:
            for row in table_rows(SourceFile(Path(path).as_posix(), stream)):
                if isinstance(row, UnreadableText):
                    place, message = row.lines()[0]
                    raise UsageError(f"{place}: {message}")
                if table is None:
                    table = next((t for t in tables if t.has(row.cells)), None)
                    if table is None or not all(c in row.cells for c in table.product):
                        raise UsageError(f"{path}: not a tuned table of matrix products")
                    continue
                words = [row.word(c).removesuffix(".0") for c in table.product]
                if all(w.isascii() and w.isdigit() and len(w) < 16 for w in words):
                    m, n, k = map(int, words)
                    yield table, row.word(table.gpu), row.word(table.units), (m, n, k)
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if table is None:
        raise UsageError(f"{path}: not a tuned table of matrix products")
