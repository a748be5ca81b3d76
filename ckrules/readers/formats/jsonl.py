"""JSON Lines: one JSON value a line, each as in a JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ckrules.engine.expr import Value
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Rewrite,
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


def sniff(head: list[str]) -> bool:
    """Whether the first line is a whole JSON object."""
    if not head or not head[0].startswith("{"):
        return False
    try:
        return isinstance(json.loads(head[0], parse_int=str), dict)
    except (ValueError, RecursionError):
        # A line that ends in an open bracket begins a document of several lines.
        open_ = head[0].rstrip().endswith(("[", "{"))
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
    place = span_place(text, source, item.offset, item.end)
    value = item.value
    inner: tuple[str, ...] = ()
    if isinstance(value, str):
        plain = "\\" not in text.text[item.offset : item.end]
        begin = Place(source, *text.place(item.offset + 1)) if plain else place
        named = entry_from_name(value, context, begin, spread=plain)
        named.place = place
        return named
    if not isinstance(value, dict):
        return UnreadableText(place, f"expected an object of fields, found {kind(value)}")
    if isinstance(value.get("config"), dict) and not isinstance(value, Repeats):
        value, inner = value["config"], ("config",)
    members = Members(text, item, inner)
    if isinstance(value, Repeats):
        return twice(value, members, text, source, place)

    def locate(key: str, at_key: bool) -> Place | None:
        span = members.span(key, at_key)
        return None if span is None else span_place(text, source, *span)

    given = {**item.around.values, **value} if item.around.values else value
    pointer = item.pointer + "".join(f"/{k}" for k in inner)
    edits = rewriter(members, text, source, lambda field, value: (field, value))
    if "name" in given:
        return entry_from_mapping(given, context, place, locate, pointer=pointer)
    return entry_from_mapping(given, context, place, locate, edits, pointer=pointer)


def rewriter(members: Members, text: LocatedText, source: str, spell: Any) -> Rewrite:
    """Edits of a JSON object; ``spell`` gives the key and value for a field, or None."""

    def rewrite(field: str, value: Value) -> Edit | None:
        spelt = spell(field, value)
        if spelt is None:
            return None
        span, new = members.span(spelt[0], own=True), json.dumps(spelt[1])
        if span is None:
            at, new = members.insertion(spelt[0], new)
            span = at, at
        return Edit(span_place(text, source, *span), new)

    return rewrite


def span_place(text: LocatedText, source: str, start: int, end: int) -> Place:
    """The place of a part of a text."""
    return Place(source, *text.place(start), *text.place(end))


def twice(
    value: Repeats, members: Members, text: LocatedText, source: str, place: Place
) -> UnreadableText:
    """The problem of an object that has a key twice."""

    def lines() -> list[tuple[Place, str]]:
        found = []
        for key in value.twice:
            span = members.span(key, True, 1)
            at = place if span is None else span_place(text, source, *span)
            found.append((at, f"duplicate key {key!r}"))
        return found

    return UnreadableText(place, lines)


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
