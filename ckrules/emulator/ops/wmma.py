"""Matrix instructions of RDNA: WMMA.

Sources: AMD, "RDNA3 ISA", 7.9, and "RDNA4 ISA", 7.12 (layouts of operands; NEG and OPSEL).
"""

from __future__ import annotations

import re

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F16, Values
from ckrules.emulator.native.trace import TracedProduct
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, bf16, unpack
from ckrules.emulator.ops.matrix import (
    Shape,
    accumulator_of,
    check_modifiers,
    elements,
    summed,
    words_of,
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
    more = {"op_sel"} if halves else {"clamp"} if result == "i32" else set[str]()
    check_modifiers(d, {"neg_lo", "neg_hi"} | more)
    return _wmma(d, result, k, types)


def _wmma(d: Decoded, result: str, k: int, types: list[str]) -> Run:
    target, a_op, b_op, c_op = d.operands.items[:4]
    lows, highs = (d.operands.bits(n, (0, 0, 0)) for n in ("neg_lo", "neg_hi"))
    new = d.target.generation >= 12
    read = _rows_new if new else _rows_old
    row, column = places(new)
    clamped = "clamp" in d.operands.flags
    half = d.operands.bits("op_sel", (0, 0, 0))[2]

    held = k // 2 if new else k
    order = row * 16 + column

    def run(c: Cohort) -> None:
        if c.native is not None:
            names = [_native_kind(kind, lows[i], highs[i]) for i, kind in enumerate(types)]
            if result not in ("f32", "i32") or lows[2] or highs[2] or clamped:
                raise UnknownInstructionError("a product that numpy computes")
            shape = Shape(16, 16, k, 1, result, names[0], names[1], 32)
            words = tuple(-(-held * FORMATS[t].bits // 32) for t in types)
            c.native.trace.matrix(
                TracedProduct(
                    shape,
                    (a_op, b_op),
                    target,
                    c_op,
                    (held, held),
                    (words[0], words[1]),
                    order.T,
                    "f64",
                    32 if new else 16,
                )
            )
            return
        a, b = (
            signed(read(c, op, kind, k), kind, lows[i], highs[i])
            for i, (op, kind) in enumerate(((a_op, types[0]), (b_op, types[1])))
        )
        total = summed(a.astype(np.float64), b.astype(np.float64))[:, row, column]
        if result == "i32":
            before = accumulator_of(c, c_op, 8, "i32")
            write(c, target, whole(before + total.astype(np.int64), clamped))
            return
        before = addend(c, c_op, result, new, half)
        before = np.abs(before) if highs[2] else before
        value = ((-before if lows[2] else before) + total).astype(np.float32)
        finish(c, target, value, result, new, half)

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


def _rows_new(c: Cohort, op: Operand, kind: str, k: int) -> Values:
    """RDNA4: lane ``row + 16 * half`` holds one half of K."""
    each = elements(c, op, kind, k // 2)
    halves = each.reshape(each.shape[0], 2, 16, k // 2)
    return halves.transpose(0, 2, 1, 3).reshape(each.shape[0], 16, k)


def _rows_old(c: Cohort, op: Operand, kind: str, k: int) -> Values:
    """RDNA3: lanes 0 to 15 hold the rows, lanes 16 to 31 the same again."""
    return elements(c, op, kind, k)[:, :16]


def whole(value: Values, clamped: bool) -> Values:
    """Whole numbers as dwords: cut to 32 bits, or kept in their range."""
    if clamped:
        value = np.clip(value, -(1 << 31), (1 << 31) - 1)
    return value.astype(np.int64).astype(np.uint32)


def places(new: bool) -> tuple[Values, Values]:
    """Row and column of each element of the result: arrays over (lane, register)."""
    lane, register = np.arange(32)[:, None], np.arange(8)[None, :]
    row = 8 * (lane // 16) + register if new else 2 * register + lane // 16
    return row, lane % 16 + 0 * register


def addend(c: Cohort, op: Operand, result: str, new: bool, half: int) -> Values:
    """C as numbers: (block, lane, register)."""
    if result == "f32":
        return accumulator_of(c, op, 8, "f32")
    if op.is_constant:
        bits = F16.constant(op).view(np.uint16).astype(np.uint32)
        value = op.value if op.file == "f" else unpack(bits, result)[0]
        return np.full((1, 1, 1), value, np.float32)
    if new:
        return elements(c, op, result, 8)
    # RDNA3: one number a register, in the half that OPSEL names.
    data = np.moveaxis(c.v[op.index : op.index + 8], 0, -1) >> np.uint32(16 * half)
    return unpack(np.ascontiguousarray(data), result)[..., ::2]


def finish(c: Cohort, target: Operand, value: Values, result: str, new: bool, half: int) -> None:
    """Writes D of a type of reals."""
    if result == "f32":
        write(c, target, words_of(value))
        return
    bits = bf16(value) if result == "bf16" else value.astype(np.float16).view(np.uint16)
    if new:
        write(c, target, np.ascontiguousarray(bits).view(np.uint32))
        return
    old = np.moveaxis(c.v[target.index : target.index + 8], 0, -1)
    kept = old & np.uint32(0xFFFF0000 >> 16 * half)
    write(c, target, kept | (bits.astype(np.uint32) << np.uint32(16 * half)))


_FORMS = (
    *("f32_16x16x16_f16", "f32_16x16x16_bf16", "f16_16x16x16_f16", "bf16_16x16x16_bf16"),
    *(f"f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
    *("i32_16x16x16_iu8", "i32_16x16x16_iu4", "i32_16x16x32_iu4"),
)
OPCODES = {f"v_wmma_{form}": decode for form in _FORMS}
