"""Accesses to LDS that the emulator counts by the turns of its banks."""

from __future__ import annotations

import numpy as np

from ckrules.arch.banks import Turns
from ckrules.emulator.banks import Access, BankWatch, said


def seen(places: np.ndarray, size: int, *, writes: bool = False) -> dict[Access, int]:
    watch = BankWatch("gfx9", 32)
    watch.note(places, np.ones(places.shape, bool), size, writes=writes)
    return dict(watch.seen)


def test_rows_of_all_banks_conflict() -> None:
    lanes = np.arange(64)[None] * 128
    assert seen(lanes, 4) == {Access(False, 4, Turns(64, 2)): 1}


def test_lanes_that_want_the_same_share_a_turn() -> None:
    assert seen(np.zeros((1, 64), np.int64), 4) == {Access(False, 4, Turns(1, 1)): 1}
    halves = np.arange(64)[None] // 2 * 4  # two lanes read each word, half of it each
    assert seen(halves, 2) == {Access(False, 2, Turns(1, 1)): 1}


def test_16_bytes_are_served_in_groups() -> None:
    straight = np.arange(64)[None] * 16
    assert seen(straight, 16, writes=True) == {Access(True, 16, Turns(8, 8)): 1}
    same_bank = np.arange(64)[None] * 128
    assert seen(same_bank, 16, writes=True) == {Access(True, 16, Turns(64, 8)): 1}


def test_blocks_are_counted_and_idle_lanes_are_not() -> None:
    watch = BankWatch("gfx12", 32)
    places = np.stack([np.arange(32) * 128, np.arange(32) * 128, np.arange(32) * 4])
    active = np.ones((3, 32), bool)
    active[1] = False
    active[0, 8:] = False
    watch.note(places, active, 4, writes=True)
    kinds = {Access(True, 4, Turns(8, 1)): 1, Access(True, 4, Turns(1, 1)): 1}
    assert dict(watch.seen) == kinds
    assert "writes of 4 bytes: 2, 9 bank cycles, 7 of them conflicts" in said(watch.seen)
