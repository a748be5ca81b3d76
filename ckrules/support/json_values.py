"""JSON as data whose faults have a place: keys that stand twice, odd numbers, every value."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

#: The keys and places that lead to a value.
Path = tuple[str | int, ...]
#: No quantifier can give back what it took, so every text is gone through once.
TOKEN = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)
_DIGITS = 18


class Odd(str):
    """A JSON number that is not a number: NaN or Infinity. It reads as itself in messages."""

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


def with_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its keys and values; it is a `Repeats` if it has a key twice."""
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeats = Repeats(made)
    repeats.twice = tuple(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
    return repeats


def _int(text: str) -> int:
    return int(text) if len(text) <= _DIGITS else Huge(text)


DECODER = json.JSONDecoder(object_pairs_hook=with_repeats, parse_constant=Odd, parse_int=_int)


def decoded(text: str) -> Any:
    """The value of a document; its objects with a key twice are `Repeats`.

    Raises:
        ValueError: Where it is not JSON.
        RecursionError: Where it is too deep.

    >>> decoded('{"a": 1, "a": 2}').twice
    ('a',)
    """
    return json.loads(text, object_pairs_hook=with_repeats, parse_constant=Odd, parse_int=_int)


def places(raw: str) -> dict[Path, int]:
    """The offset of every value of a document that was decoded before, by its path.

    >>> places('{"a": [1, {"b": 2}]}')
    {(): 0, ('a',): 6, ('a', 0): 7, ('a', 1): 10, ('a', 1, 'b'): 16}
    """
    places: dict[Path, int] = {}
    path: list[str | int] = []
    lists: list[bool] = []
    key = False  # whether the next word is a key
    for token in TOKEN.finditer(raw):
        sign = token.group()
        if sign in "]}":
            lists.pop()
            path.pop()
            key = False
        elif sign == ",":
            if lists[-1]:
                path[-1] = int(path[-1]) + 1
            key = not lists[-1]
        elif key:
            path[-1] = str(json.loads(sign))
            key = False
        elif sign != ":":
            places[tuple(path)] = token.start()
            if sign in "[{":
                lists.append(sign == "[")
                path.append(0)
                key = sign == "{"
    return places
