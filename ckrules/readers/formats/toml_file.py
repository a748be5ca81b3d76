"""TOML: fields at the top, or tables named ``kernels`` or ``instances``; the rest holds for all.

Values are decoded by the standard library, which tells no places; a lexer of plain
``key = value`` lines finds them. What it does not find is placed at its table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ckrules.engine.expr import Value
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Problem,
    Remark,
    entry_from_mapping,
    entry_from_name,
)
from ckrules.readers.formats.jsonl import kind
from ckrules.readers.json_text import LISTS
from ckrules.readers.source import Head, Source, SourceError

TITLE = "TOML: fields, or tables named kernels or instances"
SUFFIXES = (".toml",)
ORDER = 5
COMMENT = "#"
_TABLE = re.compile(r"\s*\[\[\s*\"?([A-Za-z0-9_-]+)\"?\s*\]\]\s*(?:#.*)?")
_OTHER = re.compile(r"\s*\[[^\[\]]+\]\s*(?:#.*)?")
_PAIR = re.compile(
    r"\s*(\"?)(?P<key>[A-Za-z0-9_-]+)\1\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s#,\[{]+)"
)
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_FIRST = re.compile(r"\[\[\s*\w|[A-Za-z0-9_-]+\s*=\s*\S")

Places = dict[str, tuple[Place, Place]]


def sniff(head: Head) -> bool:
    """Whether the text begins with a table of kernels or a key and a value."""
    return bool(head) and bool(_FIRST.match(head[0])) and "{" not in head[0]


def read(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every configuration of the document."""
    import tomllib

    text = source.text()
    try:
        document = tomllib.loads(text.text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        said = str(error) or "nested too deeply"
        at = _AT.search(said)
        line, column = (int(at[1]), int(at[2])) if at else text.place(len(text.text))
        what = said[: at.start()].strip() if at else said.replace(" (at end of document)", "")
        raise SourceError(f"not TOML: {what[:1].lower()}{what[1:]}", line, column) from None
    tables, shared = _positions(text.text, source.name)
    lists = [k for k in LISTS if isinstance(document.get(k), list)]
    if len(lists) > 1:
        raise SourceError(f"a second list {lists[1]!r}", 1, 1)
    if not lists:
        if document:
            start = Place(source.name, 1, 1)
            yield _entry(document, shared, shared, start, context)
        return
    beside = {k: v for k, v in document.items() if k not in LISTS}
    own = tables.get(lists[0], [])
    for index, value in enumerate(document[lists[0]]):
        place, places = own[index] if index < len(own) else (Place(source.name, 1, 1), {})
        if isinstance(value, str):
            yield entry_from_name(value, context, place, _always(place))
        elif not isinstance(value, dict):
            yield Problem(place, f"expected a table of fields, found {kind(value)}")
        else:
            given = {**beside, **value}
            yield _entry(
                given, places, {**shared, **places}, place, context, f"/{lists[0]}/{index}"
            )


def _always(place: Place) -> Callable[[int], Place]:
    return lambda column: place


def _entry(
    given: dict[str, Any], own: Places, places: Places, place: Place, context: Context, at: str = ""
) -> Entry | Problem:
    def locate(key: str, at_key: bool) -> Place | None:
        return places[key][0 if at_key else 1] if key in places else None

    def rewrite(field: str, value: Value) -> Edit | None:
        if field in own:
            return Edit(own[field][1], json.dumps(value))
        if not own:
            return None
        last = max((p[1] for p in own.values()), key=lambda p: (p.line, p.column))
        end = Place(last.source, last.end_line, last.end_column, last.end_line, last.end_column)
        return Edit(end, f"\n{field} = {json.dumps(value)}")

    return entry_from_mapping(
        given, context, place, locate, None if "name" in given else rewrite, pointer=at
    )


def _positions(text: str, source: str) -> tuple[dict[str, list[tuple[Place, Places]]], Places]:
    """Places of keys and values in each ``[[table]]`` and at the top."""
    shared: Places = {}
    tables: dict[str, list[tuple[Place, Places]]] = {}
    current: Places | None = shared
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if (table := _TABLE.fullmatch(line)) is not None:
            start = len(line) - len(line.lstrip()) + 1
            current = {}
            place = Place(source, number, start, number, len(line.rstrip()) + 1)
            tables.setdefault(table[1], []).append((place, current))
        elif _OTHER.fullmatch(line):
            current = None
        elif current is not None and (pair := _PAIR.match(line)) is not None:
            key = pair["key"]
            spans = [pair.span("key"), pair.span("value")]
            found = [Place(source, number, a + 1, number, b + 1) for a, b in spans]
            current.setdefault(key, (found[0], found[1]))
    return tables, shared
