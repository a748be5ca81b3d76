"""The types of operands: how registers and constants are read as numbers, and written."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.wave import Cohort

Values = NDArray[Any]
Get = Callable[[Cohort], Values]
Put = Callable[[Cohort, Values], None]

_U32, _U64 = np.uint32, np.uint64


@dataclass(frozen=True)
class OperandKind:
    """One type of operand."""

    name: str
    dtype: Any
    bits: int
    real: bool = False

    def constant(self, op: Operand) -> Values:
        """A constant as this type, of one element."""
        if self.real and op.file == "f":
            value = np.array([op.value], np.float64).astype(self.dtype)
        elif self.real and not op.literal:
            # Whole numbers are bit patterns also where a floating-point number is read.
            value = _pattern(int(op.value), self.bits).view(self.dtype)
        elif self.real and self.bits == 64:
            value = np.array([int(op.value) << 32], _U64).view(self.dtype)
        else:
            bits = _float_bits(float(op.value), self.bits) if op.file == "f" else int(op.value)
            if self.name == "i64" and op.literal and bits >> 31:
                bits -= 1 << 32
            value = _pattern(bits, self.bits).view(self.dtype)
        return self.modified(op, value)

    def modified(self, op: Operand, value: Values) -> Values:
        """A value with the operand's signs changed."""
        if op.absolute:
            value = np.abs(value)
        return np.negative(value) if op.negative else value


def _pattern(value: int, bits: int) -> NDArray[Any]:
    if bits == 32 and value >> 32 not in (0, -1):
        raise UnknownInstructionError("a constant of 64 bits as an operand of 32")
    return np.array([value & (1 << bits) - 1], {16: np.uint16, 32: _U32, 64: _U64}[bits])


def _float_bits(value: float, bits: int) -> int:
    form = {16: "<e", 32: "<f", 64: "<d"}[bits]
    return int.from_bytes(struct.pack(form, value), "little")


U16 = OperandKind("u16", np.uint16, 16)
I16 = OperandKind("i16", np.int16, 16)
F16 = OperandKind("f16", np.float16, 16, real=True)
U32 = OperandKind("u32", np.uint32, 32)
I32 = OperandKind("i32", np.int32, 32)
F32 = OperandKind("f32", np.float32, 32, real=True)
U64 = OperandKind("u64", np.uint64, 64)
I64 = OperandKind("i64", np.int64, 64)
F64 = OperandKind("f64", np.float64, 64, real=True)
MASK = OperandKind("mask", np.bool_, 1)
"""One bit a lane, in scalar registers."""


def raw(c: Cohort, file: str, index: int) -> Values:
    """A register as dwords: (block, lane), or (block, 1) of a scalar."""
    found: Values = c.s[index][:, None] if file == "s" else (c.v if file == "v" else c.a)[index]
    return found


def vector_get(op: Operand, kind: OperandKind, half: int = 0) -> Get:
    """Reads an operand in a vector instruction; ``half`` 1 takes the upper half of a dword."""
    _check_signs(op, kind)
    if kind is MASK:
        every = np.array([[bool(op.value)]])
        return (lambda c: every) if op.is_constant else lambda c: c.mask(op.index)
    if op.is_constant:
        value = kind.constant(op)[None]
        return lambda c: value
    if op.file == "scc":
        return lambda c: c.scc[:, None].astype(kind.dtype)
    if op.half is not None:
        half = _only_half(op, kind)
    get = _register_get(op, kind, half, raw)
    if op.negative or op.absolute:
        return lambda c: kind.modified(op, get(c))
    return get


def _check_signs(op: Operand, kind: OperandKind) -> None:
    """Signs are changed of real numbers only; ``sext`` is for parts of dwords."""
    if op.signed or ((op.negative or op.absolute) and not kind.real):
        raise UnknownInstructionError(f"a sign modifier of an operand of type {kind.name}")


def _only_half(op: Operand, kind: OperandKind) -> int:
    if kind.bits != 16 or op.half is None:
        raise UnknownInstructionError(f"half a register as an operand of type {kind.name}")
    return op.half


def scalar_get(op: Operand, kind: OperandKind) -> Get:
    """Reads an operand in a scalar instruction: one value a block."""
    if op.signed or op.negative or op.absolute:
        raise UnknownInstructionError("a sign modifier in a scalar instruction")
    if op.is_constant:
        value = kind.constant(op)
        return lambda c: value
    if op.file == "scc":
        return lambda c: c.scc.astype(kind.dtype)
    return _register_get(op, kind, 0, lambda c, _, index: c.s[index])


def _register_get(
    op: Operand, kind: OperandKind, half: int, read: Callable[[Cohort, str, int], Values]
) -> Get:
    file, index, dtype = op.file, op.index, kind.dtype
    if kind.bits == 64:
        if op.count < 2:
            raise UnknownInstructionError("a pair of registers is needed")

        def pair(c: Cohort) -> Values:
            low, high = read(c, file, index), read(c, file, index + 1)
            both = low.astype(_U64) | (high.astype(_U64) << _U64(32))
            return both.view(dtype)

        return pair
    if kind.bits == 16:
        shift = _U32(16 * half)
        return lambda c: (read(c, file, index) >> shift).astype(np.uint16).view(dtype)
    if dtype is _U32:
        return lambda c: read(c, file, index)
    return lambda c: read(c, file, index).view(dtype)


def vector_put(op: Operand, kind: OperandKind) -> Put:
    """Writes the active lanes of an operand; 16 bits go to the lower half, the rest is zero."""
    if kind is MASK:
        return lambda c, bits: c.set_mask(op.index, np.broadcast_to(bits, c.exec.shape) & c.exec)
    if op.file not in "va":
        raise UnknownInstructionError(f"destination {op.file}")
    if kind.bits == 64:
        return lambda c, value: _put_pair(c, op, value)
    file, index = op.file, op.index
    if op.half is not None:
        return half_put(op, _only_half(op, kind))
    if kind.bits == 16:
        return lambda c, value: store(c, file, index, value.view(np.uint16).astype(_U32))
    return lambda c, value: store(c, file, index, value.view(_U32))


def half_put(op: Operand, half: int) -> Put:
    """Writes 16 bits to one half of a register; the other stays."""
    file, index = op.file, op.index
    shift, kept = _U32(16 * half), _U32(0xFFFF0000 >> 16 * half)

    def put(c: Cohort, value: Values) -> None:
        old = raw(c, file, index) & kept
        store(c, file, index, old | (value.view(np.uint16).astype(_U32) << shift))

    return put


def _put_pair(c: Cohort, op: Operand, value: Values) -> None:
    both = value.view(_U64)
    store(c, op.file, op.index, both.astype(_U32))
    store(c, op.file, op.index + 1, (both >> _U64(32)).astype(_U32))


def store(c: Cohort, file: str, index: int, value: Values) -> None:
    """Writes dwords to the active lanes of a vector register."""
    target = c.v[index] if file == "v" else c.a[index]
    if c.full:
        target[...] = value
    else:
        np.copyto(target, value, where=c.exec)


def scalar_put(op: Operand, kind: OperandKind) -> Put:
    """Writes a scalar register of each block."""
    if op.file != "s":
        raise UnknownInstructionError(f"destination {op.file}")
    index = op.index
    if index == Special.NULL:
        return lambda c, value: None
    exec_ = index in (Special.EXEC, Special.EXEC + 1)
    if kind.bits == 64:

        def pair(c: Cohort, value: Values) -> None:
            both = value.view(_U64)
            c.s[index] = both.astype(_U32)
            c.s[index + 1] = (both >> _U64(32)).astype(_U32)
            if exec_:
                c.refresh()

        return pair

    def one(c: Cohort, value: Values) -> None:
        c.s[index] = value.view(_U32) if kind.bits == 32 else value.view(np.uint16)
        if exec_:
            c.refresh()

    return one
