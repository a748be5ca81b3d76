"""Neighbours: the legal points next to a point, as the strategies of tuners ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.counting import counts_by
from ckrules.engine.slices import Asked
from ckrules.support.errors import UsageError, unknown

#: Kernel Tuner's names of the relations (``kernel_tuner/searchspace.py``, class ``Searchspace``).
METHODS = ("Hamming", "Hamming-adjacent", "strictly-adjacent", "adjacent")


def neighbors(space: Asked, point: Mapping[str, Any], method: str) -> Iterator[Point]:
    """The neighbours of a point (see `Space.neighbors`)."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    point = space.codec.completed(point)
    own = {n: point[n] for n in space.codec.names}
    if method == "Hamming":
        return chain.from_iterable(_legal(space, own, n, vs) for n, vs in space.domains.items())
    if method == "Hamming-adjacent":
        return _next_along_each(space, own)
    return _within_a_step(space, own, only_used=method == "adjacent")


def _legal(space: Asked, own: Point, name: str, values: Any) -> Iterator[Point]:
    """The points that differ from ``own`` in having one of the values."""
    for value in values:
        other = {**own, name: value}
        if value != own[name] and all(space.holds(other)):
            yield other


def _next_along_each(space: Asked, own: Point) -> Iterator[Point]:
    for name, values in space.domains.items():
        at = _place(name, own[name], values)
        below = next(_legal(space, own, name, values[:at][::-1]), None)
        above = next(_legal(space, own, name, values[at + 1 :]), None)
        yield from (p for p in (below, above) if p is not None)


def _within_a_step(space: Asked, own: Point, only_used: bool) -> Iterator[Point]:
    """Every other point of the box that reaches one value beyond the point's in each variable."""
    box = {}
    for name, values in space.domains.items():
        if only_used:
            counts = counts_by(space, [name])
            values = tuple(v for v in values if counts[v] or v == own[name])
        at = _place(name, own[name], values)
        box[name] = list(values[max(0, at - 1) : at + 2])
    return (p for p in space.bind(**box) if p != own)


def _place(name: str, value: Any, values: tuple[Any, ...]) -> int:
    try:
        return values.index(value)
    except ValueError:
        raise UsageError(f"{name} = {value!r} is not a candidate value") from None
