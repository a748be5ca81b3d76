"""Stochastic rounding to 8 bits, against sums of whole numbers of steps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ckrules.emulator.ops.eighths import dithered
from ckrules.emulator.ops.reals import table
from tests.helpers.isa import Bench

#: Exponent of the smallest normal number, bits of the mantissa, the largest number.
_FORMS = {
    "fp8": (-7, 3, 240.0), "bf8": (-15, 2, 57344.0),
    "fp8_ocp": (-6, 3, 448.0), "bf8_ocp": (-14, 2, 57344.0),
}  # fmt: skip


def stochastic(value: float, seed: int, kind: str) -> float:
    """The number that the seed makes of a positive one; infinite beyond the range."""
    least, mantissa, largest = _FORMS[kind]
    exponent = max(int(np.floor(np.log2(value))), least)
    unit = Fraction(2) ** (exponent - 23)
    digits = int(Fraction(value) / unit)  # cut to where fp32 ends at this exponent
    digits += seed >> (9 + mantissa)
    steps = digits >> (23 - mantissa)
    found = steps * unit * (1 << 23 - mantissa)
    return float(found) if found <= largest else float("inf")


@pytest.mark.parametrize("kind", sorted(_FORMS))
def test_a_seed_rounds_up_or_down(kind: str) -> None:
    dice = np.random.default_rng(2)
    values = (2.0 ** dice.uniform(-22, 18, 4000)).astype(np.float32)
    seeds = dice.integers(0, 1 << 32, 4000, np.uint64).astype(np.uint32)
    found = table(kind)[dithered(values, seeds, kind)]
    wanted = [stochastic(float(v), int(s), kind) for v, s in zip(values, seeds, strict=True)]
    finite = np.isfinite(wanted)
    assert (found[finite] == np.array(wanted)[finite]).all()
    assert not np.isfinite(found[~finite]).any()
    assert finite.sum() > 2500


@pytest.mark.parametrize("kind", sorted(_FORMS))
def test_what_the_format_has_stays(kind: str) -> None:
    every = table(kind)[np.isfinite(table(kind))]
    seeds = np.full(every.shape, 0xFFFFFFFF, np.uint32)
    assert (table(kind)[dithered(every, seeds, kind)] == every).all()


@pytest.mark.parametrize("byte", range(4))
@pytest.mark.parametrize(("arch", "kind"), [("gfx942", "fp8"), ("gfx1201", "fp8_ocp")])
def test_one_byte_is_written(arch: str, kind: str, byte: int) -> None:
    chosen = f"byte_sel:{byte}" if arch == "gfx1201" else f"op_sel:[0,0,{byte & 1},{byte >> 1}]"
    bench = Bench(f"v_cvt_sr_fp8_f32 v0, -v1, v2 {chosen}", arch=arch)
    dice = np.random.default_rng(4)
    values = dice.normal(0, 10, bench.lanes).astype(np.float32)
    seeds = dice.integers(0, 1 << 32, bench.lanes, np.uint64).astype(np.uint32)
    bench.v(0, np.full(bench.lanes, 0x11223344, np.uint32)).v(1, values).v(2, seeds)
    bench.run()
    wanted = dithered(-values, seeds, kind).astype(np.uint32) << np.uint32(8 * byte)
    rest = np.uint32(0x11223344 & ~(0xFF << 8 * byte))
    assert (bench.get(0)[0] == wanted | rest).all()
