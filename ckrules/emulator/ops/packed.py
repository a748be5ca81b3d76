"""Packed instructions (VOP3P): two results in the halves of a dword, or in a pair of registers.

Source: AMD, "Instinct MI300 ISA", 12.11 and 6.2 (OP_SEL, OP_SEL_HI, NEG, NEG_HI).
"""

from __future__ import annotations

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import (
    F16,
    F32,
    U32,
    Get,
    OperandKind,
    Values,
    half_put,
    store,
    vector_get,
    vector_put,
)  # fmt: skip
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.opcode import OpcodeRow
from ckrules.emulator.ops.rounding import fused
from ckrules.emulator.ops.vector import ROWS
from ckrules.emulator.ops.vector_decode import finished, unit
from ckrules.emulator.wave import Cohort

_F16 = ("add", "mul", "fma", "max", "min", "minimum", "maximum", "minimum3", "maximum3")
_U16 = ("add", "sub", "mul_lo", "mad", "max", "min")
_I16 = ("add", "sub", "mad", "max", "min")

_PACKED: dict[str, OpcodeRow] = {
    **{f"v_pk_{word}_f32": ROWS[f"v_{word}_f32"] for word in ("add", "mul", "fma")},
    **{f"v_pk_{word}_f16": ROWS[f"v_{word}_f16"] for word in _F16},
    **{f"v_pk_{word}_u16": ROWS[f"v_{word}_u16"] for word in _U16},
    **{f"v_pk_{word}_i16": ROWS[f"v_{word}_i16"] for word in _I16},
    "v_pk_lshlrev_b16": ROWS["v_lshlrev_b16"],
    "v_pk_lshrrev_b16": ROWS["v_lshrrev_b16"],
    "v_pk_ashrrev_i16": ROWS["v_ashrrev_i16"],
    "v_pk_mov_b32": OpcodeRow(U32, (U32, U32), lambda a, b: a),
}
_MIXED = {"v_fma_mix_f32": -1, "v_fma_mixlo_f16": 0, "v_fma_mixhi_f16": 1}
"""Which half of a dword each of them writes."""


def _packed(d: Decoded) -> Run:
    row = _PACKED[d.name]
    target, *sources = d.operands.items
    count = len(row.sources)
    if len(sources) != count:
        raise UnknownInstructionError(f"{d.line}: {count} operands expected")
    lows = d.operands.bits("op_sel", (0,) * count)
    highs = d.operands.bits("op_sel_hi", (1,) * count)
    if d.name == "v_pk_mov_b32":
        # The low result is of the first operand, the high one of the second, each by OP_SEL.
        first = _piece(sources[0], U32, lows[0], 0)
        second = _piece(sources[1], U32, lows[1], 0)

        def move(c: Cohort) -> None:
            _put(c, target, U32, first(c), second(c))

        return move
    signs = [d.operands.bits(name, (0,) * count) for name in ("neg_lo", "neg_hi")]
    kinds = row.sources
    low, high = (
        [_piece(*each) for each in zip(sources, kinds, halves, negative, strict=True)]
        for halves, negative in ((lows, signs[0]), (highs, signs[1]))
    )
    compute = finished(d, row)
    kind = row.result

    def run(c: Cohort) -> None:
        results = compute(*(g(c) for g in low)), compute(*(g(c) for g in high))
        _put(c, target, kind, *results)

    return run


def _piece(op: Operand, kind: OperandKind, which: int, negative: int) -> Get:
    """One of the two values of an operand."""
    if op.negative or op.absolute or op.signed or op.half is not None:
        raise UnknownInstructionError("a modifier of a packed operand")
    if negative and not kind.real:
        raise UnknownInstructionError("the negative of a packed whole number")
    if op.is_constant:
        value = _constant(op, kind, which)
        return lambda c: -value if negative else value
    if kind.bits == 16:
        get = vector_get(op, kind, which)
    else:
        get = vector_get(Operand(op.file, op.index + which), kind)
    return (lambda c: -get(c)) if negative else get


def _constant(op: Operand, kind: OperandKind, which: int) -> Values:
    """Constants of 16 bits stand in the lower half of a dword, those of 32 bits in both parts."""
    if kind.bits == 32:
        return kind.constant(op)[None]
    bits = int(op.value) if op.file == "i" else int(F16.constant(op).view(np.uint16)[0])
    return np.array([[bits >> 16 * which & 0xFFFF]], np.uint16).view(kind.dtype)


def _put(c: Cohort, target: Operand, kind: OperandKind, low: Values, high: Values) -> None:
    if kind.bits == 16:
        bits, upper = (each.view(np.uint16).astype(np.uint32) for each in (low, high))
        store(c, target.file, target.index, bits | (upper << np.uint32(16)))
        return
    pair = [value.view(np.uint32).copy() for value in (low, high)]
    for i, value in enumerate(pair):
        store(c, target.file, target.index + i, value)


def _mixed(d: Decoded) -> Run:
    """V_FMA_MIX: each operand is fp32, or a half of a dword as fp16."""
    target, *sources = d.operands.items
    half = _MIXED[d.name]
    halves = d.operands.bits("op_sel", (0, 0, 0))
    small = d.operands.bits("op_sel_hi", (0, 0, 0))
    clamp = "clamp" in d.operands.flags
    gets = [_mix_source(op, *each) for op, *each in zip(sources, small, halves, strict=True)]
    put = vector_put(target, F32) if half < 0 else half_put(target, half)

    def run(c: Cohort) -> None:
        value = fused(*(get(c) for get in gets))
        if half >= 0:
            value = value.astype(np.float16)
        put(c, unit(value) if clamp else value)

    return run


def _mix_source(op: Operand, small: int, half: int) -> Get:
    if not small:
        if half:
            raise UnknownInstructionError("op_sel of an operand of 32 bits")
        return vector_get(op, F32)
    get = vector_get(op, F16, half)
    return lambda c: get(c).astype(np.float32)


OPCODES = {**dict.fromkeys(_PACKED, _packed), **dict.fromkeys(_MIXED, _mixed)}
