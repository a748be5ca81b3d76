"""A code object ready to run: every instruction decoded and given its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckrules.emulator import modifiers
from ckrules.emulator.disassembly import DisassembledLine, disassemble
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.image import Image, parse
from ckrules.emulator.instruction import Decoded, InOrder, Instruction, Run, Target
from ckrules.emulator.native.drive import Native, native_of
from ckrules.emulator.native.library import compiler
from ckrules.emulator.operands import BASES, Operands, Special
from ckrules.emulator.operands import parse as parse_operands
from ckrules.emulator.ops import (
    flow,
    fp8_convert,
    global_,
    local,
    matrix,
    packed,
    scalar,
    scaled,
    vector_decode,
    vector_special,
)  # fmt: skip
from ckrules.emulator.ops.opcode import SPELLINGS
from ckrules.emulator.rejoined import rejoined
from ckrules.emulator.wave import Cohort
from ckrules.support import collection

Make = Callable[[Decoded], Run]
_GROUPS: tuple[tuple[str, Mapping[str, Make]], ...] = (
    ("flow", flow.OPCODES), ("scalar", scalar.OPCODES), ("vector", vector_decode.OPCODES),
    ("special", vector_special.OPCODES), ("packed", packed.OPCODES),
    ("fp8_convert", fp8_convert.OPCODES), ("matrix", scaled.OPCODES), ("matrix", matrix.OPCODES),
    ("local", local.OPCODES), ("memory", global_.OPCODES),
)  # fmt: skip
OPCODES = {name: (group, make) for group, opcodes in _GROUPS for name, make in opcodes.items()}
"""By mnemonic without encoding: which modifiers it takes (`modifiers.ACCEPTED`), and what makes its
meaning: the numpy operations that run it, and its C form by way of them."""
_WORTH = 5000
"""Instructions of cohorts from which on native code is worth its making."""
_ENCODINGS = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")


@dataclass(frozen=True)
class Program:
    """The instructions of a code object."""

    image: Image
    instructions: Sequence[Instruction]
    numbers: dict[int, int]
    """Instruction numbers by address, relative to the image's base."""
    vectors: int
    """Vector registers in use."""
    accumulators: int
    lds_unit: int
    """Bytes of the smallest access to LDS."""
    natives: dict[int, Native | None] = field(default_factory=dict)
    work: list[int] = field(default_factory=lambda: [0])
    """Instructions of cohorts that were run, or are sure to be."""

    def worked(self, steps: int) -> None:
        """Counts instructions of cohorts."""
        self.work[0] += steps

    def native(self, lanes: int) -> Native | None:
        """Native code for waves of so many lanes; None before there was `_WORTH` to do."""
        if lanes not in self.natives:
            if self.work[0] < _WORTH or compiler() is None:
                return None
            found = native_of([self.instructions], lanes)
            self.natives[lanes] = found[0] if found else None
        return self.natives[lanes]


@collection.paused()
def load(code: bytes, objdump: Path) -> Program:
    """The program of a code object.

    An instruction without semantics is an error only when it is reached.

    Raises:
        CodeObjectError: If the code object is damaged.
        EmulatorError: If it cannot be disassembled.
    """
    image = parse(code)
    lines = list(rejoined(disassemble(code, objdump)))
    numbers = {line.address: i for i, line in enumerate(lines)}
    sizes = {k.descriptor.wave_size for k in image.kernels.values()}
    target = Target(image.arch, sizes.pop() if len(sizes) == 1 else 64)
    instructions = [_instruction(line, i, target, numbers) for i, line in enumerate(lines)]
    touched = frozenset[int]().union(*(i.touched for i in instructions))
    vectors, sums = (
        max((r - base for r in touched if base <= r < base + 1000), default=0) + 1
        for base in (BASES["v"], BASES["a"])
    )
    return Program(image, instructions, numbers, vectors, sums, _unit(lines))


def _unit(lines: Sequence[DisassembledLine]) -> int:
    generic = any("src_shared_base" in line.operands for line in lines)
    units = ("ds_", "flat_") if generic else ("ds_",)
    names = {line.mnemonic for line in lines if line.mnemonic.startswith(units)}
    if any("8" in n.replace("128", "") or "byte" in n for n in names):
        return 1
    return 2 if any("16" in n or "short" in n for n in names) else 4


def _instruction(
    line: DisassembledLine, number: int, target: Target, jumps: dict[int, int]
) -> Instruction:
    try:
        run, touched = _meaning(line, number, target, jumps)
    except UnknownInstructionError as error:
        message = str(error)
        named = message if line.mnemonic in message else f"{line}: {message}"
        run, touched = _fails(named), frozenset[int]()
    except (LookupError, ValueError):
        run, touched = _fails(f"{line}: operands without semantics here"), frozenset[int]()
    leaves = line.mnemonic.startswith(flow.LEAVING)
    if isinstance(run, InOrder):
        return Instruction(line, run.run, touched, leaves, run)
    return Instruction(line, run, touched, leaves)


def _fails(message: str) -> Run:
    def run(c: Cohort) -> None:
        raise UnknownInstructionError(message)

    return run


def _meaning(
    line: DisassembledLine, number: int, target: Target, jumps: dict[int, int]
) -> tuple[Run, frozenset[int]]:
    if "::" in line.operands:
        first, _, rest = line.operands.partition(" :: ")
        name, _, second = rest.partition(" ")
        halves = [
            _decoded(line, mnemonic.replace("v_dual_", "v_"), text, target, jumps, number)
            for mnemonic, text in ((line.mnemonic, first), (name, second))
        ]
        for half in halves:
            modifiers.check(half, "pair")
        return vector_decode.decode_pair(*halves), _touched(halves[0].operands) | _touched(
            halves[1].operands
        )
    d = _decoded(line, line.mnemonic, line.operands, target, jumps, number)
    if d.name not in OPCODES:
        raise UnknownInstructionError(f"{line}: no semantics for this instruction on {target.arch}")
    group, make = OPCODES[d.name]
    run = make(d)
    modifiers.check(d, group)
    return run, _touched(d.operands) | _unnamed(d)


def _decoded(
    line: DisassembledLine,
    mnemonic: str,
    text: str,
    target: Target,
    jumps: dict[int, int],
    number: int,
) -> Decoded:
    encoding = next((e for e in _ENCODINGS if mnemonic.endswith(e)), "")
    name = mnemonic.removesuffix(encoding)
    name = SPELLINGS.get(name, name)
    return Decoded(line, name, encoding[1:], parse_operands(text), target, jumps, number)


def _touched(operands: Operands) -> frozenset[int]:
    return frozenset(r for op in operands.items for r in op.registers())


def _unnamed(d: Decoded) -> frozenset[int]:
    """Registers that an instruction reads and its text does not name.

    Source: LLVM, ``Uses`` in VOP3Instructions.td (V_DIV_FMAS), SOPInstructions.td (S_CBRANCH_VCCZ),
    BUFInstructions.td and FLATInstructions.td (loads to LDS).
    """
    if d.name.startswith(("v_div_fmas", "s_cbranch_vcc")):
        return frozenset((int(Special.VCC), int(Special.VCC) + 1))
    to_lds = "lds" in d.operands.flags or "_load_lds_" in d.name
    return frozenset((int(Special.M0),)) if to_lds else frozenset()
