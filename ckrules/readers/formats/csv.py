"""CSV with a header of field names; an empty cell leaves the field out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Problem,
    Remark,
    entry_from_mapping,
)
from ckrules.readers.source import Head, Line, Source
from ckrules.support.errors import UsageError

SUFFIXES = (".csv", ".tsv")
ORDER = 8
COMMENT = ""
#: Blanks, then text in quotes or without any. No quantifier gives back what it took.
_CELL = r'[^\S{0}]*+(?:"(?:[^"]++|"")*+"[^\S{0}]*+|[^"{0}]*+)(?:{0}|\Z)'
_CELLS = {sign: re.compile(_CELL.format(sign)) for sign in (",", "\t", ";")}


def sniff(head: Head) -> bool:
    """Whether the first line is a list of words with ``variant`` or ``name`` among them."""
    if not head:
        return False
    words = [w.strip().strip('"') for w in head[0].split(sign_of(head[0]))]
    return len(words) > 1 and ("variant" in words or "name" in words) and all(
        w.isidentifier() for w in words
    )  # fmt: skip


def sign_of(line: str) -> str:
    """What stands between the cells of a header."""
    return max(_CELLS, key=line.count)


def cells_of(text: str, sign: str) -> list[tuple[str, tuple[int, int]]]:
    """The words of the cells of a line, with their columns from 0."""
    return [(_word(text, span), span) for span in _spans(text, sign)]


def read(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every line below the header."""
    header: list[str] = []
    sign = ","
    for line in source.lines():
        place = Place(source.name, line.number, line.column)
        if line.fault:
            yield Problem(place, line.fault)
        elif not line.text.strip():
            continue
        elif not header:
            sign = sign_of(line.text)
            spans = _spans(line.text, sign)
            header = [_word(line.text, s) for s in spans]
            seen: set[str] = set()
            for at, word in enumerate(header):
                if word and word in seen:
                    yield Problem(_place(source.name, line, spans[at]), f"column {word!r} twice")
                    return
                seen.add(word)
        else:
            yield _row(line, header, sign, source.name, context)


def _spans(text: str, sign: str) -> list[tuple[int, int]]:
    """Columns of the cells, without the blanks around them."""
    spans, pos = [], 0
    while True:
        match = _CELLS[sign].match(text, pos)
        end = match.end() if match else len(text)
        raw = text[pos:end]
        body = raw.removesuffix(sign) if match and end > pos else raw
        start = pos + len(body) - len(body.lstrip())
        spans.append((start, max(start, pos + len(body.rstrip()))))
        if not raw.endswith(sign) or end == pos:
            return spans
        pos = end


def _word(text: str, span: tuple[int, int]) -> str:
    raw = text[slice(*span)]
    if not raw.startswith('"'):
        return raw
    import csv

    try:
        return next(iter(next(csv.reader([raw]), [""])), "")
    except csv.Error:  # longer than that module takes: no value is
        return raw


def _place(source: str, line: Line, span: tuple[int, int]) -> Place:
    return Place(source, line.number, span[0] + 1, line.number, span[1] + 1)


def _row(
    line: Line, header: list[str], sign: str, source: str, context: Context
) -> Entry | Problem:
    spans = _spans(line.text, sign)
    whole = Place(source, line.number, 1, line.number, len(line.text) + 1)
    if len(spans) != len(header):
        return Problem(whole, f"{len(spans)} cells below a header of {len(header)}")
    cells = {k: (_word(line.text, s), s) for k, s in zip(header, spans, strict=True) if k}
    given: dict[str, Any] = {k: w for k, (w, _) in cells.items() if w != ""}
    try:
        given = _typed(given, context)
    except UsageError as error:
        key = str(error).split(" ", 1)[0]
        return Problem(_place(source, line, cells[key][1]) if key in cells else whole, str(error))

    def locate(field: str, at_key: bool) -> Place | None:
        return _place(source, line, cells[field][1]) if field in cells else None

    def rewrite(field: str, value: Value) -> Edit | None:
        place = locate(field, False)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return Edit(place, text) if place is not None else None

    return entry_from_mapping(given, context, whole, locate, None if "name" in given else rewrite)


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
