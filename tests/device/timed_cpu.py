"""A TEST DOUBLE of a GPU with a clock: the CPU emulator computes, and times are made up.

Of each kernel and problem the first launch is executed; those that are timed only move the clock,
by `tests.device.reference_device.simulated_ms`. It is registered as the plug-in ``timed-cpu``.
``TIMED_CPU_SECONDS`` is how long each first launch takes at least, for who wants to interrupt it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckrules.device.cpu import CpuDevice, CpuPlugin
from ckrules.device.interface import DeviceInfo, LaunchContext
from tests.device.reference_device import simulated_ms

ENTRY_POINT = "[ckrules.devices]\ntimed-cpu = tests.device.timed_cpu:TimedCpuPlugin\n"


def registered(folder: Path) -> Path:
    """Makes a distribution with the entry point in a folder that is put on the path."""
    info = folder / "ckrules_timed_cpu-0.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ckrules-timed-cpu\nVersion: 0.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINT)
    return folder


class TimedCpu(CpuDevice):
    """The CPU emulator with a clock."""

    _clock = 0.0

    def announce(self, work: LaunchContext) -> None:
        super().announce(work)
        self._work, self._computed = work, False

    def launch(self, module: Any, entry: str, grid: Any, block: Any, args: bytes) -> None:
        self._clock += simulated_ms(self._work.config, self._work.problem)
        if not self._computed:
            time.sleep(float(os.environ.get("TIMED_CPU_SECONDS", "0")))
            super().launch(module, entry, grid, block, args)
        self._computed = True

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] = self._clock

    def elapsed_ms(self, start: list[float], stop: list[float]) -> float:
        return stop[0] - start[0]


class TimedCpuPlugin(CpuPlugin):
    """The plug-in that the entry point names."""

    def discover(self) -> Sequence[DeviceInfo]:
        return [replace(each, has_clock=True) for each in super().discover()]

    def open(self, index: int, options: Mapping[str, str] | None = None) -> TimedCpu:
        plain = super().open(index, options)
        return TimedCpu(replace(plain.info, has_clock=True), plain.plan)
