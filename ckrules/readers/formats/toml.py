"""TOML: fields at the top, or tables named ``kernels`` or ``instances``; the rest holds for all.

Values are decoded by the standard library; `ckrules.support.locate` finds their places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ckrules.engine.expr import Value
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
    entry_from_name,
)
from ckrules.readers.formats.jsonl import kind
from ckrules.readers.json_text import LISTS, MOST_AROUND, TOO_MANY
from ckrules.readers.source import Head, SourceError, SourceFile
from ckrules.support.locate import Locator
from ckrules.support.toml_path import TomlPath
from ckrules.support.toml_text import TomlTextError, parse

SUFFIXES = (".toml",)
ORDER = 2
COMMENT = "#"
QUOTED, COMMENT_ALONE = True, False
#: A header of bare words, which is not JSON, or a key and a value.
_FIRST = re.compile(r"\[\[?\s*+[A-Za-z_][\w.-]*+\s*+\]|[A-Za-z0-9_-]++\s*+=\s*+\S")

Places = dict[str, tuple[Place, Place]]


def sniff(head: Head) -> bool:
    """Whether the text begins with a table of kernels or a key and a value."""
    return bool(head) and bool(_FIRST.match(head[0])) and "{" not in head[0]


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every configuration of the document."""
    text = source.text()
    try:
        document = parse(text.text)
    except TomlTextError as error:
        raise SourceError(f"not TOML: {error.what}", error.line, error.column) from None
    found, lines = Locator(text.text), text.text.split("\n")
    shared = _places(found, (), document, source.name)
    lists = [k for k in LISTS if isinstance(document.get(k), list)]
    if len(lists) > 1:
        raise SourceError(f"a second list {lists[1]!r}", 1, 1)
    if not lists:
        if document:
            start = Place(source.name, 1, 1)
            yield _entry(document, shared, shared, start, context, lines)
        return
    beside = {k: v for k, v in document.items() if k not in LISTS}
    if len(beside) > MOST_AROUND:
        raise SourceError(TOO_MANY, *found.key((list(beside)[MOST_AROUND],)))
    for index, value in enumerate(document[lists[0]]):
        at = (lists[0], index)
        span = found.value_span(at)
        place = Place(source.name, 1, 1) if span is None else Place(source.name, *span)
        made: Entry | UnreadableText
        if isinstance(value, str):
            made = entry_from_name(value, context, place)
        elif not isinstance(value, dict):
            made = UnreadableText(place, f"expected a table of fields, found {kind(value)}")
        else:
            own = _places(found, at, value, source.name)
            rows = () if found.key_span(at) is None else lines
            made = _entry({**beside, **value}, own, {**shared, **own}, place, context, rows)
        made.pointer = f"/{lists[0]}/{index}"
        yield made


def _entry(
    given: dict[str, Any],
    own: Places,
    places: Places,
    place: Place,
    context: Context,
    lines: Sequence[str],
) -> Entry | UnreadableText:
    """The entry of a table; ``lines`` are those of the text, or none where it is in one line."""

    def locate(key: str, at_key: bool) -> Place | None:
        return places[key][0 if at_key else 1] if key in places else None

    def rewrite(field: str, value: Value) -> Edit | None:
        if field in own:
            return Edit(own[field][1], json.dumps(value))
        if not own:
            return None
        last = max((p[1] for p in own.values()), key=lambda p: (p.line, p.column))
        line, column, between = last.end_line, last.end_column, ", "
        if lines:  # behind its comment
            row = lines[line - 1].removesuffix("\r")
            column, between = len(row) + 1, lines[line - 1][len(row) :] + "\n"
        end = Place(last.source, line, column, line, column)
        return Edit(end, f"{between}{field} = {json.dumps(value)}")

    return entry_from_mapping(given, context, place, locate, None if "name" in given else rewrite)


def _places(found: Locator, at: TomlPath, table: dict[str, Any], source: str) -> Places:
    spans = {key: (found.key_span((*at, key)), found.value_span((*at, key))) for key in table}
    return {
        key: (Place(source, *name), Place(source, *value))
        for key, (name, value) in spans.items()
        if name is not None and value is not None
    }
