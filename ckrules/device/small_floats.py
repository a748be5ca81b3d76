"""8-bit floats: e4m3 and e5m2 in the OCP and the FNUZ encodings, by tables of all their values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """How the bits of a byte are a float."""

    exponent: int
    mantissa: int
    bias: int
    fnuz: bool
    """No infinities and no negative zero: the byte 0x80 is the only NaN."""
    infinite: bool = False
    """The largest exponent means infinity and NaN; else only all ones are NaN."""


FORMATS = {
    "fp8": SmallFloat(4, 3, 7, fnuz=False),
    "bf8": SmallFloat(5, 2, 15, fnuz=False, infinite=True),
    "fp8_fnuz": SmallFloat(4, 3, 8, fnuz=True),
    "bf8_fnuz": SmallFloat(5, 2, 16, fnuz=True),
}
"""The formats by the names of `ckrules.device.dtypes.ELEMENTS`.

Sources: OCP 8-bit Floating Point Specification (OFP8) 1.0; AMD CDNA 3 ISA reference, FP8 and BF8.
"""


@cache
def values(name: str) -> NDArray[np.float32]:
    """The value of every byte.

    >>> float(values("fp8")[0x7E]), float(values("fp8_fnuz")[0x7F]), float(values("bf8")[0x3C])
    (448.0, 240.0, 1.0)
    """
    form = FORMATS[name]
    out = np.empty(256, np.float32)
    for byte in range(256):
        sign = -1.0 if byte >> 7 else 1.0
        exponent = byte >> form.mantissa & (1 << form.exponent) - 1
        fraction = (byte & (1 << form.mantissa) - 1) / (1 << form.mantissa)
        if exponent:
            value = sign * (1 + fraction) * 2.0 ** (exponent - form.bias)
        else:
            value = sign * fraction * 2.0 ** (1 - form.bias)
        if form.fnuz:
            value = np.nan if byte == 0x80 else value
        elif form.infinite and exponent == (1 << form.exponent) - 1:
            value = np.nan if fraction else sign * np.inf
        elif byte & 0x7F == 0x7F:
            value = np.nan
        out[byte] = value
    return out


@cache
def _ordered(name: str) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """The finite values that are not negative, ascending, and their bytes."""
    table = values(name)[:128].astype(np.float64)
    finite = np.flatnonzero(np.isfinite(table))
    return table[finite], finite.astype(np.uint8)


def largest(name: str) -> float | None:
    """The largest finite value of a format; None for a type of another width.

    >>> largest("fp8"), largest("bf8_fnuz"), largest("fp16")
    (448.0, 57344.0, None)
    """
    return float(_ordered(name)[0][-1]) if name in FORMATS else None


def encode(given: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """The bytes of the nearest values, ties to even; what is too large gets the largest.

    >>> encode(np.array([1.0, -1.0, 0.0, 500.0]), "fp8").tolist()
    [56, 184, 0, 126]
    """
    form = FORMATS[name]
    ladder, codes = _ordered(name)
    magnitude = np.minimum(np.abs(given.astype(np.float64)), ladder[-1])
    above = np.clip(np.searchsorted(ladder, magnitude), 1, len(ladder) - 1)
    low, high = ladder[above - 1], ladder[above]
    nearer = magnitude - low > high - magnitude
    tie = magnitude - low == high - magnitude
    up = nearer | (tie & (codes[above - 1] % 2 == 1))
    found = np.where(up, codes[above], codes[above - 1]).astype(np.uint8)
    negative = np.signbit(given) & ((found > 0) | (not form.fnuz))
    found = np.where(negative, found | np.uint8(0x80), found).astype(np.uint8)
    return np.where(np.isnan(given), np.uint8(0x80 if form.fnuz else 0x7F), found)


def decode(bits: NDArray[Any], name: str) -> NDArray[np.float32]:
    """The values of bytes."""
    found: NDArray[np.float32] = values(name)[bits]
    return found
