"""Division and sums of products: sequences of instructions against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.ops.rounding import power_of_two
from tests.emulator.reference import nearest, same
from tests.helpers.isa import Bench

DIVISION = """
v_div_scale_{k} {s}, s[10:11], {b}, {b}, {a}
v_div_scale_{k} {t}, vcc, {a}, {b}, {a}
v_rcp_{k}_e32 {r}, {s}
v_fma_{k} {e}, -{s}, {r}, 1.0
v_fma_{k} {r}, {e}, {r}, {r}
v_fma_{k} {e}, -{s}, {r}, 1.0
v_fma_{k} {r}, {e}, {r}, {r}
v_mul_{k}_e64 {q}, {t}, {r}
v_fma_{k} {e}, -{s}, {q}, {t}
v_fma_{k} {q}, {e}, {r}, {q}
v_fma_{k} {e}, -{s}, {q}, {t}
v_div_fmas_{k} {q}, {e}, {r}, {q}
v_div_fixup_{k} {q}, {q}, {b}, {a}
"""
"""What compilers make of ``a / b``, with one refinement more of the reciprocal."""


def special(dtype: type) -> NDArray[np.floating]:
    """Numbers of all sizes and signs, and what is not a number."""
    dice = np.random.default_rng(3)
    info = np.finfo(dtype)
    sizes = np.exp2(dice.uniform(info.minexp - info.nmant, info.maxexp, 2048))
    values = (sizes * dice.choice([-1, 1], 2048)).astype(dtype)
    values[:9] = [0, -0.0, np.inf, -np.inf, np.nan, 1, info.max, info.tiny, info.smallest_subnormal]
    return dice.permutation(np.concatenate([values, dice.normal(0, 2, 2048).astype(dtype)]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_divisions_are_rounded_once(kind: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    a, b = special(dtype), special(dtype)[::-1].copy()
    wide = kind == "f64"
    names = {n: f"v[{10 + 2 * i}:{11 + 2 * i}]" if wide else f"v{10 + 2 * i}"
             for i, n in enumerate("abstreq")}  # fmt: skip
    bench = Bench(DIVISION.format(k=kind, **names), blocks=64)
    bench.v(10, a.reshape(64, 64)).v(12, b.reshape(64, 64)).run()
    with np.errstate(all="ignore"):
        wanted = a / b
    found = bench.get(22, dtype).reshape(-1)
    # A denormal quotient is rounded where it is refined and again where it is scaled back.
    near = np.abs(wanted) < np.finfo(dtype).tiny
    assert same(found[~near], wanted[~near]).all()
    assert (np.abs(found[near] - wanted[near]) <= np.finfo(dtype).smallest_subnormal).all()


def test_a_modifier_of_a_division_is_refused() -> None:
    with pytest.raises(UnknownInstructionError, match="a modifier of a division"):
        Bench("v_div_fixup_f32 v0, v1, v2, v3 clamp").run()


def words(seed: int) -> NDArray[np.uint32]:
    """Dwords that are not all large."""
    found = np.random.default_rng(seed).integers(0, 1 << 32, 64, dtype=np.uint32)
    found[:4] = [0, 0xFFFFFFFF, 0x80008000, 0x7FFF7FFF]
    return found


def numbers(word: int, bits: int, signed: bool) -> list[int]:
    """The parts of a dword, lowest first."""
    each = [word >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [n - (1 << bits) if signed and n >> (bits - 1) else n for n in each]


@pytest.mark.parametrize("clamp", ["", " clamp"])
@pytest.mark.parametrize(("name", "arch", "bits", "signs", "extra"), [
    ("v_dot2_i32_i16", "gfx942", 16, (True, True), ""),
    ("v_dot2_u32_u16", "gfx942", 16, (False, False), ""),
    ("v_dot4_i32_i8", "gfx942", 8, (True, True), ""),
    ("v_dot4_u32_u8", "gfx1201", 8, (False, False), ""),
    ("v_dot4_i32_iu8", "gfx1100", 8, (True, False), " neg_lo:[1,0,0]"),
    ("v_dot4_i32_iu8", "gfx1201", 8, (False, False), ""),
    ("v_dot8_i32_i4", "gfx942", 4, (True, True), ""),
    ("v_dot8_i32_iu4", "gfx1100", 4, (False, True), " neg_lo:[0,1,0]"),
])  # fmt: skip
def test_products_of_whole_numbers(
    name: str, arch: str, bits: int, signs: tuple[bool, bool], extra: str, clamp: str
) -> None:
    bench = Bench(f"{name} v0, v1, v2, v3{extra}{clamp}", arch=arch)
    a, b, c = (words(i)[: bench.lanes] for i in range(3))
    bench.v(1, a).v(2, b).v(3, c).run()
    unsigned = name.split("_")[2] == "u32"
    low, high = (0, 2**32 - 1) if unsigned else (-(2**31), 2**31 - 1)
    for lane in range(bench.lanes):
        x, y = (numbers(int(w[lane]), bits, s) for w, s in zip((a, b), signs, strict=True))
        addend = int(c[lane]) if unsigned else numbers(int(c[lane]), 32, True)[0]
        total = sum(p * q for p, q in zip(x, y, strict=True)) + addend
        total = min(max(total, low), high) if clamp else total
        assert int(bench.get(0)[0, lane]) == total % 2**32


@pytest.mark.parametrize(("name", "part", "arch"), [
    ("v_dot2_f32_f16", "f16", "gfx942"), ("v_dot2_f32_bf16", "bf16", "gfx950"),
    ("v_dot2_f32_f16", "f16", "gfx1201"), ("v_dot2c_f32_f16_e32", "f16", "gfx942"),
])  # fmt: skip
def test_products_of_reals(name: str, part: str, arch: str) -> None:
    dice = np.random.default_rng(4)
    accumulates = "dot2c" in name
    text = f"{name} v0, v1, v2" if accumulates else f"{name} v0, v1, v2, v0 neg_lo:[1,0,0]"
    bench = Bench(text, arch=arch)
    values = [dice.integers(-40, 40, (bench.lanes, 2)) / 8 for _ in range(2)]
    addend = dice.normal(0, 9, bench.lanes).astype(np.float32)
    bits = [
        v.astype(np.float16).view(np.uint16)
        if part == "f16"
        else (v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for v in values
    ]
    bench.v(0, addend)
    for i, each in enumerate(bits):
        bench.v(1 + i, np.ascontiguousarray(each).view(np.uint32)[:, 0])
    bench.run()
    found = bench.get(0, np.float32)[0]
    for lane in range(bench.lanes):
        (a, b), (x, y) = values[0][lane], values[1][lane]
        first = a if accumulates else -a
        exact = Fraction(first * x) + Fraction(b * y) + Fraction(float(addend[lane]))
        assert float(found[lane]) == nearest(exact, "f32")


def test_carries_of_a_literal() -> None:
    for scc, wanted, out in ((0, 4, 1), (1, 5, 1)):
        text = f"s_cmp_eq_u32 {scc}, 1\ns_addc_u32 s0, s1, 0xffffffff\ns_addc_u32 s2, 0, 0"
        bench = Bench(text).s(1, 5).run()
        assert (int(bench.cohorts[0].s[0][0]), int(bench.cohorts[0].s[2][0])) == (wanted, out)


@pytest.mark.parametrize("table", [0x00, 0x36, 0x6C, 0x96, 0xFE, 0xFF])
@pytest.mark.parametrize(("kind", "bits"), [("b32", 32), ("b16", 16)])
def test_functions_of_three_bits(table: int, kind: str, bits: int) -> None:
    bench = Bench(f"v_bitop3_{kind} v0, v1, 31, v3 bitop3:{table:#x}", arch="gfx950")
    a, c = words(5), words(6)
    bench.v(1, a).v(3, c).run()
    for lane in range(64):
        wanted = sum(
            (
                table >> (4 * (int(a[lane]) >> i & 1) + 2 * (31 >> i & 1) + (int(c[lane]) >> i & 1))
                & 1
            )
            << i
            for i in range(bits)
        )
        assert int(bench.get(0)[0, lane]) == wanted


def test_powers_of_two_end_without_an_overflow() -> None:
    given = np.array([1023.0, np.nextafter(1024.0, 0), 1024.0, 3000.0, -3000.0, np.inf, np.nan])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = power_of_two(given)
    assert found[0] == 2.0**1023
    assert 0 <= 1 - found[1] / np.finfo(np.float64).max < 1e-12
    assert found[2:6].tolist() == [np.inf, np.inf, 0.0, np.inf]
    assert np.isnan(found[6])
