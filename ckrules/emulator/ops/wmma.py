"""Matrix instructions of RDNA: WMMA.

Sources: AMD, "RDNA3 ISA", 7.9, and "RDNA4 ISA", 7.12 (layouts of operands; NEG and OPSEL).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ckrules.emulator import modifiers
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F16, Values
from ckrules.emulator.native.product import MatrixInstruction, Shape
from ckrules.emulator.ops.float_formats import FORMATS, bf16, unpack
from ckrules.emulator.ops.matrix import (
    accumulator_of,
    elements,
    finish,
    operand,
    registers,
    summed,
    write,
)  # fmt: skip
from ckrules.emulator.wave import Cohort

_NAME = re.compile(r"v_wmma_(f32|i32|f16|bf16)_16x16x(\d+)_([a-z0-9_]+)$")
TYPES = {"iu8": "u8", "iu4": "u4"}


def type_of(d: Decoded, name: str) -> str:
    """The format of elements that a name in a mnemonic means."""
    return TYPES.get(name) or d.target.float8(name)


def decode(d: Decoded) -> Run:
    """The meaning of a WMMA."""
    hit = _NAME.match(d.name)
    assert hit is not None
    result, k, names = hit[1], int(hit[2]), hit[3].split("_")
    types = [type_of(d, t) for t in (names * 2 if len(names) == 1 else names)]
    if any(t not in FORMATS for t in types) or d.target.wave_size != 32:
        raise UnknownInstructionError(f"{d.line}: WMMA without semantics here")
    halves = result in ("f16", "bf16") and d.target.generation < 12
    more = ["op_sel"] if halves else ["clamp"] if result == "i32" else []
    modifiers.refuse(d, frozenset({"neg_lo", "neg_hi", *more}))
    return _wmma(d, result, k, types)


def _wmma(d: Decoded, result: str, k: int, types: list[str]) -> Run:
    target, a_op, b_op, c_op = d.operands.items[:4]
    lows, highs = (d.operands.bits(n, (0, 0, 0)) for n in ("neg_lo", "neg_hi"))
    new = d.target.generation >= 12
    clamped = "clamp" in d.operands.flags
    half = d.operands.bits("op_sel", (0, 0, 0))[2]
    # RDNA3: lanes 16 to 31 hold what lanes 0 to 15 do.
    shape = Shape(16, 16, k, 1, result, types[0], types[1], 32 if new else 16)
    p = MatrixInstruction(shape, (a_op, b_op), target, c_op, place(new), "f64")

    def run(c: Cohort) -> None:
        if c.native is not None:
            names = [_native_kind(kind, lows[i], highs[i]) for i, kind in enumerate(types)]
            if result not in ("f32", "i32") or lows[2] or highs[2] or clamped:
                raise UnknownInstructionError("a product that numpy computes")
            c.native.trace.matrix(replace(p, shape=replace(shape, a=names[0], b=names[1])))
            return
        a, b = (signed(operand(c, p, i), kind, lows[i], highs[i]) for i, kind in enumerate(types))
        total = summed(p, a, b)
        if result == "i32":
            value = accumulator_of(c, p) + total
            finish(c, p, np.clip(value, -(1 << 31), (1 << 31) - 1) if clamped else value)
            return
        before = addend(c, p, new, half)
        before = np.abs(before) if highs[2] else before
        _finish(c, p, (-before if lows[2] else before) + total, new, half)

    return run


def _native_kind(kind: str, low: int, high: int) -> str:
    """The format of elements whose signs native code has; others are numpy's."""
    if kind == "u8":
        return "i8" if low else "u8"
    if low or high or FORMATS[kind].bits < 8:
        raise UnknownInstructionError("operands that numpy reads")
    return kind


def signed(values: Values, kind: str, low: int, high: int) -> Values:
    """The signs of lower and upper halves changed; of whole numbers, whether they have one."""
    if kind in ("u8", "u4"):
        beyond = 1 << FORMATS[kind].bits
        return np.where(values >= beyond // 2, values - beyond, values) if low else values
    if low or high:
        if FORMATS[kind].bits != 16:
            raise UnknownInstructionError(f"the negative of {kind} in a WMMA")
        return values * np.where(np.arange(values.shape[-1]) % 2, 1 - 2 * high, 1 - 2 * low)
    return values


def place(new: bool) -> Values:
    """Which element of the result, row by row, is where: (register, lane)."""
    lane, register = np.arange(32), np.arange(8)[:, None]
    row = 8 * (lane // 16) + register if new else 2 * register + lane // 16
    found: Values = 16 * row + lane % 16
    return found


def addend(c: Cohort, p: MatrixInstruction, new: bool, half: int) -> Values:
    """C as numbers: (block, lane, register)."""
    op, result = p.addend, p.shape.result
    if result == "f32":
        return accumulator_of(c, p)
    if op.is_constant:
        bits = F16.constant(op).view(np.uint16).astype(np.uint32)
        value = op.value if op.file == "f" else unpack(bits, result)[0]
        return np.full((1, 1, 1), value, np.float32)
    if new:
        return elements(c, op, result, 8)
    # RDNA3: one number a register, in the half that OPSEL names.
    return unpack(registers(c, op, 8) >> np.uint32(16 * half), result)[..., ::2]


def _finish(c: Cohort, p: MatrixInstruction, value: Values, new: bool, half: int) -> None:
    """Writes D of a type of reals."""
    if p.shape.result == "f32":
        finish(c, p, value)
        return
    value = value.astype(np.float32)
    bits = bf16(value) if p.shape.result == "bf16" else value.astype(np.float16).view(np.uint16)
    if new:
        write(c, p.target, np.ascontiguousarray(bits).view(np.uint32))
        return
    kept = registers(c, p.target, 8) & np.uint32(0xFFFF0000 >> 16 * half)
    write(c, p.target, kept | (bits.astype(np.uint32) << np.uint32(16 * half)))


_FORMS = (
    *("f32_16x16x16_f16", "f32_16x16x16_bf16", "f16_16x16x16_f16", "bf16_16x16x16_bf16"),
    *(f"f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
    *("i32_16x16x16_iu8", "i32_16x16x16_iu4", "i32_16x16x32_iu4"),
)
OPCODES = {f"v_wmma_{form}": decode for form in _FORMS}
