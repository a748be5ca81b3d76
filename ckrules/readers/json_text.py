"""JSON taken apart value by value, with the place of everything that is wrong.

Values are decoded by the standard library; only where something is wrong does the slower scanner
of this module look for the keys' places.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from ckrules.readers.source import SourceError, Text

#: Keys of an object that holds a list of configurations.
LISTS = ("kernels", "instances")
_HOLDS_LIST = re.compile(r'"(?:kernels|instances)"\s*:\s*\[')
_BLANK = re.compile(r"[ \t\n\r]*")
_ENDS_WITH_LIST = re.compile(r"\]\s*\}\s*\Z")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_DIGITS = 18


class Odd(str):
    """A JSON number that is none: NaN or Infinity. It reads as itself in messages."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Huge(int):
    """A number of more digits than any field has; only its sign and length are kept."""

    def __new__(cls, text: str) -> Huge:
        made = super().__new__(cls, -(10**30) if text.startswith("-") else 10**30)
        made.text = f"{text[:16]}… ({len(text.lstrip('-'))} digits)"
        return made

    text: str

    def __repr__(self) -> str:
        return self.text


class Repeats(dict[str, Any]):
    """An object that has a key twice."""

    twice: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    keys = [k for k, _ in pairs]
    repeats = Repeats(made)
    repeats.twice = tuple(dict.fromkeys(k for i, k in enumerate(keys) if k in keys[:i]))
    return repeats


def _int(text: str) -> int:
    return int(text) if len(text) <= _DIGITS else Huge(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=Odd, parse_int=_int)


@dataclass(frozen=True, slots=True)
class Item:
    """A decoded value, where it stands, and the fields that hold for its whole list."""

    value: Any
    offset: int
    end: int
    shared: dict[str, Any]
    shared_offset: int
    pointer: str = ""


def items(text: Text) -> Iterator[Item]:
    """The configurations of a document: its object, or the elements of its list, one by one.

    Raises:
        SourceError: Where the text is no JSON.
    """
    start = _skip(text.text, 0)
    if text.text[start : start + 1] == "[":
        end = yield from _elements(text, start, {}, 0)
    elif text.text[start : start + 1] == "{" and _HOLDS_LIST.search(text.text):
        end = yield from _wrapper(text, start)
    else:
        value, end = _decode(text, start)
        yield Item(value, start, end, {}, 0)
    end = _skip(text.text, end)
    if end < len(text.text):
        raise _fail(text, end, "text after the end of the JSON value")


def _elements(
    text: Text, start: int, shared: dict[str, Any], at: int, key: str = ""
) -> Generator[Item, None, int]:
    """The elements of the list at ``start``; returns the offset behind it."""
    raw = text.text
    pos = _skip(raw, start + 1)
    if raw[pos : pos + 1] == "]":
        return pos + 1
    for index in itertools.count():
        value, end = _decode(text, pos)
        yield Item(value, pos, end, shared, at, f"{key}/{index}")
        end = _skip(raw, end)
        if raw[end : end + 1] == "]":
            return end + 1
        if raw[end : end + 1] != ",":
            raise _fail(text, end, "expected ',' or ']'")
        pos = _skip(raw, end + 1)
    raise AssertionError("itertools.count ends")  # pragma: no cover


def _wrapper(text: Text, start: int) -> Generator[Item, None, int]:
    """The elements of an object's list; returns the offset behind the object.

    The object's other keys are fields of every element, wherever they stand, so a list that is
    not the last value is first passed over.
    """
    raw = text.text
    lists: list[tuple[int, str]] = []
    shared: dict[str, Any] = {}
    whole = bool(_ENDS_WITH_LIST.search(raw[-1000:]))
    for key, key_at, value_at in _keys(text, start, whole, shared):
        if key in LISTS and raw[value_at : value_at + 1] == "[":
            if lists:
                raise _fail(text, key_at, f"a second list {key!r}")
            lists.append((value_at, key))
    if not lists:
        value, end = _decode(text, start)
        yield Item(value, start, end, {}, 0)
        return end
    end = yield from _elements(text, lists[0][0], shared, start, f"/{lists[0][1]}")
    return _behind_list(text, end) if whole else _past(text, start)


def _keys(
    text: Text, start: int, whole: bool, shared: dict[str, Any]
) -> Iterator[tuple[str, int, int]]:
    """Keys of the object with the places of key and value; scalars go into ``shared``."""
    raw, pos = text.text, _skip(text.text, start + 1)
    while raw[pos : pos + 1] != "}":
        if raw[pos : pos + 1] != '"':
            raise _fail(text, pos, "expected a key in double quotes")
        key, end = _decode(text, pos)
        colon = _skip(raw, end)
        if raw[colon : colon + 1] != ":":
            raise _fail(text, colon, "expected ':'")
        value_at = _skip(raw, colon + 1)
        yield key, pos, value_at
        if key in LISTS and raw[value_at : value_at + 1] == "[":
            if whole:
                return
            end = _past(text, value_at)
        else:
            value, end = _decode(text, value_at)
            if key in shared:
                raise _fail(text, pos, f"the key {key!r} stands twice")
            shared[key] = value
        end = _skip(raw, end)
        if raw[end : end + 1] not in (",", "}"):
            raise _fail(text, end, "expected ',' or '}'")
        pos = _skip(raw, end + 1) if raw[end] == "," else end


def _behind_list(text: Text, end: int) -> int:
    """The offset behind an object that should end with its list."""
    end = _skip(text.text, end)
    sign = text.text[end : end + 1]
    if sign == ",":
        at = _skip(text.text, end + 1)
        key, _ = _decode(text, at)
        raise _fail(text, at, f"a second list {key!r}")
    if sign != "}":
        raise _fail(text, end, "expected ',' or '}'")
    return end + 1


def _past(text: Text, start: int) -> int:
    """The offset behind the list or object at ``start``, found by its brackets."""
    depth = 0
    for match in _BRACKET.finditer(text.text, start):
        sign = match.group()
        depth += sign in "[{"
        depth -= sign in "]}"
        if depth == 0:
            return match.end()
    raise _fail(text, len(text.text), "the text ends inside a value")


def _skip(raw: str, pos: int) -> int:
    blank = _BLANK.match(raw, pos)
    return blank.end() if blank else pos


def _decode(text: Text, pos: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text.text, pos)
    except json.JSONDecodeError as error:
        raise _fail(text, error.pos, _wording(error.msg)) from None
    except RecursionError:
        raise _fail(text, pos, "nested too deeply") from None


def _wording(message: str) -> str:
    plain = message.replace("Expecting", "expected").removesuffix(" starting at")
    return (plain[:1].lower() + plain[1:]).removesuffix(" at")


def _fail(text: Text, offset: int, what: str) -> SourceError:
    if what.startswith("unterminated string"):
        what = "the text ends inside a string"
    elif not text.text[offset : offset + 1000].strip():
        what = f"the text ends too early: {what}"
    return SourceError(f"not JSON: {what}", *text.place(offset))


def key_place(raw: str, start: int, end: int, key: str) -> tuple[int, int] | None:
    """Offsets of key and value in the flat object at ``start``; None if they are not plain to see.

    No string of JSON holds an unescaped quote, so a quoted key and a colon are that key.
    """
    match = re.compile(rf'"{re.escape(key)}"[ \t\n\r]*:[ \t\n\r]*').search(raw, start, end)
    return (match.start(), match.end()) if match else None


def key_places(raw: str, start: int) -> dict[str, list[tuple[int, int]]]:
    """Offsets of key and value for every key of the object at ``start``, repeats included.

    The text must be JSON that was decoded before.

    >>> key_places('{"a": 1, "a": [2]}', 0)
    {'a': [(1, 6), (9, 14)]}
    """
    found: dict[str, list[tuple[int, int]]] = {}
    pos = _skip(raw, start + 1)
    while raw[pos] != "}":
        key, end = _DECODER.raw_decode(raw, pos)
        value_at = _skip(raw, _skip(raw, end) + 1)
        found.setdefault(key, []).append((pos, value_at))
        end = _skip(raw, _value_end(raw, value_at))
        pos = _skip(raw, end + 1) if raw[end] == "," else end
    return found


def _value_end(raw: str, start: int) -> int:
    if raw[start] == '"':
        end: int = _DECODER.raw_decode(raw, start)[1]
        return end
    if raw[start] in "[{":
        return _past(Text(raw), start)
    scalar = _SCALAR.match(raw, start)
    return scalar.end() if scalar else start + 1


class Members:
    """Places of the keys and values of one decoded object, found when they are asked for.

    ``inner`` leads to an object below it; ``shared`` is the offset of an object whose keys hold
    for this one too, or None.
    """

    def __init__(
        self,
        text: Text,
        start: int,
        end: int,
        inner: tuple[str, ...] = (),
        shared: int | None = None,
    ) -> None:
        self._text, self._start, self._end = text, start, end
        self._inner, self._shared = inner, shared
        self._own: dict[str, list[tuple[int, int]]] | None = None
        self._beside: dict[str, list[tuple[int, int]]] = {}

    def find(self, key: str, which: int = 0, own: bool = False) -> tuple[int, int] | None:
        """Offsets of a key and its value; ``which`` counts a key that stands several times.

        With ``own``, keys of the shared object do not count.
        """
        raw = self._text.text
        if not self._inner and which == 0 and self._own is None:
            found = key_place(raw, self._start, self._end, key)
            if found is not None:
                return found
        places = self.own().get(key) or (None if own else self._beside.get(key))
        return places[which] if places and which < len(places) and key not in LISTS else None

    def own(self) -> dict[str, list[tuple[int, int]]]:
        """Offsets of the object's own keys and values."""
        if self._own is None:
            start = self._start
            for key in self._inner:
                start = key_places(self._text.text, start)[key][-1][1]
            self._own = key_places(self._text.text, start)
            if self._shared is not None:
                self._beside = key_places(self._text.text, self._shared)
        return self._own

    def span(
        self, key: str, at_key: bool = False, which: int = 0, own: bool = False
    ) -> tuple[int, int] | None:
        """Start and end of a key or its value."""
        found = self.find(key, which, own)
        if found is None:
            return None
        start = found[0] if at_key else found[1]
        return start, _value_end(self._text.text, start)

    def insertion(self, key: str, value: str) -> tuple[int, str]:
        """Where a new key goes, and the text that adds it in the manner of the others."""
        raw, places = self._text.text, self.own()
        last = max((at for hits in places.values() for at in hits), default=None)
        if last is None:
            return self._start + 1, f'"{key}": {value}'
        before = raw[: last[0]]
        blank = before[len(before.rstrip(" \t\n\r")) :]
        colon = raw[_value_end(raw, last[0]) : last[1]]
        return _value_end(raw, last[1]), f',{blank}"{key}"{colon}{value}'
