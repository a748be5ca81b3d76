"""Scalar ALU instructions: one row for each.

Sources: AMD, "Instinct MI300 ISA", 12.1 to 12.5; "RDNA4 ISA", 16.1 to 16.5. The condition (SCC) of
a row is a function of the operands, ``nonzero`` (of the result), or stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckrules.emulator.kinds import I32, I64, U32, U64, OperandKind, Values
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.vector import ROWS as VECTOR
from ckrules.emulator.ops.vector import count_bits, shift_left, shift_right

Compute = Callable[..., Values]
Flag = Callable[..., Any]


class _ShortKind(OperandKind):
    """A constant of 16 bits, with its sign or without."""

    def constant(self, op: Operand) -> Values:
        """The constant as 32 bits."""
        number = int(op.value) & 0xFFFF
        if self.dtype is np.int32 and number & 0x8000:
            number -= 0x10000
        return np.array([number], self.dtype)


SHORT, SHORT_UNSIGNED = _ShortKind("i16k", np.int32, 32), _ShortKind("u16k", np.uint32, 32)


@dataclass(frozen=True)
class ScalarOpcodeRow:
    """One instruction: result, operands, what it computes, and the condition it leaves."""

    result: OperandKind | None
    """None if the condition is all that it computes."""
    sources: tuple[OperandKind, ...]
    compute: Compute
    scc: Flag | str | None = None
    reads: tuple[str, ...] = ()
    """Its last sources where the text leaves them out: ``old``, its destination, and ``scc``."""


def _u64(value: Values) -> Values:
    return value.astype(np.uint64)


def _carry(a: Values, b: Values) -> Values:
    return _u64(a) + _u64(b) > np.uint64(0xFFFFFFFF)


def _beyond(sign: int) -> Flag:
    def leaves(a: Values, b: Values) -> Values:
        total = a.astype(np.int64) + sign * b.astype(np.int64)
        return (total > 0x7FFFFFFF) | (total < -0x80000000)

    return leaves


overflows = _beyond(1)
"""Whether a signed sum leaves the range of 32 bits."""


def _extract(a: Values, spec: Values) -> Values:
    """S_BFE: the offset in the low bits of the operand, the width from bit 16 on."""
    bits = a.dtype.itemsize * 8
    offset, width = spec & np.uint32(bits - 1), (spec >> np.uint32(16)) & np.uint32(127)
    # A signed field that reaches beyond the operand goes on with its sign.
    whole = a.astype(np.int64 if a.dtype.kind == "i" else np.uint64)
    width = np.minimum(width, np.uint32(bits)).astype(np.uint64)
    mask = np.where(
        width >= 64, np.uint64(2**64 - 1), (np.uint64(1) << (width & np.uint64(63))) - np.uint64(1)
    )
    cut = (whole >> offset.astype(whole.dtype)).view(np.uint64) & mask
    if a.dtype.kind == "i":
        sign = np.where(
            width > 0, np.uint64(1) << (np.maximum(width, 1) - 1).astype(np.uint64), np.uint64(0)
        )
        cut = (cut ^ sign) - sign
    return cut.astype(np.uint64 if bits == 64 else np.uint32).view(a.dtype)


def _mask_of(kind: OperandKind) -> Compute:
    """S_BFM: so many bits from a place on."""
    most, one = np.uint32(kind.bits - 1), kind.dtype(1)

    def mask(width: Values, offset: Values) -> Values:
        width, offset = ((each & most).astype(kind.dtype) for each in (width, offset))
        found: Values = ((one << width) - one) << offset
        return found

    return mask


_leading, _trailing = VECTOR["v_ffbh_u32"].compute, VECTOR["v_ffbl_b32"].compute


def _of_pair(find: Compute, *, upper_first: bool) -> Compute:
    """What looks for a bit in 64: in one dword, and where that is zero in the other."""

    def found(a: Values) -> Values:
        halves = a.astype(np.uint32), (a >> np.uint64(32)).astype(np.uint32)
        first, second = reversed(halves) if upper_first else halves
        place = np.where(first != 0, find(first), find(second) + np.uint32(32))
        return np.where(a == 0, np.uint32(0xFFFFFFFF), place).astype(np.uint32)

    return found


def _pack(a_half: int, b_half: int) -> Callable[[Values, Values], Values]:
    def pack(a: Values, b: Values) -> Values:
        low = (a >> np.uint32(16 * a_half)) & np.uint32(0xFFFF)
        return low | (((b >> np.uint32(16 * b_half)) & np.uint32(0xFFFF)) << np.uint32(16))

    return pack


def _abs_diff(a: Values, b: Values) -> Values:
    return np.abs(a.astype(np.int64) - b).astype(np.uint32)


def _shift_add(count: int) -> ScalarOpcodeRow:
    return ScalarOpcodeRow(
        U32, (U32, U32),
        lambda a, b: (a << np.uint32(count)) + b,
        lambda a, b: (_u64(a) << np.uint64(count)) + _u64(b) > np.uint64(0xFFFFFFFF),
    )  # fmt: skip


LOGIC: dict[str, Compute] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
}  # fmt: skip

_FIELDS: tuple[tuple[str, OperandKind, Compute], ...] = (
    ("lshl_b32", U32, shift_left), ("lshl_b64", U64, shift_left),
    ("lshr_b32", U32, shift_right), ("lshr_b64", U64, shift_right),
    ("ashr_i32", I32, shift_right), ("ashr_i64", I64, shift_right),
    ("bfe_u32", U32, _extract), ("bfe_i32", I32, _extract),
    ("bfe_u64", U64, _extract), ("bfe_i64", I64, _extract),
)  # fmt: skip

_AS_VECTOR = (
    "mul_hi_u32", "mul_hi_i32", "add_f32", "sub_f32", "mul_f32", "fmamk_f32", "fmaak_f32",
    "min_f32", "max_f32", "trunc_f32", "floor_f32", "ceil_f32", "rndne_f32", "cvt_f16_f32",
    "cvt_f32_f16", "cvt_f32_u32", "cvt_f32_i32", "cvt_u32_f32", "cvt_i32_f32",
)  # fmt: skip
"""What compute as the vector instructions of their names do."""


def _as_vector(name: str, *reads: str) -> ScalarOpcodeRow:
    row = VECTOR[name]
    return ScalarOpcodeRow(row.result, row.sources, row.compute, None, reads)


ROWS: dict[str, ScalarOpcodeRow] = {
    # Moves and bits of one operand
    "s_mov_b32": ScalarOpcodeRow(U32, (U32,), lambda a: a),
    "s_mov_b64": ScalarOpcodeRow(U64, (U64,), lambda a: a),
    "s_not_b32": ScalarOpcodeRow(U32, (U32,), lambda a: ~a, "nonzero"),
    "s_not_b64": ScalarOpcodeRow(U64, (U64,), lambda a: ~a, "nonzero"),
    "s_brev_b32": ScalarOpcodeRow(U32, (U32,), VECTOR["v_bfrev_b32"].compute),
    "s_abs_i32": ScalarOpcodeRow(I32, (I32,), lambda a: np.where(a < 0, -a, a), "nonzero"),
    "s_bcnt1_i32_b32": ScalarOpcodeRow(U32, (U32,), count_bits, "nonzero"),
    "s_bcnt1_i32_b64": ScalarOpcodeRow(U32, (U64,), count_bits, "nonzero"),
    "s_ff1_i32_b32": ScalarOpcodeRow(U32, (U32,), _trailing),
    "s_ff1_i32_b64": ScalarOpcodeRow(U32, (U64,), _of_pair(_trailing, upper_first=False)),
    "s_flbit_i32_b32": ScalarOpcodeRow(U32, (U32,), _leading),
    "s_flbit_i32_b64": ScalarOpcodeRow(U32, (U64,), _of_pair(_leading, upper_first=True)),
    "s_flbit_i32": ScalarOpcodeRow(U32, (I32,), VECTOR["v_ffbh_i32"].compute),
    "s_bcnt0_i32_b32": ScalarOpcodeRow(U32, (U32,), lambda a: count_bits(~a), "nonzero"),
    "s_bcnt0_i32_b64": ScalarOpcodeRow(U32, (U64,), lambda a: count_bits(~a), "nonzero"),
    "s_sext_i32_i8": ScalarOpcodeRow(I32, (U32,), lambda a: a.astype(np.int8).astype(np.int32)),
    "s_sext_i32_i16": ScalarOpcodeRow(I32, (U32,), lambda a: a.astype(np.int16).astype(np.int32)),
    # Sums and products
    "s_add_u32": ScalarOpcodeRow(U32, (U32, U32), lambda a, b: a + b, _carry),
    "s_sub_u32": ScalarOpcodeRow(U32, (U32, U32), lambda a, b: a - b, lambda a, b: b > a),
    "s_add_i32": ScalarOpcodeRow(I32, (I32, I32), lambda a, b: a + b, overflows),
    "s_sub_i32": ScalarOpcodeRow(I32, (I32, I32), lambda a, b: a - b, _beyond(-1)),
    "s_mul_i32": ScalarOpcodeRow(I32, (I32, I32), lambda a, b: a * b),
    "s_add_u64": ScalarOpcodeRow(U64, (U64, U64), lambda a, b: a + b),
    "s_sub_u64": ScalarOpcodeRow(U64, (U64, U64), lambda a, b: a - b),
    "s_mul_u64": ScalarOpcodeRow(U64, (U64, U64), lambda a, b: a * b),
    **{f"s_lshl{n}_add_u32": _shift_add(n) for n in range(1, 5)},
    "s_absdiff_i32": ScalarOpcodeRow(U32, (I32, I32), _abs_diff, "nonzero"),
    "s_min_u32": ScalarOpcodeRow(U32, (U32, U32), np.minimum, lambda a, b: a < b),
    "s_max_u32": ScalarOpcodeRow(U32, (U32, U32), np.maximum, lambda a, b: a >= b),
    "s_min_i32": ScalarOpcodeRow(I32, (I32, I32), np.minimum, lambda a, b: a < b),
    "s_max_i32": ScalarOpcodeRow(I32, (I32, I32), np.maximum, lambda a, b: a >= b),
    # Shifts and fields
    **{
        f"s_{name}": ScalarOpcodeRow(kind, (kind, U32), compute, "nonzero")
        for name, kind, compute in _FIELDS
    },
    "s_bfm_b32": ScalarOpcodeRow(U32, (U32, U32), _mask_of(U32)),
    "s_bfm_b64": ScalarOpcodeRow(U64, (U32, U32), _mask_of(U64)),
    "s_pack_ll_b32_b16": ScalarOpcodeRow(U32, (U32, U32), _pack(0, 0)),
    "s_pack_lh_b32_b16": ScalarOpcodeRow(U32, (U32, U32), _pack(0, 1)),
    "s_pack_hh_b32_b16": ScalarOpcodeRow(U32, (U32, U32), _pack(1, 1)),
    "s_pack_hl_b32_b16": ScalarOpcodeRow(U32, (U32, U32), _pack(1, 0)),
    "s_fmac_f32": _as_vector("v_fmac_f32", "old"),
    **{f"s_{name}": _as_vector(f"v_{name}") for name in _AS_VECTOR},
    **{
        f"s_{name}_{kind.name.replace('u', 'b')}": ScalarOpcodeRow(
            kind, (kind, kind), compute, "nonzero"
        )
        for name, compute in LOGIC.items()
        for kind in (U32, U64)
    },
}
