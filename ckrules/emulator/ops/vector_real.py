"""Vector ALU instructions on real numbers, and conversions: one row for each.

Sources: AMD, "Instinct MI300 ISA", chapter 12.6 to 12.14; "RDNA4 ISA", chapter 16. Denormal numbers
are kept, results are rounded to nearest even; functions such as V_EXP_F32, which GPUs compute to
about one unit in the last place, are exact but for their rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ckrules.emulator.kinds import F16, F32, F64, I16, I32, U16, U32, OperandKind, Values
from ckrules.emulator.ops.opcode import Function, OpcodeRow
from ckrules.emulator.ops.rounding import (
    bf16_bits,
    binary_logarithm,
    fused,
    greater,
    half_towards_zero,
    lesser,
    middle,
    power_of_two,
    strict_greatest,
    strict_least,
)  # fmt: skip


def to_integer(kind: OperandKind) -> Function:
    """Conversion of a real towards zero; NaN becomes zero and the rest is kept in range."""
    low, high = int(np.iinfo(kind.dtype).min), int(np.iinfo(kind.dtype).max)

    def convert(a: Values) -> Values:
        whole = np.trunc(np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=high, neginf=low))
        return np.clip(whole, low, high).astype(kind.dtype)

    return convert


def _to(dtype: Any) -> Function:
    return lambda a: a.astype(dtype)


def _wide(compute: Function) -> Function:
    """A function computed in fp64 and rounded once more."""
    return lambda a: compute(a.astype(np.float64)).astype(a.dtype)


def _legacy_product(a: Values, b: Values) -> Values:
    """Zero times anything is zero."""
    return np.where((a == 0) | (b == 0), np.float32(0), a * b)


def _fraction(a: Values) -> Values:
    """Below one also where the difference would be rounded to it."""
    found: Values = np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0)))
    return found


def _exponent(dtype: Any) -> Function:
    """Of a mantissa below one; zero of what is not finite."""
    return lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype(dtype)


def _pack(low: Values, high: Values) -> Values:
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def _pack_rtz(a: Values, b: Values) -> Values:
    """Two reals as fp16, rounded towards zero, in one dword."""
    return _pack(*(half_towards_zero(x).view(np.uint16) for x in (a, b)))


def _half(a: Values) -> Values:
    return _bits(a.astype(np.float16))


def _clipped(low: int, high: int) -> Function:
    """Two whole numbers kept in the range of 16 bits, in one dword."""

    def pack(a: Values, b: Values) -> Values:
        return _pack(*(np.clip(x, low, high).astype(np.uint16) for x in (a, b)))

    return pack


def _byte(number: int) -> Function:
    shift = np.uint32(8 * number)
    return lambda a: ((a >> shift) & np.uint32(0xFF)).astype(np.float32)


def extremes(
    kind: OperandKind, least: Function, most: Function, middle: Function | None = None
) -> dict[str, OpcodeRow]:
    """Minimum and maximum of a type, and with a function for the middle those of three numbers."""
    two, three = (kind, kind), (kind, kind, kind)
    rows = {"min": OpcodeRow(kind, two, least), "max": OpcodeRow(kind, two, most)}
    if middle is not None:
        rows |= {
            "min3": OpcodeRow(kind, three, lambda a, b, c: least(least(a, b), c)),
            "max3": OpcodeRow(kind, three, lambda a, b, c: most(most(a, b), c)),
            "minmax": OpcodeRow(kind, three, lambda a, b, c: most(least(a, b), c)),
            "maxmin": OpcodeRow(kind, three, lambda a, b, c: least(most(a, b), c)),
            "med3": OpcodeRow(kind, three, middle),
        }
    return {f"v_{name}_{kind.name}": row for name, row in rows.items()}


def _of_kind(kind: OperandKind) -> dict[str, OpcodeRow]:
    """What fp16, fp32 and fp64 share."""
    one, two, three = (kind,), (kind, kind), (kind, kind, kind)
    rows = {
        "v_add": OpcodeRow(kind, two, lambda a, b: a + b),
        "v_sub": OpcodeRow(kind, two, lambda a, b: a - b),
        "v_subrev": OpcodeRow(kind, two, lambda a, b: b - a),
        "v_mul": OpcodeRow(kind, two, lambda a, b: a * b),
        "v_minimum": OpcodeRow(kind, two, strict_least),
        "v_maximum": OpcodeRow(kind, two, strict_greatest),
        "v_minimum3": OpcodeRow(kind, three, lambda a, b, c: strict_least(strict_least(a, b), c)),
        "v_maximum3": OpcodeRow(
            kind, three, lambda a, b, c: strict_greatest(strict_greatest(a, b), c)
        ),
        "v_fma": OpcodeRow(kind, three, fused),
        "v_fmac": OpcodeRow(kind, three, fused, accumulates=True),
        "v_fmamk": OpcodeRow(kind, three, fused),
        "v_fmaak": OpcodeRow(kind, three, fused),
        "v_rcp": OpcodeRow(kind, one, lambda a: a.dtype.type(1) / a),
        "v_rsq": OpcodeRow(kind, one, _wide(lambda a: 1 / np.sqrt(a))),
        "v_sqrt": OpcodeRow(kind, one, np.sqrt),
        "v_trunc": OpcodeRow(kind, one, np.trunc),
        "v_floor": OpcodeRow(kind, one, np.floor),
        "v_ceil": OpcodeRow(kind, one, np.ceil),
        "v_rndne": OpcodeRow(kind, one, np.rint),
        "v_fract": OpcodeRow(kind, one, _fraction),
        "v_frexp_mant": OpcodeRow(kind, one, lambda a: np.frexp(a)[0].astype(a.dtype)),
    }
    named = {f"{name}_{kind.name}": row for name, row in rows.items()}
    return named | extremes(kind, lesser, greater, middle)


REALS: dict[str, OpcodeRow] = {
    **_of_kind(F16),
    **_of_kind(F32),
    **_of_kind(F64),
    "v_mul_legacy_f32": OpcodeRow(F32, (F32, F32), _legacy_product),
    "v_mad_f32": OpcodeRow(F32, (F32, F32, F32), lambda a, b, c: a * b + c),
    "v_mac_f32": OpcodeRow(F32, (F32, F32, F32), lambda a, b, c: a * b + c, accumulates=True),
    "v_exp_f32": OpcodeRow(F32, (F32,), _wide(power_of_two)),
    "v_log_f32": OpcodeRow(F32, (F32,), _wide(binary_logarithm)),
    "v_exp_f16": OpcodeRow(F16, (F16,), _wide(power_of_two)),
    "v_log_f16": OpcodeRow(F16, (F16,), _wide(binary_logarithm)),
    "v_ldexp_f16": OpcodeRow(F16, (F16, I16), lambda a, n: np.ldexp(a, n.astype(np.int32))),
    "v_ldexp_f32": OpcodeRow(F32, (F32, I32), np.ldexp),
    "v_ldexp_f64": OpcodeRow(F64, (F64, I32), np.ldexp),
    "v_frexp_exp_i16_f16": OpcodeRow(I16, (F16,), _exponent(np.int16)),
    "v_frexp_exp_i32_f32": OpcodeRow(I32, (F32,), _exponent(np.int32)),
    "v_frexp_exp_i32_f64": OpcodeRow(I32, (F64,), _exponent(np.int32)),
    # Between whole numbers and reals
    "v_cvt_f32_u32": OpcodeRow(F32, (U32,), _to(np.float32)),
    "v_cvt_f32_i32": OpcodeRow(F32, (I32,), _to(np.float32)),
    "v_cvt_u32_f32": OpcodeRow(U32, (F32,), to_integer(U32)),
    "v_cvt_i32_f32": OpcodeRow(I32, (F32,), to_integer(I32)),
    "v_cvt_f64_u32": OpcodeRow(F64, (U32,), _to(np.float64)),
    "v_cvt_f64_i32": OpcodeRow(F64, (I32,), _to(np.float64)),
    "v_cvt_u32_f64": OpcodeRow(U32, (F64,), to_integer(U32)),
    "v_cvt_i32_f64": OpcodeRow(I32, (F64,), to_integer(I32)),
    "v_cvt_f16_u16": OpcodeRow(F16, (U16,), _to(np.float16)),
    "v_cvt_f16_i16": OpcodeRow(F16, (I16,), _to(np.float16)),
    "v_cvt_u16_f16": OpcodeRow(U16, (F16,), to_integer(U16)),
    "v_cvt_i16_f16": OpcodeRow(I16, (F16,), to_integer(I16)),
    "v_cvt_u32_u16": OpcodeRow(U32, (U16,), _to(np.uint32)),
    "v_cvt_i32_i16": OpcodeRow(I32, (I16,), _to(np.int32)),
    **{f"v_cvt_f32_ubyte{i}": OpcodeRow(F32, (U32,), _byte(i)) for i in range(4)},
    # Between reals
    "v_cvt_f16_f32": OpcodeRow(F16, (F32,), _to(np.float16)),
    "v_cvt_f32_f16": OpcodeRow(F32, (F16,), _to(np.float32)),
    "v_cvt_f64_f32": OpcodeRow(F64, (F32,), _to(np.float64)),
    "v_cvt_f32_f64": OpcodeRow(F32, (F64,), _to(np.float32)),
    "v_cvt_pkrtz_f16_f32": OpcodeRow(U32, (F32, F32), _pack_rtz),
    "v_cvt_pk_f16_f32": OpcodeRow(
        U32, (F32, F32), lambda a, b: _pack(*(_bits(_half(x)) for x in (a, b)))
    ),
    "v_cvt_pk_bf16_f32": OpcodeRow(U32, (F32, F32), lambda a, b: _pack(bf16_bits(a), bf16_bits(b))),
    "v_cvt_pk_u16_u32": OpcodeRow(U32, (U32, U32), _clipped(0, 0xFFFF)),
    "v_cvt_pk_i16_i32": OpcodeRow(U32, (I32, I32), _clipped(-0x8000, 0x7FFF)),
    "v_pack_b32_f16": OpcodeRow(U32, (F16, F16), lambda a, b: _pack(_bits(a), _bits(b))),
}


def _bits(a: Values) -> Values:
    return a.view(np.uint16)
