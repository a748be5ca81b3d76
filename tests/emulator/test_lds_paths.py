"""LDS accesses of all blocks at once do what accesses block by block do, faults included."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.emulator.errors import FaultKind
from ckrules.emulator.lds import Lds

BLOCKS, LANES, SIZE = 3, 4, 64


@dataclass
class Wave:
    """What LDS looks at of a cohort."""

    wave: int
    slots: np.ndarray[Any, Any] = field(default_factory=lambda: np.arange(BLOCKS))
    exec: np.ndarray[Any, Any] = field(default_factory=lambda: np.ones((BLOCKS, LANES), bool))

    @property
    def full(self) -> bool:
        return bool(self.exec.all())


@dataclass(frozen=True)
class Access:
    """A load, a store or a barrier."""

    kind: str
    wave: int
    start: int
    stride: int
    size: int
    value: int
    masked: int
    odd: bool
    """Whether one block goes elsewhere."""


ACCESSES = st.builds(
    Access, st.sampled_from(["load", "store", "store", "barrier", "carry"]), st.integers(0, 2),
    st.integers(-4, SIZE), st.sampled_from([0, 1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8, 16]),
    st.integers(0, 1), st.sampled_from([0, 0, 0, 1, 3]), st.sampled_from([False] * 7 + [True]),
)  # fmt: skip


def played(accesses: list[Access], unit: int, *, apart: bool) -> tuple[Any, ...]:
    """What loads read, the faults with their places, and what LDS holds at last."""
    faults: list[tuple[FaultKind, int, list[int], str]] = []
    lds = Lds(
        BLOCKS, SIZE, unit,
        lambda kind, c, where, what: faults.append((kind, c.wave, [int(n) for n in where], what)),
    )  # fmt: skip
    if apart:
        lds._part()
    read, left = [], []
    for each in accesses:
        wave = Wave(each.wave)
        wave.exec[:, : each.masked] = False
        place = np.broadcast_to(each.start + each.stride * np.arange(LANES), (BLOCKS, LANES)).copy()
        if each.odd:
            place[1] += 4
        if each.kind == "load":
            data, touched = lds.load(wave, place, each.size)  # type: ignore[arg-type]
            read.append(data.tolist())
            left.append((wave, touched))
        elif each.kind == "store":
            words = max(1, each.size // 4)
            data = (np.arange(LANES * words, dtype=np.uint32) * 0x01010101).reshape(LANES, words)
            data = np.broadcast_to(data * np.uint32(each.value), (BLOCKS, LANES, words))
            left.append((wave, lds.store(wave, place, data, each.size)))  # type: ignore[arg-type]
        elif each.kind == "barrier":
            lds.epoch += 1
            left.clear()
        elif left:
            lds.epoch += 1
            waiting, touched = left.pop()
            lds.carry(waiting, touched)  # type: ignore[arg-type]
    return read, faults, lds.bytes.tolist()


@settings(max_examples=400)
@given(st.lists(ACCESSES, max_size=12), st.sampled_from([1, 2, 4]))
def test_all_blocks_at_once_are_block_by_block(accesses: list[Access], unit: int) -> None:
    usual = [a for a in accesses if a.size >= unit]
    assert played(usual, unit, apart=False) == played(usual, unit, apart=True)


def test_one_row_stands_for_all_until_blocks_differ() -> None:
    lds = Lds(BLOCKS, SIZE, 4, lambda *_: None)
    place = np.broadcast_to(4 * np.arange(LANES), (BLOCKS, LANES))
    data = np.ones((BLOCKS, LANES, 1), np.uint32)
    lds.store(Wave(0), place, data, 4)  # type: ignore[arg-type]
    assert lds.written.shape[0] == 1
    lds.store(Wave(0), place + 4 * np.arange(BLOCKS)[:, None], data, 4)  # type: ignore[arg-type]
    assert lds.written.shape[0] == BLOCKS
