"""Neighbours: the legal points next to a point, as the strategies of tuners ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from ckrules.engine.codec import Codec, Point
from ckrules.support.errors import UsageError, unknown

#: Kernel Tuner's names of the relations (``kernel_tuner/searchspace.py``, class ``Searchspace``).
METHODS = ("Hamming", "Hamming-adjacent", "strictly-adjacent", "adjacent")


def neighbors(
    codec: Codec,
    holds: Callable[[Point], tuple[bool, ...]],
    within: Callable[[Mapping[str, Any]], Iterator[Point]],
    counts: Callable[[str], Mapping[Any, int]],
    point: Mapping[str, Any],
    method: str,
) -> Iterator[Point]:
    """The neighbours of a point (see `Space.neighbors`).

    Args:
        codec: The space's variables and values.
        holds: Whether each rule holds at a point.
        within: The points whose variables have some of the values given.
        counts: The number of points by the value of a variable.
        point: The point, which need not be legal.
        method: One of `METHODS`.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    point = codec.completed(point)
    own = {n: point[n] for n in codec.names}

    def legal(name: str, values: Any) -> Iterator[Point]:
        """The points that differ from ``own`` in having one of the values."""
        others = ({**own, name: value} for value in values if value != own[name])
        return (other for other in others if all(holds(other)))

    if method == "Hamming":
        return chain.from_iterable(legal(n, values) for n, values in codec.domains.items())
    if method == "Hamming-adjacent":
        return _next_along_each(codec, own, legal)
    box = {}
    for name, values in codec.domains.items():
        if method == "adjacent":
            used = counts(name)
            values = tuple(v for v in values if used[v] or v == own[name])
        at = _place(name, own[name], values)
        box[name] = list(values[max(0, at - 1) : at + 2])
    return (p for p in within(box) if p != own)


def _next_along_each(
    codec: Codec, own: Point, legal: Callable[[str, Any], Iterator[Point]]
) -> Iterator[Point]:
    for name, values in codec.domains.items():
        at = _place(name, own[name], values)
        below = next(legal(name, values[:at][::-1]), None)
        above = next(legal(name, values[at + 1 :]), None)
        yield from (p for p in (below, above) if p is not None)


def _place(name: str, value: Any, values: tuple[Any, ...]) -> int:
    try:
        return values.index(value)
    except ValueError:
        raise UsageError(f"{name} = {value!r} is not a candidate value") from None
