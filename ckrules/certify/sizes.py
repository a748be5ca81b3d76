"""Small kernels before large ones: what a kernel costs to compile and to run grows with its tile.

Front end, back end and executor unroll a block tile, so that a tile of eight times the volume costs
eight times and more; a plain draw is nearly all of such tiles.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ckrules.engine.expr import BOOL, ENUM, INT, Value
from ckrules.engine.expr.variables import Domain, Role, domain_of
from ckrules.engine.rules.book import RuleBook

Point = dict[str, Value]

_TILE = "tile"
#: Word fields of more values than this do not make kinds.
_MANY = 16


def tile_sides(book: RuleBook) -> list[str]:
    """The fields whose product is the volume of a block tile.

    >>> from ckrules.kernels.books import Books
    >>> tile_sides(Books("2025.11").of("forward"))
    ['tile_m', 'tile_n', 'tile_k']
    """
    domains = (domain_of(node) for node in book.fields.values())
    return [d.name for d in domains if d.group == _TILE and d.sort == INT]


def volume(point: Mapping[str, Value], sides: Iterable[str]) -> int:
    """The volume of a configuration's block tile, in multiplications.

    >>> volume({"tile_m": 64, "tile_n": 32, "tile_k": 16}, ["tile_m", "tile_n", "tile_k"])
    32768
    """
    return math.prod(int(str(point[s])) for s in sides)


def small_first(
    points: Iterable[Point], sides: Iterable[str], dice: random.Random, power: int
) -> list[Point]:
    """The points in the order of a weighted draw: twice the volume has 1/2**power of the weight.

    Args:
        points: What is drawn from.
        sides: See `tile_sides`.
        power: 0 is a plain shuffle.
    """
    sides = list(sides)
    # Of independent exponential times with these rates the first ones are a weighted draw.
    timed = [(-math.log(1 - dice.random()) * volume(p, sides) ** power, p) for p in points]
    return [point for _, point in sorted(timed, key=lambda pair: pair[0])]


def tells_kinds(domain: Domain) -> bool:
    """Whether a field's words make kinds of kernels: its purpose and method, if these are few."""
    return (
        domain.sort in (ENUM, BOOL)
        and len(domain.values) <= _MANY
        and domain.role in (Role.METHOD, Role.PURPOSE)
    )


def kind_by_kind(
    points: Iterable[Point], words: Sequence[str], book: RuleBook, dice: random.Random, power: int
) -> Iterator[Point]:
    """The points, one of each kind in turn, and of each kind the small ones rather.

    Args:
        points: What was drawn.
        words: The fields whose values make a kind.
        book: Whose points they are.
        power: See `small_first`.
    """
    kinds: dict[tuple[Value, ...], list[Point]] = {}
    for point in small_first(points, tile_sides(book), dice, power):
        kinds.setdefault(tuple(point[w] for w in words), []).append(point)
    rows = [kinds[k] for k in sorted(kinds, key=str)]
    dice.shuffle(rows)
    return in_turn(rows)


def in_turn(rows: Iterable[Iterable[Point]]) -> Iterator[Point]:
    """One of each row in turn, until all are at their end."""
    for turn in itertools.zip_longest(*rows):
        yield from (point for point in turn if point is not None)
