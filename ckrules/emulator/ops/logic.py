"""Any function of three bits: V_BITOP3 of gfx950 and later.

Sources: AMD, "CDNA4 ISA", 12.12; LLVM, `SIISelLowering` of the AMDGPU back end and its table of
operands 0xf0, 0xcc, 0xaa.
"""

from __future__ import annotations

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U16, U32, Values, vector_get, vector_put
from ckrules.emulator.wave import Cohort

_KINDS = {"v_bitop3_b32": U32, "v_bitop3_b16": U16}


def decode(d: Decoded) -> Run:
    """The meaning of one of these instructions."""
    kind = _KINDS[d.name]
    if d.encoding not in ("", "e64"):
        raise UnknownInstructionError(f"{d.line}: lanes exchanged in a function of bits")
    target, *sources = d.operands.items
    gets, put = [vector_get(op, kind) for op in sources], vector_put(target, kind)
    table = d.operands.number("bitop3")

    def run(c: Cohort) -> None:
        value = combined(*(get(c) for get in gets), table=table)
        put(c, np.broadcast_to(value, c.exec.shape).copy())

    return run


def combined(a: Values, b: Values, e: Values, *, table: int) -> Values:
    """Bit by bit what a table of eight bits has at ``4 a + 2 b + e``.

    >>> f, c, a = (np.array([x], np.uint32) for x in (0xf0, 0xcc, 0xaa))
    >>> hex(combined(f, c, a, table=0x6c)[0] & 0xff)
    '0x6c'
    """
    result: Values = (a ^ a) | (b ^ b) | (e ^ e)
    for place in range(8):
        if table >> place & 1:
            result = result | (a if place & 4 else ~a) & (b if place & 2 else ~b) & (
                e if place & 1 else ~e
            )
    return result


OPCODES = dict.fromkeys(_KINDS, decode)
