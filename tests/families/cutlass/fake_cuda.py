"""A TEST DOUBLE of libcuda: memory in a dictionary, noted launches, and errors on demand."""

from __future__ import annotations

import ctypes
from typing import Any

_SIZES = {"cuMemAlloc_v2": ctypes.c_uint64}


class FakeCuda:
    """Its functions take what ctypes would hand to the driver's."""

    def __init__(self, fails: dict[str, int] | None = None) -> None:
        self.fails = dict(fails or {})
        self.memory: dict[int, bytearray] = {}
        self.launches: list[dict[str, Any]] = []
        self.attributes: list[tuple[int, int]] = []
        self.calls: list[str] = []
        self._next = 1 << 20

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*args: Any) -> int:
            self.calls.append(name)
            if name in self.fails:
                return self.fails[name]
            found = getattr(self, f"_{name}", lambda *_: None)(*args)
            return int(found or 0)

        return call

    def _cuGetErrorName(self, status: int, text: Any) -> None:  # noqa: N802
        text._obj.value = {700: b"CUDA_ERROR_ILLEGAL_ADDRESS", 2: b"CUDA_ERROR_OUT_OF_MEMORY"}.get(
            status, b"CUDA_ERROR_UNKNOWN"
        )

    def _cuGetErrorString(self, status: int, text: Any) -> None:  # noqa: N802
        text._obj.value = b"words for it"

    def _cuDeviceGetCount(self, count: Any) -> None:  # noqa: N802
        count._obj.value = 1

    def _cuDeviceGet(self, device: Any, index: int) -> None:  # noqa: N802
        device._obj.value = index

    def _cuDeviceGetName(self, text: Any, size: int, device: int) -> None:  # noqa: N802
        text.value = b"Test double"

    def _cuDeviceGetAttribute(self, found: Any, which: int, device: int) -> None:  # noqa: N802
        found._obj.value = {16: 132, 13: 1980000, 36: 3201000, 75: 9, 76: 0}[which]

    def _cuDeviceTotalMem_v2(self, found: Any, device: int) -> None:  # noqa: N802
        found._obj.value = 1 << 34

    def _cuDriverGetVersion(self, found: Any) -> None:  # noqa: N802
        found._obj.value = 13000

    def _cuMemAlloc_v2(self, found: Any, size: Any) -> None:  # noqa: N802
        found._obj.value, self._next = self._next, self._next + (1 << 16)
        self.memory[found._obj.value] = bytearray(size.value)

    def _cuMemFree_v2(self, address: Any) -> None:  # noqa: N802
        del self.memory[address.value]

    def _cuMemcpyHtoD_v2(self, address: Any, data: Any, size: Any) -> None:  # noqa: N802
        self.memory[address.value][: size.value] = ctypes.string_at(data, size.value)

    def _cuMemcpyDtoH_v2(self, target: Any, address: Any, size: Any) -> None:  # noqa: N802
        target[: size.value] = bytes(self.memory[address.value][: size.value])

    def _cuMemsetD8Async(self, address: Any, value: Any, size: Any, stream: Any) -> None:  # noqa: N802
        self.memory[address.value][: size.value] = bytes([value.value]) * size.value

    def _cuFuncSetAttribute(self, function: Any, which: int, value: int) -> None:  # noqa: N802
        self.attributes.append((which, value))

    def _cuLaunchKernelEx(self, config: Any, function: Any, given: Any, extra: Any) -> None:  # noqa: N802
        found = config._obj
        attribute = found.attributes[0]
        self.launches.append({
            "grid": tuple(found.grid), "block": tuple(found.block), "shared": found.shared_bytes,
            "cluster": tuple(attribute.value[:3]), "attribute": attribute.id,
            "args": ctypes.string_at(given[0], 4), "count": found.attribute_count,
        })  # fmt: skip

    def _cuOccupancyMaxActiveBlocksPerMultiprocessor(  # noqa: N802
        self, found: Any, function: Any, threads: int, dynamic_bytes: Any
    ) -> None:
        found._obj.value = 1 if dynamic_bytes.value > 100_000 else 2

    def _cuEventElapsedTime(self, found: Any, start: Any, stop: Any) -> None:  # noqa: N802
        found._obj.value = 1.5
