"""Formats of small numbers: how registers are unpacked to numbers, and numbers rounded.

Sources: OCP, "8-bit Floating Point Specification" (fp8 and bf8 of gfx950 and gfx12) and
"Microscaling Formats (MX) Specification" (6 and 4 bits); AMD, "Instinct MI300 ISA", 7.3 (the FNUZ
forms of gfx942).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.kinds import Values
from ckrules.emulator.ops.rounding import bf16_bits


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A number format: bits of an element, and for up to 8 bits sign, exponent and mantissa."""

    bits: int
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    unsigned_zero: bool = False
    """FNUZ: no negative zero, whose bits mean NaN, and no infinities."""
    infinities: bool = False


FORMATS: dict[str, FloatFormat] = {
    "f32": FloatFormat(32), "xf32": FloatFormat(32), "f16": FloatFormat(16),
    "bf16": FloatFormat(16), "i8": FloatFormat(8), "u8": FloatFormat(8),
    "fp8": FloatFormat(8, 4, 3, 8, unsigned_zero=True),
    "bf8": FloatFormat(8, 5, 2, 16, unsigned_zero=True),
    "fp8_ocp": FloatFormat(8, 4, 3, 7),
    "bf8_ocp": FloatFormat(8, 5, 2, 15, infinities=True),
    "fp6": FloatFormat(6, 2, 3, 1), "bf6": FloatFormat(6, 3, 2, 3), "fp4": FloatFormat(4, 2, 1, 1),
}  # fmt: skip


def unpack(words: NDArray[np.uint32], kind: str) -> Values:
    """The elements of dwords as numbers: the last axis becomes longer.

    >>> unpack(np.array([0x3C003F80], np.uint32), "f16").tolist()
    [1.875, 1.0]
    """
    if kind in ("f32", "xf32"):
        return words.view(np.float32)
    if kind == "f16":
        return words.view(np.float16).astype(np.float32)
    if kind == "bf16":
        return (words.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind == "i8":
        return words.view(np.int8)
    if kind == "u8":
        return words.view(np.uint8).astype(np.int32)
    return table(kind)[_fields(words, FORMATS[kind].bits)]


def _fields(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """The fields of 8, 6 or 4 bits of dwords, the lowest first; of 6 bits four are three bytes."""
    octets = words.view(np.uint8)
    if bits == 4:
        octets = np.stack([octets & np.uint8(15), octets >> np.uint8(4)], -1)
    elif bits == 6:
        three = octets.reshape(*words.shape[:-1], -1, 3).astype(np.uint32)
        joined = three[..., 0] | three[..., 1] << np.uint32(8) | three[..., 2] << np.uint32(16)
        octets = (
            joined[..., None] >> np.arange(0, 24, 6).astype(np.uint32) & np.uint32(63)
        ).astype(np.uint8)
    return octets.reshape(*words.shape[:-1], -1)


@cache
def table(kind: str) -> NDArray[np.float32]:
    """The values of a format of 8, 6 or 4 bits, by their bits."""
    f = FORMATS[kind]
    return np.array([_value(f, bits) for bits in range(1 << f.bits)], np.float32)


def _value(f: FloatFormat, bits: int) -> float:
    sign = -1.0 if bits >> (f.bits - 1) else 1.0
    exponent = (bits >> f.mantissa) & ((1 << f.exponent) - 1)
    fraction = bits & ((1 << f.mantissa) - 1)
    highest = exponent == (1 << f.exponent) - 1
    if f.unsigned_zero:
        if bits == 0x80:
            return float("nan")
    elif f.infinities and highest:
        return sign * float("inf") if fraction == 0 else float("nan")
    elif f.bits == 8 and highest and fraction == (1 << f.mantissa) - 1:
        return float("nan")
    scale = 2.0 ** ((exponent or 1) - f.bias - f.mantissa)
    return sign * scale * (fraction + ((1 << f.mantissa) if exponent else 0))


def bf16(values: Values) -> NDArray[np.uint16]:
    """Numbers rounded to bf16, as bits."""
    return bf16_bits(np.ascontiguousarray(values, np.float32)).astype(np.uint16)
