"""Launches: what a kernel finds in its registers and behind its arguments.

Source: LLVM, "User Guide for AMDGPU Backend", sections "Initial Kernel Execution State", "Kernel
Descriptor" and "Code Object V5 Metadata" (hidden arguments).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckrules.emulator.banks import BankWatch
from ckrules.emulator.image import Kernel, KernelArgument
from ckrules.emulator.instruction import Target
from ckrules.emulator.lds import Lds
from ckrules.emulator.machine import Block, Chunk, Shared
from ckrules.emulator.memory import SCRATCH_BASE
from ckrules.emulator.operands import Special
from ckrules.emulator.program import Program
from ckrules.emulator.wave import Cohort, new_scalars

Dim3 = tuple[int, int, int]

_DISPATCH_BYTES = 64


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Args:
        program: The code object's.
        base: Where its image is loaded.
        grid: Blocks.
        block: Threads of a block.
        kernarg: The address of the arguments.
        dispatch: The address of the dispatch packet.
    """

    program: Program
    base: int
    kernel: Kernel
    grid: Dim3
    block: Dim3
    kernarg: int
    dispatch: int
    lds_fill: int = 0xFF
    banks: tuple[str, int] | None = None
    """The instruction set and the banks for counting accesses to LDS; None: they are not."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return int(np.prod(self.block))

    @property
    def waves(self) -> int:
        """Waves of a block."""
        return -(-self.threads // self.kernel.descriptor.wave_size)

    def blocks(self) -> list[Block]:
        """The blocks of the grid, x fastest."""
        x, y, z = self.grid
        return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


def arguments(kernel: Kernel, given: bytes, grid: Dim3, block: Dim3) -> bytes:
    """The whole argument segment: what was given, and the hidden arguments behind it."""
    size = max(kernel.descriptor.kernarg_bytes, len(given))
    data = bytearray(given + bytes(size - len(given)))
    for argument in kernel.arguments:
        if argument.kind.startswith("hidden_"):
            value = _hidden(argument, grid, block)
            data[argument.offset : argument.offset + argument.size] = value
    return bytes(data)


def _hidden(argument: KernelArgument, grid: Dim3, block: Dim3) -> bytes:
    word = argument.kind.removeprefix("hidden_")
    stem, _, axis = word.rpartition("_")
    at = "xyz".find(axis) if len(axis) == 1 else -1
    values = {"block_count": grid, "group_size": block, "remainder": (0, 0, 0)}
    number = 0
    if stem in values and at >= 0:
        number = values[stem][at]
    elif word == "grid_dims":
        number = max(1, sum(n > 1 for n in grid))
    return (number & (1 << 8 * argument.size) - 1).to_bytes(argument.size, "little")


def packet(launch: Launch) -> bytes:
    """The dispatch packet (hsa_kernel_dispatch_packet_t) that a launch would put into a queue."""
    threads = [g * b for g, b in zip(launch.grid, launch.block, strict=True)]
    d = launch.kernel.descriptor
    return struct.pack(
        "<HHHHHHIIIIIQQQQ",
        0, 3, *launch.block, 0, *threads, d.scratch_bytes, d.lds_bytes,
        launch.base + d.entry, launch.kernarg, 0, 0,
    )[:_DISPATCH_BYTES]  # fmt: skip


def prepared(launch: Launch, shared: Shared, blocks: Sequence[Block]) -> Chunk:
    """Some blocks of a launch, each wave before its first instruction."""
    x, y, _ = launch.grid
    numbers = np.array([i + x * (j + y * k) for i, j, k in blocks], np.int64)
    chunk = Chunk(launch.program, shared, launch.base, blocks, numbers, launch.waves)
    size, unit = launch.kernel.descriptor.lds_bytes, launch.program.lds_unit
    watch = BankWatch(*launch.banks) if launch.banks else None
    chunk.lds = Lds(len(blocks), size, unit, chunk.report, launch.lds_fill, watch)
    for wave in range(launch.waves):
        chunk.add(_cohort(launch, chunk, wave))
    return chunk


def _cohort(launch: Launch, chunk: Chunk, wave: int) -> Cohort:
    program, d = launch.program, launch.kernel.descriptor
    count, lanes = len(chunk.blocks), d.wave_size
    registers = max(program.vectors, 3)
    cohort = Cohort(
        chunk,
        wave,
        np.arange(count),
        np.zeros((registers, count, lanes), np.uint32),
        np.zeros((program.accumulators, count, lanes), np.uint32),
        new_scalars(count),
        np.zeros(count, bool),
        np.zeros((count, lanes, d.scratch_bytes), np.uint8),
        program.numbers[d.entry],
    )
    _set_lanes(launch, cohort, wave)
    _set_scalars(launch, cohort, chunk.blocks)
    cohort.refresh()
    return cohort


def _set_lanes(launch: Launch, c: Cohort, wave: int) -> None:
    """Thread numbers in v0 to v2, or all in v0; the mask of threads that there are."""
    lanes = c.lanes
    number = wave * lanes + np.arange(lanes)
    x, y = launch.block[0], launch.block[1]
    places = [number % x, number // x % y, number // (x * y)]
    if launch.program.image.arch == "gfx908":
        for i, place in enumerate(places):
            c.v[i] = place.astype(np.uint32)
    else:
        packed = places[0] | places[1] << 10 | places[2] << 20
        c.v[0] = packed.astype(np.uint32)
    active = np.broadcast_to(number < launch.threads, c.v[0].shape)
    c.set_mask(Special.EXEC, active)


def _set_scalars(launch: Launch, c: Cohort, places: Sequence[Block]) -> None:
    """The user registers of the descriptor, then those of the system."""
    d = launch.kernel.descriptor
    at = 0
    for bit, size, value in (
        (0, 4, _private_resource()),
        (1, 2, _pair(launch.dispatch)),
        (2, 2, (0, 0)),
        (3, 2, _pair(launch.kernarg)),
        (4, 2, (0, 0)),
        (5, 2, _pair(SCRATCH_BASE)),
        (6, 1, (d.scratch_bytes,)),
    ):
        if d.properties >> bit & 1:
            for i in range(size):
                c.s[at + i] = value[i]
            at += size
    at = _preloaded(launch, c, at)
    user = d.rsrc2 >> 1 & 31
    at = max(at, user)
    blocks = np.array(places, np.int64).T.astype(np.uint32)
    if Target(launch.program.image.arch, c.lanes).generation >= 12:
        c.s[Special.TTMP + 9] = blocks[0]
        c.s[Special.TTMP + 7] = blocks[1] | blocks[2] << np.uint32(16)
        return
    for axis in range(3):
        if d.rsrc2 >> (7 + axis) & 1:
            c.s[at] = blocks[axis]
            at += 1
    if d.rsrc2 >> 10 & 1:
        at += 1
    if d.rsrc2 & 1:
        c.s[at] = 0  # the wave's offset in private memory: each lane has its own here


def _preloaded(launch: Launch, c: Cohort, at: int) -> int:
    """Arguments that are in registers beforehand (gfx90a and later)."""
    length, offset = launch.kernel.descriptor.preload & 0x7F, launch.kernel.descriptor.preload >> 7
    if length:
        raw = c.chunk.memory.read(launch.kernarg + 4 * offset, 4 * length)
        for word in struct.unpack(f"<{length}I", raw):
            c.s[at] = word
            at += 1
    return at


def _pair(address: int) -> tuple[int, int]:
    return address & 0xFFFFFFFF, address >> 32


def _private_resource() -> tuple[int, int, int, int]:
    low, high = _pair(SCRATCH_BASE)
    return low, high, 0xFFFFFFFF, 0
