"""A TEST DOUBLE, no GPU: a device that computes what is launched with the CPU reference.

It is registered through the plug-in mechanism (`registered`). What it is told in ``announce``
stands in for the device code. ``CKRULES_REFERENCE_FAULTS`` holds a JSON object that maps a part of
a kernel's name to a fault: hang, crash, error, nan, ones, last-tile, k-slice, overrun, zero-added,
silent, late, segv, lost. Its options are ``clock=none``, ``say=TEXT`` and ``fault=NAME``, for all
kernels, and ``clock=simulated``: launches then take as long as `simulated_ms` says, not half a
millisecond.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.device.interface import (
    DeviceError,
    DeviceInfo,
    DeviceLostError,
    LaunchContext,
    check_options,
)
from ckrules.device.tensors import from_memory, inputs, results, size, to_memory
from ckrules.kernels.families import problems_of

FAULTS = "CKRULES_REFERENCE_FAULTS"
COUNT = "CKRULES_REFERENCE_COUNT"
ENTRY_POINT = "[ckrules.devices]\nreference = tests.device.reference_device:ReferencePlugin\n"


def registered(folder: Path) -> Path:
    """Makes a distribution with the entry point in a folder that is put on the path."""
    info = folder / "ckrules_reference_device-0.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ckrules-reference-device\nVersion: 0.0.0\n"
    )
    (info / "entry_points.txt").write_text(ENTRY_POINT)
    return folder


def simulated_ms(config: Mapping[str, Any], problem: Any) -> float:
    """A made-up time of a kernel: best for square tiles of 64 and long K tiles."""
    tall = abs(math.log2(config["tile_m"] / 64)) + abs(math.log2(config["tile_n"] / 64))
    return float(1e-3 * (10 + 5 * tall + 256 / config["tile_k"]) * (1 + problem.flops * 1e-9))


class ReferenceDevice:
    """Memory in a dictionary, and launches that run the reference."""

    def __init__(self, index: int = 0, faults: Mapping[str, str] | None = None) -> None:
        self.info = DeviceInfo(
            index, "CPU reference (test double)", "", "none", "numpy", compute_units=4
        )
        self.memory: dict[int, bytearray] = {}
        self.launched: list[str] = []
        self._next = 1 << 40
        self._work: LaunchContext | None = None
        self._clock = 0.0
        self.said = ""
        self.simulated = False
        self._faults = dict(faults or {})

    def load(self, code: bytes) -> bytes:
        if not code:
            raise DeviceError("empty code object")
        return code

    def unload(self, module: bytes) -> None:
        assert module

    def allocate(self, size: int) -> int:
        address, self._next = self._next, self._next + (size + 511) // 256 * 256
        self.memory[address] = bytearray(size)
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def _place(self, address: int, size: int) -> tuple[bytearray, int]:
        for start, data in self.memory.items():
            if start <= address and address + size <= start + len(data):
                return data, address - start
        raise DeviceError(f"no memory of {size} bytes at {address:#x}")

    def write(self, address: int, data: bytes) -> None:
        memory, at = self._place(address, len(data))
        memory[at : at + len(data)] = data

    def read(self, address: int, size: int) -> bytes:
        memory, at = self._place(address, size)
        return bytes(memory[at : at + size])

    def fill(self, address: int, value: int, size: int) -> None:
        self.write(address, bytes([value]) * size)

    def launch(self, module: bytes, entry: str, grid: Any, block: Any, args: bytes) -> None:
        assert self._work is not None
        assert all(n >= 1 for n in (*grid, *block))
        self.launched.append(entry)
        work = self._work
        self._clock += simulated_ms(work.config, work.problem) if self.simulated else 0.5
        tensors = problems_of(work.config["variant"]).tensors(work.problem, work.config)
        (written,) = results(tensors)
        target = work.addresses[written.name]
        if target.to_bytes(8, "little") not in args:
            return  # the first stage of two, which writes the workspace
        fault = next((f for part, f in self._faults.items() if part in work.kernel), "")
        _before(fault)
        result = self._result(work, tensors, fault)
        if fault != "silent":
            self.write(target, result)
        if fault == "overrun":
            self.write(target + len(result) + 64, bytes(2))
        if fault == "zero-added":
            behind = target + len(result) + 64
            there = np.frombuffer(self.read(behind, 2), np.float16)
            self.write(behind, (there + np.float16(0)).tobytes())

    def _result(self, work: LaunchContext, tensors: Any, fault: str) -> bytes:
        operands = {
            t.name: from_memory(t, self.read(work.addresses[t.name], size(t)))
            for t in inputs(tensors)
        }
        if fault == "k-slice":
            _cut_slice(tensors, operands, int(work.config["tile_k"]))
        (result,) = results(tensors)
        values = tensors.reference(operands)[result.name]
        added = tensors.parts(result.name) > 1 or result.name == "input"
        if added and "workspace" not in work.addresses:
            there = self.read(work.addresses[result.name], size(result))
            values = values + from_memory(result, there)
        if fault == "nan":
            values[0] = np.nan
        if fault == "ones":
            return b"\xff" * size(result)
        if fault == "last-tile":
            _spoil_last_tile(tensors, values, int(work.config["tile_m"]))
        return to_memory(result, values).tobytes()

    def resident_blocks(self, module: bytes, entry: str, threads: int) -> int:
        return 2

    def synchronize(self) -> None:
        """Everything is done at once."""

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] = self._clock

    def elapsed_ms(self, start: list[float], stop: list[float]) -> float:
        return stop[0] - start[0]

    def announce(self, work: LaunchContext) -> None:
        assert work.sizes.keys() == work.addresses.keys()
        if self.said:
            print(self.said, flush=True)
        self._work = work

    def close(self) -> None:
        assert not self.memory, "memory was not freed"


def _before(fault: str) -> None:
    if fault == "hang":
        time.sleep(3600)
    if fault == "segv":
        ctypes.string_at(0)
    if fault == "crash":
        os.write(2, b"Memory access fault by GPU node-1 (test double)\n")
        os.kill(os.getpid(), signal.SIGABRT)
    if fault == "late":
        threading.Timer(0.5, os._exit, [3]).start()
    if fault == "error":
        raise DeviceError("hipModuleLaunchKernel: hipErrorLaunchFailure")
    if fault == "lost":
        raise DeviceLostError("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS")


def _cut_slice(tensors: Any, operands: dict[str, Any], tile: int) -> None:
    """Makes the second K tile zero in one of the operands."""
    lost = slice(tile, 2 * tile)
    if tensors.result == "output":  # K is (taps, channels): of the weight
        operands["weight"] = _cut(operands["weight"], 2, lost)
    elif tensors.result == "input":  # K is (taps, output channels): of the weight
        operands["weight"] = _cut(operands["weight"], 1, lost)
    else:  # K is (images, output pixels): of the output's gradient
        order = np.moveaxis(operands["output"], 0, 2)
        flat = np.ascontiguousarray(order).reshape(*order.shape[:2], -1)
        flat[:, :, lost] = 0
        operands["output"] = np.moveaxis(flat.reshape(order.shape), 2, 0)


def _cut(weight: Any, axis: int, lost: slice) -> Any:
    """The weight with a slice of (taps, channels along ``axis``) made zero."""
    order = np.moveaxis(weight, axis, -1)
    flat = np.ascontiguousarray(order).reshape(*order.shape[:2], -1)
    flat[:, :, lost] = 0
    return np.moveaxis(flat.reshape(order.shape), -1, axis)


def _spoil_last_tile(tensors: Any, values: Any, tile: int) -> None:
    if tensors.result == "weight":
        rows = values.shape[1]
        values[:, (rows - 1) // tile * tile :] = 0
        return
    view = np.moveaxis(np.moveaxis(values, 1, 0), 2, -1)
    flat = view.reshape(view.shape[0], -1, view.shape[-1]).copy()
    flat[:, (flat.shape[1] - 1) // tile * tile :] = 0
    view[...] = flat.reshape(view.shape)


class ReferencePlugin:
    """The plug-in that the entry point names."""

    def discover(self) -> list[DeviceInfo]:
        return [ReferenceDevice(i).info for i in range(int(os.environ.get(COUNT, "1")))]

    def open(self, index: int, options: Mapping[str, str]) -> ReferenceDevice:
        check_options("reference", options, ("clock", "say", "fault"))
        if os.environ.get(COUNT) == "0":
            raise DeviceError("the test double is switched off")
        faults = json.loads(os.environ.get(FAULTS, "{}")) | {"": options.get("fault", "")}
        device = ReferenceDevice(index, {k: f for k, f in faults.items() if f})
        if options.get("clock") == "none":
            device.info = replace(device.info, has_clock=False)
        device.simulated = options.get("clock") == "simulated"
        device.said = options.get("say", "")
        return device

    def looked_for(self) -> list[tuple[str, str]]:
        return [("numpy", "found")]
