"""Cohorts run by native code, as far as it goes: registers are shared, queues are carried over."""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import FaultKind
from ckrules.emulator.instruction import Instruction
from ckrules.emulator.lds import Touch
from ckrules.emulator.native.library import HEADER, SIZES, compiler, library, source_of
from ckrules.emulator.native.shapes import Shapes
from ckrules.emulator.native.trace import NativeForm
from ckrules.emulator.ops.flow import Branch, Wait
from ckrules.emulator.wave import Cohort, Outstanding
from ckrules.support import collection

_pointer = ctypes.c_void_p
_NUMPY, _FUNCTION, _BRANCH, _WAIT = range(4)
_CONDITIONS = {"scc0": 0, "scc1": 1, "vccz": 2, "vccnz": 3, "execz": 4, "execnz": 5, "": 7}


def _structure(name: str, **more: Any) -> Any:
    """A struct of ``runtime.h``, as ctypes has it."""
    words = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64, **more}
    body = HEADER.partition(f"struct {name} {{")[2].partition("}")[0]
    fields = []
    for declaration in body.replace("const ", "").split(";"):
        word, _, names = declaration.strip().partition(" ")
        for each in filter(None, names.split(",")):
            field_name, *sizes = re.findall(r"\w+", each)
            kind = _pointer if "*" in each else words[word]
            for size in reversed(sizes):
                kind *= SIZES[size] if size in SIZES else int(size)
            fields.append((field_name, kind))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_Entry = _structure("entry")
_State = _structure("ctx", entry=_Entry)
_Insn = _structure("insn")
Kind = tuple[frozenset[int], bool]


@dataclass
class Native:
    """The native code of a program, for one number of lanes."""

    functions: Any
    code: Any
    counters: dict[str, int]
    kinds: list[Kind]
    """The operations that instructions issue: registers, and whether in order."""
    stamps: dict[int, tuple[int, bool]]
    """By operation: bytes of its accesses to LDS, and whether they write."""
    numpy_only: list[str]
    """Mnemonics that native code does not have."""
    numbers: dict[Kind, int] = field(default_factory=dict)
    keep: list[NDArray[np.int32]] = field(default_factory=list)
    """The registers that instructions touch, which ``code`` points to."""

    def __post_init__(self) -> None:
        for i, kind in enumerate(self.kinds):
            if i not in self.stamps:
                self.numbers.setdefault(kind, i)
        self._tables()

    def _tables(self) -> None:
        lists = [np.array(sorted(loaded) or [0], np.int32) for loaded, _ in self.kinds]
        self.loaded = np.array([each.ctypes.data for each in lists], np.uint64)
        self.counts = np.array([len(loaded) for loaded, _ in self.kinds], np.int32)
        self.unordered = np.array([not ordered for _, ordered in self.kinds], np.int64)
        self.lists = lists

    def number(self, operation: Outstanding) -> int:
        """The number of an operation that numpy's part has issued."""
        kind = operation.registers, operation.ordered
        if kind not in self.numbers:
            self.numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
            self._tables()
        return self.numbers[kind]


@collection.paused()
def native_of(programs: Sequence[Sequence[Instruction]], lanes: int) -> Sequence[Native] | None:
    """Native code for programs, in one library; None if there is no compiler or it fails."""
    if compiler() is None:
        return None
    bodies: dict[str, int] = {"return 0;": 0}
    shapes = [list(_forms(instructions, Shapes(lanes))) for instructions in programs]
    for shape in (s for each in shapes for s in each if s is not None):
        bodies.setdefault(shape.body, len(bodies))
    found = library(source_of(list(bodies), lanes))
    if found is None:
        return None
    found.drive.restype = ctypes.c_long
    found.drive.argtypes = [_pointer, _pointer, ctypes.c_long, ctypes.c_long, _pointer]
    table = (_pointer * len(bodies)).in_dll(found, "functions")
    places = {body: int(table[number] or 0) for body, number in bodies.items()}
    return [_program(found, p, s, places) for p, s in zip(programs, shapes, strict=True)]


def _forms(instructions: Sequence[Instruction], shapes: Shapes) -> Iterator[NativeForm | None]:
    """The forms of instructions that have one; waits and branches have none, but a kind."""
    for i in instructions:
        yield None if i.leaves or isinstance(i.run, (Wait, Branch)) else shapes.form(i)


def _program(
    functions: Any,
    instructions: Sequence[Instruction],
    shapes: Sequence[NativeForm | None],
    places: Mapping[str, int],
) -> Native:
    code = (_Insn * len(instructions))()
    native = Native(functions, code, {}, [], {}, [])
    firsts: dict[int, int] = {}
    for number, (instruction, shape) in enumerate(zip(instructions, shapes, strict=True)):
        if shape is not None and (same := firsts.setdefault(id(shape), number)) != number:
            code[number] = code[same]
            continue
        i = code[number]
        native.keep.append(np.array(sorted(instruction.touched), np.int32))
        i.touched, i.touches = native.keep[-1].ctypes.data, len(instruction.touched)
        if isinstance(instruction.run, Wait):
            _wait(native, i, instruction.run)
        elif isinstance(instruction.run, Branch):
            i.kind, i.target = _BRANCH, instruction.run.target
            i.value[0] = _CONDITIONS[instruction.run.condition]
        elif shape is not None:
            i.kind, i.fn = _FUNCTION, places[shape.body]
            _parameters(native, i, shape)
        else:
            native.numpy_only.append(instruction.line.mnemonic)
    native.__post_init__()
    return native


def _wait(native: Native, i: Any, wait: Wait) -> None:
    if len(wait.limits) > 4:
        return
    i.kind, i.issues = _WAIT, len(wait.limits)
    for k, (counter, left) in enumerate(wait.limits):
        i.counter[k] = native.counters.setdefault(counter, len(native.counters))
        i.value[k] = left


def _parameters(native: Native, i: Any, shape: NativeForm) -> None:
    for k, (_, register) in enumerate(shape.registers):
        i.r[k] = register
    for k, bits in enumerate(shape.constants):
        i.k[k] = bits & (1 << 64) - 1
    i.issues = len(shape.issues)
    for k, (counter, loaded, ordered, size) in enumerate(shape.issues):
        i.counter[k] = native.counters.setdefault(counter, len(native.counters))
        i.value[k], i.stamped[k] = len(native.kinds), size
        if size:
            native.stamps[len(native.kinds)] = size, shape.writes
        native.kinds.append((loaded, ordered))


class Driver:
    """Runs cohorts of a chunk by native code."""

    def __init__(self, chunk: Any, native: Native) -> None:
        self.chunk, self.native = chunk, native
        blocks, lanes = len(chunk.blocks), 64
        self.scratch: list[NDArray[Any]] = [
            np.zeros((blocks, lanes), np.int64),
            np.zeros((blocks, lanes), np.int64),
            np.zeros((SIZES["BUFFERS"], blocks, lanes), np.uint32),
        ]
        self.stamps = np.zeros((SIZES["SLOTS"], blocks, lanes), np.int32)
        self.pending = np.zeros(SIZES["REGISTERS"], np.int32)
        self.state = state = _State()
        lds, memory = chunk.lds, chunk.memory
        state.blocks, state.waves = blocks, chunk.waves
        state.lds, state.lds_stride, state.lds_size = lds.bytes.ctypes.data, lds.stride, lds.size
        state.unit, state.memory = lds.unit, memory.bytes.ctypes.data
        state.starts, state.ends = memory.starts.ctypes.data, memory.ends.ctypes.data
        state.ranges = len(memory.starts)
        state.writers, state.numbers = chunk.shared.writers.ctypes.data, chunk.numbers.ctypes.data
        state.address, state.room, state.data = (each.ctypes.data for each in self.scratch)
        state.stamps, state.pending = self.stamps.ctypes.data, self.pending.ctypes.data
        self.stamped: Any = None
        """The numbers of the LDS that the state points to."""

    def run(self, c: Cohort, budget: int, meeting: NDArray[np.uint8] | None) -> tuple[int, bool]:
        """Instructions that were run from the cohort's on, and whether numpy is to go on."""
        native, state = self.native, self.state
        before = self._enter(c, state)
        c.pc = native.functions.drive(
            ctypes.addressof(state), native.code, c.pc, budget,
            meeting.ctypes.data if meeting is not None else None,
        )  # fmt: skip
        self._leave(c, state, before)
        return state.done, bool(state.why)

    def _enter(self, c: Cohort, state: Any) -> dict[str, list[Outstanding]]:
        native, lds = self.native, self.chunk.lds
        arrays = c.v, c.a, c.s, c.scc, c.exec, c.slots, c.scratch
        if any(map(is_not, arrays, c.held)):
            c.held, c.addresses = arrays, tuple(each.ctypes.data for each in arrays)
        state.v, state.a, state.s, state.scc, state.exec, state.slots, state.scratch = c.addresses
        state.n, state.full, state.wave = len(c.slots), c.full, c.wave
        state.scratch_size = c.scratch.shape[2]
        state.told = FaultKind.REPEATED_WRITE in self.chunk.faults
        state.epoch, state.atomics, state.alike = lds.epoch, lds.atomics, lds.alike
        if self.stamped is not lds.written:
            self.stamped, state.parts = lds.written, lds.written.shape[1]
            state.written, state.read = lds.written.ctypes.data, lds.read.ctypes.data
        before = {name: list(queue) for name, queue in c.queues.items() if queue}
        tails = [0] * SIZES["COUNTERS"]
        for name, queue in before.items():
            number = native.counters.setdefault(name, len(native.counters))
            entries, tails[number] = state.queue[number], len(queue)
            for k, operation in enumerate(queue):
                entries[k] = native.number(operation), 0, 0
        state.tails[:] = tails
        state.loaded, state.loaded_counts = native.loaded.ctypes.data, native.counts.ctypes.data
        state.unordered = native.unordered.ctypes.data
        return before

    def _leave(self, c: Cohort, state: Any, before: dict[str, list[Outstanding]]) -> None:
        native = self.native
        heads, tails = state.heads[:], state.tails[:]
        changed = False
        for name, number in native.counters.items():
            head, tail = heads[number], tails[number]
            old = before.get(name, [])
            if not head and tail == len(old):
                continue
            changed = True
            new = old[head:]
            for k in range(max(head, len(old)), tail):
                entry = state.queue[number][k]
                loaded, ordered = native.kinds[entry.id]
                new.append(Outstanding(loaded, ordered, self._stamp(c, entry, c.lanes)))
            c.queues[name] = deque(new)
        if changed:
            c.pending = set().union(*(o.registers for q in c.queues.values() for o in q))
        c.full = bool(state.full)

    def _stamp(self, c: Cohort, entry: Any, lanes: int) -> list[Touch] | None:
        if not entry.slots:
            return None
        size, writes = self.native.stamps[entry.id]
        flat = self.stamps.reshape(SIZES["SLOTS"], -1)
        found, lds = [], self.chunk.lds
        for k in range(entry.slots):
            row = flat[(entry.slot + k) % SIZES["SLOTS"]][: len(c.slots) * lanes]
            found.append(lds.touched_at(c.slots, row.reshape(-1, lanes), size, writes=writes))
        return found
