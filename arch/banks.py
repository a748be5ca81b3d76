"""How the banks of LDS serve one access of a wave.

A bank gives or takes four bytes a turn. Lanes that want the same four bytes share a turn; lanes
that want other ones of the same bank wait for each other, which is a bank conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WORD = 4
#: Lanes that 16-byte reads of 64 lanes are served with, within half a wave.
_READ_16 = (
    (*range(4), *range(20, 24)), (*range(4, 8), *range(16, 20)),
    (*range(8, 12), *range(28, 32)), (*range(12, 16), *range(24, 28)),
)  # fmt: skip


@dataclass(frozen=True)
class Turns:
    """What an access takes of the banks, and what the same words take that are spread evenly.

    >>> Turns(8, 4).conflicts, (Turns(8, 4) + Turns(4, 4)).taken
    (4, 12)
    """

    taken: int
    least: int

    @property
    def conflicts(self) -> int:
        """Turns that bank conflicts cost."""
        return self.taken - self.least

    def __add__(self, other: Turns) -> Turns:
        return Turns(self.taken + other.taken, self.least + other.least)


def together(isa: str, banks: int, lanes: int, size: int, *, writes: bool) -> list[Sequence[int]]:
    """The lanes that are served at a time; all of a wave where nothing more is published.

    Of all lanes at a time only the busiest bank counts, so that turns are then a lower bound.

    Args:
        isa: The instruction set, as files of GPUs name it.
        banks: The banks of the LDS.
        lanes: The lanes of a wave.
        size: Bytes of a lane.
        writes: Whether they write.

    Source: AMD, "Understanding AMD GPU LDS and Bank Conflicts" (documentation of Composable
    Kernel), which has the groups of 16-byte accesses of 64 lanes and 32 banks.

    >>> [len(together("gfx9", 32, 64, size, writes=True)) for size in (16, 8)]
    [8, 1]
    """
    if (isa, banks, lanes, size) != ("gfx9", 32, 64, 16):
        return [range(lanes)]
    if writes:
        return [range(i, i + 8) for i in range(0, lanes, 8)]
    return [[i + half for i in group] for half in (0, 32) for group in _READ_16]


def turns(
    places: Sequence[int | None], size: int, banks: int, groups: Iterable[Sequence[int]]
) -> Turns:
    """The turns of one access of a wave.

    Args:
        places: The first byte of each lane; None for a lane that takes no part.
        size: Bytes of a lane.
        banks: The banks of the LDS.
        groups: The lanes that are served at a time (`together`).

    >>> turns([0, 4, 128], 4, 32, [range(3)])
    Turns(taken=2, least=1)
    """
    taken = least = 0
    for group in groups:
        words = {
            word
            for lane in group
            if (place := places[lane]) is not None
            for word in range(place // _WORD, (place + size - 1) // _WORD + 1)
        }
        of_bank = [0] * banks
        for word in words:
            of_bank[word % banks] += 1
        taken += max(of_bank)
        least += -(-len(words) // banks)
    return Turns(taken, least)
