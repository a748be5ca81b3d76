"""Who wrote each byte of memory, and what comes of several waves that write one byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import FaultKind

ATOMIC, SEVERAL = -1, -2
"""Stand for an atomic operation, and for several waves that wrote the same, among writers."""


def who(number: int, waves: int) -> str:
    """Who a number among the writers of memory stands for.

    >>> who(6, 4)
    'wave 1 of block 1'
    """
    if number < 0:
        return "an atomic operation" if number == ATOMIC else "several waves"
    return f"wave {(number - 1) % waves} of block {(number - 1) // waves}"


def store_in_turn(
    writers: NDArray[np.int32],
    memory: NDArray[np.uint8],
    places: NDArray[np.int64],
    mine: NDArray[np.int32],
    values: NDArray[np.uint8],
) -> dict[FaultKind, tuple[int, int]]:
    """Stores bytes in their order, and notes who did.

    Args:
        writers: Who wrote each byte of memory, which is changed.
        memory: The bytes of memory, which are changed.
        places: Where each byte goes.
        mine: The number of the wave that writes it.
        values: The bytes.

    Returns:
        By kind the first byte that somebody else had written, and that writer.

    >>> writers, memory = np.zeros(8, np.int32), np.zeros(8, np.uint8)
    >>> given = np.array([3, 3, 3]), np.array([1, 2, 2], np.int32), np.array([7, 7, 8], np.uint8)
    >>> {kind.value: met for kind, met in store_in_turn(writers, memory, *given).items()}
    {'repeated-write': (1, 1), 'write-conflict': (2, -2)}
    """
    order = np.argsort(places, kind="stable")
    starts = np.r_[True, np.diff(places[order]) != 0]
    index: NDArray[Any] = np.arange(len(places))
    turn = np.empty_like(index)
    turn[order] = index - np.maximum.accumulate(np.where(starts, index, 0))
    found: dict[FaultKind, tuple[int, int]] = {}
    for each in range(int(turn.max()) + 1):
        now = np.flatnonzero(turn == each)
        at = places[now]
        held = writers[at]
        met = (held != 0) & (held != mine[now])
        alike = met & (held != ATOMIC) & (memory[at] == values[now])
        kinds = (FaultKind.REPEATED_WRITE, alike), (FaultKind.WRITE_CONFLICT, met & ~alike)
        for kind, some in kinds:
            if some.any():
                first = int(some.argmax())
                one = int(now[first]), int(held[first])
                found[kind] = min(found.get(kind, one), one)
        writers[at] = np.where(alike, SEVERAL, mine[now])
        memory[at] = values[now]
    return found
