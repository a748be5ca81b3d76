"""Scaled matrix instructions that the disassembler takes apart, where registers are the last ones."""

from __future__ import annotations

import pytest

from ckrules.emulator.disassembly import DisassembledLine
from ckrules.emulator.rejoined import rejoined


def line(at: int, mnemonic: str, operands: str) -> DisassembledLine:
    size = 4 if mnemonic == ".long" else 8
    return DisassembledLine(at, size, mnemonic, operands, "a.hpp:1")


def taken_apart(scales: str, *words: str) -> list[DisassembledLine]:
    numbers = [line(8 + 4 * i, ".long", word) for i, word in enumerate(words)]
    return [line(0, "v_mfma_ld_scale_b32", scales), *numbers]


@pytest.mark.parametrize(
    ("scales", "words", "text"),
    [
        # as LLVM 22 prints words whose registers it reads whole
        (
            "v8, v9 op_sel:[0,1] op_sel_hi:[0,0]",
            ("0xd3ad0c00", "0x82020900"),
            "v[0:3], v[0:3], v[4:7], 0, v8, v9 op_sel:[0,1,0] op_sel_hi:[0,0,0] cbsz:4 blgp:4",
        ),
        (
            "v105, v255 op_sel_hi:[0,0]",
            ("0xd3ad8c1a", "0x95428948"),
            "a[26:29], v[72:75], a[68:71], a[80:83], v105, v255 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
        ),
        (
            "v32, v41 op_sel:[1,1]",
            ("0xd3ad8cd0", "0x9742e910"),
            "a[208:211], v[16:19], a[116:119], a[208:211], v32, v41 op_sel:[1,1,0] cbsz:4 blgp:4",
        ),
        # of a drawn kernel of mx_flatmm, 192x512 by two waves
        (
            "v27, v218 op_sel:[0,1]",
            ("0xd3ad0c00", "0x944bf994"),
            "v[0:3], v[148:151], a[252:255], v[18:21], v27, v218 op_sel:[0,1,0] cbsz:4 blgp:4",
        ),
    ],
)
def test_parts_are_one_instruction(scales: str, words: tuple[str, ...], text: str) -> None:
    after = line(16, "s_endpgm", "")
    whole, last = rejoined([*taken_apart(scales, *words), after])
    assert (whole.mnemonic, whole.operands) == ("v_mfma_scale_f32_16x16x128_f8f6f4", text)
    assert (whole.address, whole.size, whole.source, last) == (0, 16, "a.hpp:1", after)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("0xd3ad0c00",),
        ("0xd3a00c00", "0x944bf994"),
        ("0xd3ad0d00", "0x944bf994"),
        ("0xd3ad0c00", "0x93ca0900"),  # 1.0 for the sums
    ],
)
def test_what_is_no_such_instruction_stays(words: tuple[str, ...]) -> None:
    parts = [*taken_apart("v8, v9", *words), *taken_apart("v8, v9", "0xd3ad0c00", "0x82020900")]
    assert list(rejoined(parts))[:-1] == parts[: 1 + len(words)]
