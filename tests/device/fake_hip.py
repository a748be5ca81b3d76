"""A stand-in for ``rocm.bindings.hip``: the functions' forms of results, and memory of the host."""

# ruff: noqa: N801, N802, N815 - the names are HIP's
from __future__ import annotations

import ctypes
import enum
import threading
from types import SimpleNamespace
from typing import Any


class hipError_t(enum.IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorNoDevice = 100
    hipErrorNotFound = 500


class hipMemcpyKind(enum.IntEnum):
    hipMemcpyHostToDevice = 1
    hipMemcpyDeviceToHost = 2
    hipMemcpyDeviceToDevice = 3


class Pointer:
    """What hipMalloc returns."""

    def __init__(self, size: int) -> None:
        self.data = ctypes.create_string_buffer(size)

    def __int__(self) -> int:
        return ctypes.addressof(self.data)


class FakeHip:
    """The part of the module that ckrules uses."""

    hipError_t = hipError_t
    hipMemcpyKind = hipMemcpyKind
    __name__ = "fake_hip"

    def __init__(self, devices: int = 1, old: bool = False) -> None:
        self.devices, self.old = devices, old
        self.freed = 0
        self.launched: list[tuple[Any, ...]] = []
        self.current = threading.local()
        self.waited: list[int] = []
        self.streams: list[tuple[str, Any]] = []

    def hipGetDeviceCount(self) -> tuple[Any, ...]:
        if not self.devices:
            return hipError_t.hipErrorNoDevice, 0
        return hipError_t.hipSuccess, self.devices

    def hipDeviceProp_t(self) -> Any:
        return SimpleNamespace()

    def hipGetDeviceProperties(self, *args: Any) -> tuple[Any, ...]:
        if self.old and len(args) == 1:
            raise TypeError("takes 2 arguments")
        if args[-1] >= self.devices:
            return (hipError_t.hipErrorInvalidValue,)
        found = args[0] if self.old else SimpleNamespace()
        found.name, found.gcnArchName = b"Radeon\0\0", b"gfx942:sramecc+:xnack-\0"
        found.multiProcessorCount = 304
        found.totalGlobalMem, found.clockRate, found.memoryClockRate = 1 << 36, 2100000, 1300000
        return (hipError_t.hipSuccess,) if self.old else (hipError_t.hipSuccess, found)

    def hipDriverGetVersion(self) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, 60342134

    hipRuntimeGetVersion = hipDriverGetVersion

    def hipGetErrorString(self, status: Any) -> bytes:
        return b"named symbol not found"

    def hipGetDevice(self) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, getattr(self.current, "index", 0)

    def hipSetDevice(self, index: int) -> tuple[Any, ...]:
        self.current.index = index
        return (hipError_t.hipSuccess if index < self.devices else hipError_t.hipErrorInvalidValue,)

    def hipMalloc(self, size: int) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, Pointer(size)

    def hipFree(self, pointer: Any) -> tuple[Any, ...]:
        assert isinstance(pointer, Pointer)
        self.freed += 1
        return (hipError_t.hipSuccess,)

    def hipMemcpy(self, target: int, source: int, size: int, kind: Any) -> tuple[Any, ...]:
        assert isinstance(kind, hipMemcpyKind)
        ctypes.memmove(target, source, size)
        return (hipError_t.hipSuccess,)

    def hipMemcpy2DAsync(
        self, target: int, target_pitch: int, source: int, source_pitch: int, *rest: Any
    ) -> tuple[Any, ...]:
        width, rows, kind, stream = rest
        assert kind is hipMemcpyKind.hipMemcpyDeviceToDevice
        self.streams.append(("copy", stream))
        for i in range(rows):
            ctypes.memmove(target + i * target_pitch, source + i * source_pitch, width)
        return (hipError_t.hipSuccess,)

    def hipMemsetAsync(self, target: int, value: int, size: int, stream: Any) -> tuple[Any, ...]:
        self.streams.append(("fill", stream))
        ctypes.memset(target, value, size)
        return (hipError_t.hipSuccess,)

    def hipModuleLoadData(self, code: bytes) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, ("module", code)

    def hipModuleUnload(self, module: Any) -> tuple[Any, ...]:
        return (hipError_t.hipSuccess,)

    def hipModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, ...]:
        if name == b"missing":
            return hipError_t.hipErrorNotFound, None
        return hipError_t.hipSuccess, ("function", name)

    def hipModuleLaunchKernel(self, function: Any, *args: Any) -> tuple[Any, ...]:
        *sizes, lds, stream, params, extra = args
        assert (lds, params) == (0, None)
        self.streams.append(("launch", stream))
        words = (ctypes.c_void_p * 5).from_address(extra)
        assert (words[0], words[2], words[4]) == (1, 2, 3)
        size = ctypes.c_size_t.from_address(words[3]).value
        self.launched.append((function[1], tuple(sizes), ctypes.string_at(words[1], size)))
        return (hipError_t.hipSuccess,)

    def hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        self, function: Any, threads: int, lds: int
    ) -> tuple[Any, ...]:
        assert (function[0], lds) == ("function", 0)
        return hipError_t.hipSuccess, 512 // threads

    def hipDeviceSynchronize(self) -> tuple[Any, ...]:
        self.waited.append(getattr(self.current, "index", 0))
        return (hipError_t.hipSuccess,)

    def hipEventCreate(self) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, []

    def hipEventRecord(self, event: Any, stream: Any) -> tuple[Any, ...]:
        self.streams.append(("event", stream))
        event.append(len(self.launched))
        return (hipError_t.hipSuccess,)

    def hipEventSynchronize(self, event: Any) -> tuple[Any, ...]:
        return (hipError_t.hipSuccess,)

    def hipEventElapsedTime(self, start: Any, stop: Any) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, 0.25 * (stop[-1] - start[-1])
