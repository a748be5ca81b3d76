"""Features of kernels, and kernels in which any two features meet that can.

Faults are where two features meet. A field is a feature unless it is one of the sizes of a tile or
of waves; these are drawn, the small ones rather, but which instruction multiplies is a feature.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ckrules.certify.sizes import small_first, tile_sides
from ckrules.engine.covering import Factor, Pairs
from ckrules.engine.expr import INT, Value
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space

Point = dict[str, Value]

#: Sizes that together are a feature.
_INSTRUCTION = "warp_tile"
#: Numbers that are told apart; of more their lengths in bits are.
_MANY = 16
_POWER = 2


def pairs_of(book: RuleBook, space: Space) -> Pairs:
    """The pairs of features that kernels of a space have; what all of them share is none.

    >>> from ckrules.kernels.books import Books
    >>> book = Books("2025.11").of("bwd_data")
    >>> space = book.space(variant="bwd_data", arch="gfx942", vector_a=1, vector_b=1, vector_c=1)
    >>> pairs = pairs_of(book, space)
    >>> [f.name for f in pairs.factors]
    ['dtype', 'ndim', 'layout', 'pipeline', 'scheduler', 'epilogue', 'warp_tile']
    """
    domains = [domain_of(node) for node in book.fields.values()]
    used = {d.name: sum(n > 0 for n in space.counts_by(d.name).values()) for d in domains}
    factors = [
        Factor(d.name, level=int.bit_length if d.sort == INT and used[d.name] > _MANY else None)
        for d in domains
        if used[d.name] > 1 and not (d.role is Role.GEOMETRY and d.group)
    ]
    sides = tuple(d.name for d in domains if d.group == _INSTRUCTION)
    if any(used[s] > 1 for s in sides):
        factors.append(Factor(_INSTRUCTION, sides))
    return Pairs(space, factors)


def covering(pairs: Pairs, book: RuleBook, seed: int, dice: random.Random) -> Iterator[Point]:
    """Kernels until every pair of features occurs, of small tiles rather (see `Pairs.cover`)."""
    sides = tile_sides(book)

    def small(points: Sequence[Point]) -> Point:
        return small_first(points, sides, dice, _POWER)[0]

    return pairs.cover(seed, prefer=small)
