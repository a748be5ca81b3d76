"""Which turns of the LDS banks the accesses of waves take, as they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ckrules.arch.banks import Turns, together, turns
from ckrules.emulator.wave import Mask

_NOBODY = -1  # in place of the address of a lane that takes no part


@dataclass(frozen=True)
class Access:
    """A kind of access: so many bytes of each lane, in so many bank cycles."""

    writes: bool
    size: int
    turns: Turns


@dataclass
class BankWatch:
    """Counts the accesses of waves to LDS by the turns that they take.

    Both halves of an instruction with two addresses are accesses; atomics are not counted.

    Args:
        isa: The instruction set, as files of GPUs name it.
        banks: The banks of the LDS.

    >>> watch = BankWatch("gfx9", 32)
    >>> watch.note(np.arange(0, 256, 4)[None], np.ones((1, 64), bool), 4, writes=True)
    >>> watch.seen
    Counter({Access(writes=True, size=4, turns=Turns(taken=2, least=2)): 1})
    """

    isa: str
    banks: int
    seen: Counter[Access] = field(default_factory=Counter)

    def note(self, places: NDArray[np.int64], active: Mask, size: int, *, writes: bool) -> None:
        """Counts one access of the same wave of several blocks: (block, lane)."""
        rows = np.where(active, places, _NOBODY)
        kinds, counts = np.unique(rows[active.any(axis=1)], axis=0, return_counts=True)
        for row, n in zip(kinds, counts, strict=True):
            found = _turns(self.isa, self.banks, row.tobytes(), size, writes)
            self.seen[Access(writes, size, found)] += int(n)


@cache
def _turns(isa: str, banks: int, row: bytes, size: int, writes: bool) -> Turns:
    places = np.frombuffer(row, np.int64).tolist()
    groups = together(isa, banks, len(places), size, writes=writes)
    return turns([None if p == _NOBODY else p for p in places], size, banks, groups)


def said(seen: Mapping[Access, int]) -> str:
    """Counted accesses in a line.

    >>> said({Access(False, 8, Turns(4, 4)): 3, Access(False, 8, Turns(8, 4)): 1})
    'LDS reads of 8 bytes: 4, 20 bank cycles, 4 of them conflicts'
    """
    found = []
    for writes, size in dict.fromkeys((a.writes, a.size) for a in seen):
        some = {a: n for a, n in seen.items() if (a.writes, a.size) == (writes, size)}
        number, taken = sum(some.values()), sum(a.turns.taken * n for a, n in some.items())
        lost = sum(a.turns.conflicts * n for a, n in some.items())
        unit = "byte" if size == 1 else "bytes"
        found.append(
            f"LDS {'writes' if writes else 'reads'} of {size} {unit}: {number:,}, "
            f"{taken:,} bank cycles, {lost:,} of them conflicts"
        )
    return "; ".join(found)
