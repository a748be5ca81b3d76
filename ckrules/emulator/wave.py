"""The registers of one wave of many blocks, which run the same instructions together.

A `Cohort` is the wave of one number in blocks that are at the same instruction. Where a branch goes
both ways the cohort is parted, and joined again where its parts meet. Registers are arrays over
blocks (and lanes), so an instruction is a few operations on whole arrays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.operands import SCALARS, Special

if TYPE_CHECKING:
    from ckrules.emulator.errors import FaultKind
    from ckrules.emulator.memory import Memory

MOST = 63
"""No counter counts more: a wave stands still until another operation may be outstanding.

Source: LLVM, AMDGPUBaseInfo.cpp, getVmcntBitMask (six bits; other counters have six or fewer).
"""

Words = NDArray[np.uint32]
Mask = NDArray[np.bool_]
Values = NDArray[Any]


class State(Enum):
    """What a cohort waits for."""

    RUNNING = "running"
    BARRIER = "barrier"
    ENDED = "ended"


@dataclass(frozen=True)
class LaneAddresses:
    """Where the lanes of a wave access memory."""

    start: NDArray[np.int64]
    """The first byte, from `BASE`: (block, lane)."""
    room: NDArray[np.int64]
    """How many bytes from there on are inside of the buffer: (block, lane)."""
    active: Mask
    """Lanes that access at all."""
    size: int
    """Bytes of the access."""
    private: bool = False
    """Whether the offsets are into each lane's own memory."""
    shared: bool = False
    """Whether the offsets are into the LDS of each block."""

    @cached_property
    def _parts(self) -> NDArray[np.int64]:
        return np.arange(0, max(self.size, 1), min(max(self.size, 1), 4))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """From `BASE`, of dwords or smaller parts: (block, lane, part)."""
        return self.start[..., None] + self._parts

    @cached_property
    def there(self) -> Mask:
        """(block, lane, part): inside of the buffer and active."""
        inside = self._parts + min(self.size, 4) <= self.room[..., None]
        return np.asarray(inside & self.active[..., None])


class LocalMemory(Protocol):
    """The LDS of a chunk, as instructions use it; see `ckrules.emulator.lds.Lds`."""

    def load(self, c: Cohort, address: Values, size: int) -> tuple[Words, list[Any]]:
        """What active lanes read, and what the access leaves behind until its wait."""

    def store(self, c: Cohort, address: Values, data: Words, size: int) -> list[Any]:
        """Writes what active lanes give; what it leaves behind until its wait."""

    def combine(
        self, c: Cohort, address: Values, data: Words, compute: Callable[[Values, Values], Values]
    ) -> tuple[Words, list[Any]]:
        """Read-modify-write by each active lane in turn; what it leaves behind until its wait."""


class Surroundings(Protocol):
    """What a cohort's instructions reach beyond its registers; see `ckrules.emulator.machine`."""

    base: int

    @property
    def lds(self) -> LocalMemory:
        """The LDS of its blocks."""

    @property
    def memory(self) -> Memory:
        """The device's memory."""

    def add(self, cohort: Cohort) -> None:
        """Takes in the other part of a cohort that was parted."""

    def report(self, kind: FaultKind, c: Cohort, where: Values, detail: str) -> None:
        """Notes a fault."""

    def note_writes(self, c: Cohort, there: Mask, offsets: Values, data: Values, unit: int) -> None:
        """Notes who writes global memory."""

    def atomic(
        self,
        c: Cohort,
        places: LaneAddresses,
        data: Values,
        combine: Callable[[Values, Values], Values],
    ) -> Values:
        """Read-modify-write of global memory; what was there before."""


@dataclass(slots=True)
class Outstanding:
    """A memory operation whose wait has not come yet."""

    registers: frozenset[int]
    ordered: bool = True
    """Whether it ends in the order of issue with others of its counter."""
    stamp: Any = None
    """Of an access to LDS: what to mark again if a barrier comes first."""


@dataclass(eq=False)
class Cohort:
    """One wave number of several blocks at one instruction."""

    chunk: Surroundings
    wave: int
    slots: NDArray[np.int64]
    """The blocks, as rows of the chunk's LDS."""
    v: Words
    """Vector registers: (register, block, lane)."""
    a: Words
    """Accumulation registers, alike."""
    s: Words
    """Scalar registers: (register, block); exec, vcc and m0 among them."""
    scc: Mask
    scratch: NDArray[np.uint8]
    """Private memory: (block, lane, byte)."""
    pc: int = 0
    """The next instruction's number in the program."""
    state: State = State.RUNNING
    signalled: bool = False
    exec: Mask = field(init=False)
    full: bool = field(init=False)
    """Whether all lanes of all blocks are active."""
    pending: set[int] = field(default_factory=set)
    """Registers of outstanding loads."""
    queues: dict[str, deque[Outstanding]] = field(default_factory=dict)
    turn: int = 0
    """Instructions since all waves were given a turn."""
    spent: int = 0
    """Instructions since the last barrier."""
    held: tuple[Any, ...] = (None,) * 7
    """The arrays that `addresses` are of."""
    addresses: tuple[int, ...] = ()
    """Of registers, masks and slots, for native code."""
    native: ClassVar[Any] = None
    """Where C is made of an instruction: what notes its accesses to memory."""

    def __post_init__(self) -> None:
        self.refresh()

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        found: int = self.v.shape[2]
        return found

    def refresh(self) -> None:
        """Reads the mask of active lanes from the scalar registers again."""
        self.exec = self.mask(Special.EXEC)
        self.full = bool(self.exec.all())

    def mask(self, register: int) -> Mask:
        """One bit a lane: (block, lane)."""
        count = self.lanes // 32
        words = np.ascontiguousarray(self.s[register : register + count].T)
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        return bits.view(np.bool_)

    def set_mask(self, register: int, bits: Mask) -> None:
        """Stores one bit a lane."""
        if register == Special.NULL:
            return
        packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
        self.s[register : register + packed.shape[1]] = packed.T

    def issue(self, counter: str, operation: Outstanding) -> None:
        """Notes an operation that a wait has to follow; what a full counter holds up has ended."""
        self.wait(counter, MOST - 1)
        self.queues.setdefault(counter, deque()).append(operation)
        self.pending |= operation.registers

    def wait(self, counter: str, left: int) -> None:
        """Ends the operations of a counter until no more than so many are outstanding.

        With operations that end in any order among them, no more than so many of the others are
        outstanding either, and those end in their order.
        """
        queue = self.queues.get(counter)
        if not queue or len(queue) <= left:
            return
        ended = sum(o.ordered for o in queue) - left if left else len(queue)
        kept: deque[Outstanding] = deque()
        for operation in queue:
            if ended > 0 and (operation.ordered or not left):
                ended -= 1
            else:
                kept.append(operation)
        self.queues[counter] = kept
        self.pending = set().union(*(o.registers for q in self.queues.values() for o in q))

    def part(self, where: Mask) -> Cohort:
        """The blocks of a mask as a cohort of their own; the others stay."""
        other = self._some(where)
        rest = self._some(~where)
        for name in ("slots", "v", "a", "s", "scc", "scratch", "exec", "full"):
            setattr(self, name, getattr(rest, name))
        return other

    def _some(self, where: Mask) -> Cohort:
        return Cohort(
            self.chunk, self.wave, self.slots[where],
            np.ascontiguousarray(self.v[:, where]), np.ascontiguousarray(self.a[:, where]),
            np.ascontiguousarray(self.s[:, where]), self.scc[where], self.scratch[where],
            self.pc, self.state, self.signalled, set(self.pending),
            {k: deque(q) for k, q in self.queues.items()},
        )  # fmt: skip

    def join(self, other: Cohort) -> bool:
        """Takes another cohort's blocks in, if both wait for the same operations."""
        if self.pc != other.pc or self.state is not other.state or self.wave != other.wave:
            return False
        if _shape(self) != _shape(other):
            return False
        for counter, queue in self.queues.items():
            pairs = zip(queue, other.queues.get(counter, ()), strict=True)
            self.queues[counter] = deque(_joined(mine, theirs) for mine, theirs in pairs)
        self.slots = np.concatenate([self.slots, other.slots])
        self.v = np.concatenate([self.v, other.v], axis=1)
        self.a = np.concatenate([self.a, other.a], axis=1)
        self.s = np.concatenate([self.s, other.s], axis=1)
        self.scc = np.concatenate([self.scc, other.scc])
        self.scratch = np.concatenate([self.scratch, other.scratch])
        self.refresh()
        return True


def _joined(mine: Outstanding, theirs: Outstanding) -> Outstanding:
    """One operation of two cohorts' blocks; parts of a cohort share what was issued before."""
    if mine is theirs or not theirs.stamp:
        return mine
    marks = {id(m): m for m in (*(mine.stamp or ()), *theirs.stamp)}
    return replace(mine, stamp=[*marks.values()])


def _shape(cohort: Cohort) -> dict[str, list[tuple[frozenset[int], bool]]]:
    return {k: [(o.registers, o.ordered) for o in q] for k, q in cohort.queues.items() if q}


def new_scalars(blocks: int) -> Words:
    """Scalar registers of so many blocks, all zero."""
    return np.zeros((SCALARS, blocks), np.uint32)
