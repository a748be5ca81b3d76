"""Products of the parts of dwords, added up: V_DOT2, V_DOT4 and V_DOT8.

Sources: AMD, "Instinct MI300 ISA", 12.11; "RDNA3 ISA", 16.10; "RDNA4 ISA", 16.10 (NEG of DOT4 and
DOT8 with IU: whether an operand has a sign). Sums of reals are rounded once here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ckrules.emulator import modifiers
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, I32, U32, Values, half_put, vector_get, vector_put
from ckrules.emulator.ops.float_formats import bf16, unpack
from ckrules.emulator.wave import Cohort

_WHOLE = re.compile(r"v_dot([248])(c?)_([iu]32)_(i16|u16|i8|u8|i4|u4|iu8|iu4)$")
_REAL = re.compile(r"v_dot2(c|acc)?_(f32|f16|bf16)_(f16|bf16)$")
_PARTS = ("2_i32_i16", "2_u32_u16", "4_i32_i8", "4_u32_u8", "4_i32_iu8", "8_i32_i4", "8_u32_u4",
          "8_i32_iu4", "2c_i32_i16", "4c_i32_i8", "8c_i32_i4", "2_f32_f16", "2_f32_bf16",
          "2_f16_f16", "2_bf16_bf16", "2c_f32_f16", "2c_f32_bf16", "2acc_f32_f16")  # fmt: skip
_KNOWN = frozenset({"neg_lo", "neg_hi", "clamp", "op_sel", "op_sel_hi"})

Parts = Callable[[Cohort], Values]


def decode(d: Decoded) -> Run:
    """The meaning of one of these instructions."""
    if d.encoding not in ("", "e32", "e64"):
        raise UnknownInstructionError(f"{d.line}: lanes exchanged in a sum of products")
    if hit := _WHOLE.match(d.name):
        return _whole(d, int(hit[1]), hit[3], hit[4], bool(hit[2]))
    hit = _REAL.match(d.name)
    assert hit is not None
    return _reals(d, hit[2], hit[3], bool(hit[1]))


OPCODES = {f"v_dot{each}": decode for each in _PARTS}


def _whole(d: Decoded, count: int, result: str, part: str, accumulates: bool) -> Run:
    modifiers.refuse(d, _KNOWN)
    target, first, second, *third = d.operands.items
    addend = target if accumulates else third[0]
    signs = d.operands.bits("neg_lo", (0, 0, 0))
    if not part.startswith("iu") and (any(signs) or any(d.operands.bits("neg_hi", (0, 0, 0)))):
        raise UnknownInstructionError(f"{d.line}: the negative of packed whole numbers")
    if set(d.operands.bits("op_sel", (0,))) != {0} or 0 in d.operands.bits("op_sel_hi", (1,))[:2]:
        raise UnknownInstructionError(f"{d.line}: exchanged parts of whole numbers")
    bits = 32 // count
    kind = U32 if result == "u32" else I32
    signed = [bool(signs[i]) if part.startswith("iu") else part[0] == "i" for i in range(2)]
    gets = [vector_get(op, U32) for op in (first, second)]
    add, put, clamped = vector_get(addend, kind), vector_put(target, kind), _clamps(d)
    low, high = np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max

    def run(c: Cohort) -> None:
        a, b = (
            parts_of(np.broadcast_to(get(c), c.exec.shape), bits, sign)
            for get, sign in zip(gets, signed, strict=True)
        )
        total = (a * b).sum(axis=-1) + add(c).astype(np.int64)
        put(c, (np.clip(total, low, high) if clamped else total).astype(kind.dtype))

    return run


def _clamps(d: Decoded) -> bool:
    return "clamp" in d.operands.flags


def parts_of(words: Values, bits: int, signed: bool) -> Values:
    """The whole numbers in dwords, lowest first, on a last axis.

    >>> parts_of(np.array([0x8000FFFF], np.uint32), 16, True).tolist()
    [[-1, -32768]]
    """
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    each = ((words[..., None] >> shifts) & np.uint32((1 << bits) - 1)).astype(np.int64)
    return np.where(each >> (bits - 1), each - (1 << bits), each) if signed else each


def _reals(d: Decoded, result: str, part: str, accumulates: bool) -> Run:
    modifiers.refuse(d, _KNOWN if result == "f32" else frozenset())
    target, addend = d.operands.items[0], d.operands.items[0 if accumulates else 3]
    gets = [_pair(d, i, part) for i in range(2)]
    if result == "f32":
        lows, highs = (d.operands.bits(n, (0, 0, 0)) for n in ("neg_lo", "neg_hi"))
        if highs[2] and not addend.is_constant:
            raise UnknownInstructionError(f"{d.line}: the size of an addend")
        put, read = vector_put(target, F32), vector_get(addend, F32)
        add: Parts = (lambda c: -read(c)) if lows[2] else read
    else:
        put, add = half_put(target, 0), _half(addend.index, part, addend.file)

    def run(c: Cohort) -> None:
        a, b = (get(c) for get in gets)
        total = (a * b).sum(axis=-1) + add(c).astype(np.float64)
        if result == "bf16":
            put(c, bf16(total.astype(np.float32)))
            return
        value = total.astype(np.float32 if result == "f32" else np.float16)
        put(c, np.clip(value, 0, 1) if _clamps(d) else value)

    return run


def _pair(d: Decoded, i: int, part: str) -> Parts:
    """The two numbers of an operand, after OP_SEL and NEG."""
    op = d.operands.items[1 + i]
    if op.is_constant:
        raise UnknownInstructionError(f"{d.line}: a constant as a pair of {part}")
    get = vector_get(op, U32)
    chosen = [d.operands.bits(n, default)[i] for n, default in _HALVES]
    signs = np.array([1 - 2 * d.operands.bits(n, (0, 0, 0))[i] for n in ("neg_lo", "neg_hi")])

    def pair(c: Cohort) -> Values:
        words = np.ascontiguousarray(np.broadcast_to(get(c), c.exec.shape))
        found: Values = unpack(words[..., None], part)[..., chosen].astype(np.float64) * signs
        return found

    return pair


_HALVES = (("op_sel", (0, 0, 0)), ("op_sel_hi", (1, 1, 1)))


def _half(index: int, part: str, file: str) -> Parts:
    """The lower half of a register as a number."""
    if file != "v":
        raise UnknownInstructionError("an addend of 16 bits that is not a vector register")

    def read(c: Cohort) -> Values:
        found: Values = unpack(np.ascontiguousarray(c.v[index])[..., None], part)[..., 0]
        return found

    return read
