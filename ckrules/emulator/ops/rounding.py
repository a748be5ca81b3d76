"""Arithmetic with one rounding, and roundings that numpy does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import copysign

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.kinds import Values
from ckrules.emulator.native.values import primitive

_ONE = np.int64(1)


@primitive("fused")
def fused(a: Values, b: Values, c: Values) -> Values:
    """``a * b + c`` with one rounding, for fp16, fp32 and fp64.

    >>> a = np.array([1 + 2**-12], np.float32)
    >>> float(fused(a, a, np.array([-1 - 2**-11], np.float32))[0]) == 2**-24
    True
    """
    if a.dtype == np.float64:
        return _fused_wide(a, b, c)
    # A product of two such numbers is exact in fp64. The sum is rounded there and once more; two
    # roundings differ from one only halfway between two results, and among denormal ones.
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    if _doubtful(total, *_ROUNDED[a.dtype.itemsize]):
        # Rounded to odd, the sum keeps on which side it was (Boldo, Melquiond, "Emulation of FMA").
        total = _odd_sum(product, addend, total)
    return total.astype(a.dtype)


_ROUNDED = {
    size: (np.int64((1 << 52 - kept) - 1), np.int64(1 << 51 - kept), 2.0**least)
    for size, kept, least in ((2, 10, -14), (4, 23, -126))
}
"""By the bytes of a type: the bits of fp64 that it drops, their half, its least normal number."""


def _doubtful(total: Values, dropped: np.int64, half: np.int64, least: float) -> bool:
    """Whether a second rounding could differ from a single one anywhere."""
    if ((np.ascontiguousarray(total).view(np.int64) & dropped) == half).any():
        return True
    small = np.abs(total) < least
    return bool(small.any()) and bool((small & (total != 0)).any())


def _odd_sum(a: Values, b: Values, total: Values) -> Values:
    """A sum rounded to odd: if it is not exact, the last bit is one."""
    part = total - a
    error = (a - (total - part)) + (b - part)
    inexact = (error != 0) & np.isfinite(error) & np.isfinite(total)
    bits = np.ascontiguousarray(total).view(np.int64)
    step = np.where((error > 0) == (total > 0), _ONE, -_ONE)
    step = np.where(inexact & ((bits & _ONE) == 0), step, 0)
    return (bits + step).view(np.float64)


def _fused_wide(a: Values, b: Values, c: Values) -> Values:
    """Fp64: by exact fractions, lane by lane; few kernels use it."""
    a, b, c = np.broadcast_arrays(a, b, c)
    result = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c)
    usual = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    for at in zip(*usual.nonzero(), strict=True):
        result[at] = _nearest(Fraction(a[at]) * Fraction(b[at]) + Fraction(c[at]), c[at])
    return result


def _nearest(value: Fraction, addend: float) -> float:
    if value == 0:
        # An exact zero of unlike terms is positive; both terms are zero nowhere here.
        return copysign(0.0, 1.0 if addend != 0 else addend)
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


@primitive("lesser")
def lesser(a: Values, b: Values) -> Values:
    """The minimum of reals: a number rather than NaN, and -0 below +0."""
    return _chosen(np.fmin(a, b), a, b, lambda x, y: x | y)


@primitive("greater")
def greater(a: Values, b: Values) -> Values:
    """The maximum of reals: a number rather than NaN, and +0 above -0."""
    return _chosen(np.fmax(a, b), a, b, lambda x, y: x & y)


def _chosen(found: Values, a: Values, b: Values, of_zeros: object) -> Values:
    if found.all():
        return found
    a, b = np.broadcast_arrays(a, b)
    zeros = (a == 0) & (b == 0)
    assert callable(of_zeros)
    whole = _unsigned(a)
    bits = of_zeros(np.ascontiguousarray(a).view(whole), np.ascontiguousarray(b).view(whole))
    return np.where(zeros, bits.view(a.dtype), found)


def _unsigned(a: Values) -> type[np.unsignedinteger[object]]:  # type: ignore[type-var]  # numpy's types have no bound that says it
    return {2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]  # type: ignore[return-value]  # numpy's types have no bound that says it


def middle(a: Values, b: Values, c: Values) -> Values:
    """V_MED3 of reals; with a NaN among them, the least of the others."""
    lost = np.isnan(a) | np.isnan(b) | np.isnan(c)
    found = greater(lesser(a, b), lesser(greater(a, b), c))
    return np.where(lost, lesser(lesser(a, b), c), found)


def strict_least(a: Values, b: Values) -> Values:
    """V_MINIMUM: NaN if either is NaN."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, lesser(a, b))


def strict_greatest(a: Values, b: Values) -> Values:
    """V_MAXIMUM: NaN if either is NaN."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, greater(a, b))


def half_towards_zero(a: Values) -> Values:
    """fp32 as fp16, rounded towards zero."""
    near = a.astype(np.float16)
    away = np.abs(near.astype(np.float32)) > np.abs(a)
    bits = near.view(np.uint16)
    return np.where(away, bits - np.uint16(1), bits).astype(np.uint16).view(np.float16)


def bf16_bits(a: Values) -> NDArray[np.uint32]:
    """fp32 as the upper half that is bf16, rounded to nearest even; NaN stays NaN."""
    bits = a.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(a), (bits >> np.uint32(16)) | np.uint32(0x40), rounded)


_BIAS = 1023
_BELOW = math.nextafter(1024.0, 0.0)
"""Of this and what is less two to the power of is no more than the largest number."""
_LN2 = math.log(2)
_POWERS = [_LN2**k / math.factorial(k) for k in range(15)]
"""Of the Taylor series of two to a power: what is left out is below 2e-19 up to one half."""
_LOGARITHMS = [2 / (_LN2 * (2 * k + 1)) for k in range(12)]
"""Of the series of the area hyperbolic tangent, for numbers from 0.7 to 1.42."""


def _series(coefficients: Sequence[float], x: Values) -> Values:
    total = coefficients[-1] * x + coefficients[-2]
    for each in reversed(coefficients[:-2]):
        total = total * x + each
    return total


def power_of_two(x: Values) -> Values:
    """Two to a power in fp64, the same on every machine, as those of libraries are not.

    >>> power_of_two(np.array([-1074.0, 3, np.inf, -np.inf, np.nan])).tolist()
    [5e-324, 8.0, inf, 0.0, nan]
    """
    cut = np.minimum(np.maximum(x, -2000.0), _BELOW)
    whole = np.rint(cut)
    step = np.where(np.isnan(whole), 0.0, whole).astype(np.int32)
    near = step >> np.int32(1)  # half of it twice: the bits of an exponent hold no more
    found = _series(_POWERS, cut - whole) * _power(near) * _power(step - near)
    return np.where(x >= 1024.0, np.inf, found)


def _power(exponent: Values) -> Values:
    biased = (exponent + np.int32(_BIAS)).astype(np.uint64)
    return (biased << np.uint64(52)).view(np.float64)


def binary_logarithm(x: Values) -> Values:
    """The logarithm to base two in fp64, the same on every machine; denormal numbers are not taken.

    >>> binary_logarithm(np.array([8.0, 0, np.inf, -1, np.nan])).tolist()
    [3.0, -inf, inf, nan, nan]
    """
    bits = x.view(np.uint64)
    exponent = (bits >> np.uint64(52)).astype(np.int32) - np.int32(_BIAS - 1)
    below = np.uint64((1 << 52) - 1)
    mantissa = ((bits & below) | np.uint64(_BIAS - 1 << 52)).view(np.float64)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, mantissa + mantissa, mantissa)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    whole = (exponent - np.where(small, np.int32(1), np.int32(0))).astype(np.float64)
    found = whole + ratio * _series(_LOGARITHMS, ratio * ratio)
    found = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, found))
    return np.where((x < 0) | np.isnan(x), np.nan, found)
