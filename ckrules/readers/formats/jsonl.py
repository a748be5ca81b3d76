"""JSON Lines: one JSON value a line, each as in a JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ckrules.readers.entries import (
    Context,
    Entry,
    Place,
    Problem,
    entry_from_mapping,
    entry_from_name,
)
from ckrules.readers.json_text import LISTS, Item, Repeats, items, key_place, key_places
from ckrules.readers.source import Source, SourceError, Text

TITLE = "JSON Lines: one configuration a line"
SUFFIXES = (".jsonl", ".ndjson")
ORDER = 1


def sniff(head: list[str]) -> bool:
    """Whether the first line is a whole JSON object."""
    if not head or not head[0].startswith("{"):
        return False
    try:
        return isinstance(json.loads(head[0], parse_int=str), dict)
    except (ValueError, RecursionError):
        return len(head) > 1 and all(line.startswith('{"') for line in head[:2])


def read(source: Source, context: Context) -> Iterator[Entry | Problem]:
    """Every configuration of the file; a faulty line does not stop the others."""
    for line in source.lines():
        if line.fault:
            yield Problem(Place(source.name, line.number, line.column), line.fault)
        elif line.text and not line.text.isspace():
            text = Text(line.text, line.number)
            try:
                for item in items(text):
                    yield entry(item, text, source.name, context)
            except SourceError as error:
                yield Problem(Place(source.name, error.line, error.column), error.message)


def entry(item: Item, text: Text, source: str, context: Context) -> Entry | Problem:
    """The configuration that a decoded value describes."""
    place = Place(source, *text.place(item.offset))
    value, offset, nested = item.value, item.offset, None
    if isinstance(value, str):
        return entry_from_name(value, context, place, lambda column: place)
    if not isinstance(value, dict):
        return Problem(place, f"expected an object of fields, found {_kind(value)}")
    if isinstance(value.get("config"), dict):
        value, nested = value["config"], "config"
    places: dict[str, list[tuple[int, int]]] = {}

    def locate(key: str, at_key: bool, which: int = 0) -> Place | None:
        if nested is None and which == 0:
            found = key_place(text.text, offset, item.end, key)
            if found is not None:
                return Place(source, *text.place(found[0 if at_key else 1]))
        if not places:
            start = offset if nested is None else key_places(text.text, offset)[nested][-1][1]
            places.update(key_places(text.text, start))
            if item.shared:
                for name, at in key_places(text.text, item.shared_offset).items():
                    places.setdefault(name, at)
        if key not in places or key in LISTS:
            return None
        return Place(source, *text.place(places[key][which][0 if at_key else 1]))

    if isinstance(value, Repeats):
        twice = value.twice
        return Problem(
            place,
            lambda: [(locate(k, True, 1) or place, f"the key {k!r} stands twice") for k in twice],
        )
    given = {**item.shared, **value} if item.shared else value
    return entry_from_mapping(given, context, place, locate)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "a list" if isinstance(value, list) else "a number"
