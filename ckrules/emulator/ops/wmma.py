"""Matrix instructions of RDNA: WMMA, whose results are fp32 or whole numbers.

Sources: AMD, "RDNA3 ISA", 7.9, and "RDNA4 ISA", 7.12 (layouts of operands; NEG).
"""

from __future__ import annotations

import re

import numpy as np

from ckrules.emulator import modifiers
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import Values
from ckrules.emulator.native.product import MatrixInstruction, Shape
from ckrules.emulator.ops.float_formats import FORMATS
from ckrules.emulator.ops.matrix import accumulator_of, finish, operand, summed
from ckrules.emulator.wave import Cohort

_NAME = re.compile(r"v_wmma_(f32|i32)_16x16x16_([a-z0-9_]+)$")


def decode(d: Decoded) -> Run:
    """The meaning of a WMMA."""
    hit = _NAME.match(d.name)
    assert hit is not None
    result, names = hit[1], hit[2].split("_")
    whole = result == "i32"
    modifiers.refuse(d, frozenset({"neg_lo", "clamp"} if whole else ()))
    # NEG says whether whole numbers have a sign.
    signs = d.operands.bits("neg_lo", (0, 0, 0))
    types = [f"{'ui'[sign]}8" for sign in signs[:2]] if whole else [*map(d.target.float8, names)]
    if any(t not in FORMATS for t in types) or d.target.wave_size != 32 or signs[2]:
        raise UnknownInstructionError(f"{d.line}: WMMA without semantics here")
    target, a_op, b_op, c_op = d.operands.items[:4]
    new, clamped = d.target.generation >= 12, "clamp" in d.operands.flags
    # RDNA3: lanes 16 to 31 hold what lanes 0 to 15 do.
    shape = Shape(16, 16, 16, 1, result, types[0], types[-1], 32 if new else 16)
    p = MatrixInstruction(shape, (a_op, b_op), target, c_op, place(new), "f64")

    def run(c: Cohort) -> None:
        if c.native is not None and not clamped:
            c.native.trace.matrix(p)
            return
        value = accumulator_of(c, p) + summed(p, operand(c, p, 0), operand(c, p, 1))
        finish(c, p, np.clip(value, -(1 << 31), (1 << 31) - 1) if clamped else value)

    return run


def place(new: bool) -> Values:
    """Which element of the result, row by row, is where: (register, lane)."""
    lane, register = np.arange(32), np.arange(8)[:, None]
    row = 8 * (lane // 16) + register if new else 2 * register + lane // 16
    found: Values = 16 * row + lane % 16
    return found


_FORMS = ("f32_16x16x16_f16", "f32_16x16x16_bf16", "i32_16x16x16_iu8",
          *(f"f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")))  # fmt: skip
OPCODES = {f"v_wmma_{form}": decode for form in _FORMS}
