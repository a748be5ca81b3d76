"""An instruction with its meaning: what the machine calls, and which registers it touches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckrules.arch import load
from ckrules.emulator.disassembly import DisassembledLine
from ckrules.emulator.operands import Operands

if TYPE_CHECKING:
    from ckrules.emulator.wave import Cohort

Run = Callable[["Cohort"], None]


@dataclass(frozen=True, slots=True)
class InOrder:
    """A load whose data arrive behind those of all earlier loads of its counter.

    ``fills`` are registers that it writes whole and does not read: an earlier load of the same
    counter may still own them, since its data come first.

    Source: AMD Instinct MI300 ISA, 4.4 (memory reads return in the order they were issued); LLVM,
    SIInsertWaitcnts.cpp, which waits for no earlier load of the same kind before a load.
    """

    run: Run
    counter: str
    fills: frozenset[int]

    def __call__(self, c: Cohort) -> None:
        """Runs it."""
        self.run(c)


@dataclass(frozen=True, slots=True)
class Target:
    """The GPU that a program was compiled for."""

    arch: str
    wave_size: int

    @property
    def generation(self) -> int:
        """9 for GCN and CDNA, 10 to 12 for RDNA.

        >>> Target("gfx942", 64).generation, Target("gfx1201", 32).generation
        (9, 12)
        """
        number = self.arch.removeprefix("gfx")
        return int(number[:-2])

    def float8(self, name: str) -> str:
        """The format that instructions mean by ``fp8`` or ``bf8``: FNUZ, or OCP's.

        >>> Target("gfx942", 64).float8("fp8"), Target("gfx950", 64).float8("fp8")
        ('fp8', 'fp8_ocp')
        """
        ocp = name in ("fp8", "bf8") and load(self.arch).has("ocp_fp8")
        return f"{name}_ocp" if ocp else name


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a group of instructions gets to make a meaning of."""

    line: DisassembledLine
    name: str
    """The mnemonic without the suffix of its encoding."""
    encoding: str
    """Such as ``e32``, ``sdwa`` or ``dpp``; empty if the mnemonic says none."""
    operands: Operands
    target: Target
    jumps: dict[int, int]
    """Instruction numbers by address."""
    number: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a program."""

    line: DisassembledLine
    run: Run
    touched: frozenset[int]
    """Registers read or written, which no outstanding load may own."""
    leaves: bool = False
    """Whether the cohort may be elsewhere or blocked afterwards."""
    in_order: InOrder | None = None
    """What is known of a load whose data arrive in order."""
