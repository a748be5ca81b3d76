"""Instructions that clang emitted for kernels of all families: executed, or refused by name.

``scripts/emitted_instructions.py`` has taken the lines from built kernels. LLVM's assembler says
which registers each of them names.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ckrules.emulator.disassembly import DisassembledLine
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Target
from ckrules.emulator.operands import BASES, Special
from ckrules.emulator.ops.opcode import SPELLINGS
from ckrules.emulator.program import _GROUPS, OPCODES, _meaning

DATA = Path(__file__).parents[1] / "data" / "emitted_instructions.txt"
ARCHES = ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
#: What has no semantics here, and why: no kernel that was built has it.
REFUSED = {
    **dict.fromkeys(
        ("v_dot2_f32_f16", "v_dot2c_f32_f16", "v_dot2_i32_i16", "v_dot4_i32_i8", "v_dot4_i32_iu8",
         "v_dot8_i32_i4", "v_dot8_i32_iu4"),
        "sums of products of parts of dwords",
    ),
    **dict.fromkeys(
        ("v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64", "v_mfma_f64_4x4x4f64"),
        "matrix products of fp64",
    ),
    **dict.fromkeys(
        ("v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"), "sums of 16 bits in a product"
    ),
    **dict.fromkeys(("v_wmma_i32_16x16x16_iu4", "v_wmma_i32_16x16x32_iu4"), "products of 4 bits"),
    **dict.fromkeys(("ds_swizzle_b32", "ds_permute_b32"), "lanes exchanged by way of LDS"),
    **dict.fromkeys(("v_smfmac_f32_16x16x32_f16", "v_swmmac_f32_16x16x32_f16"), "sparse products"),
    **dict.fromkeys(("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"), "stochastic rounding"),
}  # fmt: skip

_MC = shutil.which("llvm-mc-22")
_INST = re.compile(r"<MCInst #\d+ (\w+)")
_REGISTERS = re.compile(r"<MCOperand Reg:(\w+)>")
_ONE = re.compile(r"(VGPR|AGPR|SGPR|TTMP)(\d+)(?:_(?:LO16|HI16))?")
_FILES = {"VGPR": BASES["v"], "AGPR": BASES["a"], "SGPR": 0, "TTMP": int(Special.TTMP)}


class Anywhere(dict[int, int]):
    """Jumps of a program that has an instruction everywhere."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: int) -> int:
        return 0


@cache
def emitted() -> dict[str, list[str]]:
    """The lines by GPU."""
    found: dict[str, list[str]] = {}
    for line in filter(None, DATA.read_text().splitlines()):
        if line.startswith("["):
            lines = found.setdefault(line.strip("[]"), [])
        else:
            lines.append(line)
    return found


def touched(line: str, arch: str) -> frozenset[int]:
    """The registers of a line whose meaning is known here."""
    mnemonic, _, operands = line.partition(" ")
    target = Target(arch, 32 if arch.startswith("gfx1") else 64)
    return _meaning(DisassembledLine(0, 4, mnemonic, operands, ""), 0, target, Anywhere())[1]


def test_every_gpu_has_lines() -> None:
    assert sorted(emitted()) == sorted(ARCHES)


@pytest.mark.parametrize("arch", ARCHES)
def test_each_is_executed_or_refused(arch: str) -> None:
    unknown = {}
    for line in emitted()[arch]:
        try:
            touched(line, arch)
        except UnknownInstructionError as error:
            unknown[line] = str(error)
    assert {line.partition(" ")[0] for line in unknown} <= REFUSED.keys(), unknown


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("arch", ARCHES)
def test_what_is_listed_is_refused_by_its_name(arch: str, name: str) -> None:
    assert name not in OPCODES
    with pytest.raises(UnknownInstructionError, match=f"{name} .*no semantics .*{arch}"):
        touched(f"{name} v[0:3], v4, v5", arch)


@pytest.mark.skipif(_MC is None, reason="llvm-mc-22 says which registers a line names")
@pytest.mark.parametrize("arch", ARCHES)
def test_each_touches_the_registers_that_llvm_names(arch: str) -> None:
    lines = [line for line in emitted()[arch] if line.partition(" ")[0] not in REFUSED]
    wrong = {}
    for line, named in zip(lines, assembled(arch, lines), strict=True):
        ours = {r for r in touched(line, arch) if not _is_special(r)}
        if ours != named:
            wrong[line] = sorted(ours ^ named)
    assert not wrong


def assembled(arch: str, lines: list[str]) -> Iterator[set[int]]:
    """The registers of each line by LLVM, numbered as here, those with names of their own apart."""
    wave = ["-mattr=+wavefrontsize32"] if arch.startswith("gfx1") else []
    done = subprocess.run(
        [str(_MC), "-triple=amdgcn", f"-mcpu={arch}", *wave, "-show-inst"],
        input="\n".join(lines), capture_output=True, text=True, check=True,
    )  # fmt: skip
    for text in _INST.split(done.stdout)[2::2]:
        names = [n for each in _REGISTERS.findall(text) for n in _ONE.findall(each)]
        yield {_FILES[file] + int(number) for file, number in names}


def _is_special(register: int) -> bool:
    return Special.FLAT_SCRATCH <= register < Special.TTMP or Special.M0 <= register < BASES["v"]


def test_a_mnemonic_has_one_meaning() -> None:
    assert sum(len(opcodes) for _, opcodes in _GROUPS) == len(OPCODES)
    assert not SPELLINGS.keys() & OPCODES.keys()


def test_a_spelling_is_that_of_an_opcode() -> None:
    assert set(SPELLINGS.values()) <= OPCODES.keys()
