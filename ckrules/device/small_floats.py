"""Floats of up to 8 bits, by tables of all their values.

8 bits: e4m3 and e5m2 in the OCP and the FNUZ encodings, and e8m0, which scales have; 4 bits: e2m1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """How bits are a float: a sign, unless there is none, then exponent and mantissa."""

    exponent: int
    mantissa: int
    bias: int
    fnuz: bool
    """No infinities and no negative zero: the byte 0x80 is the only NaN."""
    infinite: bool = False
    """The largest exponent means infinity and NaN; else only all ones are NaN."""
    signed: bool = True
    finite: bool = False
    """There is no NaN, either."""

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.signed + self.exponent + self.mantissa


FORMATS = {
    "fp8": SmallFloat(4, 3, 7, fnuz=False),
    "bf8": SmallFloat(5, 2, 15, fnuz=False, infinite=True),
    "fp8_fnuz": SmallFloat(4, 3, 8, fnuz=True),
    "bf8_fnuz": SmallFloat(5, 2, 16, fnuz=True),
    "fp4": SmallFloat(2, 1, 1, fnuz=False, finite=True),
    "e8m0": SmallFloat(8, 0, 127, fnuz=False, signed=False),
}
"""The formats by the names of `ckrules.device.dtypes.ELEMENTS`.

Sources: OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX)
Specification 1.0, E2M1 and E8M0; AMD CDNA 3 ISA reference, FP8 and BF8.
"""


@cache
def values(name: str) -> NDArray[np.float32]:
    """The value of every combination of bits.

    >>> float(values("fp8")[0x7E]), float(values("fp8_fnuz")[0x7F]), float(values("bf8")[0x3C])
    (448.0, 240.0, 1.0)
    >>> values("fp4")[:8].tolist(), float(values("e8m0")[126])
    ([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], 0.5)
    """
    form = FORMATS[name]
    return np.array([_value(form, bits) for bits in range(1 << form.bits)], np.float32)


def _value(form: SmallFloat, bits: int) -> float:
    half = 1 << (form.exponent + form.mantissa)
    negative, size = divmod(bits, half)
    sign = -1.0 if negative else 1.0
    exponent, part = divmod(size, 1 << form.mantissa)
    if form.fnuz:
        if bits == half:
            return math.nan
    elif form.infinite and exponent == (1 << form.exponent) - 1:
        return math.nan if part else sign * math.inf
    elif size == half - 1 and not form.finite:
        return math.nan
    fraction = part / (1 << form.mantissa)
    if exponent or not form.signed:
        return sign * (1 + fraction) * 2.0 ** (exponent - form.bias)
    return sign * fraction * 2.0 ** (1 - form.bias)


@cache
def _ordered(name: str) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """The finite values that are not negative, ascending, and their bits."""
    form = FORMATS[name]
    table = values(name)[: 1 << (form.exponent + form.mantissa)].astype(np.float64)
    finite = np.flatnonzero(np.isfinite(table))
    return table[finite], finite.astype(np.uint8)


def largest(name: str) -> float | None:
    """The largest finite value of a format; None for a type of another width.

    >>> largest("fp8"), largest("bf8_fnuz"), largest("fp16")
    (448.0, 57344.0, None)
    """
    return float(_ordered(name)[0][-1]) if name in FORMATS else None


def encode(given: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """The bits of the nearest values, ties to even; what is too large gets the largest.

    Scales that are not positive get the smallest, and 4 bits have no NaN: 0.

    >>> encode(np.array([1.0, -1.0, 0.0, 500.0]), "fp8").tolist()
    [56, 184, 0, 126]
    >>> encode(np.array([1.0, -6.0, 100.0]), "fp4").tolist(), encode(np.ones(1), "e8m0").tolist()
    ([2, 15, 7], [127])
    """
    form = FORMATS[name]
    ladder, codes = _ordered(name)
    given64 = given.astype(np.float64)
    magnitude = np.minimum(np.abs(given64) if form.signed else given64, ladder[-1])
    above = np.clip(np.searchsorted(ladder, magnitude), 1, len(ladder) - 1)
    low, high = ladder[above - 1], ladder[above]
    nearer = magnitude - low > high - magnitude
    tie = magnitude - low == high - magnitude
    up = nearer | (tie & (codes[above - 1] % 2 == 1))
    found = np.where(up, codes[above], codes[above - 1]).astype(np.uint8)
    sign = np.uint8(1 << (form.bits - 1))
    negative = np.signbit(given) & ((found > 0) | (not form.fnuz)) & form.signed
    found = np.where(negative, found | sign, found).astype(np.uint8)
    lost = 0x80 if form.fnuz else 0 if form.finite else (1 << (form.bits - form.signed)) - 1
    return np.where(np.isnan(given), np.uint8(lost), found)


def decode(bits: NDArray[Any], name: str) -> NDArray[np.float32]:
    """The values of bytes."""
    found: NDArray[np.float32] = values(name)[bits]
    return found
