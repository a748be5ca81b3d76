"""Every row of the vector ALU against formulas of the ISA manuals in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ckrules.emulator.ops.opcode import SPELLINGS
from ckrules.emulator.ops.vector import ROWS
from tests.emulator.reference import (
    DTYPES,
    add,
    bits_of,
    clip,
    fma,
    greater,
    inputs,
    leading,
    lesser,
    middle,
    mul,
    nearest,
    same,
    trailing,
    truncated,
    wrap,
)
from tests.helpers.isa import Bench

Spec = tuple[str, str, Callable[..., Any]]
"""The result's type, the operands' types, the formula."""


def low24(a: int) -> int:
    return a & 0xFFFFFF


def signed24(a: int) -> int:
    a &= 0xFFFFFF
    return a - (1 << 24) if a >> 23 else a


def byte_permute(a: int, b: int, selector: int) -> int:
    data = (a << 32 | b).to_bytes(8, "little")
    found = []
    for pick in selector.to_bytes(4, "little"):
        if pick < 8:
            found.append(data[pick])
        elif pick < 12:
            found.append(0xFF if data[2 * pick - 15] & 0x80 else 0)
        else:
            found.append(0 if pick == 12 else 0xFF)
    return int.from_bytes(found, "little")


def field_signed(a: int, offset: int, width: int) -> int:
    offset, width = offset & 31, width & 31
    cut = (a >> offset) & ((1 << width) - 1)
    return cut - (1 << width) if width and cut >> (width - 1) else cut


def leading_signed(a: int) -> int:
    return leading(~a & 0xFFFFFFFF if a < 0 else a)


def half(a: float) -> int:
    """The bits of a number in fp16, rounded to nearest."""
    return bits_of(to_form("f16")(a), "f16")


def half_rtz(a: float) -> int:
    if math.isnan(a):
        return 0x7E00
    near = nearest(Fraction(a), "f16", a) if math.isfinite(a) else a
    bits = bits_of(near, "f16")
    return bits - 1 if math.isfinite(a) and abs(near) > abs(a) else bits


def to_form(form: str) -> Callable[[float], float]:
    return lambda a: nearest(Fraction(a), form, math.copysign(0.0, a)) if math.isfinite(a) else a


def bf16_bits(a: float) -> int:
    if math.isnan(a):
        return 0x7FC0
    near = nearest(Fraction(a), "bf16", a) if math.isfinite(a) else a
    return bits_of(near, "f32") >> 16


def fraction(form: str) -> Callable[[float], float]:
    below = {"f16": 1 - 2**-11, "f32": 1 - 2**-24, "f64": 1 - 2**-53}[form]

    def part(a: float) -> float:
        if not math.isfinite(a):
            return math.nan
        return min(nearest(Fraction(a) - math.floor(a), form), below)

    return part


def whole(of: Callable[[float], int]) -> Callable[[float], float]:
    return lambda a: math.copysign(float(of(a)), a) if math.isfinite(a) and a else a


def scaled(form: str) -> Callable[[float, int], float]:
    def scale(a: float, n: int) -> float:
        if not math.isfinite(a) or a == 0:
            return a
        return nearest(Fraction(a) * Fraction(2) ** min(max(n, -5000), 5000), form)

    return scale


def quotient(form: str) -> Callable[[float], float]:
    def invert(a: float) -> float:
        if a == 0:
            return math.copysign(math.inf, a)
        return nearest(1 / Fraction(a), form) if math.isfinite(a) else 1 / a

    return invert


def safe(fn: Callable[[float], float]) -> Callable[[float], float]:
    def compute(a: float) -> float:
        try:
            return fn(a)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return compute


def strict(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else choose(a, b)


SPEC: dict[str, Spec] = {
    "v_mov_b32": ("u32", "u32", lambda a: a),
    "v_mov_b64": ("u64", "u64", lambda a: a),
    "v_mov_b16": ("u16", "u16", lambda a: a),
    "v_accvgpr_read_b32": ("u32", "u32", lambda a: a),
    "v_accvgpr_write_b32": ("u32", "u32", lambda a: a),
    "v_accvgpr_mov_b32": ("u32", "u32", lambda a: a),
    "v_mul_lo_u32": ("u32", "u32 u32", lambda a, b: a * b),
    "v_mul_hi_u32": ("u32", "u32 u32", lambda a, b: a * b >> 32),
    "v_mul_hi_i32": ("i32", "i32 i32", lambda a, b: a * b >> 32),
    "v_mul_lo_u16": ("u16", "u16 u16", lambda a, b: a * b),
    "v_mul_u32_u24": ("u32", "u32 u32", lambda a, b: low24(a) * low24(b)),
    "v_mul_hi_u32_u24": ("u32", "u32 u32", lambda a, b: low24(a) * low24(b) >> 32),
    "v_mul_i32_i24": ("i32", "i32 i32", lambda a, b: signed24(a) * signed24(b)),
    "v_mad_u32_u24": ("u32", "u32 u32 u32", lambda a, b, c: low24(a) * low24(b) + c),
    "v_mad_i32_i24": ("i32", "i32 i32 i32", lambda a, b, c: signed24(a) * signed24(b) + c),
    "v_mad_u16": ("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_i16": ("i16", "i16 i16 i16", lambda a, b, c: a * b + c),
    "v_mad_u32_u16": ("u32", "u16 u16 u32", lambda a, b, c: a * b + c),
    "v_mad_i32_i16": ("i32", "i16 i16 i32", lambda a, b, c: a * b + c),
    "v_add3_u32": ("u32", "u32 u32 u32", lambda a, b, c: a + b + c),
    "v_lshl_add_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a + b) << (c & 31)),
    "v_lshl_add_u64": ("u64", "u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c),
    "v_xad_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_sad_u32": ("u32", "u32 u32 u32", lambda a, b, c: abs(a - b) + c),
    "v_sad_u16": ("u32", "u32 u32 u32", lambda a, b, c: abs((a & 65535) - (b & 65535))
                  + abs((a >> 16) - (b >> 16)) + c),
    "v_add_nc_u64": ("u64", "u64 u64", lambda a, b: a + b),
    "v_and_b32": ("u32", "u32 u32", lambda a, b: a & b),
    "v_or_b32": ("u32", "u32 u32", lambda a, b: a | b),
    "v_xor_b32": ("u32", "u32 u32", lambda a, b: a ^ b),
    "v_xnor_b32": ("u32", "u32 u32", lambda a, b: ~(a ^ b)),
    "v_not_b32": ("u32", "u32", lambda a: ~a),
    "v_not_b16": ("u16", "u16", lambda a: ~a),
    "v_and_b16": ("u16", "u16 u16", lambda a, b: a & b),
    "v_or_b16": ("u16", "u16 u16", lambda a, b: a | b),
    "v_xor_b16": ("u16", "u16 u16", lambda a, b: a ^ b),
    "v_or3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a | b | c),
    "v_xor3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a ^ b ^ c),
    "v_and_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | c),
    "v_lshl_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a << (b & 31) | c),
    "v_lshlrev_b32": ("u32", "u32 u32", lambda n, a: a << (n & 31)),
    "v_lshrrev_b32": ("u32", "u32 u32", lambda n, a: a >> (n & 31)),
    "v_ashrrev_i32": ("i32", "u32 i32", lambda n, a: a >> (n & 31)),
    "v_lshlrev_b16": ("u16", "u16 u16", lambda n, a: a << (n & 15)),
    "v_lshrrev_b16": ("u16", "u16 u16", lambda n, a: a >> (n & 15)),
    "v_ashrrev_i16": ("i16", "u16 i16", lambda n, a: a >> (n & 15)),
    "v_lshlrev_b64": ("u64", "u32 u64", lambda n, a: a << (n & 63)),
    "v_lshl_b64": ("u64", "u64 u32", lambda a, n: a << (n & 63)),
    "v_lshrrev_b64": ("u64", "u32 u64", lambda n, a: a >> (n & 63)),
    "v_ashrrev_i64": ("i64", "u32 i64", lambda n, a: a >> (n & 63)),
    "v_bfe_u32": ("u32", "u32 u32 u32", lambda a, o, w: a >> (o & 31) & (1 << (w & 31)) - 1),
    "v_bfe_i32": ("i32", "i32 u32 u32", field_signed),
    "v_bfi_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | ~a & c),
    "v_bfm_b32": ("u32", "u32 u32", lambda a, b: (1 << (a & 31)) - 1 << (b & 31)),
    "v_bfrev_b32": ("u32", "u32", lambda a: int(f"{a:032b}"[::-1], 2)),
    "v_perm_b32": ("u32", "u32 u32 u32", byte_permute),
    "v_alignbit_b32": ("u32", "u32 u32 u32", lambda a, b, n: (a << 32 | b) >> (n & 31)),
    "v_alignbyte_b32": ("u32", "u32 u32 u32", lambda a, b, n: (a << 32 | b) >> 8 * (n & 3)),
    "v_bcnt_u32_b32": ("u32", "u32 u32", lambda a, b: a.bit_count() + b),
    "v_ffbh_u32": ("u32", "u32", leading),
    "v_ffbh_i32": ("u32", "i32", leading_signed),
    "v_ffbl_b32": ("u32", "u32", trailing),
    "v_mul_legacy_f32": (
        "f32", "f32 f32", lambda a, b: 0.0 if 0 in (a, b) else mul("f32")(a, b)
    ),
    **{
        f"v_{name}_f32": ("f32", "f32 f32 f32", lambda a, b, c: add("f32")(mul("f32")(a, b), c))
        for name in ("mad", "madmk", "madak")
    },
    "v_mac_f32": ("f32", "f32 f32 f32", lambda a, b, c: add("f32")(mul("f32")(a, b), c)),
    "v_rcp_iflag_f32": ("f32", "f32", quotient("f32")),
    "v_ldexp_f16": ("f16", "f16 i16", scaled("f16")),
    "v_ldexp_f32": ("f32", "f32 i32", scaled("f32")),
    "v_ldexp_f64": ("f64", "f64 i32", scaled("f64")),
    "v_cvt_f32_u32": ("f32", "u32", lambda a: nearest(Fraction(a), "f32")),
    "v_cvt_f32_i32": ("f32", "i32", lambda a: nearest(Fraction(a), "f32")),
    "v_cvt_u32_f32": ("u32", "f32", truncated("u32")),
    "v_cvt_i32_f32": ("i32", "f32", truncated("i32")),
    "v_cvt_f64_u32": ("f64", "u32", float),
    "v_cvt_f64_i32": ("f64", "i32", float),
    "v_cvt_u32_f64": ("u32", "f64", truncated("u32")),
    "v_cvt_i32_f64": ("i32", "f64", truncated("i32")),
    "v_cvt_f16_u16": ("f16", "u16", lambda a: nearest(Fraction(a), "f16")),
    "v_cvt_f16_i16": ("f16", "i16", lambda a: nearest(Fraction(a), "f16")),
    "v_cvt_u16_f16": ("u16", "f16", truncated("u16")),
    "v_cvt_i16_f16": ("i16", "f16", truncated("i16")),
    "v_cvt_u32_u16": ("u32", "u16", lambda a: a),
    "v_cvt_i32_i16": ("i32", "i16", lambda a: a),
    "v_cvt_f16_f32": ("f16", "f32", to_form("f16")),
    "v_cvt_f32_f16": ("f32", "f16", lambda a: a),
    "v_cvt_f64_f32": ("f64", "f32", lambda a: a),
    "v_cvt_f32_f64": ("f32", "f64", to_form("f32")),
    "v_cvt_pkrtz_f16_f32": ("u32", "f32 f32", lambda a, b: half_rtz(a) | half_rtz(b) << 16),
    "v_cvt_pk_f16_f32": ("u32", "f32 f32", lambda a, b: half(a) | half(b) << 16),
    "v_cvt_pk_bf16_f32": ("u32", "f32 f32", lambda a, b: bf16_bits(a) | bf16_bits(b) << 16),
    "v_cvt_pk_u16_u32": ("u32", "u32 u32", lambda a, b: clip(a, "u16") | clip(b, "u16") << 16),
    "v_cvt_pk_i16_i32": (
        "u32", "i32 i32", lambda a, b: clip(a, "i16") & 0xFFFF | (clip(b, "i16") & 0xFFFF) << 16
    ),
    "v_pack_b32_f16": ("u32", "f16 f16", lambda a, b: bits_of(a, "f16") | bits_of(b, "f16") << 16),
}  # fmt: skip
for _i in range(4):
    SPEC[f"v_cvt_f32_ubyte{_i}"] = ("f32", "u32", lambda a, n=8 * _i: float(a >> n & 255))
for _kind in ("u32", "i32", "u16", "i16"):
    SPEC[f"v_add_{_kind}"] = (_kind, f"{_kind} {_kind}", lambda a, b: a + b)
    SPEC[f"v_sub_{_kind}"] = (_kind, f"{_kind} {_kind}", lambda a, b: a - b)
    SPEC[f"v_subrev_{_kind}"] = (_kind, f"{_kind} {_kind}", lambda a, b: b - a)
    SPEC[f"v_min_{_kind}"] = (_kind, f"{_kind} {_kind}", min)
    SPEC[f"v_max_{_kind}"] = (_kind, f"{_kind} {_kind}", max)
for _kind in ("u32", "i32"):
    _three = f"{_kind} {_kind} {_kind}"
    SPEC[f"v_min3_{_kind}"] = (_kind, _three, min)
    SPEC[f"v_max3_{_kind}"] = (_kind, _three, max)
    SPEC[f"v_med3_{_kind}"] = (_kind, _three, lambda a, b, c: sorted((a, b, c))[1])
    SPEC[f"v_minmax_{_kind}"] = (_kind, _three, lambda a, b, c: max(min(a, b), c))
    SPEC[f"v_maxmin_{_kind}"] = (_kind, _three, lambda a, b, c: min(max(a, b), c))
for _f in ("f16", "f32", "f64"):
    _two, _three = f"{_f} {_f}", f"{_f} {_f} {_f}"
    SPEC |= {
        f"v_add_{_f}": (_f, _two, add(_f)),
        f"v_sub_{_f}": (_f, _two, lambda a, b, f=_f: add(f)(a, -b)),
        f"v_subrev_{_f}": (_f, _two, lambda a, b, f=_f: add(f)(b, -a)),
        f"v_mul_{_f}": (_f, _two, mul(_f)),
        f"v_min_{_f}": (_f, _two, lesser),
        f"v_max_{_f}": (_f, _two, greater),
        f"v_minimum_{_f}": (_f, _two, strict(lesser)),
        f"v_maximum_{_f}": (_f, _two, strict(greater)),
        f"v_min3_{_f}": (_f, _three, lambda a, b, c: lesser(lesser(a, b), c)),
        f"v_max3_{_f}": (_f, _three, lambda a, b, c: greater(greater(a, b), c)),
        f"v_minmax_{_f}": (_f, _three, lambda a, b, c: greater(lesser(a, b), c)),
        f"v_maxmin_{_f}": (_f, _three, lambda a, b, c: lesser(greater(a, b), c)),
        f"v_minimum3_{_f}": (
            _f, _three, lambda a, b, c: strict(lesser)(strict(lesser)(a, b), c)
        ),
        f"v_maximum3_{_f}": (
            _f, _three, lambda a, b, c: strict(greater)(strict(greater)(a, b), c)
        ),
        f"v_med3_{_f}": (_f, _three, middle),
        f"v_fma_{_f}": (_f, _three, fma(_f)),
        f"v_fmac_{_f}": (_f, _three, fma(_f)),
        f"v_fmamk_{_f}": (_f, _three, fma(_f)),
        f"v_fmaak_{_f}": (_f, _three, fma(_f)),
        f"v_rcp_{_f}": (_f, _f, quotient(_f)),
        f"v_trunc_{_f}": (_f, _f, whole(math.trunc)),
        f"v_floor_{_f}": (_f, _f, whole(math.floor)),
        f"v_ceil_{_f}": (_f, _f, whole(math.ceil)),
        f"v_rndne_{_f}": (_f, _f, whole(round)),
        f"v_fract_{_f}": (_f, _f, fraction(_f)),
        f"v_frexp_mant_{_f}": (_f, _f, lambda a: math.frexp(a)[0]),
        f"v_frexp_exp_{'i16' if _f == 'f16' else 'i32'}_{_f}": (
            "i16" if _f == "f16" else "i32", _f,
            lambda a: math.frexp(a)[1] if math.isfinite(a) else 0,
        ),
    }  # fmt: skip

NEAR: dict[str, Spec] = {
    f"v_{name}_{form}": (form, form, safe(fn))
    for form in ("f16", "f32", "f64")
    for name, fn in (
        ("rsq", lambda a: math.copysign(math.inf, a) if a == 0 else 1 / math.sqrt(a)),
        ("sqrt", lambda a: a if a == 0 else math.sqrt(a)),
        ("exp", lambda a: math.pow(2, a)),
        ("log", lambda a: -math.inf if a == 0 else math.log2(a)),
    )
    if not (form == "f64" and name in ("exp", "log"))
}
"""Functions that a GPU computes to about one unit in the last place."""

_COUNT = 512


def _run(name: str, spec: Spec) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Operands, and what the emulator makes of them."""
    result, kinds, _ = spec
    operands = inputs(tuple(kinds.split()), _COUNT, seed=len(name))
    accumulates = ROWS[SPELLINGS.get(name, name)].accumulates
    count = len(operands) - accumulates
    text = ", ".join(["v[0:1]" if result.endswith("64") else "v0"] + [
        f"v[{10 + 2 * i}:{11 + 2 * i}]" if k.endswith("64") else f"v{10 + 2 * i}"
        for i, k in enumerate(kinds.split()[:count])
    ])  # fmt: skip
    bench = Bench(f"{name} {text}", blocks=_COUNT // 64)
    for i, values in enumerate(operands):
        register = 0 if accumulates and i == count else 10 + 2 * i
        bench.v(register, values.reshape(-1, 64))
    bench.run()
    return operands, bench.get(0, DTYPES[result]).reshape(-1)


@pytest.mark.parametrize("name", sorted(SPEC))
def test_a_row_computes_what_the_manual_says(name: str) -> None:
    result, _, formula = spec = SPEC[name]
    operands, got = _run(name, spec)
    wanted = [formula(*(x.item() for x in each)) for each in zip(*operands, strict=True)]
    if result[0] != "f":
        wanted = [wrap(int(w), result) for w in wanted]
    expected = np.array(wanted, DTYPES[result])
    if name in _PACKS:
        got, expected = _canonical(got), _canonical(expected)
    bad = np.flatnonzero(~same(got, expected))
    shown = [([x[i] for x in operands], got[i], expected[i]) for i in bad[:4]]
    assert not len(bad), shown


_PACKS = {"v_cvt_pkrtz_f16_f32", "v_cvt_pk_f16_f32", "v_cvt_pk_bf16_f32", "v_pack_b32_f16"}


def _canonical(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Packed reals with all NaN as one; the limit fits fp16 and bf16 alike where both are tested."""
    halves = words.view(np.uint16).copy()
    halves[(halves & 0x7FFF) > 0x7F80] = 0x7FFF
    halves[((halves & 0x7FFF) > 0x7C00) & ((halves & 0x7FFF) < 0x7F80)] = 0x7FFF
    return halves


@pytest.mark.parametrize("name", sorted(NEAR))
def test_a_function_is_within_one_unit_in_the_last_place(name: str) -> None:
    form, _, formula = spec = NEAR[name]
    (operand,), got = _run(name, spec)
    with np.errstate(all="ignore"):
        wanted = np.array([formula(x.item()) for x in operand], np.float64).astype(DTYPES[form])
        close = np.abs(got - wanted) <= np.spacing(np.abs(wanted))
    good = close | same(got, wanted)
    assert good.all(), [(operand[i], got[i], wanted[i]) for i in np.flatnonzero(~good)[:4]]


def test_every_row_has_a_formula() -> None:
    assert (set(SPEC) | set(NEAR)) - SPELLINGS.keys() == set(ROWS)
