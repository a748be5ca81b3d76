"""Instructions of gfx950 for numbers with scales: matrix products (F8F6F4), and conversions.

Operands of products are of 8, 6 or 4 bits. Pairs of 4-bit floats become fp16 or bf16.

Sources: AMD, "CDNA4 ISA", 7.1 and 7.2, V_CVT_SCALEF32_PK_F16_FP4; LLVM 22, VOP3Instructions.td
(the byte of the source is OP_SEL[1:0]); A. Salykov and others, "Introduction to Matrix Core
Programming on AMD CDNA3 and CDNA4 architecture" (layouts of operands of 8 and of 4 bits); OCP,
"Microscaling Formats (MX) Specification" (E2M3, E3M2, E2M1, E8M0); ROCm/hip-fpsan,
``amdgcn_mfma.hpp`` (on an MI350: fields of 6 and of 4 bits lie alike, the lowest bits first).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ckrules.emulator import modifiers
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U32, Get, Values, vector_get, vector_put
from ckrules.emulator.native.product import MatrixInstruction
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, bf16, table
from ckrules.emulator.ops.matrix import accumulator_of, finish, mfma_shape, operand, place, summed
from ckrules.emulator.wave import Cohort

_NAME = re.compile(r"v_mfma_(scale_)?f32_(16x16x128|32x32x64)_f8f6f4$")
_KINDS = {0: "fp8_ocp", 1: "bf8_ocp", 2: "fp6", 3: "bf6", 4: "fp4"}
_EACH = 32
"""Elements of K that share a scale: those that a lane holds."""
_FORMATS = frozenset({"cbsz", "blgp"})


def decode(d: Decoded) -> Run:
    """The meaning of an instruction of this group."""
    hit = _NAME.match(d.name)
    assert hit is not None
    kinds = [_KINDS.get(d.operands.number(word)) for word in ("cbsz", "blgp")]
    a_kind, b_kind = kinds
    if a_kind is None or b_kind is None:
        raise UnknownInstructionError(f"{d.line}: operands of no known format")
    modifiers.refuse(d, _FORMATS | {"op_sel", "op_sel_hi"} if hit[1] else _FORMATS)
    target, a_op, b_op, c_op, *scales = d.operands.items
    shape = mfma_shape(f"v_mfma_f32_{hit[2]}_f16")
    assert shape is not None
    # Of 6 and 4 bits a lane holds consecutive elements of K, of 8 bits some of either half.
    wide = [FORMATS[kind].bits == 8 for kind in (a_kind, b_kind)]
    p = MatrixInstruction(
        replace(shape, a=a_kind, b=b_kind), (a_op, b_op), target, c_op, place(shape), "f64",
        (1 + wide[0], 1 + wide[1]),
    )  # fmt: skip
    gets = [_scale(d, i, op) for i, op in enumerate(scales)]

    def run(c: Cohort) -> None:
        if c.native is not None and all(wide) and not gets:
            c.native.trace.matrix(p)
            return
        a, b = operand(c, p, 0), operand(c, p, 1)
        if gets:
            a, b = (_scaled(x, get(c), c) for x, get in zip((a, b), gets, strict=True))
        finish(c, p, accumulator_of(c, p) + summed(p, a, b))

    return run


def _scale(d: Decoded, i: int, op: Operand) -> Get:
    """The byte of a register that is the exponent of a scale; 255 is NaN."""
    low, high = d.operands.bits("op_sel", (0, 0, 0)), d.operands.bits("op_sel_hi", (1, 1, 1))
    get, shift = vector_get(op, U32), np.uint32(8 * (low[i] + 2 * high[i]))

    def scale(c: Cohort) -> Values:
        byte = (get(c) >> shift) & np.uint32(0xFF)
        return np.where(byte == 255, np.nan, np.ldexp(1.0, byte.astype(np.int32) - 127))

    return scale


def _scaled(matrix: Values, scale: Values, c: Cohort) -> Values:
    """Each 32 elements of a row times the scale that their lane holds."""
    each = np.broadcast_to(scale, c.exec.shape).reshape(len(matrix), 1, -1, matrix.shape[2])
    found: Values = matrix * np.repeat(each.swapaxes(2, 3), _EACH, axis=3)
    return found


def _widen(d: Decoded) -> Run:
    """Two 4-bit floats of a byte of the source, times the power of two that a scale's bits name."""
    modifiers.refuse(d, frozenset({"op_sel"}))
    kind = d.name.split("_")[4]
    target, source, scale = d.operands.items
    low, high, *_ = (*d.operands.bits("op_sel", (0, 0, 0)), 0, 0)
    shift = np.uint32(8 * (low + 2 * high))
    get, scale_of, put = vector_get(source, U32), vector_get(scale, U32), vector_put(target, U32)
    values = table("fp4")

    def run(c: Cohort) -> None:
        byte, exponent = get(c) >> shift, (scale_of(c) >> np.uint32(23)) & np.uint32(0xFF)
        factor = np.where(exponent == 255, np.nan, np.ldexp(1.0, exponent.astype(np.int32) - 127))
        found = [values[byte >> np.uint32(at) & np.uint32(15)] * factor for at in (0, 4)]
        first, second = (_bits(value.astype(np.float32), kind) for value in found)
        put(c, first | second << np.uint32(16))

    return run


def _bits(values: Values, kind: str) -> Values:
    if kind == "bf16":
        return bf16(values).astype(np.uint32)
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)


OPCODES = {
    **{f"v_cvt_scalef32_pk_{kind}_fp4": _widen for kind in ("f16", "bf16")},
    **{
        f"v_mfma_{scale}f32_{shape}_f8f6f4": decode
        for scale in ("", "scale_")
        for shape in ("16x16x128", "32x32x64")
    },
}
