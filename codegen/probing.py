"""What probes read of a point, which may lack fields or hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ckrules.support.errors import UsageError, unknown

V = TypeVar("V")
Point = Mapping[str, object]


def integer(point: Point, key: str) -> int:
    """The integer of a field; raises `UsageError` for what is none."""
    value = point.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{key} is {value!r} where a probe needs an integer")
    return value


def truth(point: Point, key: str) -> bool:
    """The truth value of a field; raises `UsageError` for what is none."""
    value = point.get(key)
    if not isinstance(value, bool):
        raise UsageError(f"{key} is {value!r} where a probe needs true or false")
    return value


def text(point: Point, key: str) -> str:
    """The word of a field; raises `UsageError` for what is none."""
    value = point.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} is {value!r} where a probe needs a word")
    return value


def pick(point: Point, key: str, table: Mapping[str, V]) -> V:
    """What a table has for a field's word; raises `UsageError` for a word that it lacks."""
    word = text(point, key)
    if word not in table:
        raise unknown(key, word, table)
    return table[word]


def geometry(point: Point) -> dict[str, list[int]]:
    """The block tile, waves and warp tile along M, N and K."""
    names = {"tile": "tile", "waves": "wave", "warp_tile": "warp_tile"}
    return {k: [integer(point, f"{stem}_{d}") for d in "mnk"] for k, stem in names.items()}
