"""JSON Lines: one JSON value a line, each as in a JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ckrules.readers.entries import (
    Context,
    Entry,
    Place,
    UnreadableText,
    entry_from_mapping,
    entry_from_name,
)
from ckrules.readers.json_text import Item, Members, items
from ckrules.readers.source import LocatedText, SourceError, SourceFile
from ckrules.support.json_values import Repeats

SUFFIXES = (".jsonl", ".ndjson")
ORDER = 3
COMMENT = ""
QUOTED, COMMENT_ALONE = True, False


def sniff(head: list[str]) -> bool:
    """Whether the first line is a whole JSON object."""
    if not head or not head[0].startswith("{"):
        return False
    try:
        return isinstance(json.loads(head[0], parse_int=str), dict)
    except (ValueError, RecursionError):
        # A line that something must follow begins a document of several lines.
        open_ = head[0].endswith(("[", "{", ",", ":"))
        return len(head) > 1 and not open_ and all(line.startswith('{"') for line in head[:2])


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText]:
    """Every configuration of the file; a faulty line does not stop the others."""
    for line in source.lines():
        if line.fault:
            yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
        elif line.text and not line.text.isspace():
            text = LocatedText(line.text, line.number)
            try:
                for item in items(text):
                    yield entry(item, text, source.name, context)
            except SourceError as error:
                yield UnreadableText(Place(source.name, error.line, error.column), error.message)


def entry(item: Item, text: LocatedText, source: str, context: Context) -> Entry | UnreadableText:
    """The configuration that a decoded value describes."""
    found = _entry(item, text, source, context)
    if not found.pointer:
        found.pointer = item.pointer
    return found


def _entry(item: Item, text: LocatedText, source: str, context: Context) -> Entry | UnreadableText:
    value = item.value
    inner = ("config",) if _is_wrapped(value) else ()
    members = Members(text, source, item, inner)
    if isinstance(value, str):
        plain = "\\" not in text.text[item.offset : item.end]
        begin = Place(source, *text.place(item.offset + 1)) if plain else members.place
        named = entry_from_name(value, context, begin, spread=plain)
        named.place = members.place
        return named
    if not isinstance(value, dict):
        return UnreadableText(members.place, f"expected an object of fields, found {kind(value)}")
    value = value["config"] if inner else value
    if isinstance(value, Repeats):
        return members.twice(value)
    given = {**item.around.values, **value} if item.around.values else value
    pointer = item.pointer + "".join(f"/{k}" for k in inner)
    edits = None if "name" in given else members.rewriter(lambda field, value: (field, value))
    return entry_from_mapping(given, context, members.place, members.at, edits, pointer=pointer)


def _is_wrapped(value: Any) -> bool:
    plain = isinstance(value, dict) and not isinstance(value, Repeats)
    return plain and isinstance(value.get("config"), dict)


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number"
