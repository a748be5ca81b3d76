"""AMD GPUs through the HIP module API: ``rocm.bindings.hip``, or the older package ``hip``.

Nothing is imported before it is used, and it is used in worker processes only.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.device.interface import DeviceError, DeviceInfo, Dim3, LaunchContext

_MODULES = ("rocm.bindings.hip", "hip.hip")
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3  # HIP_LAUNCH_PARAM_*
_AMDGPU = Path("/sys/module/amdgpu/version")


def binding() -> Any:
    """The first HIP binding that can be imported.

    Raises:
        DeviceError: With the reason that each gave.
    """
    reasons = []
    for name in _MODULES:
        try:
            return importlib.import_module(name)
        except (ImportError, RuntimeError, OSError) as error:
            reasons.append(f"{name}: {error}")
    raise DeviceError(f"no HIP for Python ({'; '.join(reasons)}): pip install 'ckrules[gpu]'")


@dataclass
class _Module:
    """A loaded code object; HIP may read the bytes as long as it is loaded."""

    handle: Any
    code: bytes = field(repr=False)
    functions: dict[str, Any] = field(default_factory=dict)


class HipDevice:
    """One AMD GPU.

    Args:
        index: Its number in HIP's order, after ``HIP_VISIBLE_DEVICES``.
        hip: The binding; found by `binding` if not given.
    """

    def __init__(self, index: int, hip: Any = None) -> None:
        self._hip = hip if hip is not None else binding()
        self._memory: dict[int, Any] = {}
        self._stream: int | None = None
        self.info = _info(self._hip, index)

    def _call(self, name: str, *args: Any) -> Any:
        """Calls a function with this device as the thread's, which others find as they left it."""
        before = int(call(self._hip, "hipGetDevice"))
        if before == self.info.index:
            return call(self._hip, name, *args)
        call(self._hip, "hipSetDevice", self.info.index)
        try:
            return call(self._hip, name, *args)
        finally:
            call(self._hip, "hipSetDevice", before)

    def use_stream(self, stream: int) -> None:
        """Has fills, copies, launches and events go to a stream from now on; 0: the usual one."""
        self._stream = stream or None

    def load(self, code: bytes) -> _Module:
        """A handle for a code object's kernels."""
        return _Module(self._call("hipModuleLoadData", code), code)

    def unload(self, module: _Module) -> None:
        """Frees the code object."""
        self._call("hipModuleUnload", module.handle)

    def allocate(self, size: int) -> int:
        """The address of so many bytes of device memory."""
        pointer = self._call("hipMalloc", size)
        address = int(pointer)
        self._memory[address] = pointer  # bindings may free memory with the object
        return address

    def free(self, address: int) -> None:
        """Frees what `allocate` gave."""
        self._call("hipFree", self._memory.pop(address))

    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to the device."""
        source = (ctypes.c_char * len(data)).from_buffer_copy(data)
        kind = self._hip.hipMemcpyKind.hipMemcpyHostToDevice
        self._call("hipMemcpy", address, ctypes.addressof(source), len(data), kind)

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from the device."""
        target = (ctypes.c_char * size)()
        kind = self._hip.hipMemcpyKind.hipMemcpyDeviceToHost
        self._call("hipMemcpy", ctypes.addressof(target), address, size, kind)
        return bytes(target)

    def copy_rows(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int
    ) -> None:
        """Copies rows on the device, in the order of launches."""
        kind = self._hip.hipMemcpyKind.hipMemcpyDeviceToDevice
        places = (target, target_pitch, source, source_pitch)
        self._call("hipMemcpy2DAsync", *places, width, rows, kind, self._stream)

    def fill(self, address: int, value: int, size: int) -> None:
        """Sets so many bytes to one value, in the order of launches."""
        self._call("hipMemsetAsync", address, value, size, self._stream)

    def launch(self, module: _Module, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Starts a kernel with the bytes of its arguments as they are."""
        function = self._function(module, entry)
        buffer = (ctypes.c_char * len(args)).from_buffer_copy(args)
        size = ctypes.c_size_t(len(args))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER, ctypes.addressof(buffer), _BUFFER_SIZE, ctypes.addressof(size), _END
        )
        where = ctypes.addressof(extra)
        self._call("hipModuleLaunchKernel", function, *grid, *block, 0, self._stream, None, where)

    def _function(self, module: _Module, entry: str) -> Any:
        function = module.functions.get(entry)
        if function is None:
            function = self._call("hipModuleGetFunction", module.handle, entry.encode())
            module.functions[entry] = function
        return function

    def resident_blocks(self, module: _Module, entry: str, threads: int) -> int:
        """How many blocks of a kernel one compute unit runs at once."""
        name = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self._call(name, self._function(module, entry), threads, 0))

    def synchronize(self) -> None:
        """Waits until everything launched before is done."""
        self._call("hipDeviceSynchronize")

    def event(self) -> Any:
        """A handle for a point in time."""
        return self._call("hipEventCreate")

    def record(self, event: Any) -> None:
        """Makes an event mark the point between the launches before and after."""
        self._call("hipEventRecord", event, self._stream)

    def elapsed_ms(self, start: Any, stop: Any) -> float:
        """Milliseconds between two events, waiting for the second."""
        self._call("hipEventSynchronize", stop)
        return float(self._call("hipEventElapsedTime", start, stop))

    def announce(self, work: LaunchContext) -> None:
        """Nothing: a GPU needs no names."""

    def close(self) -> None:
        """Frees what is still allocated."""
        for address in list(self._memory):
            self.free(address)


class HipPlugin:
    """The AMD GPUs of this machine, as ``--device hip``."""

    def __init__(self, hip: Any = None) -> None:
        self._given = hip

    def discover(self) -> Sequence[DeviceInfo]:
        """The GPUs that the HIP runtime shows.

        Raises:
            DeviceError: If there is no HIP for Python or no runtime.
        """
        hip = self._given if self._given is not None else binding()
        status, *values = hip.hipGetDeviceCount()
        if status != hip.hipError_t.hipSuccess:
            if "NoDevice" in repr(status) or "InvalidDevice" in repr(status):
                return []
            raise DeviceError(f"hipGetDeviceCount: {_error_message(hip, status)}")
        return [_info(hip, i) for i in range(int(values[0]))]

    def open(self, index: int) -> HipDevice:
        """The GPU of this number."""
        return HipDevice(index, self._given)

    def looked_for(self) -> Sequence[tuple[str, str]]:
        """Driver, runtime and binding, each with what was found of it."""
        kfd = "found" if os.path.exists("/dev/kfd") else "not there: no amdgpu driver"
        if kfd == "found" and not os.access("/dev/kfd", os.R_OK | os.W_OK):
            kfd = "no permission: join the groups render and video"
        library = ctypes.util.find_library("amdhip64")
        try:
            module = self._given if self._given is not None else binding()
            found = f"found: {module.__name__}"
        except DeviceError as error:
            found = str(error)
        return [
            ("/dev/kfd", kfd),
            ("libamdhip64", f"found: {library}" if library else "not found: install ROCm"),
            ("HIP for Python", found),
        ]


def call(hip: Any, name: str, *args: Any) -> Any:
    """The result of a HIP function.

    Raises:
        DeviceError: If it returns an error.
    """
    try:
        status, *values = getattr(hip, name)(*args)
    except (RuntimeError, AttributeError) as error:  # a runtime or a binding without it
        raise DeviceError(f"{name}: {error}") from None
    if status != hip.hipError_t.hipSuccess:
        raise DeviceError(f"{name}: {_error_message(hip, status)}")
    return values[0] if values else None


def _error_message(hip: Any, status: Any) -> str:
    try:
        text = hip.hipGetErrorString(status)
        text = text[-1] if isinstance(text, tuple) else text
        text = text.decode() if isinstance(text, bytes) else str(text)
    except Exception:  # older bindings lack it
        text = ""
    name = str(getattr(status, "name", status))
    return f"{name} ({text})" if text and text != name else name


def _info(hip: Any, index: int) -> DeviceInfo:
    try:
        properties = call(hip, "hipGetDeviceProperties", index)
    except TypeError:  # hip-python before 7 fills a structure of the caller's
        properties = hip.hipDeviceProp_t()
        call(hip, "hipGetDeviceProperties", properties, index)
    versions = (call(hip, f"hip{what}GetVersion") for what in ("Driver", "Runtime"))
    driver, runtime = (_version(int(v)) for v in versions)
    kernel = _AMDGPU.read_text().strip() if _AMDGPU.is_file() else ""
    return DeviceInfo(
        index=index,
        name=_text(properties.name),
        arch=_text(properties.gcnArchName).partition(":")[0],
        driver=f"amdgpu {kernel}" if kernel else driver,
        runtime=runtime,
        memory_bytes=int(properties.totalGlobalMem),
        compute_units=int(properties.multiProcessorCount),
        clock_mhz=int(properties.clockRate) // 1000 or None,
        memory_clock_mhz=int(properties.memoryClockRate) // 1000 or None,
    )


def _version(number: int) -> str:
    """HIP's number for a version, written as usual.

    >>> _version(60342134)
    'HIP 6.3.42134'
    """
    return f"HIP {number // 10_000_000}.{number // 100_000 % 100}.{number % 100_000}"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.partition(b"\0")[0].decode(errors="replace")
    return str(value)
