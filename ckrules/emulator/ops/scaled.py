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

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U32, Get, Values, vector_get, vector_put
from ckrules.emulator.native.trace import TracedProduct
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, bf16, table
from ckrules.emulator.ops.matrix import (
    accumulator_of,
    check_modifiers,
    elements,
    mfma_shape,
    place,
    summed,
    words_of,
    write,
)  # fmt: skip
from ckrules.emulator.wave import Cohort

_NAME = re.compile(r"v_mfma_(scale_)?f32_(16x16x128|32x32x64)_f8f6f4$")
_KINDS = {0: "fp8_ocp", 1: "bf8_ocp", 2: "fp6", 3: "bf6", 4: "fp4"}
_EACH = 32
"""Elements of K that each lane holds, and that share a scale."""
_MODIFIERS = {"cbsz", "blgp"}


def decode(d: Decoded) -> Run:
    """The meaning of an instruction of this group."""
    hit = _NAME.match(d.name)
    assert hit is not None
    kinds = [_KINDS.get(d.operands.number(word)) for word in ("cbsz", "blgp")]
    a_kind, b_kind = kinds
    if a_kind is None or b_kind is None:
        raise UnknownInstructionError(f"{d.line}: operands of no known format")
    check_modifiers(d, _MODIFIERS | {"op_sel", "op_sel_hi"} if hit[1] else _MODIFIERS)
    target, a_op, b_op, c_op, *scales = d.operands.items
    shape = mfma_shape(f"v_mfma_f32_{hit[2]}_f16")
    assert shape is not None
    rows, k = shape.m, shape.k
    _, row, column = place(shape)
    gets = [_scale(d, i, op) for i, op in enumerate(scales)]

    plain = not gets and FORMATS[a_kind].bits == FORMATS[b_kind].bits == 8
    own = replace(shape, a=a_kind, b=b_kind)

    def run(c: Cohort) -> None:
        if c.native is not None and plain:
            c.native.trace.matrix(
                TracedProduct(
                    own, (a_op, b_op), target, c_op, (_EACH, _EACH), (8, 8),
                    (row * shape.n + column).T, "f64", 64, parts=2,
                )
            )  # fmt: skip
            return
        a, b = _operand(c, a_op, a_kind, rows, k), _operand(c, b_op, b_kind, rows, k)
        if gets:
            a, b = (_scaled(x, get(c), rows, c) for x, get in zip((a, b), gets, strict=True))
        total = summed(a, b)[:, row, column]
        value = accumulator_of(c, c_op, row.shape[1], "f32") + total
        write(c, target, words_of(value.astype(np.float32)))

    return run


def _operand(c: Cohort, op: Operand, kind: str, rows: int, k: int) -> Values:
    """A or B as matrices: (block, row, k).

    Of 6 and 4 bits each group of lanes holds 32 consecutive elements of K, of 8 bits 16 of the
    lower and 16 of the upper half.
    """
    each = elements(c, op, kind, _EACH).astype(np.float64)
    groups = k // _EACH
    split = each.reshape(-1, groups, rows, *((2, 16) if FORMATS[kind].bits == 8 else (1, 32)))
    return split.transpose(0, 2, 3, 1, 4).reshape(-1, rows, k)


def _scale(d: Decoded, i: int, op: Operand) -> Get:
    """The byte of a register that is the exponent of a scale; 255 is NaN."""
    low, high = d.operands.bits("op_sel", (0, 0, 0)), d.operands.bits("op_sel_hi", (1, 1, 1))
    get, shift = vector_get(op, U32), np.uint32(8 * (low[i] + 2 * high[i]))

    def scale(c: Cohort) -> Values:
        byte = (get(c) >> shift) & np.uint32(0xFF)
        return np.where(byte == 255, np.nan, np.ldexp(1.0, byte.astype(np.int32) - 127))

    return scale


def _scaled(matrix: Values, scale: Values, rows: int, c: Cohort) -> Values:
    """Each 32 elements of a row times the scale that their lane holds."""
    each = np.broadcast_to(scale, c.exec.shape).reshape(len(matrix), -1, rows)
    found: Values = matrix * np.repeat(each.swapaxes(1, 2), _EACH, axis=2)
    return found


def _widen(d: Decoded) -> Run:
    """Two 4-bit floats of a byte of the source, times the power of two that a scale's bits name."""
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
    """The bits of numbers in a format of 16 bits."""
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
