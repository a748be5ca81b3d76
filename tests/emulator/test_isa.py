"""What clang emits has the operands that AMD's machine-readable description gives its opcode.

``scripts/isa_operands.py`` has taken the sizes from the description of 2025-09-05 (CDNA 4, RDNA
3.5, RDNA 4). test_emitted.py holds the emulator to the registers that a line names; here their
number is held to AMD's word, so that neither LLVM nor we can name too few.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from ckrules.emulator.operands import Operand, Special, parse
from tests.emulator.test_emitted import emitted
from tests.helpers.scripts import load

SCRIPT = load("isa_operands")
opcode, parts = SCRIPT.opcode, SCRIPT.parts
DATA = Path(__file__).parents[1] / "data" / "isa_operands.txt"
ARCHES = ["gfx950", "gfx1100", "gfx1201"]
#: What the description lacks, and why that is no fault of ours.
LACKING = {
    "gfx950": {"v_fma_mixlo_f16": "named v_mad_mixlo_f16 in it, as on gfx900"},
    "gfx1100": {},
    "gfx1201": {},
}
#: Where it gives a result the bits of the two values that the instruction takes.
TWICE = {"global_atomic_cmpswap_b32"}


@cache
def described() -> dict[str, dict[str, list[list[int]]]]:
    """By GPU and opcode: the bits of the operands of each form."""
    sizes: dict[str, dict[str, list[list[int]]]] = {}
    for line in DATA.read_text().splitlines()[1:]:
        if line.startswith("["):
            of_gpu = sizes.setdefault(line.strip("[]"), {})
        else:
            name, *bits = line.split()
            of_gpu.setdefault(name, []).append([int(b) for b in bits])
    return sizes


@pytest.mark.parametrize("arch", ARCHES)
def test_every_emitted_opcode_is_described(arch: str) -> None:
    opcodes = {opcode(each) for line in emitted()[arch] for each in parts(line)}
    assert opcodes - described()[arch].keys() == LACKING[arch].keys()


@pytest.mark.parametrize("arch", ARCHES)
def test_each_names_as_many_registers_as_described(arch: str) -> None:
    wrong = {}
    for line in (part for each in emitted()[arch] for part in parts(each)):
        forms = described()[arch].get(opcode(line), [[]])
        if opcode(line) not in LACKING[arch] and not any(fits(line, form) for form in forms):
            wrong[line] = forms
    assert not wrong


def test_a_register_too_many_or_too_few_is_found() -> None:
    (form,) = described()["gfx950"]["ds_read_b128"]
    assert fits("ds_read_b128 v[0:3], v4 offset:16", form)
    assert not fits("ds_read_b128 v[0:4], v4", form)
    assert not fits("ds_read_b128 v[0:1], v4", form)
    assert not fits("ds_read_b128 v[0:3], v4, v5", form)


def fits(line: str, form: list[int]) -> bool:
    """Whether the registers of a line are operands of a form, each one of another."""
    held = registers(line)
    return any(
        all(holds(line, operand, bits) for operand, bits in zip(held, order, strict=True))
        for order in permutations(form, len(held))
    )


def holds(line: str, operand: Operand, bits: int) -> bool:
    """Whether an operand of so many bits can be these registers."""
    if operand.count == max(1, -(-bits // 32)):
        return True
    mask = operand.file == "s" and line.startswith("v_")  # of lanes, in waves of 32
    address = operand.file == "v" and line.startswith(("global_", "buffer_"))  # 32 bits of two
    result = opcode(line) in TWICE
    return bits == 64 and operand.count == 1 and (mask or address or result)


def registers(line: str) -> list[Operand]:
    """The operands of a line that are registers, those with names of their own apart."""
    return [
        operand
        for operand in parse(line.partition(" ")[2]).items
        if operand.registers() and not (operand.file == "s" and operand.index >= Special.VCC)
    ]
