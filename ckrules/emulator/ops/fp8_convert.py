"""Conversions between fp32 and numbers of 8 bits.

Sources: AMD, "Instinct MI300 ISA", 12.8 and 7.3; "CDNA4 ISA"; "RDNA4 ISA", 16.8 and 16.12. Numbers
beyond the range become NaN, or infinite where the format has infinities (MODE.FP16_OVFL is 0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, U32, Get, Values, half_put, store, vector_get, vector_put
from ckrules.emulator.native.values import looked_up
from ckrules.emulator.ops.float_formats import FORMATS, FloatFormat, table
from ckrules.emulator.ops.lanes import part_get
from ckrules.emulator.wave import Cohort


def rounded(values: NDArray[np.float32], kind: str) -> NDArray[np.uint8]:
    """The bits of numbers rounded to nearest even in a format of 8 bits.

    >>> rounded(np.array([1.0, 1.0625, 1.1875, 1e9, 1e-9], np.float32), "fp8_ocp").tolist()
    [56, 56, 58, 127, 0]
    """
    f = FORMATS[kind]
    wide = np.abs(values.astype(np.float64))
    _, exponent = np.frexp(wide)
    step = np.ldexp(1.0, np.maximum(exponent - 1, 1 - f.bias) - f.mantissa)
    near = np.rint(np.where(np.isfinite(wide), wide, 0) / step) * step
    return _bits(values, near, f, kind)


def _bits(
    values: NDArray[np.float32], near: NDArray[np.float64], f: FloatFormat, kind: str
) -> NDArray[np.uint8]:
    """The bits of numbers of which the nearest sizes are given, with their signs."""
    largest, beyond = _limits(f, kind)
    # Below the smallest normal number the bits count steps; each power of two has as many above.
    _, exponent = np.frexp(near)
    power = np.where(near == 0, 1 - f.bias, np.maximum(exponent - 1, 1 - f.bias))
    scaled = (near / np.ldexp(1.0, power - f.mantissa)).astype(np.int64)
    bits = scaled + (power - (1 - f.bias)) * (1 << f.mantissa)
    bits = np.where(near > largest, beyond, bits)
    bits = np.where(np.isinf(values), beyond, bits)
    bits = np.where(np.isnan(values), 0 if f.unsigned_zero else 0x7F, bits)
    negative = np.signbit(values) & ~((bits == 0) & f.unsigned_zero)
    lost = f.unsigned_zero & ((near > largest) | ~np.isfinite(values))
    return np.where(lost, 0x80, bits | negative * 0x80).astype(np.uint8)


def _limits(f: FloatFormat, kind: str) -> tuple[float, int]:
    """The largest number, and the bits of what is beyond it."""
    finite = [v for v in table(kind)[:0x80] if np.isfinite(v)]
    return float(max(finite)), 0x7C if f.infinities else 0x7F


def _pack(d: Decoded) -> Run:
    """Two numbers into one half of the destination; the other half stays."""
    kind = d.target.float8(d.name.split("_")[3])
    target, first, second = d.operands.items
    if d.encoding not in ("", "e64"):
        raise UnknownInstructionError(f"{d.line}: encoding without semantics here")
    a, b = vector_get(first, F32), vector_get(second, F32)
    put = half_put(target, d.operands.bits("op_sel", (0, 0, 0))[-1])

    def run(c: Cohort) -> None:
        low, high = (rounded(get(c), kind).astype(np.uint16) for get in (a, b))
        put(c, low | (high << np.uint16(8)))

    return run


def _unpack(d: Decoded) -> Run:
    """One byte, or two bytes of one half of a dword, as fp32."""
    kind, pair = d.target.float8(d.name.rpartition("_")[2]), "_pk_" in d.name
    target = d.operands.items[0]
    get = _part(d, pair)
    values = table(kind)
    if not pair:
        put = vector_put(target, F32)
        return lambda c: put(c, looked_up(values, get(c) & np.uint32(0xFF)))

    def run(c: Cohort) -> None:
        word = get(c)
        parts = word & np.uint32(0xFF), word >> np.uint32(8) & np.uint32(0xFF)
        for i, value in enumerate([looked_up(values, part) for part in parts]):
            store(c, target.file, target.index + i, value.view(np.uint32))

    return run


def _part(d: Decoded, pair: bool) -> Get:
    """The part of the source that is chosen: by SDWA, by BYTE_SEL, or by OP_SEL."""
    source = d.operands.items[1]
    if d.encoding == "sdwa":
        return part_get(source, U32, d.operands.values.get("src0_sel", "DWORD"))
    if d.encoding not in ("", "e32", "e64"):
        raise UnknownInstructionError(f"{d.line}: encoding without semantics here")
    half, byte = d.operands.bits("op_sel", (0, 0))[0], d.operands.number("byte_sel")
    get = vector_get(source, U32)
    shift = np.uint32(16 * half if pair else 8 * byte)

    def part(c: Cohort) -> Values:
        return get(c) >> shift

    return part


OPCODES = {
    **{f"v_cvt_pk_{kind}_f32": _pack for kind in ("fp8", "bf8")},
    **{f"v_cvt_{pair}f32_{kind}": _unpack for pair in ("", "pk_") for kind in ("fp8", "bf8")},
}
