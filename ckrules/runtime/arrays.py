"""Arrays as kernels take them: bits in the order of memory, on the host or on the device.

An array has the sizes of its tensor in the order of memory, slowest first (NHWGC for the input of
a convolution), or these with neighbours merged (NHWC). numpy has no bf16 and no 8-bit floats: their
arrays are ``uint16`` and ``uint8``, or those of ``ml_dtypes``. Arrays of 4 bits are ``uint8`` with
two elements to a byte, as `ckrules.device.tensors.to_memory` packs them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device.dtypes import element
from ckrules.device.tensors import placed, steps
from ckrules.runtime import dlpack
from ckrules.runtime.padding import Shape, stored
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.dtypes import Bits
    from ckrules.kernels.parts import Tensor

_NUMPY = {
    "fp32": ("float32",),
    "fp16": ("float16",),
    "bf16": ("uint16", "bfloat16"),
    "fp8": ("uint8", "float8_e4m3fn"),
    "bf8": ("uint8", "float8_e5m2"),
    "fp8_fnuz": ("uint8", "float8_e4m3fnuz"),
    "bf8_fnuz": ("uint8", "float8_e5m2fnuz"),
    "int4": ("uint8",),
    "fp4": ("uint8",),
    "e8m0": ("uint8", "float8_e8m0fnu"),
    "int8": ("int8",),
    "int32": ("int32",),
    "uint8": ("uint8",),
}
_BITS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


@dataclass(frozen=True)
class TensorArgument:
    """One array that was given for a tensor."""

    given: Any
    bits: Bits | None = None
    """On the host: a view of it as unsigned integers, with its own shape."""
    address: int = 0
    """On the device, where `bits` is None."""
    keeps: Any = field(default=None, repr=False)

    @property
    def on_device(self) -> bool:
        """Whether the kernel reads or writes it where it is."""
        return self.bits is None

    def packed(self, shape: Shape) -> Bits:
        """The bits of an array on the host, with their sizes in memory."""
        assert self.bits is not None
        return np.ascontiguousarray(self.bits).reshape(shape)

    def take(self, result: Bits) -> None:
        """Writes a result into an array on the host."""
        assert self.bits is not None
        self.bits[...] = result.reshape(self.bits.shape)


def operand(value: Any, tensor: Tensor, index: int, *, written: bool = False) -> TensorArgument:
    """An array that was given for a tensor.

    Args:
        value: A numpy array, or anything that speaks DLPack.
        tensor: What it is to be.
        index: The number of the device that a DLPack tensor of a GPU has to be on.
        written: Whether a kernel writes it.

    Raises:
        UsageError: For another type, shape or device, and for an array on a GPU that does not lie
            as the problem says.
    """
    if isinstance(value, np.ndarray):
        return _of_numpy(value, tensor, written)
    if not dlpack.speaks(value):
        kind = type(value).__name__
        raise UsageError(f"{tensor.name}: {kind} is neither a numpy array nor speaks DLPack")
    found = dlpack.imported(value, tensor.name)
    if tensor.dtype not in found.dtypes:
        raise UsageError(f"{tensor.name}: {found.dtypes[0]}, expected {tensor.dtype}")
    _check_shape(found.shape, tensor)
    if found.device in dlpack.HOST:
        if min(found.strides, default=0) < 0:
            raise UsageError(f"{tensor.name}: an axis runs backwards in memory: pack it first")
        return TensorArgument(value, bits=_view(found), keeps=found)
    if found.device != dlpack.ROCM:
        raise UsageError(f"{tensor.name}: on a device of DLPack's kind {found.device}, not ROCm's")
    if found.index != index:
        raise UsageError(f"{tensor.name}: on GPU {found.index}, the kernels run on GPU {index}")
    _check_strides(found, tensor)
    return TensorArgument(value, address=found.address, keeps=found)


def _check_strides(found: dlpack.Imported, tensor: Tensor) -> None:
    """Complains of an array on a GPU whose elements are not where a kernel looks for them."""
    if not tensor.apart:
        if not found.packed:
            raise UsageError(f"{tensor.name}: has gaps or another order in memory: pack it first")
        return
    pairs = [
        [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
        for shape, strides in ((found.shape, found.strides), (stored(tensor), steps(tensor)))
    ]
    if pairs[0] != pairs[1]:
        strides, expected = (", ".join(str(step) for _, step in pair) for pair in pairs)
        raise UsageError(f"{tensor.name}: strides {strides}, expected {expected}")


def _of_numpy(value: Any, tensor: Tensor, written: bool) -> TensorArgument:
    if value.dtype.name not in _NUMPY[tensor.dtype] or not value.dtype.isnative:
        expected = " or ".join(_NUMPY[tensor.dtype])
        two = ", two elements to a byte" if element(tensor.dtype).packed == 2 else ""
        raise UsageError(
            f"{tensor.name}: {value.dtype}, expected {expected} for {tensor.dtype}{two}"
        )
    _check_shape(value.shape, tensor)
    if written and not value.flags.writeable:
        raise UsageError(f"{tensor.name}: the array cannot be written to")
    return TensorArgument(value, bits=value.view(_BITS[value.dtype.itemsize]))


def _view(found: dlpack.Imported) -> Bits:
    """An array over memory of the host."""
    if 0 in found.shape:
        return np.zeros(found.shape, _BITS[found.bytes])
    reach = sum((n - 1) * s for n, s in zip(found.shape, found.strides, strict=True)) + 1
    buffer = (ctypes.c_char * (reach * found.bytes)).from_address(found.address)
    flat: Any = np.frombuffer(memoryview(buffer), _BITS[found.bytes])
    strides = [s * found.bytes for s in found.strides]
    return np.lib.stride_tricks.as_strided(flat, found.shape, strides)


def _check_shape(given: Shape, tensor: Tensor) -> None:
    shape = stored(tensor)
    if not merges(given, shape):
        words = "x".join(map(str, given)) or "no axes"
        expected = "x".join(map(str, shape))
        raise UsageError(
            f"{tensor.name}: {words}, expected {expected} (slowest first; neighbours may be merged)"
        )


def merges(given: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether sizes are others with neighbours merged, and with any number of ones.

    >>> merges((2, 7, 7, 64), (2, 7, 7, 4, 16)), merges((2, 49, 64), (2, 7, 7, 1, 64))
    (True, True)
    >>> merges((2, 64, 7, 7), (2, 7, 7, 1, 64)), merges((0, 6), (0, 6))
    (False, True)
    """
    rest = [n for n in shape if n != 1]
    if 0 in rest:  # nothing says which sizes were merged
        return [n for n in given if n != 1] == rest
    for size in given:
        product = 1
        while product < size and rest:
            product *= rest.pop(0)
        if product != size:
            return False
    return not rest


def like(tensor: Tensor, bits: Bits, others: Iterable[TensorArgument]) -> Any:
    """A result as a numpy array of the tensor's type, or of that of ``ml_dtypes`` beside it."""
    kinds = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8, "int32": np.int32}
    if tensor.dtype in kinds:
        return bits.view(kinds[tensor.dtype])
    for other in others:
        dtype = getattr(other.given, "dtype", None)
        name = getattr(dtype, "name", "")
        if isinstance(other.given, np.ndarray) and name in _NUMPY[tensor.dtype][1:]:
            return bits.view(dtype)
    return bits


def unset(tensor: Tensor, others: Iterable[TensorArgument]) -> Any:
    """A new array on the device for a result, made by what made the others.

    Raises:
        UsageError: If none of them can make one.
    """
    for other in others:
        make = getattr(other.given, "new_empty", None)  # PyTorch's
        if make is not None and other.on_device and not tensor.apart:
            return make(stored(tensor))
    raise UsageError(f"{tensor.name}: the inputs are on the GPU: give out, where the result goes")


def empty_bits(tensor: Tensor, data: bytes) -> Bits:
    """Bytes from a device as an array with the tensor's sizes in memory, and nothing between."""
    found = np.frombuffer(data, _BITS[element(tensor.dtype).bytes])
    return placed(tensor, found) if tensor.apart else found.reshape(stored(tensor))


def current_stream(operands: Iterable[TensorArgument]) -> int:
    """The stream that PyTorch uses for tensors on the GPU; 0, the usual one, without any."""
    torch = sys.modules.get("torch")
    for each in operands:
        if torch is not None and each.on_device and isinstance(each.given, torch.Tensor):
            return int(torch.cuda.current_stream(each.given.device).cuda_stream)
    return 0
