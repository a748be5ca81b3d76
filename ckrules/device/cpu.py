"""The device ``cpu``: code objects executed instruction by instruction, without a GPU."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckrules import arch as gpu_facts
from ckrules.compiling.codeobject import CodeObjectError
from ckrules.device.interface import (
    UNLAUNCHABLE,
    DeviceError,
    DeviceInfo,
    Dim3,
    LaunchContext,
    Observation,
)
from ckrules.emulator.banks import Access, said
from ckrules.emulator.disassembly import knows, target
from ckrules.emulator.errors import EmulatorError, Fault, FaultKind
from ckrules.emulator.grid import GridOutcome, Plan, run, sampled
from ckrules.emulator.launch import Launch, arguments, packet
from ckrules.emulator.machine import Order
from ckrules.emulator.memory import BASE, Memory
from ckrules.emulator.program import Program, load
from ckrules.support.errors import UsageError, unknown

_DISASSEMBLERS = ("llvm-objdump-22", "llvm-objdump-19", "llvm-objdump")
_OPTIONS = ("order", "seed", "blocks", "jobs", "units", "banks")
_UNITS = 3
"""Compute units unless the option ``units`` says other: enough for blocks to share work out."""


@dataclass
class _Module:
    program: Program
    base: int


@dataclass
class CpuDevice:
    """Memory and an emulator in this process."""

    info: DeviceInfo
    plan: Plan = field(default_factory=Plan)
    banks: bool = False
    """Whether accesses to LDS are counted."""
    steps: int = 0
    """Wave instructions so far."""
    seconds: float = 0.0
    """Spent in launches so far."""
    accesses: Counter[Access] = field(default_factory=Counter)
    """To LDS, by the turns of its banks, since `announce`."""

    def __post_init__(self) -> None:
        self._memory = Memory()
        self._faults: dict[FaultKind, Fault] = {}
        self._written: NDArray[np.bool_] | None = None
        self._whole = True
        self._waiting = False
        self._partial = False
        self._repeated = 0

    def load(self, code: bytes) -> _Module:
        """Decodes a code object and puts its image into memory."""
        program = _program(code)
        base = self.allocate(program.image.size)
        for segment in program.image.segments:
            self._memory.write(base + segment.address, segment.data)
        for place, addend in program.image.relocations:
            number = (base + addend) % (1 << 64)
            self._memory.write(base + place, number.to_bytes(8, "little"))
        return _Module(program, base)

    def unload(self, module: _Module) -> None:
        """Frees the code object."""
        self._memory.free(module.base)

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""
        try:
            return self._memory.allocate(size)
        except EmulatorError as error:
            raise DeviceError(str(error)) from None

    def free(self, address: int) -> None:
        """Frees memory."""
        self._memory.free(address)

    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to memory."""
        self._memory.write(address, data)

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from memory."""
        return self._memory.read(address, size)

    def fill(self, address: int, value: int, size: int) -> None:
        """Sets bytes to one value."""
        self._memory.fill(address, value, size)

    def launch(self, module: _Module, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Runs a kernel to its end, once in each order of the plan."""
        start = time.perf_counter()
        kernel = module.program.image.kernels.get(entry)
        if kernel is None:
            raise DeviceError(f"the code object has no kernel {entry}")
        _check_limits(module.program.image.arch, kernel.descriptor.lds_bytes, block)
        if kernel.descriptor.entry not in module.program.numbers:
            raise DeviceError(f"{UNLAUNCHABLE}: no instruction at the beginning of {entry}")
        data = arguments(kernel, args, grid, block)
        kernarg, dispatch = self.allocate(max(64, len(data))), self.allocate(64)
        self._memory.write(kernarg, data)
        launch = Launch(module.program, module.base, kernel, grid, block, kernarg, dispatch)
        if self.banks:
            launch = replace(launch, banks=_banks(module.program.image.arch))
        self._memory.write(dispatch, packet(launch))
        plan = self._plan()
        blocks = launch.blocks()
        self._partial |= len(sampled(blocks, plan)) < len(blocks)
        try:
            outcome, writers = run(launch, self._memory, plan)
        except EmulatorError as error:
            raise DeviceError(str(error)) from None
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            # Code that no compiler writes; as from the processes of a grid.
            raise DeviceError(f"{entry}: {type(error).__name__}: {error}") from error
        finally:
            self._memory.free(dispatch)
            self._memory.free(kernarg)
            self.seconds += time.perf_counter() - start
        self.note(outcome)
        self._mark(writers != 0)

    def _plan(self) -> Plan:
        sample = None if self._whole else self.plan.sample
        return replace(self.plan, sample=sample, waiting=self._waiting)

    def note(self, outcome: GridOutcome) -> None:
        """Keeps what was seen in a launch: the first fault of each kind, and counts."""
        self.steps += outcome.steps
        self._repeated += outcome.repeated
        self.accesses.update(outcome.accesses)
        for kind, fault in outcome.faults.items():
            self._faults.setdefault(kind, fault)

    def _mark(self, written: NDArray[np.bool_]) -> None:
        before = self._written
        if before is not None:
            shorter = min(len(before), len(written))
            written[:shorter] |= before[:shorter]
        self._written = written

    def announce(self, work: LaunchContext) -> None:
        """Forgets what was seen before.

        Kernels that compute in steps, or whose blocks share the work out or add to the same
        results, are never sampled.
        """
        self._faults, self._written, self._partial, self._repeated = {}, None, False, 0
        self.accesses.clear()
        steps = "workspace" in work.addresses
        self._whole = self.plan.sample is None or steps or work.shared_out or work.added_up
        self._waiting = work.shared_out

    def observed(self) -> Sequence[Observation]:
        """The faults of the launches since `announce`, most severe first."""
        kinds = [kind for kind in FaultKind if kind in self._faults and not kind.harmless]
        return [Observation(kind.value, str(self._faults[kind])) for kind in kinds]

    def remarks(self) -> Sequence[str]:
        """Writes that several waves repeated since `announce`, and accesses to LDS if counted."""
        found = [said(self.accesses)] if self.accesses else []
        if repeated := self._faults.get(FaultKind.REPEATED_WRITE):
            many = f"{self._repeated:,} bytes were written by several waves with equal values"
            found.append(f"{many}; the first: {repeated}")
        return found

    def written(self, address: int, size: int) -> NDArray[np.bool_] | None:
        """Which bytes the launches since `announce` wrote; None if all blocks ran.

        Where all ran, what nobody wrote is a fault of the kernel.
        """
        if not self._partial or self._written is None:
            return None
        return self._written[address - BASE : address - BASE + size]

    def resident_blocks(self, module: _Module, entry: str, threads: int) -> int:
        """One: kernels that share work out see as many blocks as there are compute units."""
        return 1

    def synchronize(self) -> None:
        """Nothing: launches have ended."""

    def event(self) -> list[float]:
        """A place for a time."""
        return [0.0]

    def record(self, event: list[float]) -> None:
        """Notes the time."""
        event[0] = time.perf_counter()

    def elapsed_ms(self, start: list[float], stop: list[float]) -> float:
        """Milliseconds on this machine's clock."""
        return (stop[0] - start[0]) * 1e3

    def close(self) -> None:
        """Nothing: memory goes with the process."""


@lru_cache(maxsize=4)
def _program(code: bytes) -> Program:
    """The program of a code object, decoded once for all problems of a kernel."""
    return load(code, disassembler())


def _banks(arch: str) -> tuple[str, int]:
    """The instruction set of a GPU, and the banks of its LDS."""
    gpu = gpu_facts.load(arch)
    return gpu.isa, gpu.lds_banks


def _check_limits(arch: str, lds_bytes: int, block: Dim3) -> None:
    """Refuses what the GPU that a code object is for would not start."""
    if arch not in gpu_facts.known():
        return
    gpu, threads = gpu_facts.load(arch), math.prod(block)
    if threads > gpu.max_threads:
        most = f"{arch} has at most {gpu.max_threads}"
        raise DeviceError(f"{UNLAUNCHABLE}: {threads} threads a block, {most}")
    if lds_bytes > gpu.lds_bytes:
        most = f"{arch} has {gpu.lds_bytes}"
        raise DeviceError(f"{UNLAUNCHABLE}: {lds_bytes} bytes of LDS, {most}")


def disassembler(code: bytes | None = None) -> Path:
    """LLVM's disassembler on this machine: the first that knows the GPU of a code object.

    Raises:
        DeviceError: If there is none.
    """
    found = [Path(hit) for name in _DISASSEMBLERS if (hit := shutil.which(name))]
    if not found:
        raise DeviceError("no llvm-objdump on PATH: apt-get install llvm-22")
    if code is None:
        return found[0]
    try:
        gpu = target(code)
    except CodeObjectError:
        return found[0]  # whose complaint says what is wrong with it
    for program in found:
        if not gpu or knows(program, code, gpu):  # of one that does not say, the newest may try
            return program
    names = ", ".join(program.name for program in found)
    raise DeviceError(f"{names} does not know {gpu}: apt-get install llvm-22")


def plan_of(options: Mapping[str, str]) -> Plan:
    """The plan that options ask for.

    >>> plan_of({"order": "forward,random", "seed": "3", "blocks": "8", "jobs": "1"})
    Plan(orders=(...), seed=3, sample=8, jobs=1, waiting=False)

    Raises:
        UnknownNameError: If there is no such option or order, with near matches.
        UsageError: If a number is none.
    """
    for name in options:
        if name not in _OPTIONS:
            raise unknown("option of the device cpu", name, _OPTIONS)
    orders = []
    for word in options.get("order", ",".join(Order)).split(","):
        if word not in list(Order):
            raise unknown("order", word, [o.value for o in Order])
        orders.append(Order(word))
    sample = _number(options, "blocks", 0)
    jobs = _number(options, "jobs", os.cpu_count() or 1)
    return Plan(tuple(orders), _number(options, "seed", 0), sample or None, max(1, jobs))


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"--device-option {name}={text}: a whole number is expected")
    return int(text)


class CpuPlugin:
    """The device ``--device cpu``."""

    def discover(self) -> Sequence[DeviceInfo]:
        """One device, if LLVM's disassembler is there."""
        disassembler()
        return [_info()]

    def open(self, index: int, options: Mapping[str, str] | None = None) -> CpuDevice:
        """Opens it; see `plan_of` for its options."""
        given = options or {}
        info = _info(max(1, _number(given, "units", _UNITS)))
        return CpuDevice(info, plan_of(given), banks=_number(given, "banks", 0) > 0)

    def looked_for(self) -> Sequence[tuple[str, str]]:
        """The disassembler."""
        try:
            return [("llvm-objdump", f"found: {disassembler()}")]
        except DeviceError as error:
            return [("llvm-objdump", str(error))]


def _info(units: int = _UNITS) -> DeviceInfo:
    """What there is to say of it: it runs kernels of every GPU, and has no clock."""
    runtime = f"numpy {np.__version__}"
    return DeviceInfo(
        0, "CPU emulator", "", "ckrules", runtime, compute_units=units, has_clock=False
    )
