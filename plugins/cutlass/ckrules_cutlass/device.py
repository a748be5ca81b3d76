"""The device ``cuda``: NVIDIA GPUs through the driver API, used in worker processes only."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.device.interface import DeviceError, DeviceInfo, Dim3, LaunchContext
from ckrules_cutlass import driver as api
from ckrules_cutlass.driver import CudaDriver, LaunchAttribute, LaunchConfig


@dataclass
class CudaModule:
    """A loaded cubin."""

    handle: ctypes.c_void_p
    functions: dict[str, ctypes.c_void_p] = field(default_factory=dict)
    allowed: dict[str, int] = field(default_factory=dict)
    """By entry, the dynamic shared memory that its launches may ask for."""


class CudaDevice:
    """One NVIDIA GPU, on the default stream of its primary context.

    Host libraries that use the CUDA runtime in the same process share that context.

    Args:
        index: Its number in the driver's order, after ``CUDA_VISIBLE_DEVICES``.
        driver: The driver; opened if not given.
    """

    def __init__(self, index: int, driver: CudaDriver | None = None) -> None:
        self._driver = driver or CudaDriver()
        self._driver.call("cuInit", 0)
        self.info = info(self._driver, index)
        self._device = self._driver.number("cuDeviceGet", index)
        context = ctypes.c_void_p()
        self._driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._driver.call("cuCtxSetCurrent", context)
        self._memory: set[int] = set()

    def load(self, code: bytes) -> CudaModule:
        """A handle for a cubin's kernels."""
        handle = ctypes.c_void_p()
        self._driver.call("cuModuleLoadData", ctypes.byref(handle), ctypes.c_char_p(code))
        return CudaModule(handle)

    def unload(self, module: CudaModule) -> None:
        """Frees the cubin."""
        self._driver.call("cuModuleUnload", module.handle)

    def allocate(self, size: int) -> int:
        """The address of so many bytes of device memory."""
        where = ctypes.c_size_t(size)
        address = self._driver.number("cuMemAlloc_v2", where, kind=ctypes.c_uint64)
        self._memory.add(address)
        return address

    def free(self, address: int) -> None:
        """Frees what `allocate` gave."""
        self._memory.discard(address)
        self._driver.call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to the device."""
        size = ctypes.c_size_t(len(data))
        self._driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(data), size)

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from the device."""
        target = (ctypes.c_char * size)()
        where = ctypes.c_uint64(address)
        self._driver.call("cuMemcpyDtoH_v2", target, where, ctypes.c_size_t(size))
        return bytes(target)

    def fill(self, address: int, value: int, size: int) -> None:
        """Sets so many bytes to one value, in the order of launches."""
        byte, many = ctypes.c_ubyte(value), ctypes.c_size_t(size)
        self._driver.call("cuMemsetD8Async", ctypes.c_uint64(address), byte, many, None)

    def launch(self, module: CudaModule, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Starts a kernel whose one parameter is the bytes of its arguments."""
        self.launch_clusters(module, entry, grid, block, args, cluster=(1, 1, 1), dynamic_bytes=0)

    def launch_clusters(
        self,
        module: CudaModule,
        entry: str,
        grid: Dim3,
        block: Dim3,
        args: bytes,
        *,
        cluster: Dim3,
        dynamic_bytes: int,
    ) -> None:
        """Starts a kernel in clusters of blocks, with dynamic shared memory."""
        function = self._allowed(module, entry, dynamic_bytes)
        config, kept = self._config(grid, block, cluster, dynamic_bytes)
        buffer = (ctypes.c_char * len(args)).from_buffer_copy(args)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
        self._driver.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
        del kept

    @staticmethod
    def _config(
        grid: Dim3, block: Dim3, cluster: Dim3, dynamic_bytes: int
    ) -> tuple[LaunchConfig, Any]:
        attributes = (LaunchAttribute * 1)()
        attributes[0].id = api.CLUSTER_DIMENSION
        attributes[0].value[:3] = list(cluster)
        config = LaunchConfig(
            (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), dynamic_bytes, None
        )
        config.attributes = ctypes.cast(attributes, ctypes.POINTER(LaunchAttribute))
        config.attribute_count = 1
        return config, attributes

    def _function(self, module: CudaModule, entry: str) -> ctypes.c_void_p:
        if entry not in module.functions:
            found = ctypes.c_void_p()
            name = ctypes.c_char_p(entry.encode())
            self._driver.call("cuModuleGetFunction", ctypes.byref(found), module.handle, name)
            module.functions[entry] = found
        return module.functions[entry]

    def _allowed(self, module: CudaModule, entry: str, dynamic_bytes: int) -> ctypes.c_void_p:
        """A kernel that may ask for so much shared memory, and start in clusters of any size."""
        function = self._function(module, entry)
        if module.allowed.get(entry, -1) < dynamic_bytes:
            for which, value in (
                (api.MAX_DYNAMIC_BYTES, dynamic_bytes),
                (api.NON_PORTABLE_CLUSTERS, 1),
            ):
                self._driver.call("cuFuncSetAttribute", function, which, value)
            module.allowed[entry] = dynamic_bytes
        return function

    def resident_blocks(self, module: CudaModule, entry: str, threads: int) -> int:
        """How many blocks of a kernel one multiprocessor runs at once."""
        return self.resident_with(module, entry, threads, 0)

    def resident_with(
        self, module: CudaModule, entry: str, threads: int, dynamic_bytes: int
    ) -> int:
        """How many blocks with so much dynamic shared memory one multiprocessor runs at once."""
        function = self._allowed(module, entry, dynamic_bytes)
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return self._driver.number(name, function, threads, ctypes.c_size_t(dynamic_bytes))

    def synchronize(self) -> None:
        """Waits until everything launched before is done."""
        self._driver.call("cuCtxSynchronize")

    def event(self) -> ctypes.c_void_p:
        """A handle for a point in time."""
        found = ctypes.c_void_p()
        self._driver.call("cuEventCreate", ctypes.byref(found), 0)
        return found

    def record(self, event: ctypes.c_void_p) -> None:
        """Makes an event mark the point between the launches before and after."""
        self._driver.call("cuEventRecord", event, None)

    def elapsed_ms(self, start: ctypes.c_void_p, stop: ctypes.c_void_p) -> float:
        """Milliseconds between two events, waiting for the second."""
        self._driver.call("cuEventSynchronize", stop)
        found = ctypes.c_float()
        self._driver.call("cuEventElapsedTime", ctypes.byref(found), start, stop)
        return float(found.value)

    def announce(self, work: LaunchContext) -> None:
        """Nothing: a GPU needs no names."""

    def close(self) -> None:
        """Frees what is still allocated, and gives the context back."""
        for address in list(self._memory):
            self.free(address)
        self._driver.call("cuDevicePrimaryCtxRelease_v2", self._device)


class CudaPlugin:
    """The NVIDIA GPUs of this machine, as ``--device cuda``."""

    def __init__(self, driver: CudaDriver | None = None) -> None:
        self._given = driver

    def discover(self) -> Sequence[DeviceInfo]:
        """The GPUs that the driver shows.

        Raises:
            DeviceError: If there is no driver.
        """
        driver = self._given or CudaDriver()
        status = driver.status("cuInit", 0)
        if status == api.NO_DEVICE:
            return []
        if status:
            raise DeviceError(f"cuInit: {driver.message(status)}")
        return [info(driver, i) for i in range(driver.number("cuDeviceGetCount"))]

    def open(self, index: int) -> CudaDevice:
        """The GPU of this number."""
        return CudaDevice(index, self._given)

    def looked_for(self) -> Sequence[tuple[str, str]]:
        """The driver's device file and library."""
        node = "found" if os.path.exists("/dev/nvidiactl") else "not there: no NVIDIA driver"
        try:
            _ = self._given or CudaDriver()
            library = "found"
        except DeviceError as error:
            library = str(error)
        return [("/dev/nvidiactl", node), (api.LIBRARY, library)]


def info(driver: CudaDriver, index: int) -> DeviceInfo:
    """What the driver says of a GPU; one of compute capability 9.0 is ``sm_90a``."""
    device = driver.number("cuDeviceGet", index)
    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGetName", name, 256, device)
    major, minor = (driver.attribute(which, device) for which in (api.MAJOR, api.MINOR))
    version = driver.number("cuDriverGetVersion")
    return DeviceInfo(
        index=index,
        name=name.value.decode(errors="replace"),
        arch=f"sm_{major}{minor}" + ("a" if major >= 9 else ""),
        driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
        memory_bytes=driver.number("cuDeviceTotalMem_v2", device, kind=ctypes.c_size_t),
        compute_units=driver.attribute(api.MULTIPROCESSORS, device),
        clock_mhz=driver.attribute(api.CLOCK_KHZ, device) // 1000 or None,
        memory_clock_mhz=driver.attribute(api.MEMORY_CLOCK_KHZ, device) // 1000 or None,
    )
