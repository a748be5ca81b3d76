"""JSON taken apart value by value, with the place of everything that is wrong.

Values are decoded by the standard library; only where something is wrong does the slower scanner
of this module look for the keys' places.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ckrules.engine.expr import Value
from ckrules.readers.entries import Edit, Place, Rewrite, UnreadableText
from ckrules.readers.source import LocatedText, SourceError
from ckrules.support.errors import UsageError
from ckrules.support.json_values import DECODER, TOKEN, Path, Repeats, places

#: Keys of an object that holds a list of configurations.
LISTS = ("kernels", "instances")
#: Keys beside a list, which hold for each of its elements; no kernel has as many fields.
MOST_AROUND = 200
TOO_MANY = f"more than {MOST_AROUND} keys beside the list of configurations"
_HOLDS_LIST = re.compile(r'"(?:kernels|instances)"\s*+:\s*+\[')
_BLANK = re.compile(r"[ \t\n\r]*+")

#: Finds the end of a value and keeps nothing of it.
_PASSER = json.JSONDecoder(
    object_pairs_hook=len, parse_int=len, parse_float=len, parse_constant=len
)


class JsonSpot(NamedTuple):
    """Offsets of a key and of its value: where each begins, and what is behind it."""

    key: int
    value: int
    key_end: int
    end: int


Spots = dict[str, list[JsonSpot]]


@dataclass(slots=True)
class Around:
    """The object around a list: its other values, which hold for every element, and all keys."""

    values: dict[str, Any] = field(default_factory=dict)
    spots: Spots = field(default_factory=dict)
    list_key: str = ""
    list_at: int = -1
    end: int = -1
    """The offset behind the object, -1 where its list is faulty."""


@dataclass(frozen=True, slots=True)
class Item:
    """A decoded value, where it stands, and what its list is in."""

    value: Any
    offset: int
    end: int
    around: Around
    pointer: str = ""


_ALONE = Around()


def items(text: LocatedText) -> Iterator[Item]:
    """The configurations of a document: its object, or the elements of its list, one by one.

    Raises:
        SourceError: Where the text is not JSON.
    """
    raw, start = text.text, _skip(text.text, 0)
    around = _ALONE
    if raw[start : start + 1] == "{" and _HOLDS_LIST.search(raw):
        around = _around(text, start)
    if around.list_key:
        if len(around.values) > MOST_AROUND:
            spots = next(itertools.islice(around.spots.values(), MOST_AROUND, None))
            raise SourceError(TOO_MANY, *text.place(spots[0].key))
        end = yield from _elements(text, around.list_at, around)
        if around.end < 0:
            raise _fail(text, _skip(raw, end), "expected ',' or '}'")
        end = around.end
    elif raw[start : start + 1] == "[":
        end = yield from _elements(text, start, around)
    else:
        value, end = _decode(text, start)
        yield Item(value, start, end, _ALONE)
    end = _skip(raw, end)
    if end < len(raw):
        raise _fail(text, end, "text after the end of the JSON value")


def _elements(text: LocatedText, start: int, around: Around) -> Generator[Item, None, int]:
    """The elements of the list at ``start``; returns the offset behind it."""
    raw = text.text
    key = f"/{around.list_key}" if around.list_key else ""
    pos = _skip(raw, start + 1)
    if raw[pos : pos + 1] == "]":
        return pos + 1
    for index in itertools.count():
        value, end = _decode(text, pos)
        yield Item(value, pos, end, around, f"{key}/{index}")
        end = _skip(raw, end)
        if raw[end : end + 1] == "]":
            return end + 1
        if raw[end : end + 1] != ",":
            raise _fail(text, end, "expected ',' or ']'")
        pos = _skip(raw, end + 1)
    raise AssertionError("itertools.count ends")  # pragma: no cover


def _around(text: LocatedText, start: int) -> Around:
    """The object at ``start`` without the elements of its list, which is skipped.

    Its other keys are fields of every element, wherever they stand. What is wrong behind a
    faulty list is not looked at: the list's own fault comes first.
    """
    found = Around()
    try:
        found.end = _walk(text, start, found)
    except SourceError:
        if found.list_at < 0 or _passed(text.text, found.list_at) >= 0:
            raise
    return found


def _walk(text: LocatedText, start: int, found: Around) -> int:
    """Fills in what is around a list; returns the offset behind the object."""
    raw, pos = text.text, _skip(text.text, start + 1)
    while raw[pos : pos + 1] != "}":
        if raw[pos : pos + 1] != '"':
            raise _fail(text, pos, "expected a key in double quotes")
        key, key_end = _decode(text, pos)
        colon = _skip(raw, key_end)
        if raw[colon : colon + 1] != ":":
            raise _fail(text, colon, "expected ':'")
        value_at = _skip(raw, colon + 1)
        if key in LISTS and raw[value_at : value_at + 1] == "[":
            if found.list_key:
                raise _fail(text, pos, f"a second list {key!r}")
            found.list_at, found.list_key = value_at, key
            end = _passed(raw, value_at)
            if end < 0:
                end = _closed(text, value_at)
        else:
            value, end = _decode(text, value_at)
            if key in found.values:
                raise _fail(text, pos, f"duplicate key {key!r}")
            found.values[key] = value
            found.spots[key] = [JsonSpot(pos, value_at, key_end, end)]
        end = _skip(raw, end)
        if raw[end : end + 1] not in (",", "}"):
            raise _fail(text, end, "expected ',' or '}'")
        pos = _skip(raw, end + 1) if raw[end] == "," else end
    return pos + 1


class DocumentError(UsageError):
    """What a JSON document says cannot be read; ``path`` leads to the value."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def path_place(text: LocatedText, path: Path, raw: str = "") -> tuple[int, int]:
    """Line and column of a value, or of the nearest that it is in.

    >>> path_place(LocatedText('{"a": [1, 2]}'), ("a", 1, "b"))
    (1, 11)
    """
    known = places(raw or text.text)
    while path not in known:
        path = path[:-1]
    return text.place(min(known[path], len(text.text)))


def refuse_repeats(value: Any, path: Path, *, below: bool = False) -> None:
    """Refuses an object that has a key twice, of which tools silently take the last.

    Raises:
        DocumentError: If it has; ``below`` also for objects in it.
    """
    if isinstance(value, Repeats):
        raise DocumentError((*path, value.twice[0]), f"duplicate key {value.twice[0]!r}")
    for key, part in value.items() if below and isinstance(value, dict) else ():
        refuse_repeats(part, (*path, key), below=True)


def span_place(text: LocatedText, source: str, start: int, end: int) -> Place:
    """The place of a part of a text."""
    return Place(source, *text.place(start), *text.place(end))


def value_end(text: LocatedText, start: int) -> int:
    """The offset behind the value that begins at an offset of JSON.

    >>> value_end(LocatedText('{"a": [1, 2]}'), 6)
    12
    """
    end = _passed(text.text, start)
    return start if end < 0 else end


def _passed(raw: str, start: int) -> int:
    """The offset behind the value at ``start``, -1 where it is not JSON."""
    try:
        return _PASSER.raw_decode(raw, start)[1]
    except (ValueError, RecursionError):
        return -1


def _closed(text: LocatedText, start: int) -> int:
    """The offset behind the list or object at ``start``, found by its brackets."""
    depth = 0
    for match in TOKEN.finditer(text.text, start):
        sign = match.group()
        depth += sign in ("[", "{")
        depth -= sign in ("]", "}")
        if depth == 0:
            return match.end()
    raise _fail(text, len(text.text), "the text ends inside a value")


def _skip(raw: str, pos: int) -> int:
    blank = _BLANK.match(raw, pos)
    return blank.end() if blank else pos


def _decode(text: LocatedText, pos: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text.text, pos)
    except json.JSONDecodeError as error:
        raise _fail(text, error.pos, _wording(error.msg)) from None
    except RecursionError:
        raise _fail(text, pos, "nested too deeply") from None


def _wording(message: str) -> str:
    plain = message.replace("Expecting", "expected").removesuffix(" starting at")
    return (plain[:1].lower() + plain[1:]).removesuffix(" at")


def _fail(text: LocatedText, offset: int, what: str) -> SourceError:
    if what.startswith("unterminated string"):
        what = "the text ends inside a string"
    elif not text.text[offset : offset + 1000].strip():
        what = f"the text ends too early: {what}"
    return SourceError(f"not JSON: {what}", *text.place(offset))


def key_places(raw: str, start: int) -> Spots:
    """The keys of the object at ``start``, repeats included; those of objects in it are not meant.

    One pass over the object; what is not JSON ends it.

    >>> key_places('{"a": {"b": 1}, "b": 2, "a": [2]}', 0)["a"][1]
    JsonSpot(key=24, value=29, key_end=27, end=32)
    >>> list(key_places('{"a": {"b": 1}, "b": 2, "a": [2]}', 0))
    ['a', 'b']
    """
    found: Spots = {}
    depth = 0
    key: tuple[int, int] | None = None
    value_at = -1  # -1: before the colon, -2: behind it
    for token in TOKEN.finditer(raw, start):
        begin, end = token.span()
        sign = raw[begin]
        if sign in "[{":
            if depth == 1 and value_at == -2:
                value_at = begin
            depth += 1
            continue
        if sign in "]}":
            depth -= 1
            if depth <= 0:
                break
        if depth > 1:
            continue
        if sign == ":":
            value_at = -1 if key is None else -2
        elif sign == ",":
            key, value_at = None, -1
        elif key is None:
            key = begin, end
        elif value_at != -1:
            name = _word(raw[slice(*key)])
            spot = JsonSpot(key[0], begin if value_at == -2 else value_at, key[1], end)
            found.setdefault(name, []).append(spot)
    return found


def _word(quoted: str) -> str:
    """The text of a key; a faulty one is kept as it is."""
    if "\\" not in quoted:
        return quoted[1:-1]
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted


class Members:
    """Places of the keys and values of one decoded object, found when they are asked for.

    ``inner`` leads to an object below it.
    """

    def __init__(
        self, text: LocatedText, source: str, item: Item, inner: tuple[str, ...] = ()
    ) -> None:
        self._text, self._source, self._item, self._inner = text, source, item, inner

    @cached_property
    def place(self) -> Place:
        """Where the whole item stands."""
        return self.part(self._item.offset, self._item.end)

    def part(self, start: int, end: int) -> Place:
        """The place of a part of the text."""
        return span_place(self._text, self._source, start, end)

    @cached_property
    def _at(self) -> int:
        start = self._item.offset
        for key in self._inner:
            start = key_places(self._text.text, start)[key][-1].value
        return start

    @cached_property
    def _own(self) -> Spots:
        return key_places(self._text.text, self._at)

    def find(self, key: str, which: int = 0, own: bool = False) -> JsonSpot | None:
        """Where a key stands; ``which`` counts a key that stands several times.

        With ``own``, keys of the object around the list do not count.
        """
        spots = self._own.get(key) or (None if own else self._item.around.spots.get(key))
        return spots[which] if spots and which < len(spots) else None

    def span(
        self, key: str, at_key: bool = False, which: int = 0, own: bool = False
    ) -> tuple[int, int] | None:
        """Start and end of a key or its value."""
        found = self.find(key, which, own)
        if found is None:
            return None
        return (found.key, found.key_end) if at_key else (found.value, found.end)

    def at(self, key: str, at_key: bool = False, which: int = 0) -> Place | None:
        """The place of a value or its key; None where the object has no such key."""
        span = self.span(key, at_key, which)
        return None if span is None else self.part(*span)

    def twice(self, value: Repeats) -> UnreadableText:
        """The problem of the object, whose value has a key twice."""
        return UnreadableText(
            self.place,
            lambda: [
                (self.at(key, True, 1) or self.place, f"duplicate key {key!r}")
                for key in value.twice
            ],
        )

    def rewriter(self, spell: Callable[[str, Value], tuple[str, Value] | None]) -> Rewrite:
        """Edits of the object; ``spell`` gives the key and value for a field, or None."""

        def rewrite(field: str, value: Value) -> Edit | None:
            spelt = spell(field, value)
            if spelt is None:
                return None
            span, new = self.span(spelt[0], own=True), json.dumps(spelt[1])
            if span is None:
                at, new = self.insertion(spelt[0], new)
                span = at, at
            return Edit(self.part(*span), new)

        return rewrite

    def insertion(self, key: str, value: str) -> tuple[int, str]:
        """Where a new key goes, and the text that adds it in the manner of the others."""
        raw = self._text.text
        last = max((spot for spots in self._own.values() for spot in spots), default=None)
        if last is None:
            return self._at + 1, f'"{key}": {value}'
        before = last.key
        while raw[before - 1] in " \t\n\r":
            before -= 1
        blank, colon = raw[before : last.key], raw[last.key_end : last.value]
        return last.end, f',{blank}"{key}"{colon}{value}'
