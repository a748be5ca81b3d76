"""Scaled matrix instructions that LLVM's disassembler takes apart.

It reads operands of 6 and 4 bits as 8 registers before it looks at their format, so that those in
the last registers, such as ``a[252:255]``, are none to it: it names the prefix that loads the
scales, and gives the rest as two numbers.

Sources: AMD, "CDNA4 ISA" (VOP3P-MAI); what LLVM 22 assembles and prints of lower registers, which
the tests hold beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ckrules.emulator.disassembly import DisassembledLine

_PREFIX, _NUMBER = "v_mfma_ld_scale_b32", ".long"
#: By the first word's upper half: rows and columns with K, registers of the result.
_SHAPES = {0xD3AD: ("16x16x128", 4), 0xD3AE: ("32x32x64", 16)}
#: Registers of an operand by its format.
_WIDTHS = {0: 8, 1: 8, 2: 6, 3: 6, 4: 4}
_ZERO, _REGISTER = 128, 256


def rejoined(lines: Iterable[DisassembledLine]) -> Iterator[DisassembledLine]:
    """The lines, with scaled matrix instructions that were taken apart in one again.

    >>> def line(at, mnemonic, operands, size=4):
    ...     return DisassembledLine(at, size, mnemonic, operands, "")
    >>> [one] = rejoined([
    ...     line(0, "v_mfma_ld_scale_b32", "v27, v218 op_sel:[0,1]", 8),
    ...     line(8, ".long", "0xd3ad0c00"), line(12, ".long", "0x944bf994"),
    ... ])
    >>> one.mnemonic, one.size
    ('v_mfma_scale_f32_16x16x128_f8f6f4', 16)
    >>> one.operands
    'v[0:3], v[148:151], a[252:255], v[18:21], v27, v218 op_sel:[0,1,0] cbsz:4 blgp:4'
    """
    every, at = list(lines), 0
    while at < len(every):
        whole = _whole(every[at : at + 3]) if every[at].mnemonic == _PREFIX else None
        yield whole or every[at]
        at += 3 if whole else 1


def _whole(parts: list[DisassembledLine]) -> DisassembledLine | None:
    """The instruction of a prefix and two numbers; None where they are none."""
    if [p.mnemonic for p in parts[1:]] != [_NUMBER, _NUMBER]:
        return None
    first, second = (int(p.operands, 16) for p in parts[1:])
    if (shape := _SHAPES.get(first >> 16)) is None:
        return None
    formats = first >> 8 & 7, second >> 29
    if not all(f in _WIDTHS for f in formats):
        return None
    sources = [second >> at & 0x1FF for at in (0, 9, 18)]
    if not all(s & _REGISTER or s == _ZERO for s in sources):
        return None  # another constant
    kinds = ["a" if second >> bit & 1 else "v" for bit in (27, 28)]
    result = "a" if first >> 15 & 1 else "v"
    *factors, sums = sources
    a, b = (
        _registers(kind, source, _WIDTHS[f])
        for kind, source, f in zip(kinds, factors, formats, strict=True)
    )
    c, target = (_registers(result, s, shape[1]) for s in (sums, first & 0xFF | _REGISTER))
    scales, *words = parts[0].operands.split(" op_sel")
    given = "".join(f" op_sel{w.replace(']', ',0]')}" for w in words)
    operands = f"{target}, {a}, {b}, {c}, {scales}{given} cbsz:{formats[0]} blgp:{formats[1]}"
    name = f"v_mfma_scale_f32_{shape[0]}_f8f6f4"
    return replace(parts[0], size=16, mnemonic=name, operands=operands)


def _registers(kind: str, source: int, count: int) -> str:
    first = source - _REGISTER
    return "0" if source == _ZERO else f"{kind}[{first}:{first + count - 1}]"
