"""CSV with a header of field names; an empty cell leaves the field out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.source import Head, SourceFile
from ckrules.readers.table_rows import TableRow, header_words, table_rows
from ckrules.support import tables
from ckrules.support.errors import UsageError

SUFFIXES = (".csv", ".tsv")
ORDER = 8
COMMENT = ""
QUOTED, COMMENT_ALONE = False, False


def sniff(head: Head) -> bool:
    """Whether the first line is a list of words with ``variant`` or ``name`` among them."""
    if not head:
        return False
    words = header_words(head[0])
    known = "variant" in words or "name" in words
    return len(words) > 1 and known and all(w.isidentifier() for w in words)


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every line below the header."""
    below = False
    for row in table_rows(source):
        if isinstance(row, UnreadableText):
            yield row
        elif below:
            yield _entry(row, context)
        else:
            below = True


def _entry(row: TableRow, context: Context) -> Entry | UnreadableText:
    given: dict[str, Any] = {k: cell.word for k, cell in row.cells.items() if cell.word != ""}
    try:
        given = _typed(given, context)
    except UsageError as error:
        return UnreadableText(row.at(str(error).split(" ", 1)[0]) or row.place, str(error))

    def locate(field: str, at_key: bool) -> Place | None:
        return row.at(field)

    def rewrite(field: str, value: Value) -> Edit | None:
        place = row.at(field)
        return Edit(place, tables.word(value)) if place is not None else None

    edits = None if "name" in given else rewrite
    return entry_from_mapping(given, context, row.place, locate, edits)


def _variant_of(name: str) -> str:
    """What a kernel's name says; nothing where it is none, which is reported elsewhere."""
    from ckrules.kernels.config import read_name
    from ckrules.kernels.name_grammar import KernelNameError

    try:
        return str(read_name(name[:2000]).point["variant"])
    except KernelNameError:
        return ""


def _typed(given: Mapping[str, str], context: Context) -> dict[str, Any]:
    """The cells as values of their fields; what is not a field is left for the report."""
    from ckrules.kernels.selection import read_value

    variant = given.get("variant") or _variant_of(given.get("name", ""))
    domains = {}
    if variant in context.books.variants:
        domains = context.books.schema(variant).domains
    out: dict[str, Any] = {}
    for key, word in given.items():
        domain = domains.get(key)
        if domain is None or domain.sort == ENUM:
            out[key] = word
        elif domain.sort == BOOL or word.lstrip("-").isdigit():
            out[key] = read_value(domain, word)
        else:
            out[key] = word  # the report says that it is not a number
    return out
