"""Running blocks: which wave goes next, barriers, faults, writes that collide."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import EmulatorError, Fault, FaultKind
from ckrules.emulator.instruction import Instruction
from ckrules.emulator.kinds import Values
from ckrules.emulator.lds import Lds
from ckrules.emulator.memory import BASE, Memory
from ckrules.emulator.native.drive import Driver
from ckrules.emulator.ops.global_ import read_parts
from ckrules.emulator.program import Program
from ckrules.emulator.wave import Cohort, LaneAddresses, Mask, State
from ckrules.emulator.writers import ATOMIC, store_in_turn, who

Block = tuple[int, int, int]


class Order(StrEnum):
    """In which order the waves of a block run between barriers, and blocks one after the other."""

    FORWARD = "forward"
    REVERSED = "reversed"
    RANDOM = "random"


_BURST, _LONG_BURST = 40, 400
"""Instructions that a wave runs at most before another is drawn, and where blocks are apart."""

_EARLY = 0.05
"""How often a rank is drawn again where blocks are apart."""

Ranks = dict[tuple[int, int], float]
"""Which wave of which block goes first where blocks are apart."""


@dataclass
class Shared:
    """What all blocks of a launch share.

    Args:
        writers: Who wrote each byte of memory: one more than the wave's number in the whole grid,
            `ATOMIC`, `SEVERAL`, or 0.
        lock: Held while memory is read and written in one go.
    """

    memory: Memory
    writers: NDArray[np.int32]
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)


@dataclass
class Chunk:
    """Blocks that run together."""

    program: Program
    shared: Shared
    base: int
    """The address of the code object's image."""
    blocks: Sequence[Block]
    numbers: NDArray[np.int64]
    """Of the blocks in the whole grid."""
    waves: int
    """Of each block."""
    lds: Lds = field(init=False)
    ended: NDArray[np.bool_] = field(init=False)
    """Waves that have ended: (wave, block)."""
    limit: int = 50_000_000
    """Instructions of a wave between barriers after which it counts as endless."""
    patience: int = 1 << 18
    """Instructions after which a wave may be waiting for others, which get their turn first."""
    faults: dict[FaultKind, Fault] = field(default_factory=dict)
    steps: int = 0
    """Wave instructions so far."""
    native_steps: int = 0
    """Those of them that native code has run."""
    cohorts: list[Cohort] = field(default_factory=list)
    current: int = 0
    """The instruction under way."""
    _driver: Driver | None = None

    def __post_init__(self) -> None:
        self.ended = np.zeros((self.waves, len(self.blocks)), bool)

    @property
    def memory(self) -> Memory:
        """The device's memory."""
        return self.shared.memory

    def add(self, cohort: Cohort) -> None:
        """Takes in a cohort."""
        self.cohorts.append(cohort)

    def report(self, kind: FaultKind, c: Cohort, where: Values, detail: str) -> None:
        """Keeps the first fault of each kind."""
        if kind not in self.faults:
            row, lane = int(where[0]), int(where[1])
            line = self.program.instructions[self.current].line
            block = self.blocks[int(c.slots[row])]
            self.faults[kind] = Fault(kind, detail, str(line), block, c.wave, lane)

    def note_writes(self, c: Cohort, there: Mask, offsets: Values, data: Values, unit: int) -> None:
        """Remembers who writes global memory, before it is written.

        What other waves have written otherwise is a fault; with equal values it is counted, since
        memory holds the same whoever comes last.
        """
        rows, lanes = there.nonzero()[:2]
        mine = (self.numbers[c.slots[rows]] * self.waves + c.wave + 1).astype(np.int32)[:, None]
        places, writers = offsets[:, None] + np.arange(unit), self.shared.writers
        before = writers[places]
        writers[places] = mine
        # Others that write by this very instruction count as much as those before it.
        if ((before == 0) | (before == mine)).all() and (writers[places] == mine).all():
            return
        writers[places] = before
        values = np.ascontiguousarray(data).view(np.uint8).reshape(len(rows), -1)[:, :unit]
        met = store_in_turn(
            writers, self.memory.bytes, places.ravel(),
            np.broadcast_to(mine, places.shape).ravel(), values.ravel(),
        )  # fmt: skip
        for kind, (at, held) in met.items():
            differs = kind is FaultKind.WRITE_CONFLICT and held != ATOMIC
            by = f"was written {'with other bytes ' * differs}by {who(held, self.waves)}"
            lane = np.array([rows[at // unit], lanes[at // unit]])
            self.report(kind, c, lane, f"address 0x{int(offsets[at // unit]) + BASE:x} {by}")

    def atomic(
        self,
        c: Cohort,
        places: LaneAddresses,
        data: Values,
        combine: Callable[[Values, Values], Values],
    ) -> Values:
        """Read-modify-write by each lane in turn; what was there before."""
        words = places.offsets.shape[2]
        with self.shared.lock:
            old = read_parts(c, places, 4 * words)
            flat = places.offsets[..., 0][places.there[..., 0]]
            alone = len(np.unique(flat)) == len(flat)
            if alone and words == 1 and data.shape[2] == 1:
                write = combine(np.ascontiguousarray(old), np.ascontiguousarray(data))
                self._set(places.there, places, write)
                return old
            reachable = places.there & ~self.memory.outside(places.offsets, 4)
            for block, lane in np.argwhere(reachable.all(axis=2)):
                offsets = places.offsets[block, lane]
                before = self.memory.gather(offsets, 4)[:, 0]
                old[block, lane] = before
                after = np.ascontiguousarray(
                    combine(before, np.ascontiguousarray(data[block, lane]))
                )
                self.memory.scatter(offsets, after[:, None], 4)
                self._mark(offsets)
        return old

    def _set(self, there: Mask, places: LaneAddresses, words: Values) -> None:
        offsets = places.offsets[there]
        if offsets.size:
            bad = self.memory.outside(offsets, 4)
            self.memory.scatter(offsets[~bad], words[there][~bad][:, None], 4)
            self._mark(offsets[~bad])

    def _mark(self, offsets: Values) -> None:
        self.shared.writers[offsets[:, None] + np.arange(4)] = ATOMIC

    # The schedule

    def run(self, order: Order, seed: int = 0, *, apart: bool = False) -> None:
        """Runs all waves to their end.

        Args:
            order: Of waves between barriers.
            apart: In random order blocks get ahead of each other, too: where they wait for each
                other, what one may see of another depends on it.

        Raises:
            EmulatorError: If an instruction has no semantics, or a wave does not end.
        """
        with np.errstate(all="ignore"):
            self._run(order, random.Random(seed), apart=apart and order is Order.RANDOM)

    def _run(self, order: Order, dice: random.Random, *, apart: bool) -> None:
        ranks = Ranks()
        while True:
            if apart:
                self._released(whole=True)
            ready = [c for c in self.cohorts if c.state is State.RUNNING]
            turn = [c for c in ready if c.turn < self.patience]
            if turn:
                chosen = _favoured(turn, ranks, dice) if apart else _chosen(turn, order, dice)
                most = _LONG_BURST if apart else _BURST
                few = order is Order.RANDOM
                self._advance(chosen, dice.randint(1, most) if few else self.patience - chosen.turn)
                continue
            if not self._released(whole=bool(ready)) and not ready:
                return
            for c in self.cohorts:
                c.turn = 0

    def _advance(self, c: Cohort, burst: int) -> None:
        """Runs a cohort until it is blocked, parted, meets another part of its wave, or is late."""
        instructions = self.program.instructions
        meeting = {o.pc for o in self.cohorts if o is not c and _may_join(o, c)}
        count = len(c.slots)
        done = 0
        driver = self._native()
        near = _marked(meeting, len(instructions)) if driver and meeting else None
        while True:
            if driver and not c.signalled:
                ran, stuck = driver.run(c, burst - done, near)
                done += ran
                self.native_steps += ran * count
                if not stuck:
                    break
            self.current = number = c.pc
            instruction = instructions[number]
            if c.pending and not c.pending.isdisjoint(instruction.touched):
                self._too_early(c, instruction)
            c.pc = number + 1
            instruction.run(c)
            done += 1
            if instruction.leaves and (c.state is not State.RUNNING or len(c.slots) != count):
                break
            if c.pc in meeting or done >= burst:
                break
        self.steps += done * count
        self.program.worked(done)
        c.turn += done
        c.spent += done
        if c.state is State.ENDED:
            self.cohorts.remove(c)
            self.ended[c.wave, c.slots] = True
        elif c.spent > self.limit:
            raise EmulatorError(f"a wave did not end within {self.limit:,} instructions")
        if c.pc in meeting:
            self._join(c)

    def _native(self) -> Driver | None:
        """What runs native code, if there is some and nobody watches the LDS."""
        if self._driver is None and self.lds.watch is None:
            native = self.program.native(self.cohorts[0].lanes)
            self._driver = Driver(self, native) if native else None
        return self._driver

    def _join(self, c: Cohort) -> None:
        for other in self.cohorts:
            if other is not c and _may_join(other, c) and c.join(other):
                self.cohorts.remove(other)
                return

    def _too_early(self, c: Cohort, instruction: Instruction) -> None:
        early = c.pending & instruction.touched
        if (load := instruction.in_order) is not None:
            others = {
                r
                for counter, queue in c.queues.items()
                for o in queue
                if counter != load.counter or not o.ordered
                for r in o.registers
            }
            early -= load.fills - others
        if not early:
            return
        number = min(early)
        name = {0: "s", 1: "v", 2: "a"}[number // 1000] + str(number % 1000)
        self.report(FaultKind.NOT_WAITED, c, np.array([0, -1]), f"{name} is still being loaded")

    def _released(self, *, whole: bool) -> bool:
        """Lets waves go on behind a barrier, if asked of whole blocks alone; whether any did."""
        waiting = [c for c in self.cohorts if c.state is State.BARRIER]
        if whole:
            waiting = self._whole(waiting)
        if not waiting:
            return False
        self._check_barrier(waiting)
        self.lds.epoch += 1
        for c in waiting:
            for queue in c.queues.values():
                for operation in queue:
                    if operation.stamp:
                        self.lds.carry(c, operation.stamp)
            c.state, c.spent = State.RUNNING, 0
        self._merge(waiting)
        return True

    def _whole(self, waiting: Sequence[Cohort]) -> list[Cohort]:
        """The cohorts of blocks that have no wave elsewhere; others part with what they have."""
        there = self.ended.copy()
        for c in waiting:
            there[c.wave, c.slots] = True
        everywhere = np.logical_and.reduce(there, axis=0)
        found: list[Cohort] = []
        for c in waiting:
            mine = everywhere[c.slots]
            if mine.all():
                found.append(c)
            elif mine.any():
                found.append(c.part(mine))
                self.add(found[-1])
        return found

    def _check_barrier(self, waiting: Sequence[Cohort]) -> None:
        if sum(len(c.slots) for c in waiting) == self.ended.size:
            return  # every wave of every block is here
        arrived = np.zeros_like(self.ended)
        for c in waiting:
            arrived[c.wave, c.slots] = True
        lacking = arrived.any(axis=0) & ~arrived.all(axis=0)
        if lacking.any():
            slot = int(lacking.argmax())
            missing = np.flatnonzero(~arrived[:, slot])
            c = next(c for c in waiting if slot in c.slots)
            row = int(np.flatnonzero(c.slots == slot)[0])
            detail = f"wave {', '.join(map(str, missing))} has ended"
            self.current = c.pc - 1
            self.report(FaultKind.BARRIER, c, np.array([row, -1]), detail)

    def _merge(self, waiting: Sequence[Cohort]) -> None:
        """Joins parts of a wave that wait at the same barrier."""
        kept: list[Cohort] = []
        for c in waiting:
            if not any(k.join(c) for k in kept if _may_join(k, c)):
                kept.append(c)
            else:
                self.cohorts.remove(c)


def _marked(places: set[int], count: int) -> NDArray[np.uint8]:
    found = np.zeros(count + 1, np.uint8)
    found[list(places)] = 1
    return found


def _may_join(one: Cohort, other: Cohort) -> bool:
    return one.wave == other.wave and one.state is other.state is State.RUNNING


def _favoured(ready: Sequence[Cohort], ranks: Ranks, dice: random.Random) -> Cohort:
    """The cohort of the highest rank; ranks are drawn, and one of them is drawn again at times.

    So a wave can stay behind while all the others go on.
    """
    for c in ready:
        ranks.setdefault((c.wave, int(c.slots[0])), dice.random())
    if dice.random() < _EARLY:
        ranks[dice.choice(sorted(ranks))] = dice.random()
    return max(ready, key=lambda c: ranks[c.wave, int(c.slots[0])])


def _chosen(ready: Sequence[Cohort], order: Order, dice: random.Random) -> Cohort:
    """The next cohort: of the wave whose turn it is, the one that is furthest behind."""
    waves = sorted({c.wave for c in ready})
    if order is Order.RANDOM:
        wave = dice.choice(waves)
    else:
        wave = waves[0] if order is Order.FORWARD else waves[-1]
    return min((c for c in ready if c.wave == wave), key=lambda c: c.pc)
