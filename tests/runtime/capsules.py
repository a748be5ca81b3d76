"""TEST DOUBLE of a framework: tensors that speak DLPack, on the host or in a device's memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ckrules.runtime.dlpack import _Tensor

_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.restype, _NEW.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

CODES = {
    "fp16": (2, 16), "bf16": (4, 16), "fp32": (2, 32), "int64": (0, 64), "uint8": (1, 8),
}  # fmt: skip


class FakeTensor:
    """A tensor; ``new_empty`` makes another one where the first one is."""

    def __init__(
        self, shape: tuple[int, ...], dtype: str, address: int, kind: int = 10, index: int = 0,
        strides: tuple[int, ...] | None = None, device: Any = None,
    ) -> None:  # fmt: skip
        self.shape, self.kind, self.index, self.device = shape, kind, index, device
        self.dtype, self.address = dtype, address
        self.asked: list[Any] = []
        code, bits = CODES[dtype]
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self._raw = _Tensor(
            address, (kind, index), len(shape), (code, bits, 1), self._shape, self._strides, 0
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.index

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.asked.append(stream)
        return _NEW(ctypes.addressof(self._raw), b"dltensor", None)

    def new_empty(self, shape: tuple[int, ...]) -> FakeTensor:
        size = int(np.prod(shape)) * CODES[self.dtype][1] // 8
        return FakeTensor(shape, self.dtype, self.device.allocate(size), device=self.device)

    def bits(self) -> Any:
        """What is in the device's memory."""
        size = CODES[self.dtype][1] // 8
        data = self.device.read(self.address, int(np.prod(self.shape)) * size)
        return np.frombuffer(data, {2: np.uint16, 4: np.uint32}[size]).reshape(self.shape)


def on_device(device: Any, values: Any, dtype: str = "fp16") -> FakeTensor:
    """An array copied to a device."""
    address = device.allocate(values.nbytes)
    device.write(address, values.tobytes())
    return FakeTensor(values.shape, dtype, address, device=device)
