"""Random numbers of points without repeats: a list of a few, or a stream of any number of them.

A stream is a seeded permutation of all numbers (a Feistel network, walked until it lands below
the count), so that neither drawing nor avoiding repeats needs memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ckrules.support.errors import UsageError
from ckrules.support.plain_values import plain, whole

#: Draws up to which a sample is made as one list, every set of points equally likely.
LISTED = 1 << 20
_ROUNDS = 8
_WORD = 64


def drawn(count: int, n: int, seed: int | None, chunk: int = LISTED) -> Iterator[Any]:
    """Different numbers below ``count`` in random order, at most ``chunk`` at a time.

    Args:
        count: How many numbers there are.
        n: How many are wanted; all of them if that is more than there are.
        seed: The same seed draws the same numbers.
        chunk: The most numbers of one piece.

    Raises:
        UsageError: For less than no numbers, and pieces without numbers.

    >>> [list(piece) for piece in drawn(5, 4, 0, chunk=3)]
    [[1, 0, 2], [4]]
    """
    n, chunk = min(whole("n", n, 0), count), whole("chunk", chunk, 1)
    if not (seed is None or isinstance(plain(seed), (int, float, str, bytes, bytearray))):
        raise UsageError(f"seed = {seed!r}: expected an integer")
    seed = plain(seed)
    if n <= LISTED:
        few = _listed(count, n, seed)
        yield from (few[at : at + chunk] for at in range(0, n, chunk))
        return
    permutation = Permutation(count, seed)
    for start in range(0, n, chunk):
        yield permutation.of(start, min(n, start + chunk))


def _listed(count: int, n: int, seed: int | None) -> list[int]:
    rng = random.Random(seed)
    chosen: dict[int, None] = {}
    for top in range(count - n, count):  # Floyd's algorithm: n draws, no rejections
        draw = rng.randrange(top + 1)
        chosen.setdefault(draw if draw not in chosen else top)
    out = list(chosen)
    rng.shuffle(out)
    return out


class Permutation:
    """A seeded order of the numbers 0 to ``count - 1``, any part of which is made on its own.

    >>> sorted(Permutation(1000, seed=1).of(0, 1000).tolist()) == list(range(1000))
    True
    """

    def __init__(self, count: int, seed: int | None) -> None:
        import numpy as np

        self.count = count
        half = max(1, ((count - 1).bit_length() + 1) // 2)
        word = max(_WORD, 2 * half)
        self.exact = half >= _WORD // 2  # Python's integers, where 64 bits do not hold a number
        number: Any = int if self.exact else np.uint64
        self.mask = number((1 << word) - 1)
        self.half, self.low = number(half), number((1 << half) - 1)
        self.middle, self.top = number(word // 2), number(word - half)
        rng = random.Random(seed)
        draws = [(rng.getrandbits(word), rng.getrandbits(word) | 1) for _ in range(_ROUNDS)]
        self.keys = [(number(key), number(factor)) for key, factor in draws]

    def of(self, start: int, stop: int) -> Any:
        """The numbers at places ``start`` to ``stop`` of the order, as an array."""
        import numpy as np

        kind = object if self.exact else np.uint64
        found = self._shuffled(np.arange(start, stop).astype(kind))
        outside = np.flatnonzero(found >= self.count)
        while len(outside):  # fewer than four steps on average lead back
            found[outside] = self._shuffled(found[outside])
            outside = outside[found[outside] >= self.count]
        return found if self.exact else found.astype(np.int64)

    def _shuffled(self, numbers: Any) -> Any:
        """One step of the network, which permutes the numbers of ``2 * half`` bits."""
        left, right = numbers >> self.half, numbers & self.low
        for key, factor in self.keys:
            left, right = right, left ^ (self._mixed(right, key, factor) >> self.top)
        return left << self.half | right

    def _mixed(self, numbers: Any, key: Any, factor: Any) -> Any:
        """A hash of a word whose upper bits depend on every bit of the number."""
        mixed = (numbers ^ key) * factor & self.mask
        return (mixed ^ (mixed >> self.middle)) * factor & self.mask
