"""Read-modify-write of memory and of LDS: what each operation makes of old and new dwords."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckrules.emulator.kinds import Values
from ckrules.emulator.ops.rounding import bf16_bits

Combine = Callable[[Values, Values], Values]
"""Of dwords in memory and dwords of the instruction: the dwords that are stored."""


@dataclass(frozen=True, slots=True)
class Atomic:
    """One operation: the dwords that it changes, those that it is given, and what it computes."""

    words: int
    combine: Combine
    given: int


def _of(dtype: Any, compute: Combine) -> Atomic:
    words = max(1, np.dtype(dtype).itemsize // 4)

    def combine(old: Values, new: Values) -> Values:
        result = compute(old.view(dtype), new.view(dtype))
        return np.ascontiguousarray(result.astype(dtype)).view(np.uint32)

    return Atomic(words, combine, words)


def _increased(old: Values, new: Values) -> Values:
    return np.where(old >= new, 0, old + old.dtype.type(1))


def _decreased(old: Values, new: Values) -> Values:
    return np.where((old == 0) | (old > new), new, old - old.dtype.type(1))


def _sum_bf16(old: Values, new: Values) -> Values:
    def wide(halves: Values) -> Values:
        return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)

    return bf16_bits(wide(old) + wide(new))


def _exchanged(words: int) -> Atomic:
    """Compare and swap: the new number comes first, then what is expected."""

    def combine(old: Values, new: Values) -> Values:
        wanted = new[..., words:]
        return np.where((old == wanted).all(axis=-1, keepdims=True), new[..., :words], old)

    return Atomic(words, combine, 2 * words)


_WHOLE: dict[str, Combine] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "swap": lambda old, new: new,
    "inc": _increased,
    "dec": _decreased,
    "umax": np.maximum,
    "umin": np.minimum,
}
_SIGNED: dict[str, Combine] = {"smax": np.maximum, "smin": np.minimum}
_NEW = {
    "add": "add_u", "sub": "sub_u", "and": "and_b", "or": "or_b", "xor": "xor_b", "swap": "swap_b",
    "inc": "inc_u", "dec": "dec_u", "umax": "max_u", "umin": "min_u", "smax": "max_i",
    "smin": "min_i",
}  # fmt: skip
"""Spellings of RDNA3 and later; the width in bits follows."""


def _whole() -> dict[str, Atomic]:
    found = {}
    for bits, suffix in ((32, ""), (64, "_x2")):
        for table, sign in ((_WHOLE, "u"), (_SIGNED, "i")):
            for name, compute in table.items():
                atomic = _of(np.dtype(f"{sign}{bits // 8}"), compute)
                found[name + suffix] = found[f"{_NEW[name]}{bits}"] = atomic
        exchanged = _exchanged(bits // 32)
        found["cmpswap" + suffix] = found[f"cmpswap_b{bits}"] = exchanged
    return found


ATOMICS: dict[str, Atomic] = {
    **_whole(),
    "add_f32": _of(np.float32, lambda old, new: old + new),
    "add_f64": _of(np.float64, lambda old, new: old + new),
    "max_f64": _of(np.float64, np.fmax),
    "min_f64": _of(np.float64, np.fmin),
    "pk_add_f16": _of(np.float16, lambda old, new: old + new),
    "pk_add_bf16": _of(np.uint16, _sum_bf16),
}
"""By what stands behind ``atomic_`` in a mnemonic."""

LOCAL = {
    "add_u32": "add", "sub_u32": "sub", "and_b32": "and", "or_b32": "or", "xor_b32": "xor",
    "inc_u32": "inc", "dec_u32": "dec", "max_u32": "umax", "min_u32": "umin", "max_i32": "smax",
    "min_i32": "smin", "add_f32": "add_f32", "pk_add_f16": "pk_add_f16",
    "pk_add_bf16": "pk_add_bf16",
}  # fmt: skip
"""Operations of LDS on one dword, with or without what was there before (``rtn``)."""
