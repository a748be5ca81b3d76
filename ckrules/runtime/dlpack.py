"""What is in a DLPack capsule: an address, sizes and a type. Nothing is copied.

The structures are those of ``dlpack.h`` (DLTensor, DLManagedTensor; versions before 1.0 and what
1.0 hands to consumers that ask for no version). A capsule that nobody has taken over frees its
tensor itself when it goes.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from ckrules.support.errors import UsageError

_NAME = b"dltensor"
HOST = frozenset({1, 3, 11})
"""Devices whose memory the host reads: kDLCPU, kDLCUDAHost and kDLROCMHost."""
ROCM = 10
"""kDLROCM."""
_ANY_STREAM = -1
"""Asks the producer to wait for nothing: what is launched goes to its own stream."""

CODES: dict[tuple[int, int], tuple[str, ...]] = {
    (2, 32): ("fp32",),
    (2, 16): ("fp16",),
    (4, 16): ("bf16",),
    (0, 8): ("int8",),
    (0, 32): ("int32",),
    (10, 8): ("fp8",),  # kDLFloat8_e4m3fn
    (11, 8): ("fp8_fnuz",),
    (12, 8): ("bf8",),  # kDLFloat8_e5m2
    (13, 8): ("bf8_fnuz",),
    (1, 8): ("fp8", "fp8_fnuz", "bf8", "bf8_fnuz", "int4", "fp4", "e8m0"),  # bits without a meaning
    (1, 16): ("bf16",),
}
"""The element types that a type code and a number of bits may hold."""


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Imported:
    """A tensor in somebody else's memory."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    dtypes: tuple[str, ...]
    """The element types that its bits may be."""
    bytes: int
    """Of an element."""
    device: int
    """The kind of device, as DLPack numbers them."""
    index: int
    capsule: Any = field(repr=False)
    """What keeps the memory."""

    @property
    def packed(self) -> bool:
        """Whether the elements lie together, the last axis fastest."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


def speaks(value: object) -> bool:
    """Whether an object has the two methods of the protocol."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def imported(value: Any, name: str) -> Imported:
    """The tensor of an object that speaks DLPack.

    Args:
        value: The object.
        name: What the message of an error calls it.

    Raises:
        UsageError: If the object refuses, or its elements are none that kernels have.
    """
    try:
        kind = int(value.__dlpack_device__()[0])
        capsule = value.__dlpack__() if kind in HOST else value.__dlpack__(stream=_ANY_STREAM)
    except Exception as error:  # whatever the object's own code raises
        raise UsageError(f"{name}: the array cannot be taken over DLPack: {error}") from None
    tensor = _Tensor.from_address(_pointer(capsule, name))
    shape = tuple(tensor.shape[: tensor.ndim])
    code, bits = tensor.dtype.code, tensor.dtype.bits
    if tensor.dtype.lanes != 1 or (code, bits) not in CODES:
        raise UsageError(f"{name}: no kernel has elements of DLPack's type {code} with {bits} bits")
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _packed(shape)
    address = (tensor.data or 0) + tensor.offset
    where = tensor.device
    return Imported(
        address, shape, strides, CODES[code, bits], bits // 8, where.kind, where.index, capsule
    )


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _pointer(capsule: Any, name: str) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    try:
        found: int = get(capsule, _NAME)
    except ValueError as error:
        raise UsageError(f"{name}: not a capsule of DLPack: {error}") from None
    return found
