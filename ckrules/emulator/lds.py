"""The LDS of many blocks, and who touched each part of it since the last barrier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.banks import BankWatch
from ckrules.emulator.errors import FaultKind
from ckrules.emulator.wave import Cohort, Mask

Numbers = NDArray[np.int64]
Report = Callable[[FaultKind, Cohort, Numbers, str], None]

_WAVES = 64
_MANY = _WAVES - 1
"""Stands for several waves that read, or that wrote the same."""


@dataclass(frozen=True, slots=True)
class Touch:
    """An access whose wait has not come: its parts belong to what comes after a barrier, too."""

    rows: Numbers | None
    """Of which block each row of parts is; None where all blocks touched the same parts."""
    units: Numbers
    writes: bool
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class _Shared:
    """An access at the same addresses of all blocks, as nearly all are."""

    places: Numbers
    """Byte offsets of active lanes."""
    lanes: Numbers | None
    """Which lanes these are; None for all of them."""
    units: Numbers


@dataclass
class Lds:
    """LDS of a chunk of blocks, one row each.

    Args:
        size: Bytes of each block.
        unit: Bytes of the parts that accesses are told apart by: 1, 2 or 4.
        report: Told of faults.
        fill: What the LDS holds beforehand.
        watch: Told of accesses, if there is one.
    """

    blocks: int
    size: int
    unit: int
    report: Report
    fill: int = 0xFF
    watch: BankWatch | None = None
    epoch: int = 1
    bytes: NDArray[np.uint8] = field(init=False)
    written: NDArray[np.int32] = field(init=False)
    read: NDArray[np.int32] = field(init=False)
    _atomic: NDArray[np.int32] = field(init=False)
    """In which epoch parts were last written by atomics."""
    atomics: bool = False
    alike: bool = True
    """Whether all blocks touched the same parts so far: one row then stands for all."""

    def __post_init__(self) -> None:
        self.stride = -(-self.size // 16) * 16 + 16
        self.bytes = np.full((self.blocks, self.stride), self.fill, np.uint8)
        self._words = self.bytes.view(np.uint32)
        self._every = np.arange(self.blocks)
        parts = self.stride // self.unit
        self.written = np.zeros((1, parts), np.int32)
        self.read = np.zeros((1, parts), np.int32)
        self._atomic = np.zeros((self.blocks, parts), np.int32)

    def load(
        self, c: Cohort, address: Numbers, size: int
    ) -> tuple[NDArray[np.uint32], list[Touch]]:
        """What active lanes read, and what the access leaves behind until its wait.

        Data are (block, lane, dword), zero for other lanes and outside of the LDS.
        """
        self._watched(c, address, size, writes=False)
        if (own := self._shared(c, address, size)) and (data := self._load_shared(c, own, size)):
            return data
        self._part()
        rows, places, where = self._active(c, address, size)
        result = np.zeros((*c.exec.shape, max(1, size // 4)), np.uint32)
        units = self._touched(places, size)
        touched = [Touch(rows, units, writes=False)]
        if not len(rows):
            return result, touched
        stamps = self.written[rows[:, None], units]
        mine = self.epoch * _WAVES + c.wave
        if (stamps == 0).any():
            self._tell(FaultKind.LDS_UNWRITTEN, c, where, places, (stamps == 0).any(axis=1))
        # Who reads what several waves have written alike is one of them, as far as is known here.
        alike = stamps % _WAVES == _MANY
        if self.atomics:
            alike &= self._atomic[rows[:, None], units] != self.epoch
        bad = self._by_others(stamps, mine) & ~alike
        if bad.any():
            self._tell(FaultKind.LDS_RACE, c, where, places, bad.any(axis=1), stamps, "reads")
        self._note_read((rows[:, None], units), mine)
        result[where] = self._gather(rows, places, size)
        return result, touched

    def _load_shared(
        self, c: Cohort, own: _Shared, size: int
    ) -> tuple[NDArray[np.uint32], list[Touch]] | None:
        """`load` of all blocks; None, and nothing done, where there may be a fault."""
        stamps = self.written[0, own.units]
        mine = self.epoch * _WAVES + c.wave
        if not stamps.all() or (self._by_others(stamps, mine) & (stamps % _WAVES != _MANY)).any():
            return None
        self._note_read((0, own.units), mine)
        if size >= 4:
            at = (own.places >> 2) + np.arange(size // 4)[:, None]
            found = self._words.take(at, axis=1).swapaxes(1, 2)
        else:
            found = self.bytes.take(own.places, axis=1).astype(np.uint32)
            if size == 2:
                upper = self.bytes.take(own.places + 1, axis=1).astype(np.uint32)
                found |= upper << np.uint32(8)
            found = found[..., None]
        if own.lanes is not None:
            result = np.zeros((*c.exec.shape, found.shape[-1]), np.uint32)
            result[:, own.lanes] = found
            found = result
        return found, [Touch(None, own.units, writes=False)]

    def store(
        self, c: Cohort, address: Numbers, data: NDArray[np.uint32], size: int
    ) -> list[Touch]:
        """Writes what active lanes give, (block, lane, dword); what it leaves until its wait.

        What holds the same already may be written by several waves: tiles with fewer rows than
        threads are loaded and stored twice.
        """
        self._watched(c, address, size, writes=True)
        own = self._shared(c, address, size)
        if own and (touched := self._store_shared(c, own, data, size)):
            return touched
        self._part()
        rows, places, where = self._active(c, address, size)
        units = self._touched(places, size)
        touched = [Touch(rows, units, writes=True)]
        if not len(rows):
            return touched
        mine = self.epoch * _WAVES + c.wave
        at = rows[:, None], units
        if self.atomics:
            self._atomic[at] = 0
        values = np.broadcast_to(data, (*c.exec.shape, data.shape[-1]))[where]
        each = np.ascontiguousarray(values).view(np.uint8)[:, :size]
        written, read = self.written[at], self.read[at]
        alike, seen = self._by_others(written, mine), self._by_others(read, mine)
        if alike.any() or seen.any():
            differs = self._differs(rows, places, each)
            for others, stamps in ((alike, written), (seen, read)):
                bad = others.any(axis=1) & differs
                if bad.any():
                    self._tell(FaultKind.LDS_RACE, c, where, places, bad, stamps, "writes after")
            self.written[at] = np.where(alike, self.epoch * _WAVES + _MANY, mine)
        else:
            self.written[at] = mine
        if size >= 4 and not (places & 3).any():
            words = (places >> 2)[:, None] + np.arange(size // 4)
            self.bytes.view(np.uint32)[rows[:, None], words] = values
        else:
            self.bytes[rows[:, None], places[:, None] + np.arange(size)] = each
        return touched

    def _store_shared(
        self, c: Cohort, own: _Shared, data: NDArray[np.uint32], size: int
    ) -> list[Touch] | None:
        """`store` of all blocks; None, and nothing done, where there may be a fault."""
        written, read = self.written[0, own.units], self.read[0, own.units]
        mine = self.epoch * _WAVES + c.wave
        alike = self._by_others(written, mine)
        values = np.broadcast_to(data, (*c.exec.shape, data.shape[-1]))
        each: NDArray[Any] = np.ascontiguousarray(
            values if own.lanes is None else values[:, own.lanes]
        )
        there: NDArray[Any]
        if size >= 4:
            there, at = self._words, (own.places >> 2)[:, None] + np.arange(size // 4)
        else:
            there, at = self.bytes, own.places[:, None] + np.arange(size)
            each = each.view(np.uint8)[..., :size]
        others = alike | self._by_others(read, mine)
        if others.any():
            some = others.any(axis=1)
            if (there[:, at[some]] != each[:, some]).any():
                return None
        self.written[0, own.units] = np.where(alike, self.epoch * _WAVES + _MANY, mine)
        there[:, at] = each
        return [Touch(None, own.units, writes=True)]

    def _shared(self, c: Cohort, address: Numbers, size: int) -> _Shared | None:
        """An access as one of all blocks; otherwise each block has a row of its own from now on."""
        if not self.alike:
            return None
        places, active = np.broadcast_to(address, c.exec.shape), c.exec[0]
        if (
            len(c.slots) == self.blocks
            and (c.full or (active.any() and (c.exec == active).all()))
            and (places == places[0]).all()
            and (c.slots == self._every).all()
        ):
            lanes = None if c.full else active.nonzero()[0]
            row = places[0].astype(np.int64) if lanes is None else places[0, lanes].astype(np.int64)
            whole = size < 4 or not (row & 3).any()
            if whole and row.min() >= 0 and row.max() + size <= self.size:
                return _Shared(row, lanes, self._touched(row, size))
        self._part()
        return None

    def touched_at(
        self, slots: Numbers, places: NDArray[np.int32], size: int, *, writes: bool
    ) -> Touch:
        """What an access left behind at offsets, (block, lane), negative of lanes without one."""
        if self.alike:
            row = places[0][places[0] >= 0].astype(np.int64)
            return Touch(None, self._touched(row, size), writes)
        where = (places >= 0).nonzero()
        units = self._touched(places[where].astype(np.int64), size)
        return Touch(slots[where[0]], units, writes)

    def _part(self) -> None:
        """Gives each block a row of its own."""
        if self.alike:
            self.alike = False
            self.written = np.repeat(self.written, self.blocks, axis=0)
            self.read = np.repeat(self.read, self.blocks, axis=0)

    def _watched(self, c: Cohort, address: Numbers, size: int, *, writes: bool) -> None:
        if self.watch is not None:
            places = np.broadcast_to(address, c.exec.shape).astype(np.int64)
            self.watch.note(places, c.exec, size, writes=writes)

    def _by_others(self, stamps: NDArray[np.int32], mine: int) -> Mask:
        """Which parts other waves have touched since the last barrier."""
        found: Mask = (stamps // _WAVES == self.epoch) & (stamps != mine)
        return found

    def _differs(self, rows: Numbers, places: Numbers, each: NDArray[np.uint8]) -> Mask:
        """Which accesses would change what is there."""
        size = each.shape[1]
        there = self.bytes[rows[:, None], places[:, None] + np.arange(size)]
        found: Mask = (there != each).any(axis=1)
        return found

    def combine(
        self,
        c: Cohort,
        address: Numbers,
        data: NDArray[np.uint32],
        compute: Callable[[NDArray[np.uint32], NDArray[np.uint32]], NDArray[np.uint32]],
    ) -> tuple[NDArray[np.uint32], list[Touch]]:
        """Read-modify-write of a dword by each active lane in turn; what was there before.

        With it comes what the access leaves behind until its wait.

        Atomics of several waves may follow each other in any order; with other accesses of other
        waves, and no barrier between, they are a race.
        """
        self._part()
        rows, places, where = self._active(c, address, 4)
        units = self._touched(places, 4)
        old = np.zeros(c.exec.shape, np.uint32)
        if len(rows):
            self._note_atomic(c, rows, places, where, units)
        for row, place, block, lane in zip(rows, places >> 2, *where, strict=True):
            before = self._words[row, place : place + 1].copy()
            old[block, lane] = before[0]
            self._words[row, place] = compute(before, data[block, lane : lane + 1])[0]
        return old, [Touch(rows, units, writes=True, atomic=True)]

    def _note_atomic(
        self, c: Cohort, rows: Numbers, places: Numbers, where: tuple[Numbers, ...], units: Numbers
    ) -> None:
        at, mine = (rows[:, None], units), self.epoch * _WAVES + c.wave
        written, read, atomic = self.written[at], self.read[at], self._atomic[at] == self.epoch
        if (written == 0).any():
            self._tell(FaultKind.LDS_UNWRITTEN, c, where, places, (written == 0).any(axis=1))
        for stamps, bad in (
            (written, self._by_others(written, mine) & ~atomic),
            (read, self._by_others(read, mine)),
        ):
            some = np.asarray(bad.any(axis=1))
            if some.any():
                word = "an atomic after"
                self._tell(FaultKind.LDS_RACE, c, where, places, some, stamps, word)
        several = atomic & self._by_others(written, mine)
        self.written[at] = np.where(several, self.epoch * _WAVES + _MANY, mine)
        self._atomic[at], self.atomics = self.epoch, True

    def carry(self, c: Cohort, touches: list[Touch]) -> None:
        """Marks accesses that were not waited for before a barrier as made after it."""
        mine = self.epoch * _WAVES + c.wave
        if len(c.slots) != self.blocks or any(t.rows is not None for t in touches):
            self._part()
        for each in touches:
            at: tuple[Numbers | int, Numbers]
            if each.rows is not None:
                own = np.isin(each.rows, c.slots)
                at = each.rows[own][:, None], each.units[own]
            elif self.alike:
                at = 0, each.units
            else:
                at = c.slots[:, None], each.units.ravel()
            if each.writes:
                self.written[at] = mine
                if self.atomics:
                    self._atomic[at] = self.epoch if each.atomic else 0
            else:
                self._note_read(at, mine)

    def _active(
        self, c: Cohort, address: Numbers, size: int
    ) -> tuple[Numbers, Numbers, tuple[Numbers, ...]]:
        places = np.broadcast_to(address, c.exec.shape).astype(np.int64)
        inside = c.exec & (places >= 0) & (places + size <= self.size)
        if (inside != c.exec).any():
            lost = (c.exec & ~inside).nonzero()
            self._tell(FaultKind.LDS_OUTSIDE, c, lost, places[lost], np.ones(len(lost[0]), bool))
        where = inside.nonzero()
        return c.slots[where[0]], places[where], where

    def _touched(self, places: Numbers, size: int) -> Numbers:
        count = max(1, size // self.unit)
        return (places // self.unit)[:, None] + np.arange(count)

    def _note_read(self, at: tuple[Numbers | int, Numbers], mine: int) -> None:
        before = self.read[at]
        several = (before // _WAVES == self.epoch) & (before != mine)
        self.read[at] = np.where(several, self.epoch * _WAVES + _MANY, mine)

    def _gather(self, rows: Numbers, places: Numbers, size: int) -> NDArray[np.uint32]:
        if size >= 4:
            if not (places & 3).any():
                words = self.bytes.view(np.uint32)
                found: NDArray[np.uint32] = words[
                    rows[:, None], (places >> 2)[:, None] + np.arange(size // 4)
                ]
                return found
            each = self.bytes[rows[:, None], places[:, None] + np.arange(size)]
            return np.ascontiguousarray(each).view(np.uint32)
        value = self.bytes[rows, places].astype(np.uint32)
        if size == 2:
            value |= self.bytes[rows, places + 1].astype(np.uint32) << np.uint32(8)
        return value[:, None]

    def _tell(
        self,
        kind: FaultKind,
        c: Cohort,
        where: tuple[Numbers, ...],
        places: Numbers,
        bad: Mask,
        stamps: NDArray[np.int32] | None = None,
        word: str = "",
    ) -> None:
        first = int(bad.argmax())
        detail = f"LDS offset {int(places[first])}"
        if stamps is not None:
            others = stamps[first][(stamps[first] // _WAVES == self.epoch)] % _WAVES
            other = next((int(w) for w in others if w != c.wave), _MANY)
            name = "several waves" if other == _MANY else f"wave {other}"
            detail += f": {word} {name} without a barrier between"
        self.report(kind, c, np.array([where[0][first], where[1][first]]), detail)
