"""Features of kernels, and kernels in which any two features meet that can.

Faults are where two features meet. A field is a feature unless it is one of the sizes of a tile;
these are drawn, the small ones rather. Which instruction multiplies is a feature, of each product,
and so is whether there are several waves along a side, or several warp tiles of a wave: what small
tiles have one of.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ckrules.certify.sizes import small_first, tile_sides
from ckrules.engine.covering import Factor, Pairs
from ckrules.engine.expr import INT, Value
from ckrules.engine.expr.variables import Domain, Role, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space

Point = dict[str, Value]

#: The groups of sizes, by how they begin; attention has some for each of its products.
_TILE, _WAVES, _INSTRUCTION = "tile", "wave", "warp_tile"
#: Numbers that are told apart; of more their lengths in bits are.
_MANY = 16
_POWER = 2


def pairs_of(book: RuleBook, space: Space) -> Pairs:
    """The pairs of features that kernels of a space have; what all of them share is none.

    >>> from ckrules.kernels.books import Books
    >>> book = Books("2025.11").of("bwd_data")
    >>> fixed = {"arch": "gfx942", "layout": "nhwgc", "vector_a": 1, "vector_b": 1}
    >>> space = book.space(variant="bwd_data", **fixed)
    >>> pairs = pairs_of(book, space)
    >>> [f.name for f in pairs.factors if f.name not in book.fields]
    ['warp_tile', 'repeats_m', 'repeats_n', 'repeats_k']
    """
    domains = [domain_of(node) for node in book.fields.values()]
    used = {d.name: sum(n > 0 for n in space.counts_by(d.name).values()) for d in domains}
    factors = [
        Factor(d.name, level=int.bit_length if d.sort == INT and used[d.name] > _MANY else None)
        for d in domains
        if used[d.name] > 1 and not (d.role is Role.GEOMETRY and d.group)
    ]
    return Pairs(space, [*factors, *(f for f in _of_sizes(domains) if _varies(space, f))])


def _of_sizes(domains: Sequence[Domain]) -> Iterator[Factor]:
    """Along which sides there are several waves, and several warp tiles of a wave; instructions."""
    sizes = {d.name: d.group for d in domains if d.role is Role.GEOMETRY}
    groups = dict.fromkeys(sizes.values())
    yield from (Factor(n, level=_several) for n, g in sizes.items() if g.startswith(_WAVES))
    for group in (g for g in groups if g.startswith(_INSTRUCTION)):
        yield Factor(group, tuple(n for n, g in sizes.items() if g == group))
    for side in (n.removeprefix(_TILE) for n, g in sizes.items() if g == _TILE):
        reads = tuple(f"{group}{side}" for group in (_TILE, _WAVES, _INSTRUCTION))
        if sizes.keys() >= {*reads}:
            yield Factor(f"repeats{side}", reads, _repeats)


def _several(waves: int) -> bool:
    return waves > 1


def _repeats(tile: int, waves: int, warp_tile: int) -> bool:
    return tile > waves * warp_tile


def _varies(space: Space, factor: Factor) -> bool:
    """Whether points have different levels."""
    counts = space.counts_by(*factor.reads).items()
    keys = ([key] if len(factor.reads) == 1 else key for key, n in counts if n)
    return len({factor.of(key) for key in keys}) > 1


def covering(
    pairs: Pairs,
    book: RuleBook,
    seed: int,
    dice: random.Random,
    given: Iterable[Mapping[str, Value]] = (),
) -> Iterator[Point]:
    """Kernels until every pair of features occurs, of small tiles rather (see `Pairs.cover`)."""
    sides = tile_sides(book)

    def small(points: Sequence[Point]) -> Point:
        return small_first(points, sides, dice, _POWER)[0]

    return pairs.cover(seed, prefer=small, given=given)
