"""Element types: the bits of floats and integers, and reproducible data in them.

numpy has no bf16, so bf16 tensors are arrays of ``uint16``: the upper half of an fp32 value,
rounded to nearest, ties to even. Floats of 8 and of 4 bits are arrays of ``uint8``, which tables
decode (`ckrules.device.small_floats`). Integers are what C++ converts to. 4-bit integers are arrays
of ``uint8``, too, an element each, of their value and 8; `packed` puts two of 4 bits into a byte.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device import small_floats
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Bits = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Element:
    """One element type."""

    name: str
    bytes: int
    """Of an element, or of those that share a byte."""
    mantissa: int
    """Bits after the point, as ``ck_tile::numeric_traits`` counts them."""
    packed: int = 1
    """Elements that share a byte (``PackedSize`` of ``ck_tile::numeric_traits``)."""


ELEMENTS = {
    e.name: e
    for e in (
        *(Element("fp32", 4, 23), Element("fp16", 2, 10), Element("bf16", 2, 7)),
        *(Element("fp8", 1, 3), Element("bf8", 1, 2)),
        *(Element("fp8_fnuz", 1, 3), Element("bf8_fnuz", 1, 2)),
        *(Element("fp4", 1, 1, 2), Element("e8m0", 1, 0)),
        *(Element("int4", 1, 3, 2), Element("int8", 1, 7), Element("int32", 4, 31)),
        Element("uint8", 1, 8),
    )
}
"""8-bit floats have the OCP encodings, or the FNUZ ones by the name; e8m0 are powers of two."""

_INTEGERS: dict[str, Any] = {"int8": np.int8, "int32": np.int32, "uint8": np.uint8}
_LARGEST = 5
"""The largest magnitude of integer samples."""

_BIAS = 8
"""What ``ck_tile::pk_int4_t`` adds to a value (core/numeric/pk_int4.hpp)."""


def element(name: str) -> Element:
    """The type of this name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in ELEMENTS:
        raise unknown("data type", name, ELEMENTS)
    return ELEMENTS[name]


def nan_byte(name: str) -> int:
    """The byte that makes every element a NaN, if floats of this type have one.

    8-bit floats with FNUZ encodings have a single NaN, and a number where others have all bits set.

    >>> hex(nan_byte("bf16")), hex(nan_byte("fp8_fnuz"))
    ('0xff', '0x80')
    """
    return 0x80 if name.endswith("_fnuz") else 0xFF


def integral(name: str) -> bool:
    """Whether a type is one of integers.

    >>> integral("int8"), integral("int4"), integral("bf8")
    (True, True, False)
    """
    return name in _INTEGERS or name == "int4"


def encode(values: Floats, dtype: str) -> Bits:
    """Values rounded to a type, each in the form in which it goes to a device (see `packed`).

    4-bit integers are the nearest from -8 to 7.

    >>> encode(np.array([1.0, -2.0, 0.1]), "bf16").tolist()
    [16256, 49152, 15821]
    >>> encode(np.array([-8.0, 0.0, 7.0]), "int4").tolist()
    [0, 8, 15]
    """
    element(dtype)
    if dtype == "int4":
        return (np.rint(np.clip(values, -8, 7)) + _BIAS).astype(np.uint8)
    if dtype == "bf16":
        return _bf16(values)
    if dtype in small_floats.FORMATS:
        return small_floats.encode(values, dtype)
    if dtype in _INTEGERS:
        # as C++ converts: towards zero, and what is too large loses its upper bits
        with np.errstate(invalid="ignore"):
            return np.trunc(values).astype(np.int64).astype(_INTEGERS[dtype])
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float16 if dtype == "fp16" else np.float32)


def decode(bits: Bits, dtype: str) -> Floats:
    """The values of an encoded array, as fp32.

    >>> decode(encode(np.array([0.1, 3.0]), "bf16"), "bf16").tolist()
    [0.10009765625, 3.0]
    """
    element(dtype)
    if dtype == "int4":
        return bits.astype(np.float32) - np.float32(_BIAS)
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if dtype in small_floats.FORMATS:
        return small_floats.decode(bits, dtype)
    return bits.astype(np.float32)


def rounded(values: Floats, dtype: str) -> Floats:
    """The nearest values that a type has, as fp32."""
    return decode(encode(values, dtype), dtype)


def packed(bits: Bits, dtype: str) -> Bits:
    """Encoded elements in the bytes that they share along the last axis, the first in the low bits.

    Raises:
        UsageError: If the last axis ends within a byte.

    >>> packed(np.array([[1, 2, 3, 4]], np.uint8), "int4").tolist()
    [[33, 67]]
    """
    if element(dtype).packed == 1:
        return bits
    if bits.shape[-1] % 2:
        raise UsageError(f"{bits.shape[-1]} elements of {dtype} side by side end within a byte")
    found: Bits = bits[..., 0::2] | bits[..., 1::2] << 4
    return found


def from_bytes(data: bytes, dtype: str) -> Bits:
    """The encoded array in a buffer that came from a device.

    >>> from_bytes(bytes([33]), "int4").tolist()
    [1, 2]
    """
    kinds = {"fp32": np.float32, "fp16": np.float16, "bf16": np.uint16, **_INTEGERS}
    found = np.frombuffer(data, dtype=kinds.get(dtype, np.uint8))
    if element(dtype).packed == 1:
        return found
    return np.stack([found & 15, found >> 4], axis=-1).ravel()


def sample(shape: Sequence[int], dtype: str, seed: str) -> Floats:
    """Values between -1 and 1 that a type has exactly, the same for the same ``seed``.

    Integers lie between -5 and 5 (without a sign from 0), those of 4 bits between -8 and 7. Floats
    of 4 bits are any that there are, up to 6, powers of two from 1/4 to 2.

    >>> bool((sample((3, 4), "fp16", "x") == sample((3, 4), "fp16", "x")).all())
    True
    """
    generator = np.random.default_rng(zlib.crc32(seed.encode()))
    if dtype == "int4":
        return generator.integers(-8, 8, size=tuple(shape)).astype(np.float32)
    if dtype == "fp4":
        return decode(generator.integers(0, 16, size=tuple(shape)), dtype)
    if dtype == "e8m0":
        return np.ldexp(np.float32(1), generator.integers(-2, 2, size=tuple(shape)))
    most = _LARGEST if dtype in _INTEGERS else 1.0
    least = 0.0 if dtype == "uint8" else -most
    found = generator.uniform(least, most, size=tuple(shape))
    return rounded(np.rint(found) if dtype in _INTEGERS else found, dtype)


def _bf16(values: Floats) -> Bits:
    single = _odd(values) if values.dtype == np.float64 else values.astype(np.float32)
    bits = np.ascontiguousarray(single).view(np.uint32)
    even = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), quiet, even).astype(np.uint16)


def _odd(values: Floats) -> Floats:
    """fp64 rounded to fp32 *to odd*, so that a second rounding is as good as one.

    What fp32 does not have exactly gets the neighbour whose last bit is set, which no tie of a
    shorter type has.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near = values.astype(np.float32)
    past = np.abs(near.astype(np.float64)) > np.abs(values)
    inexact = (near.astype(np.float64) != values) & np.isfinite(values)
    toward = np.where(past, np.nextafter(near, np.float32(0)), near)
    bits = np.ascontiguousarray(toward).view(np.uint32)
    return np.where(inexact, bits | np.uint32(1), bits).astype(np.uint32).view(np.float32)
