"""Vector instructions that read or write one bit a lane: comparisons, choices, carries.

Sources: AMD, "Instinct MI300 ISA", chapter 12.7 to 12.11; "RDNA4 ISA", chapter 16.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.kinds import (
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
    MASK,
    U16,
    U32,
    U64,
    OperandKind,
    Values,
)
from ckrules.emulator.ops.opcode import RELATIONS, OpcodeRow

_KINDS = (U16, I16, F16, U32, I32, F32, U64, I64, F64)
Pair = tuple[Values, Values]


def _class_of(a: Values, wanted: Values) -> Values:
    """V_CMP_CLASS: whether a real is of one of the classes in a mask of ten bits."""
    quiet = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}[a.itemsize]
    tiny = np.finfo(a.dtype).smallest_normal
    signs, size = np.signbit(a), np.abs(a)
    still = (a.view(f"u{a.itemsize}") & quiet) != 0
    # From the signs outwards: infinite, normal, denormal, zero.
    step = np.where(np.isinf(a), 0, np.where(size >= tiny, 1, np.where(size > 0, 2, 3)))
    number = np.where(np.isnan(a), still, np.where(signs, 2 + step, 9 - step))
    found: Values = (wanted >> number.astype(np.uint32)) & np.uint32(1) != 0
    return found


def carried(sign: int) -> Callable[..., Pair]:
    """A sum or a difference of dwords with a carry in, and whether there is one out."""

    def total(a: Values, b: Values, carry: Values | int = 0) -> Pair:
        exact = a.astype(np.int64) + sign * (b.astype(np.int64) + carry)
        return (exact & 0xFFFFFFFF).astype(np.uint32), (exact < 0) | (exact > 0xFFFFFFFF)

    return total


def _reversed(a: Values, b: Values, *carry: Values) -> Pair:
    return carried(-1)(b, a, *carry)


def _wide_sum(a: Values, b: Values, addend: Values) -> Pair:
    """V_MAD_U64_U32 and V_MAD_I64_I32."""
    total = a.astype(addend.dtype) * b.astype(addend.dtype) + addend
    return total, total.view(np.uint64) < addend.view(np.uint64)


def _choice(a: Values, b: Values, chosen: Values) -> Values:
    """The second operand where the bit is set."""
    return np.where(chosen, b, a)


def _sum(compute: Callable[..., Pair], *more: OperandKind) -> OpcodeRow:
    return OpcodeRow(U32, (U32, U32, *more), compute, flag=True)


MASK_ROWS: dict[str, OpcodeRow] = {
    **{
        f"v_{word}_{relation}_{kind.name}": OpcodeRow(MASK, (kind, kind), compare)
        for word in ("cmp", "cmpx")
        for relation, compare in RELATIONS.items()
        for kind in _KINDS
    },
    **{f"v_cmp_class_{k.name}": OpcodeRow(MASK, (k, U32), _class_of) for k in (F16, F32, F64)},
    "v_cndmask_b32": OpcodeRow(U32, (U32, U32, MASK), _choice),
    "v_cndmask_b16": OpcodeRow(U16, (U16, U16, MASK), _choice),
    "v_add_co_u32": _sum(carried(1)),
    "v_sub_co_u32": _sum(carried(-1)),
    "v_subrev_co_u32": _sum(_reversed),
    "v_addc_co_u32": _sum(carried(1), MASK),
    "v_subb_co_u32": _sum(carried(-1), MASK),
    "v_subbrev_co_u32": _sum(_reversed, MASK),
    "v_mad_u64_u32": OpcodeRow(U64, (U32, U32, U64), _wide_sum, flag=True),
    "v_mad_i64_i32": OpcodeRow(I64, (I32, I32, I64), _wide_sum, flag=True),
}
SIGNED = {"v_cndmask_b32": F32, "v_cndmask_b16": F16}
"""What instructions take their operands for where these have signs that are changed."""
