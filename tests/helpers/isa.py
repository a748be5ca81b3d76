"""Instructions run on their own: text in, registers out, without a compiler or a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.disassembly import DisassembledLine
from ckrules.emulator.errors import EmulatorError, Fault, FaultKind
from ckrules.emulator.image import Image
from ckrules.emulator.instruction import Instruction, Target
from ckrules.emulator.kinds import Values
from ckrules.emulator.lds import Lds
from ckrules.emulator.machine import Chunk, Order, Shared
from ckrules.emulator.memory import Memory
from ckrules.emulator.operands import Special
from ckrules.emulator.program import Program, _instruction
from ckrules.emulator.wave import Cohort, new_scalars

VECTORS = 128
"""Vector and accumulation registers of a wave here."""

Words = NDArray[np.uint32]


@dataclass
class Bench:
    """Waves of blocks with registers to be set, and a program of a few lines.

    Args:
        text: Instructions, one a line; ``s_endpgm`` comes after them.
        arch: The GPU.
        blocks: Blocks that run together.
        waves: Waves of a block.
        lds: Bytes of LDS of each block.
    """

    text: str
    arch: str = "gfx942"
    blocks: int = 1
    waves: int = 1
    lds: int = 0
    memory: Memory = field(default_factory=lambda: Memory(1 << 24))
    scratch: int = 64
    cohorts: list[Cohort] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lanes = 32 if self.arch.startswith("gfx1") else 64
        program = program_of(self.text, self.arch, self.lanes)
        shared = Shared(self.memory, np.zeros(self.memory.capacity, np.int32))
        blocks = [(i, 0, 0) for i in range(self.blocks)]
        self.chunk = Chunk(
            program, shared, 0, blocks, np.arange(self.blocks), waves=self.waves, limit=10_000
        )
        program.natives[self.lanes] = None  # by numpy alone, unless a test says otherwise
        self.chunk.lds = Lds(self.blocks, self.lds, program.lds_unit, self.chunk.report)
        for wave in range(self.waves):
            shape = (VECTORS, self.blocks, self.lanes)
            cohort = Cohort(
                self.chunk, wave, np.arange(self.blocks), np.zeros(shape, np.uint32),
                np.zeros(shape, np.uint32), new_scalars(self.blocks), np.zeros(self.blocks, bool),
                np.zeros((self.blocks, self.lanes, self.scratch), np.uint8),
            )  # fmt: skip
            cohort.set_mask(Special.EXEC, np.ones(shape[1:], bool))
            cohort.refresh()
            self.chunk.add(cohort)
            self.cohorts.append(cohort)

    @property
    def wave(self) -> Cohort:
        """The first wave."""
        return self.cohorts[0]

    @property
    def faults(self) -> dict[FaultKind, Fault]:
        """What was seen."""
        return self.chunk.faults

    def v(self, register: int, values: object, *, file: str = "v") -> Bench:
        """Sets a vector register (two of them for 64 bits) of the first wave."""
        self.put(self.wave, register, values, file=file)
        return self

    def put(self, c: Cohort, register: int, values: object, *, file: str = "v") -> None:
        """Sets a vector register of a wave to numbers of 16, 32 or 64 bits."""
        words = dwords(np.asarray(values))
        registers = c.v if file == "v" else c.a
        for i in range(words.shape[-1]):
            registers[register + i] = words[..., i]

    def s(self, register: int, *values: int) -> Bench:
        """Sets consecutive scalar registers of all waves."""
        for c in self.cohorts:
            for i, value in enumerate(values):
                c.s[register + i] = np.uint32(value & 0xFFFFFFFF)
        return self

    def mask(self, register: int, bits: object) -> Bench:
        """Sets a mask of lanes of the first wave."""
        self.wave.set_mask(register, np.broadcast_to(np.asarray(bits, bool), self.wave.exec.shape))
        self.wave.refresh()
        return self

    def run(self, order: Order = Order.FORWARD) -> Bench:
        """Runs all waves to their end."""
        if RUNS is None:
            self.chunk.run(order)
            return self
        before, error = State.of(self), ""
        try:
            self.chunk.run(order)
        except EmulatorError as caught:
            error = str(caught)
            raise
        finally:
            RUNS.append(Ran(self, order, before, State.of(self), error))
        return self

    def get(self, register: int, dtype: object = np.uint32, *, file: str = "v") -> Values:
        """A register of the first wave as numbers: (block, lane)."""
        c = self.wave
        registers = c.v if file == "v" else c.a
        kind = np.dtype(dtype)  # type: ignore[call-overload]
        if kind.itemsize == 8:
            both = registers[register].astype(np.uint64)
            both |= registers[register + 1].astype(np.uint64) << np.uint64(32)
            return np.asarray(both.view(kind))
        if kind.itemsize == 2:
            return np.asarray(registers[register].astype(np.uint16).view(kind))
        return np.asarray(registers[register].view(kind))

    def bits(self, register: int) -> NDArray[np.bool_]:
        """A mask of lanes of the first wave."""
        return self.wave.mask(register)


@dataclass
class State:
    """What a run may change: registers that are not zero, LDS, memory, faults."""

    registers: dict[tuple[int, str, int], bytes]
    others: dict[str, bytes]
    faults: dict[FaultKind, str]

    @classmethod
    def of(cls, bench: Bench) -> State:
        """The state of a bench."""
        registers, lds = {}, bench.chunk.lds
        for number, c in enumerate(bench.cohorts):
            for file in ("v", "a", "s"):
                values = getattr(c, file)
                for i in np.flatnonzero(values.any(axis=tuple(range(1, values.ndim)))):
                    registers[number, file, int(i)] = values[i].tobytes()
            registers[number, "scc", 0] = c.scc.tobytes()
            registers[number, "scratch", 0] = c.scratch.tobytes()
        memory = bench.memory
        written, read = (
            np.broadcast_to(stamps, (bench.blocks, stamps.shape[1]))
            for stamps in (lds.written, lds.read)
        )
        others = {
            "lds": lds.bytes.tobytes(), "written": written.tobytes(), "read": read.tobytes(),
            "memory": memory.bytes[: memory.top].tobytes(),
            "writers": bench.chunk.shared.writers[: memory.top].tobytes(),
        }  # fmt: skip
        return cls(registers, others, {k: str(f) for k, f in bench.faults.items()})

    def restore(self, bench: Bench, memory: Memory) -> None:
        """Gives a fresh bench this state."""
        lds, shared = bench.chunk.lds, bench.chunk.shared
        for number, c in enumerate(bench.cohorts):
            for file in ("v", "a", "s", "scc", "scratch"):
                values = getattr(c, file)
                values[...] = 0
                for (of, name, i), data in self.registers.items():
                    if (of, name) == (number, file):
                        target = values if file in ("scc", "scratch") else values[i]
                        target[...] = np.frombuffer(data, values.dtype).reshape(target.shape)
            c.refresh()
        lds.bytes[...] = np.frombuffer(self.others["lds"], np.uint8).reshape(lds.bytes.shape)
        stamps = [
            np.frombuffer(self.others[name], np.int32).reshape(bench.blocks, -1).copy()
            for name in ("written", "read")
        ]
        lds.alike = all((each == each[0]).all() for each in stamps)
        lds.written, lds.read = (each[:1] if lds.alike else each for each in stamps)
        bench.memory.adopt(memory)
        data = np.frombuffer(self.others["memory"], np.uint8)
        bench.memory.bytes[: len(data)] = data
        writers = np.frombuffer(self.others["writers"], np.int32)
        shared.writers[: len(writers)] = writers


@dataclass
class Ran:
    """One run of a bench by numpy."""

    bench: Bench
    order: Order
    before: State
    after: State
    error: str


RUNS: list[Ran] | None = None
"""Runs so far, where they are kept to be done again by native code (`native_alike`)."""


def dwords(values: Values) -> Words:
    """Numbers as dwords in a last axis, one or two each."""
    values = np.ascontiguousarray(values)
    if values.dtype.itemsize == 8 and values.dtype.kind in "iu" and values.dtype != np.uint64:
        values = values.astype(np.int64)
    if values.dtype.itemsize == 2:
        return values.view(np.uint16).astype(np.uint32)[..., None]
    if values.dtype.itemsize == 4:
        return values.view(np.uint32)[..., None]
    return values[..., None].view(np.uint32)


def program_of(text: str, arch: str, lanes: int) -> Program:
    """A program of lines of text; a branch's offset counts dwords, and each line is one."""
    lines: list[DisassembledLine] = []
    for line in [*text.strip().splitlines(), "s_endpgm"]:
        name, _, operands = line.strip().partition(" ")
        lines.append(DisassembledLine(4 * len(lines), 4, name, operands.strip(), ""))
    numbers = {line.address: i for i, line in enumerate(lines)}
    target = Target(arch, lanes)
    instructions: Sequence[Instruction] = [
        _instruction(line, i, target, numbers) for i, line in enumerate(lines)
    ]
    kernels: Mapping[str, object] = {}
    image = Image(arch, (), kernels, ())  # type: ignore[arg-type]
    return Program(image, instructions, numbers, VECTORS, VECTORS, 1)


def meaning(text: str, arch: str = "gfx942") -> Instruction:
    """One instruction; it raises when it is run if it has no semantics."""
    lanes = 32 if arch.startswith("gfx1") else 64
    return program_of(text, arch, lanes).instructions[0]
