"""Arithmetic of the ISA manuals in Python's exact numbers, apart from the emulator's numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Number = int | float
DTYPES = {
    "u16": np.uint16, "i16": np.int16, "f16": np.float16, "u32": np.uint32, "i32": np.int32,
    "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64,
}  # fmt: skip
FORMS = {
    "f16": (11, -14, 15),
    "bf16": (8, -126, 127),
    "f32": (24, -126, 127),
    "f64": (53, -1022, 1023),
}
"""Bits of the significand, least and greatest exponent."""


def nearest(x: Fraction, form: str, zero: float = 0.0) -> float:
    """A number rounded to nearest even; ``zero`` is what an exact zero becomes."""
    if x == 0:
        return zero
    bits, least, greatest = FORMS[form]
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, least) - bits + 1)
    value = round(size / step) * step
    if value >= Fraction(2) ** (greatest + 1):
        return math.inf if x > 0 else -math.inf
    return math.copysign(float(value), 1 if x > 0 else -1)


def add(form: str) -> Callable[[float, float], float]:
    """A sum."""

    def total(a: float, b: float) -> float:
        if not (math.isfinite(a) and math.isfinite(b)):
            return a + b
        return nearest(Fraction(a) + Fraction(b), form, a + b)

    return total


def mul(form: str) -> Callable[[float, float], float]:
    """A product."""

    def product(a: float, b: float) -> float:
        if not (math.isfinite(a) and math.isfinite(b)):
            return a * b
        sign = math.copysign(1, a) * math.copysign(1, b)
        return nearest(Fraction(a) * Fraction(b), form, math.copysign(0.0, sign))

    return product


def fma(form: str) -> Callable[[float, float, float], float]:
    """A product and a sum with one rounding."""

    def fused(a: float, b: float, c: float) -> float:
        if not (math.isfinite(a) and math.isfinite(b)):
            return a * b + c
        if not math.isfinite(c):
            return c
        sign = math.copysign(1, a) * math.copysign(1, b)
        exact = Fraction(a) * Fraction(b)
        zero = math.copysign(0.0, sign) + c if exact == 0 else 0.0
        return nearest(exact + Fraction(c), form, zero)

    return fused


def lesser(a: float, b: float) -> float:
    """The minimum: NaN loses, -0 is below +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        return a if math.copysign(1, a) < 0 else b
    return min(a, b)


def greater(a: float, b: float) -> float:
    """The maximum, alike."""
    return -lesser(-a, -b)


def middle(a: float, b: float, c: float) -> float:
    """The median; the least of the others if one is NaN."""
    if any(map(math.isnan, (a, b, c))):
        return lesser(lesser(a, b), c)
    return sorted((a, b, c), key=lambda x: (x, math.copysign(1, x)))[1]


def wrap(value: int, kind: str) -> int:
    """A whole number cut to a type's bits."""
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "i" and value >> (bits - 1) else value


def clip(value: int, kind: str) -> int:
    """A whole number kept in a type's range."""
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def bits_of(value: float, form: str) -> int:
    """The bits of a real."""
    return int(np.array([value], DTYPES[form]).view(f"u{int(form[1:]) // 8}")[0])


_EDGES: dict[str, list[Number]] = {
    "f16": [0.0, -0.0, 1.0, -1.0, 0.5, 65504.0, -65504.0, 2**-24, -(2**-24), 2**-14, math.inf,
            -math.inf, math.nan, 2049.0, 1 + 2**-10, -2.5, 1.5, 2.5, 3.5, 0.99951171875],
    "f32": [0.0, -0.0, 1.0, -1.0, 0.5, 3.4028234663852886e38, -3.4028234663852886e38, 2**-149,
            -(2**-149), 2**-126, math.inf, -math.inf, math.nan, 16777215.0, 1 + 2**-23, 2.5, 0.5,
            65504.0, 65519.996, 65520.0, 2**-24, 2**-25, 1.5 * 2**-25, 2147483648.0, 4294967296.0,
            -2147483648.0, -2.5, -1e-10, 448.0, 464.0, 480.0, 57344.0, 2**31 - 128.0],
    "f64": [0.0, -0.0, 1.0, -1.0, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308,
            math.inf, -math.inf, math.nan, 1 + 2**-52, 2147483647.5, 4294967295.5, -2147483648.5,
            1 + 2**-24, 1 + 2**-24 + 2**-52, 1e-45, 2**53 + 2.0],
}  # fmt: skip


def inputs(kinds: tuple[str, ...], count: int, seed: int) -> list[NDArray[np.generic]]:
    """Operands of an instruction: edges against each other, then random bits and near numbers."""
    dice = np.random.default_rng(seed)
    found = []
    for i, kind in enumerate(kinds):
        dtype = np.dtype(DTYPES[kind])
        size = dtype.itemsize
        whole = dice.integers(0, 256, (count, size), dtype=np.uint8).reshape(-1).view(f"u{size}")
        values = whole.view(dtype).copy()
        if kind[0] == "f":
            edges = np.array(_EDGES[kind], dtype)
            near = dice.normal(0, 1, count).astype(dtype)
            values = np.where(dice.random(count) < 0.4, near, values)
        else:
            top = 1 << (8 * size - 1)
            edges = np.array(
                [wrap(x, kind) for x in (0, 1, -1, top, top - 1, 31, 32, 33, 63, 255, 0x8000)],
                dtype,
            )
            values = np.where(dice.random(count) < 0.3, values % dtype.type(70), values)
        picked = dice.integers(0, len(edges), count)
        first = np.arange(count) // (len(edges) ** i) % len(edges)
        where = dice.random(count) < 0.35
        values = np.where(where, edges[picked], values)
        half = count // 2
        values[:half] = edges[first[:half]]
        found.append(values.astype(dtype))
    return found


def leading(a: int, bits: int = 32) -> int:
    """The clear bits above the highest that is set; -1 for zero."""
    return bits - a.bit_length() if a else -1


def trailing(a: int) -> int:
    """The clear bits below the lowest that is set; -1 for zero."""
    return (a & -a).bit_length() - 1 if a else -1


def truncated(kind: str) -> Callable[[float], int]:
    """A number cut to an integer of the kind; 0 for NaN, the nearest beyond the range."""

    def convert(a: float) -> int:
        if math.isnan(a):
            return 0
        return clip(int(a) if math.isfinite(a) else int(math.copysign(2**80, a)), kind)

    return convert


def same(got: NDArray[np.generic], wanted: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which numbers are the same to the bit, all NaN being one."""
    bits = f"u{got.dtype.itemsize}"
    equal = np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(wanted).view(bits)
    if got.dtype.kind == "f":
        equal |= np.isnan(got) & np.isnan(wanted)
    return np.asarray(equal)
