"""Division and sums of products: sequences of instructions against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.ops.rounding import power_of_two
from tests.emulator.reference import same
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
    with pytest.raises(UnknownInstructionError, match="clamp or scale of whole numbers"):
        Bench("v_div_scale_f32 v0, vcc, v1, v2, v3 clamp").run()


def words(seed: int) -> NDArray[np.uint32]:
    """Dwords that are not all large."""
    found = np.random.default_rng(seed).integers(0, 1 << 32, 64, dtype=np.uint32)
    found[:4] = [0, 0xFFFFFFFF, 0x80008000, 0x7FFF7FFF]
    return found


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
