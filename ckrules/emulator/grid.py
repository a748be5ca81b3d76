"""Whole grids: which blocks run, in which order, on how many processes."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.banks import Access
from ckrules.emulator.errors import EmulatorError, Fault, FaultKind
from ckrules.emulator.launch import Launch, prepared
from ckrules.emulator.machine import Block, Order, Shared
from ckrules.emulator.memory import BASE, Memory
from ckrules.emulator.writers import ATOMIC, SEVERAL

Writers = NDArray[np.int32]
Bytes = NDArray[np.uint8]

_LANES = 1 << 14
"""Threads that run together: enough for long arrays, few enough for the caches."""

_SURE = 300
"""Instructions that a wave runs at least, as a rule."""

_SCHEDULES = 4
"""Random orders of blocks that wait for each other: one alone shows a race too seldom."""


@dataclass
class GridOutcome:
    """The result of a launch."""

    steps: int = 0
    """Wave instructions."""
    faults: dict[FaultKind, Fault] = field(default_factory=dict)
    accesses: Counter[Access] = field(default_factory=Counter)
    """Of waves to LDS, in the first order."""
    repeated: int = 0
    """Bytes that several waves wrote alike, in the first order."""
    met: bool = False
    """Whether blocks of several processes wrote the same bytes."""

    def add(self, other: GridOutcome) -> None:
        """Takes in another part of the launch."""
        self.steps += other.steps
        self.accesses.update(other.accesses)
        for kind, fault in other.faults.items():
            self.faults.setdefault(kind, fault)


@dataclass(frozen=True)
class Plan:
    """How grids are run.

    Args:
        orders: A launch is run once in each; later runs must give what the first gave.
        sample: Columns of blocks to run, None for all. Blocks that differ only along z belong
            together, since they may add to the same results.
        jobs: Processes.
        waiting: Blocks wait for each other: they run in one process, since what several see of each
            other would change from run to run, and get ahead of each other in random order.
    """

    orders: tuple[Order, ...] = (Order.FORWARD,)
    seed: int = 0
    sample: int | None = None
    jobs: int = 1
    waiting: bool = False


def run(launch: Launch, memory: Memory, plan: Plan) -> tuple[GridOutcome, Writers]:
    """Runs a launch; memory holds the results of its first order.

    Returns:
        The result, and who wrote each byte of memory.

    Raises:
        EmulatorError: If an instruction has no semantics or a wave does not end.
    """
    blocks = sampled(launch.blocks(), plan)
    before = memory.bytes[: memory.top].copy() if len(plan.orders) > 1 else None
    outcome, writers = _once(launch, memory, blocks, plan, before)
    if FaultKind.REPEATED_WRITE in outcome.faults:
        outcome.repeated = int(np.count_nonzero(writers == SEVERAL))
    if outcome.met:
        plan = replace(plan, jobs=1)
    if before is None:
        return outcome, writers
    after = memory.bytes[: memory.top].copy()
    launch = replace(launch, banks=None)  # other orders make the same accesses again
    for one in _further(plan):
        memory.bytes[: memory.top] = before
        again, others = _once(launch, memory, blocks, one, before)
        outcome.add(again)
        atomic = (writers == ATOMIC) | (others == ATOMIC)
        drawn = f" (seed {one.seed})" if one.orders[0] is Order.RANDOM else ""
        _compare(outcome, after, memory, atomic, f"{one.orders[0]} order{drawn}")
    memory.bytes[: memory.top] = after
    return outcome, writers


def _further(plan: Plan) -> list[Plan]:
    """The orders after the first, each alone; several random ones where blocks wait."""
    several = _SCHEDULES if plan.waiting else 1
    return [
        replace(plan, orders=(order,), seed=plan.seed + i)
        for order in plan.orders[1:]
        for i in range(several if order is Order.RANDOM else 1)
    ]


def _compare(
    outcome: GridOutcome, first: Bytes, memory: Memory, atomic: NDArray[np.bool_], order: str
) -> None:
    """Reports what came out otherwise than in the first order; sums of atomics may round."""
    differs = (first != memory.bytes[: len(first)]) & ~atomic[: len(first)]
    if differs.any() and FaultKind.ORDER not in outcome.faults:
        address = BASE + int(differs.argmax())
        detail = f"{int(differs.sum()):,} bytes differ in {order}, first at 0x{address:x}"
        outcome.faults[FaultKind.ORDER] = Fault(FaultKind.ORDER, detail)


def sampled(blocks: Sequence[Block], plan: Plan) -> list[Block]:
    """The blocks that are run: all, or the columns at the edges of the grid and some others."""
    columns = sorted({b[:2] for b in blocks}, key=lambda c: (c[1], c[0]))
    if plan.sample is None or len(columns) <= plan.sample:
        return list(blocks)
    ends = tuple({0, max(c[axis] for c in columns)} for axis in range(2))
    edges = [c for c in columns if c[0] in ends[0] and c[1] in ends[1]]
    rest = [c for c in columns if c not in set(edges)]
    dice = random.Random(plan.seed)
    chosen = {*edges, *dice.sample(rest, max(0, min(len(rest), plan.sample - len(edges))))}
    return [b for b in blocks if b[:2] in chosen]


def _once(
    launch: Launch, memory: Memory, blocks: Sequence[Block], plan: Plan, before: Bytes | None
) -> tuple[GridOutcome, Writers]:
    """The first order of a plan; memory is copied where that may be needed and no copy is given."""
    ordered, order = list(blocks), plan.orders[0]
    if order is Order.REVERSED:
        ordered.reverse()
    elif order is Order.RANDOM:
        random.Random(plan.seed).shuffle(ordered)
    processes = 1 if plan.waiting else plan.jobs
    size = max(1, min(_LANES // launch.threads, -(-len(ordered) // processes)))
    groups = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    jobs = min(processes, len(groups))
    if jobs > 1:
        # Made here, native code is made once for all processes.
        program, waves = launch.program, len(groups) * launch.waves
        program.worked(waves * min(_SURE, len(program.instructions)))
        program.native(launch.kernel.descriptor.wave_size)
        before = memory.bytes[: memory.top].copy() if before is None else before
        outcome, writers = _spread(launch, memory, groups, order, plan.seed, jobs)
        if not outcome.met:
            return outcome, writers
        # Whether they wrote the same is lost; one process sees it.
        memory.bytes[: memory.top] = before
    writers = np.zeros(memory.top, np.int32)
    found = _part(launch, Shared(memory, writers), groups, order, plan.seed, plan.waiting)
    found.met = jobs > 1
    return found, writers


def _part(
    launch: Launch,
    shared: Shared,
    groups: Sequence[Sequence[Block]],
    order: Order,
    seed: int,
    waiting: bool = False,
) -> GridOutcome:
    outcome = GridOutcome()
    for i, group in enumerate(groups):
        chunk = prepared(launch, shared, group)
        chunk.run(order, seed + i, apart=waiting)
        watch = chunk.lds.watch
        outcome.add(GridOutcome(chunk.steps, chunk.faults, watch.seen if watch else Counter()))
    return outcome


def _spread(
    launch: Launch,
    memory: Memory,
    groups: Sequence[Sequence[Block]],
    order: Order,
    seed: int,
    jobs: int,
) -> tuple[GridOutcome, Writers]:
    """Runs groups of blocks on processes, which share memory."""
    lock: AbstractContextManager[object] = multiprocessing.get_context("fork").Lock()
    shares = [_shared_numbers(memory.top) for _ in range(jobs)]
    pipes = []
    for i in range(jobs):
        shared = Shared(memory, shares[i], lock)
        pipes.append(_forked(launch, shared, groups[i::jobs], order, seed + i))
    outcome = GridOutcome()
    errors = []
    for pid, pipe in pipes:
        with os.fdopen(pipe, "rb") as stream:
            data = stream.read()
        os.waitpid(pid, 0)
        part = pickle.loads(data) if data else EmulatorError("a process of the emulator ended")
        if isinstance(part, GridOutcome):
            outcome.add(part)
        else:
            errors.append(part)
    if errors:
        raise errors[0]
    return outcome, _merged(outcome, shares)


def _shared_numbers(length: int) -> Writers:
    return np.frombuffer(mmap.mmap(-1, 4 * length), dtype=np.int32)


def _forked(
    launch: Launch, shared: Shared, groups: Sequence[Sequence[Block]], order: Order, seed: int
) -> tuple[int, int]:
    """A child that runs groups and writes its outcome, or its error, into a pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        os.close(read)
        try:
            result: object = _part(launch, shared, groups, order, seed)
        except EmulatorError as error:
            result = EmulatorError(str(error))
        except BaseException as error:
            result = EmulatorError(f"{type(error).__name__}: {error}")
        with os.fdopen(write, "wb") as stream:
            stream.write(pickle.dumps(result))
    finally:
        os._exit(0)


def _merged(outcome: GridOutcome, shares: Sequence[Writers]) -> Writers:
    """Who wrote what, over all processes, in the first share; notes whether two met at a byte."""
    merged = shares[0]
    for share in shares[1:]:
        both = (merged != 0) & (share != 0) & ~((merged == ATOMIC) & (share == ATOMIC))
        outcome.met |= bool(both.any())
        np.copyto(merged, share, where=share != 0)
    return merged
