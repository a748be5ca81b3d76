"""The CUDA driver API through ctypes: calls, and errors in the driver's own words.

Source: cuda.h of CUDA 13.0.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

from ckrules.device.interface import DeviceError, DeviceLostError

LIBRARY = "libcuda.so.1"

NO_DEVICE = 100
STICKY = frozenset({214, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
"""CUDA_ERROR_* that stay with a context: illegal addresses and instructions, timeouts and such."""

MULTIPROCESSORS, CLOCK_KHZ, MEMORY_CLOCK_KHZ, MAJOR, MINOR = 16, 13, 36, 75, 76
"""CU_DEVICE_ATTRIBUTE_*."""
MAX_DYNAMIC_BYTES, NON_PORTABLE_CLUSTERS = 8, 14
"""CU_FUNC_ATTRIBUTE_*."""
CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; its value is a union of 64 bytes."""

    _fields_ = (
        ("id", ctypes.c_uint),
        ("padding", ctypes.c_char * 4),
        ("value", ctypes.c_uint * 16),
    )


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    )


def open_library() -> Any:
    """The driver's library.

    Raises:
        DeviceError: If it is not there.
    """
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise DeviceError(f"no CUDA driver: {error}") from None


class CudaDriver:
    """Calls of the driver.

    Args:
        library: What has its functions; `open_library` if not given.
    """

    def __init__(self, library: Any = None) -> None:
        self._library = library if library is not None else open_library()

    def call(self, name: str, *args: Any) -> None:
        """Calls a function.

        Raises:
            DeviceError: If it returns an error.
            DeviceLostError: If that stays with the context.
        """
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise DeviceError(f"{name}: the CUDA driver has no such function") from None
        status = int(function(*args))
        if status:
            kind = DeviceLostError if status in STICKY else DeviceError
            raise kind(f"{name}: {self.message(status)}")

    def status(self, name: str, *args: Any) -> int:
        """The status that a function returns."""
        return int(getattr(self._library, name)(*args))

    def message(self, status: int) -> str:
        """An error in the driver's own words."""
        words = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if not getattr(self._library, function)(status, ctypes.byref(text)) and text.value:
                words.append(text.value.decode(errors="replace"))
        return f"{words[0]} ({words[1]})" if len(words) == 2 else f"error {status}"

    def number(self, name: str, *args: Any, kind: Any = ctypes.c_int) -> int:
        """What a function writes through its first argument."""
        found = kind()
        self.call(name, ctypes.byref(found), *args)
        return int(found.value or 0)

    def attribute(self, which: int, device: int) -> int:
        """An attribute of a device."""
        return self.number("cuDeviceGetAttribute", which, device)
