"""Vector ALU instructions: one row for each, as in the ISA manuals.

Sources: AMD, "Instinct MI300 ISA", chapter 12.6 to 12.14; "RDNA4 ISA", chapter 16.
"""

from __future__ import annotations

import numpy as np

from ckrules.emulator.kinds import I16, I32, I64, U16, U32, U64, Values
from ckrules.emulator.native.values import primitive
from ckrules.emulator.ops.opcode import Function, OpcodeRow
from ckrules.emulator.ops.vector_real import REALS, extremes


def _u64(value: Values) -> Values:
    return value.astype(np.uint64)


def mul_hi(a: Values, b: Values) -> Values:
    """The upper half of a product of dwords."""
    return ((_u64(a) * _u64(b)) >> np.uint64(32)).astype(np.uint32)


def mul_hi_signed(a: Values, b: Values) -> Values:
    """The upper half of a product of signed dwords."""
    return ((a.astype(np.int64) * b.astype(np.int64)) >> np.int64(32)).astype(np.int32)


def _low24(a: Values) -> Values:
    return a & np.uint32(0xFFFFFF)


def _signed24(a: Values) -> Values:
    return (a << np.int32(8)) >> np.int32(8)


def shift_left(a: Values, count: Values) -> Values:
    """``a << count`` with the count cut to the width of ``a``."""
    found: Values = a << (count & a.dtype.type(a.dtype.itemsize * 8 - 1)).astype(a.dtype)
    return found


def shift_right(a: Values, count: Values) -> Values:
    """``a >> count`` with the count cut to the width of ``a``; keeps the sign of signed types."""
    found: Values = a >> (count & count.dtype.type(a.dtype.itemsize * 8 - 1)).astype(a.dtype)
    return found


def _sad_halves(a: Values, b: Values, c: Values) -> Values:
    """Differences of both halves of dwords, and a dword, added."""
    low, shift = np.uint32(0xFFFF), np.uint32(16)
    halves = ((a & low, b & low), (a >> shift, b >> shift))
    first, second = (np.maximum(x, y) - np.minimum(x, y) for x, y in halves)
    found: Values = first + second + c
    return found


def bitfield(a: Values, offset: Values, width: Values) -> Values:
    """Bits of a dword, the sign kept for signed types."""
    offset, width = offset & np.uint32(31), width & np.uint32(31)
    mask = (np.uint32(1) << width) - np.uint32(1)
    # A signed field that reaches beyond the dword goes on with its sign.
    cut: Values = (a >> offset.astype(a.dtype)).view(np.uint32) & mask
    if a.dtype == np.uint32:
        return cut
    sign = np.where(width > 0, np.uint32(1) << ((width - np.uint32(1)) & np.uint32(31)), 0)
    return ((cut ^ sign.astype(np.uint32)) - sign.astype(np.uint32)).view(np.int32)


@primitive("permuted", np.uint32)
def permute_bytes(a: Values, b: Values, selector: Values) -> Values:
    """V_PERM_B32: bytes of the pair {a, b}, chosen by the bytes of the selector.

    Compilers give one selector to all lanes, for which the bytes are moved without looking.
    """
    first = selector.flat[0]
    if (selector == first).all():
        return _permute_alike(a, b, int(first))
    result = np.zeros(np.broadcast(a, b, selector).shape, np.uint32)
    for each in np.unique(selector):
        where = selector == each
        np.copyto(result, _permute_alike(a, b, int(each)), where=where)
    return result


def _permute_alike(a: Values, b: Values, selector: int) -> Values:
    result = np.zeros(np.broadcast(a, b).shape, np.uint32)
    for i in range(4):
        pick = selector >> 8 * i & 0xFF
        source = a if pick & 4 else b
        if pick > 12:
            result |= np.uint32(0xFF << 8 * i)
        elif pick >= 8 and pick != 12:
            # The sign of one of the four halves: b low, b high, a low, a high.
            half = a if pick >= 10 else b
            sign = (half >> np.uint32(31 if pick & 1 else 15)) & _one
            result |= (sign * np.uint32(0xFF)) << np.uint32(8 * i)
        elif pick < 8:
            byte = (source >> np.uint32(8 * (pick & 3))) & np.uint32(0xFF)
            result |= byte << np.uint32(8 * i)
    return result


@primitive("reversed", np.uint32)
def reverse_bits(a: Values) -> Values:
    """The bits of a dword in reverse order."""
    bits = np.unpackbits(np.ascontiguousarray(a)[..., None].view(np.uint8), axis=-1)
    return np.packbits(bits[..., ::-1], axis=-1).view(np.uint32)[..., 0]


def _flip(fn: Function) -> Function:
    return lambda a, b: fn(b, a)


def _med3(a: Values, b: Values, c: Values) -> Values:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def count_bits(a: Values) -> Values:
    """The number of bits that are set."""
    return np.bitwise_count(a).astype(np.uint32)


@primitive("leading", np.uint32)
def _first_high(a: Values) -> Values:
    """V_FFBH_U32: leading zeros, -1 of zero."""
    _, exponent = np.frexp(a.astype(np.float64))
    return np.where(a == 0, np.uint32(0xFFFFFFFF), (32 - exponent).astype(np.uint32))


def _first_low(a: Values) -> Values:
    """V_FFBL_B32: trailing zeros, -1 of zero."""
    low = a & (~a + np.uint32(1))
    return np.where(a == 0, np.uint32(0xFFFFFFFF), 31 - _first_high(low)).astype(np.uint32)


def _align(a: Values, b: Values, count: Values, unit: int) -> Values:
    both = (_u64(a) << np.uint64(32)) | _u64(b)
    shift = (count & np.uint32(32 // unit - 1)) * np.uint32(unit)
    return (both >> _u64(shift)).astype(np.uint32)


def _first_sign(a: Values) -> Values:
    """V_FFBH_I32: leading bits like the sign, -1 if all are."""
    same = _first_high(np.where(a < 0, ~a, a).view(np.uint32))
    return same


_one = np.uint32(1)
_SUMS: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
}


ROWS: dict[str, OpcodeRow] = {
    # Moves
    "v_mov_b32": OpcodeRow(U32, (U32,), lambda a: a),
    "v_mov_b64": OpcodeRow(U64, (U64,), lambda a: a),
    # Whole numbers
    **{
        f"v_{name}_{kind.name}": OpcodeRow(kind, (kind, kind), compute, saturates=True)
        for name, compute in _SUMS.items()
        for kind in (U32, U16, I32, I16)
    },
    "v_mul_lo_u32": OpcodeRow(U32, (U32, U32), lambda a, b: a * b),
    "v_mul_hi_u32": OpcodeRow(U32, (U32, U32), mul_hi),
    "v_mul_hi_i32": OpcodeRow(I32, (I32, I32), mul_hi_signed),
    "v_mul_lo_u16": OpcodeRow(U16, (U16, U16), lambda a, b: a * b),
    "v_mul_u32_u24": OpcodeRow(U32, (U32, U32), lambda a, b: _low24(a) * _low24(b)),
    "v_mul_i32_i24": OpcodeRow(I32, (I32, I32), lambda a, b: _signed24(a) * _signed24(b)),
    "v_mad_u32_u24": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: _low24(a) * _low24(b) + c),
    "v_mad_i32_i24": OpcodeRow(
        I32, (I32, I32, I32), lambda a, b, c: _signed24(a) * _signed24(b) + c
    ),
    "v_add3_u32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: a + b + c),
    "v_lshl_add_u32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: shift_left(a, b) + c),
    "v_add_lshl_u32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: shift_left(a + b, c)),
    "v_lshl_add_u64": OpcodeRow(U64, (U64, U32, U64), lambda a, b, c: (a << _u64(b & 7)) + c),
    "v_xad_u32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: (a ^ b) + c),
    **extremes(U32, np.minimum, np.maximum, _med3),
    **extremes(I32, np.minimum, np.maximum, _med3),
    **extremes(U16, np.minimum, np.maximum),
    **extremes(I16, np.minimum, np.maximum),
    "v_add_nc_u64": OpcodeRow(U64, (U64, U64), lambda a, b: a + b),
    # Bits
    "v_and_b32": OpcodeRow(U32, (U32, U32), lambda a, b: a & b),
    "v_or_b32": OpcodeRow(U32, (U32, U32), lambda a, b: a | b),
    "v_xor_b32": OpcodeRow(U32, (U32, U32), lambda a, b: a ^ b),
    "v_xnor_b32": OpcodeRow(U32, (U32, U32), lambda a, b: ~(a ^ b)),
    "v_not_b32": OpcodeRow(U32, (U32,), lambda a: ~a),
    "v_and_b16": OpcodeRow(U16, (U16, U16), lambda a, b: a & b),
    "v_or_b16": OpcodeRow(U16, (U16, U16), lambda a, b: a | b),
    "v_xor_b16": OpcodeRow(U16, (U16, U16), lambda a, b: a ^ b),
    "v_or3_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: a | b | c),
    "v_xor3_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: a ^ b ^ c),
    "v_and_or_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: (a & b) | c),
    "v_lshl_or_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: shift_left(a, b) | c),
    "v_lshlrev_b32": OpcodeRow(U32, (U32, U32), _flip(shift_left)),
    "v_lshrrev_b32": OpcodeRow(U32, (U32, U32), _flip(shift_right)),
    "v_ashrrev_i32": OpcodeRow(I32, (U32, I32), _flip(shift_right)),
    "v_lshlrev_b16": OpcodeRow(U16, (U16, U16), _flip(shift_left)),
    "v_lshrrev_b16": OpcodeRow(U16, (U16, U16), _flip(shift_right)),
    "v_ashrrev_i16": OpcodeRow(I16, (U16, I16), _flip(shift_right)),
    "v_lshlrev_b64": OpcodeRow(U64, (U32, U64), lambda n, a: a << _u64(n & np.uint32(63))),
    "v_lshrrev_b64": OpcodeRow(U64, (U32, U64), lambda n, a: a >> _u64(n & np.uint32(63))),
    "v_ashrrev_i64": OpcodeRow(
        I64, (U32, I64), lambda n, a: a >> (n & np.uint32(63)).astype(np.int64)
    ),
    "v_bfe_u32": OpcodeRow(U32, (U32, U32, U32), bitfield),
    "v_bfe_i32": OpcodeRow(I32, (I32, U32, U32), bitfield),
    "v_bfi_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: (a & b) | (~a & c)),
    "v_bfm_b32": OpcodeRow(U32, (U32, U32), lambda a, b: ((_one << (a & 31)) - _one) << (b & 31)),
    "v_bfrev_b32": OpcodeRow(U32, (U32,), reverse_bits),
    "v_perm_b32": OpcodeRow(U32, (U32, U32, U32), permute_bytes),
    "v_alignbit_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: _align(a, b, c, 1)),
    "v_alignbyte_b32": OpcodeRow(U32, (U32, U32, U32), lambda a, b, c: _align(a, b, c, 8)),
    "v_bcnt_u32_b32": OpcodeRow(U32, (U32, U32), lambda a, b: count_bits(a) + b),
    "v_ffbh_u32": OpcodeRow(U32, (U32,), _first_high),
    "v_ffbl_b32": OpcodeRow(U32, (U32,), _first_low),
    "v_ffbh_i32": OpcodeRow(U32, (I32,), _first_sign),
    "v_mov_b16": OpcodeRow(U16, (U16,), lambda a: a),
    "v_not_b16": OpcodeRow(U16, (U16,), lambda a: ~a),
    "v_mul_hi_u32_u24": OpcodeRow(U32, (U32, U32), lambda a, b: mul_hi(_low24(a), _low24(b))),
    "v_mad_u16": OpcodeRow(U16, (U16, U16, U16), lambda a, b, c: a * b + c, saturates=True),
    "v_mad_i16": OpcodeRow(I16, (I16, I16, I16), lambda a, b, c: a * b + c, saturates=True),
    "v_mad_u32_u16": OpcodeRow(
        U32, (U16, U16, U32), lambda a, b, c: a.astype(np.uint32) * b.astype(np.uint32) + c
    ),
    "v_mad_i32_i16": OpcodeRow(
        I32, (I16, I16, I32), lambda a, b, c: a.astype(np.int32) * b.astype(np.int32) + c
    ),
    "v_lshl_b64": OpcodeRow(U64, (U64, U32), shift_left),
    "v_sad_u32": OpcodeRow(
        U32, (U32, U32, U32), lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c
    ),
    "v_sad_u16": OpcodeRow(U32, (U32, U32, U32), _sad_halves),
    **REALS,
}
"""The instructions whose results are functions of their operands, lane by lane."""


def combined(a: Values, b: Values, e: Values, *, bitop3: int) -> Values:
    """V_BITOP3: bit by bit what a table of eight bits has at ``4 a + 2 b + e``.

    Sources: AMD, "CDNA4 ISA", 12.12; LLVM, `SIISelLowering` of the AMDGPU back end and its table of
    operands 0xf0, 0xcc, 0xaa.

    >>> f, c, a = (np.array([x], np.uint32) for x in (0xf0, 0xcc, 0xaa))
    >>> hex(combined(f, c, a, bitop3=0x6c)[0] & 0xff)
    '0x6c'
    """
    result: Values = (a ^ a) | (b ^ b) | (e ^ e)
    for place in range(8):
        if bitop3 >> place & 1:
            result = result | (a if place & 4 else ~a) & (b if place & 2 else ~b) & (
                e if place & 1 else ~e
            )
    return result


BIT_ROWS = {
    f"v_bitop3_b{kind.bits}": OpcodeRow(kind, (kind,) * 3, combined, option="bitop3")
    for kind in (U32, U16)
}
