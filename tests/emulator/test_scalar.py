"""Scalar instructions against formulas of the ISA manuals: results and the condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.operands import operand
from ckrules.emulator.ops.scalar_opcode import ROWS
from tests.emulator.reference import (
    DTYPES,
    add,
    bits_of,
    fma,
    greater,
    inputs,
    leading,
    lesser,
    mul,
    nearest,
    same,
    trailing,
    truncated,
    wrap,
)
from tests.helpers.isa import Bench

_COUNT = 256


def fits(value: int, kind: str) -> bool:
    return wrap(value, kind) != value


def extract(kind: str) -> Callable[[int, int], int]:
    bits = int(kind[1:])

    def field(a: int, spec: int) -> int:
        offset, width = spec & (bits - 1), min(spec >> 16 & 127, bits)
        cut = a >> offset & (1 << width) - 1
        return cut - (1 << width) if kind[0] == "i" and width and cut >> (width - 1) else cut

    return field


def halves(low: int, high: int) -> Callable[[int, int], int]:
    return lambda a, b: a >> 16 * low & 0xFFFF | (b >> 16 * high & 0xFFFF) << 16


NONZERO = "nonzero"
Spec = tuple[str, str, Callable[..., Any], Any]
SPEC: dict[str, Spec] = {
    "s_add_u32": ("u32", "u32 u32", lambda a, b: a + b, lambda a, b: a + b > 0xFFFFFFFF),
    "s_sub_u32": ("u32", "u32 u32", lambda a, b: a - b, lambda a, b: a < b),
    "s_add_i32": ("i32", "i32 i32", lambda a, b: a + b, lambda a, b: fits(a + b, "i32")),
    "s_sub_i32": ("i32", "i32 i32", lambda a, b: a - b, lambda a, b: fits(a - b, "i32")),
    "s_mul_i32": ("i32", "i32 i32", lambda a, b: a * b, None),
    "s_mul_hi_u32": ("u32", "u32 u32", lambda a, b: a * b >> 32, None),
    "s_mul_hi_i32": ("i32", "i32 i32", lambda a, b: a * b >> 32, None),
    "s_add_u64": ("u64", "u64 u64", lambda a, b: a + b, None),
    "s_sub_u64": ("u64", "u64 u64", lambda a, b: a - b, None),
    "s_mul_u64": ("u64", "u64 u64", lambda a, b: a * b, None),
    "s_absdiff_i32": ("u32", "i32 i32", lambda a, b: abs(a - b), NONZERO),
    "s_min_u32": ("u32", "u32 u32", min, lambda a, b: a < b),
    "s_max_u32": ("u32", "u32 u32", max, lambda a, b: a >= b),
    "s_min_i32": ("i32", "i32 i32", min, lambda a, b: a < b),
    "s_max_i32": ("i32", "i32 i32", max, lambda a, b: a >= b),
    "s_abs_i32": ("i32", "i32", abs, NONZERO),
    "s_mov_b32": ("u32", "u32", lambda a: a, None),
    "s_mov_b64": ("u64", "u64", lambda a: a, None),
    "s_not_b32": ("u32", "u32", lambda a: ~a, NONZERO),
    "s_not_b64": ("u64", "u64", lambda a: ~a, NONZERO),
    "s_brev_b32": ("u32", "u32", lambda a: int(f"{a:032b}"[::-1], 2), None),
    "s_bcnt1_i32_b32": ("u32", "u32", int.bit_count, NONZERO),
    "s_bcnt1_i32_b64": ("u32", "u64", int.bit_count, NONZERO),
    "s_bcnt0_i32_b32": ("u32", "u32", lambda a: 32 - a.bit_count(), NONZERO),
    "s_bcnt0_i32_b64": ("u32", "u64", lambda a: 64 - a.bit_count(), NONZERO),
    "s_ff1_i32_b32": ("u32", "u32", trailing, None),
    "s_ff1_i32_b64": ("u32", "u64", trailing, None),
    "s_flbit_i32_b32": ("u32", "u32", leading, None),
    "s_flbit_i32_b64": ("u32", "u64", lambda a: leading(a, 64), None),
    "s_flbit_i32": ("u32", "i32", lambda a: leading(~a if a < 0 else a), None),
    "s_sext_i32_i8": ("i32", "u32", lambda a: wrap(a, "i8"), None),
    "s_sext_i32_i16": ("i32", "u32", lambda a: wrap(a, "i16"), None),
    "s_lshl_b32": ("u32", "u32 u32", lambda a, n: a << (n & 31), NONZERO),
    "s_lshl_b64": ("u64", "u64 u32", lambda a, n: a << (n & 63), NONZERO),
    "s_lshr_b32": ("u32", "u32 u32", lambda a, n: a >> (n & 31), NONZERO),
    "s_lshr_b64": ("u64", "u64 u32", lambda a, n: a >> (n & 63), NONZERO),
    "s_ashr_i32": ("i32", "i32 u32", lambda a, n: a >> (n & 31), NONZERO),
    "s_ashr_i64": ("i64", "i64 u32", lambda a, n: a >> (n & 63), NONZERO),
    "s_bfe_u32": ("u32", "u32 u32", extract("u32"), NONZERO),
    "s_bfe_i32": ("i32", "i32 u32", extract("i32"), NONZERO),
    "s_bfe_u64": ("u64", "u64 u32", extract("u64"), NONZERO),
    "s_bfe_i64": ("i64", "i64 u32", extract("i64"), NONZERO),
    "s_bfm_b32": ("u32", "u32 u32", lambda a, b: (1 << (a & 31)) - 1 << (b & 31), None),
    "s_bfm_b64": ("u64", "u32 u32", lambda a, b: (1 << (a & 63)) - 1 << (b & 63), None),
    "s_pack_ll_b32_b16": ("u32", "u32 u32", halves(0, 0), None),
    "s_pack_lh_b32_b16": ("u32", "u32 u32", halves(0, 1), None),
    "s_pack_hh_b32_b16": ("u32", "u32 u32", halves(1, 1), None),
    "s_pack_hl_b32_b16": ("u32", "u32 u32", halves(1, 0), None),
    "s_add_f32": ("f32", "f32 f32", add("f32"), None),
    "s_sub_f32": ("f32", "f32 f32", lambda a, b: add("f32")(a, -b), None),
    "s_mul_f32": ("f32", "f32 f32", mul("f32"), None),
    "s_min_f32": ("f32", "f32 f32", lesser, None),
    "s_max_f32": ("f32", "f32 f32", greater, None),
    "s_fmamk_f32": ("f32", "f32 f32 f32", fma("f32"), None),
    "s_fmac_f32": ("f32", "f32 f32 f32", fma("f32"), None),
    "s_fmaak_f32": ("f32", "f32 f32 f32", fma("f32"), None),
    "s_cvt_f32_u32": ("f32", "u32", lambda a: nearest(Fraction(a), "f32"), None),
    "s_cvt_f32_i32": ("f32", "i32", lambda a: nearest(Fraction(a), "f32"), None),
    "s_cvt_u32_f32": ("u32", "f32", truncated("u32"), None),
    "s_cvt_i32_f32": ("i32", "f32", truncated("i32"), None),
    "s_cvt_f16_f32": (
        "u32", "f32",
        lambda a: bits_of(nearest(Fraction(a), "f16", a) if math.isfinite(a) else a, "f16"), None,
    ),
    "s_cvt_f32_f16": ("f32", "f16", lambda a: a, None),
}  # fmt: skip
for _n in range(1, 5):
    SPEC[f"s_lshl{_n}_add_u32"] = (
        "u32", "u32 u32",
        lambda a, b, n=_n: (a << n) + b, lambda a, b, n=_n: (a << n) + b > 0xFFFFFFFF,
    )  # fmt: skip
for _name, _of in (
    ("trunc", math.trunc),
    ("floor", math.floor),
    ("ceil", math.ceil),
    ("rndne", round),
):
    SPEC[f"s_{_name}_f32"] = (
        "f32", "f32",
        lambda a, of=_of: math.copysign(float(of(a)), a) if math.isfinite(a) and a else a, None,
    )  # fmt: skip
_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b, "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
}  # fmt: skip
for _bits in (32, 64):
    for _name, _of2 in _LOGIC.items():
        SPEC[f"s_{_name}_b{_bits}"] = (f"u{_bits}", f"u{_bits} u{_bits}", _of2, NONZERO)


def name_of(kind: str, register: int) -> str:
    return f"s[{register}:{register + 1}]" if kind.endswith("64") else f"s{register}"


def load(bench: Bench, register: int, values: np.ndarray[Any, Any]) -> None:
    size = values.dtype.itemsize
    words = values.view(np.uint64) if size == 8 else values.view(f"u{size}").astype(np.uint32)
    bench.wave.s[register] = words.astype(np.uint32)
    if size == 8:
        bench.wave.s[register + 1] = (words >> np.uint64(32)).astype(np.uint32)


@pytest.mark.parametrize("name", sorted(SPEC))
def test_a_row_computes_what_the_manual_says(name: str) -> None:
    result, kinds, formula, condition = SPEC[name]
    names = kinds.split()
    operands = inputs(tuple(names), _COUNT, seed=len(name))
    bench = Bench(
        f"{name} {', '.join([name_of(result, 8), *(name_of(k, 10 + 2 * i) for i, k in enumerate(names[: 2 if name == 's_fmac_f32' else None]))])}",
        blocks=_COUNT,
    )
    for i, values in enumerate(operands):
        load(bench, 8 if name == "s_fmac_f32" and i == 2 else 10 + 2 * i, values)
    before = np.arange(_COUNT) % 2 == 1
    bench.wave.scc[:] = before
    bench.run()
    wanted = [formula(*(x.item() for x in each)) for each in zip(*operands, strict=True)]
    if result[0] != "f":
        wanted = [wrap(int(w), result) for w in wanted]
    expected = np.array(wanted, DTYPES[result])
    words = bench.wave.s[8].astype(np.uint64) | bench.wave.s[9].astype(np.uint64) << np.uint64(32)
    got = (
        words.view(DTYPES[result])
        if result.endswith("64")
        else bench.wave.s[8].view(DTYPES[result])
    )
    if name == "s_cvt_f16_f32":
        got, expected = (x.astype(np.uint16).view(np.float16) for x in (got, expected))
    assert same(got, expected).all()
    if condition is None:
        assert (bench.wave.scc == before).all()
    elif condition == NONZERO:
        assert (bench.wave.scc == (expected != 0)).all()
    else:
        wanted_scc = [condition(*(x.item() for x in each)) for each in zip(*operands, strict=True)]
        assert (bench.wave.scc == np.array(wanted_scc)).all()


def test_every_row_has_a_formula() -> None:
    assert set(SPEC) == set(ROWS)


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "lg": lambda a, b: a < b or a > b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b, "nle": lambda a, b: not a <= b,
    "ngt": lambda a, b: not a > b, "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b), "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: a != a or b != b,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["u32", "i32", "u64", "f32"])
@pytest.mark.parametrize("relation", sorted(_RELATIONS))
def test_comparisons(kind: str, relation: str) -> None:
    whole = ("eq", "lg", "lt", "le", "gt", "ge") if kind != "u64" else ("eq", "lg")
    relation = relation if kind == "f32" or relation in whole else "eq"
    operands = inputs((kind, kind), _COUNT, seed=3)
    bench = Bench(
        f"s_cmp_{relation}_{kind} {name_of(kind, 10)}, {name_of(kind, 12)}", blocks=_COUNT
    )
    for i, values in enumerate(operands):
        load(bench, 10 + 2 * i, values)
    bench.run()
    wanted = [_RELATIONS[relation](a.item(), b.item()) for a, b in zip(*operands, strict=True)]
    assert (bench.wave.scc == np.array(wanted)).all()


def test_literals_that_newer_disassemblers_mark() -> None:
    """-1 would fit into the instruction; what was assembled has a dword for it."""
    marked = operand("lit(0xffffffff)")
    assert marked is not None
    assert (marked.file, marked.value, marked.literal) == ("i", 0xFFFFFFFF, True)


@pytest.mark.parametrize(("text", "s10", "scc", "s8", "after"), [
    ("s_movk_i32 s8, 0x8000", 0, 1, 0xFFFF8000, 1), ("s_cmovk_i32 s8, 0x5", 0, 0, 7, 0),
    ("s_cmovk_i32 s8, 0x5", 0, 1, 5, 1), ("s_addk_i32 s8, 0xfffe", 0, 1, 5, 0),
    ("s_mulk_i32 s8, 0xfffe", 0, 1, 0xFFFFFFF2, 1), ("s_addc_u32 s8, s10, 0", 0xFFFFFFFF, 1, 0, 1),
    ("s_addc_u32 s8, s10, 1", 5, 0, 6, 0), ("s_subb_u32 s8, s10, 5", 5, 1, 0xFFFFFFFF, 1),
    ("s_subb_u32 s8, s10, 5", 5, 0, 0, 0), ("s_cselect_b32 s8, s10, 3", 9, 1, 9, 1),
    ("s_cselect_b32 s8, s10, 3", 9, 0, 3, 0), ("s_cmov_b32 s8, s10", 9, 0, 7, 0),
    ("s_bitcmp1_b32 s10, 33", 2, 0, 7, 1), ("s_bitcmp0_b32 s10, 1", 2, 1, 7, 0),
    ("s_bitset1_b32 s8, s10", 35, 0, 15, 0), ("s_bitset0_b32 s8, s10", 1, 0, 5, 0),
    ("s_cmpk_gt_i32 s10, 0xffff", 0, 0, 7, 1), ("s_cmpk_gt_u32 s10, 0xffff", 0x10000, 0, 7, 1),
    ("s_cmpk_eq_u32 s10, 0xffff", 0xFFFF, 0, 7, 1),
    # of gfx12: the logarithm and square root of 4, the roots and powers of 0.25 and 2
    ("v_s_log_f32 s8, s10", 0x40800000, 1, 0x40000000, 1), ("v_s_sqrt_f32 s8, s10", 0x40800000, 1, 0x40000000, 1),
    ("v_s_rsq_f32 s8, s10", 0x3E800000, 0, 0x40000000, 0), ("v_s_exp_f32 s8, s10", 0x40000000, 0, 0x40800000, 0),
])  # fmt: skip
def test_constants_carries_and_bits(text: str, s10: int, scc: int, s8: int, after: int) -> None:
    bench = Bench(text).s(8, 7).s(10, s10)
    bench.wave.scc[:] = bool(scc)
    bench.run()
    assert int(bench.wave.s[8, 0]) == s8
    assert bool(bench.wave.scc[0]) == bool(after)


@pytest.mark.parametrize(("word", "of"), [
    ("and", lambda s, e: s & e), ("or", lambda s, e: s | e), ("xor", lambda s, e: s ^ e),
    ("andn2", lambda s, e: s & ~e), ("orn2", lambda s, e: s | ~e), ("andn1", lambda s, e: ~s & e),
    ("nand", lambda s, e: ~(s & e)), ("nor", lambda s, e: ~(s | e)), ("xnor", lambda s, e: ~(s ^ e)),
])  # fmt: skip
def test_masks_are_saved_and_combined(word: str, of: Callable[[int, int], int]) -> None:
    bench = Bench(f"s_{word}_saveexec_b64 s[8:9], s[10:11]\nv_mov_b32_e32 v1, 1")
    source, mask = 0x0F0F_1234_5678_9ABC, 0xFFFF_0000_FFFF_0F0F
    bench.s(10, source, source >> 32).s(126, mask, mask >> 32)
    bench.wave.refresh()
    bench.run()
    result = of(source, mask) % 2**64
    assert (int(bench.wave.s[8, 0]) | int(bench.wave.s[9, 0]) << 32) == mask
    assert bench.get(1)[0].tolist() == [result >> i & 1 for i in range(64)]


@pytest.mark.parametrize("text", [
    "s_made_up s0, s1", "s_cmp_made_u32 s0, s1", "s_cmp_lt_u16 s0, s1", "s_add_u32 s0, s1",
    "s_add_f32 s0, -s1, s2", "s_add_u32 s0, s1, s2 made_up", "s_getreg_b32 s0, hwreg(HW_REG_MODE)",
    "s_add_u32 v0, s1, s2",
])  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        Bench(text, arch="gfx1201").run()
