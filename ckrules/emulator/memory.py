"""Device memory: one range of addresses, which processes share, and who wrote what."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import EmulatorError

BASE = 0x7F00_0000_0000
"""The first address."""

SCRATCH_BASE = 0x6F00_0000_0000
"""Addresses from here are of the private memory of each lane."""

SHARED_BASE = 0x6E00_0000_0000
"""Addresses from here, 4 GB of them, are of the LDS of each block."""

_ALIGN = 4096


@dataclass
class Memory:
    """Memory that is given out in ranges; addresses outside of them belong to nobody.

    Args:
        capacity: Bytes of address space; memory is taken when it is written.
    """

    capacity: int = 1 << 34
    _ranges: dict[int, int] = field(default_factory=dict)
    _top: int = _ALIGN

    def __post_init__(self) -> None:
        try:
            self._map = mmap.mmap(-1, self.capacity, flags=mmap.MAP_SHARED | _NORESERVE)
        except (OSError, ValueError) as error:
            raise EmulatorError(f"no {self.capacity:,} bytes of address space: {error}") from None
        self.bytes: NDArray[np.uint8] = np.frombuffer(self._map, dtype=np.uint8)
        self.words: NDArray[np.uint32] = self.bytes.view(np.uint32)
        self.starts = np.zeros(0, np.int64)
        self.ends = np.zeros(0, np.int64)

    @property
    def top(self) -> int:
        """Bytes from `BASE` to the end of the last range."""
        return self._top

    def allocate(self, size: int) -> int:
        """The address of so many bytes, with a hole before them."""
        start = self._top
        self._top = start + -(-size // _ALIGN) * _ALIGN + _ALIGN
        if self._top > self.capacity:
            raise EmulatorError(f"out of emulated memory: {size:,} bytes more were asked for")
        self._ranges[start] = size
        self._index()
        return BASE + start

    def free(self, address: int) -> None:
        """Takes a range back."""
        self._ranges.pop(address - BASE)
        if not self._ranges:
            self._top = _ALIGN
        else:
            last = max(self._ranges)
            self._top = last + -(-self._ranges[last] // _ALIGN) * _ALIGN + _ALIGN
        self._index()

    def adopt(self, other: Memory) -> None:
        """Takes over which ranges another memory has given out."""
        self._ranges, self._top = dict(other._ranges), other._top
        self._index()

    def _index(self) -> None:
        order = sorted(self._ranges)
        self.starts = np.array(order, np.int64)
        self.ends = np.array([s + self._ranges[s] for s in order], np.int64)

    def write(self, address: int, data: bytes) -> None:
        """Stores bytes."""
        at = address - BASE
        self.bytes[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address."""
        at = address - BASE
        return self.bytes[at : at + size].tobytes()

    def fill(self, address: int, value: int, size: int) -> None:
        """Sets bytes to one value."""
        at = address - BASE
        self.bytes[at : at + size] = value

    def outside(self, offsets: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
        """Which accesses of so many bytes, at offsets from `BASE`, leave the ranges."""
        if not len(self.starts):
            return np.ones(offsets.shape, bool)
        at = np.searchsorted(self.starts, offsets, side="right") - 1
        return (at < 0) | (offsets + size > self.ends[at])

    def gather(self, offsets: NDArray[np.int64], size: int) -> NDArray[Any]:
        """The bytes at offsets: a last axis of dwords, or one unsigned number of 1 or 2 bytes."""
        if size >= 4:
            if not (offsets & 3).any():
                first = offsets >> 2
                found: NDArray[Any] = self.words[first[..., None] + np.arange(size // 4)]
            else:
                each = self.bytes[offsets[..., None] + np.arange(size)]
                found = each.view(np.uint32)
            return found
        if size == 1:
            return self.bytes[offsets][..., None].astype(np.uint32)
        low, high = self.bytes[offsets].astype(np.uint32), self.bytes[offsets + 1]
        return (low | (high.astype(np.uint32) << np.uint32(8)))[..., None]

    def scatter(self, offsets: NDArray[np.int64], data: NDArray[np.uint32], size: int) -> None:
        """Stores what `gather` would give, for one-dimensional offsets, in their order."""
        if size >= 4 and not (offsets & 3).any():
            self.words[(offsets >> 2)[:, None] + np.arange(size // 4)] = data
            return
        each = np.ascontiguousarray(data).view(np.uint8)[:, :size]
        self.bytes[offsets[:, None] + np.arange(size)] = each


_NORESERVE = 0x4000  # MAP_NORESERVE of Linux; the module has it from Python 3.13 on
