"""A device in numpy: it reads the arguments that the host library laid out, and adds up rows."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ckrules.device.interface import DeviceError, DeviceInfo, LaunchContext

INFO = DeviceInfo(0, "numpy", "gfx942", compute_units=1)


class Numpy:
    """Memory in a dictionary; a launch is a sum over the rows of its block count."""

    def __init__(self) -> None:
        self.info = INFO
        self._memory: dict[int, bytearray] = {}
        self._next = 1 << 32
        self._half = False

    def load(self, code: bytes) -> bytes:
        if not code.startswith(b"\x7fELF"):
            raise DeviceError("not a code object")
        return code

    def unload(self, module: bytes) -> None:
        """Nothing is kept."""

    def allocate(self, size: int) -> int:
        address, self._next = self._next, self._next + (size + 511) // 256 * 256
        self._memory[address] = bytearray(size)
        return address

    def free(self, address: int) -> None:
        del self._memory[address]

    def _at(self, address: int) -> tuple[bytearray, int]:
        start = max(a for a in self._memory if a <= address)
        return self._memory[start], address - start

    def write(self, address: int, data: bytes) -> None:
        memory, at = self._at(address)
        memory[at : at + len(data)] = data

    def read(self, address: int, size: int) -> bytes:
        memory, at = self._at(address)
        return bytes(memory[at : at + size])

    def fill(self, address: int, value: int, size: int) -> None:
        self.write(address, bytes([value]) * size)

    def announce(self, work: LaunchContext) -> None:
        self._half = work.config["dtype"] == "fp16"

    def launch(self, module: bytes, entry: str, grid: Any, block: Any, args: bytes) -> None:
        if entry.encode() not in module:
            raise DeviceError(f"no kernel {entry} in the code object")
        matrix, sums, m, n = struct.unpack("<QQqq", args)
        dtype = np.float16 if self._half else np.float32
        values = np.frombuffer(self.read(matrix, m * n * np.dtype(dtype).itemsize), dtype)
        found = values.reshape(m, n).astype(np.float32).sum(axis=1, dtype=np.float32)
        self.write(sums, found.tobytes())

    def resident_blocks(self, module: bytes, entry: str, threads: int) -> int:
        return 1

    def synchronize(self) -> None:
        """Everything is done at once."""

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] += 1.0

    def elapsed_ms(self, start: list[float], stop: list[float]) -> float:
        return 1.0

    def close(self) -> None:
        """There is nothing to give back."""


class Plugin:
    """What the entry point names."""

    def discover(self) -> list[DeviceInfo]:
        return [INFO]

    def open(self, index: int) -> Numpy:
        return Numpy()

    def looked_for(self) -> list[tuple[str, str]]:
        return [("numpy", np.__version__)]
