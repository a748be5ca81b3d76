"""Running one job on an open device: upload, launch, compare, time."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from ckrules.build.hostlib import Buffers, Fill, Info, Launch, Room
from ckrules.device.interface import Device, DeviceError, Work
from ckrules.device.jobs import Job, Kernel, Outcome
from ckrules.engine.errors import CkrulesError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckrules.device.numbers import Floats
    from ckrules.device.tensors import Tensors

GUARD = 4096
"""Bytes before and after every buffer that a kernel must not touch."""

POISON = 0xFF
"""What results and guards hold beforehand; NaN in every floating-point type."""

Phase = Callable[[str], None]
Opener = Callable[["Path", str], tuple[Kernel, bytes]]


@dataclass(frozen=True)
class Known:
    """Data and reference of a problem, kept for the next kernel."""

    sources: tuple[Floats, Floats]
    bits: tuple[bytes, bytes]
    reference: Floats


@dataclass
class Runner:
    """Runs jobs on one device.

    Args:
        device: An open device.
        phase: Told what is about to happen, so that a watcher can say where a job ended.
    """

    device: Device
    phase: Phase = lambda _: None
    _known: dict[tuple[Any, ...], Known] = field(default_factory=dict)
    _events: list[Any] = field(default_factory=list)

    def run(self, job: Job) -> Outcome:
        """Carries out a job; what fails with a message is an outcome and is not raised."""
        start = time.perf_counter()
        try:
            outcome = self._run(job)
        except (CkrulesError, OSError) as error:
            outcome = Outcome("error", str(error))
        except MemoryError:
            outcome = Outcome("error", "not enough memory for the problem")
        return replace(outcome, seconds=round(time.perf_counter() - start, 4))

    def _run(self, job: Job) -> Outcome:
        from ckrules.device.tensors import Tensors

        self.phase("load")
        kernel, code = _opener(job.opener)(job.folder, job.name)
        shape = job.problem.shape()
        reason = kernel.reason(shape)
        if reason is not None:
            return Outcome("refused", reason, supported=False)
        config = kernel.info.config
        tensors = Tensors(job.problem, kernel.info.variant, str(config["dtype"]))
        self.phase("prepare")
        known = self._prepared(tensors)
        self.phase("load")
        with ExitStack() as stack:
            module = self.device.load(code)
            stack.callback(self.device.unload, module)
            memory = _Memory(self.device, stack)
            for role, data in zip(tensors.sources, known.bits, strict=True):
                memory.add(role, data=data)
            memory.add(tensors.result, size=tensors.size(tensors.result))
            room = self._room(kernel.info, module) if kernel.info.needs_room else None
            memory.add("workspace", size=kernel.workspace_bytes(shape, room))
            places = memory.addresses
            steps = kernel.plan(shape, Buffers(**places), room)
            self.device.announce(Work(job.name, config, job.problem, places))
            self.phase("launch")
            _do(self.device, module, steps)
            self.device.synchronize()
            self.phase("compare")
            outcome = _judged(tensors, config, known, memory)
            if outcome.status != "ok" or job.repeat < 1:
                return outcome
            self.phase("time")
            times = self._timed(module, steps, job)
            return _with_times(outcome, times, job.problem.flops)

    def _room(self, info: Info, module: Any) -> Room:
        """What the device has room for of a kernel that shares its work out over it."""
        units = self.device.info.compute_units
        if units is None:
            raise DeviceError("the device does not say how many compute units it has")
        blocks = self.device.resident_blocks(module, info.entries[0], info.block_size)
        if blocks < 1:
            raise DeviceError(f"no block of {info.entries[0]} fits on a compute unit")
        return Room(units, blocks)

    def _prepared(self, tensors: Tensors) -> Known:
        from ckrules.device import reference
        from ckrules.device.numbers import rounded

        key = (tensors.problem.with_split(1), tensors.variant, tensors.dtype)
        if key not in self._known:
            while len(self._known) >= 4:
                del self._known[next(iter(self._known))]
            one, two = tensors.sources
            a, b = tensors.data(one), tensors.data(two)
            result = rounded(reference.compute(tensors, a, b), tensors.dtype)
            bits = tensors.to_memory(one, a).tobytes(), tensors.to_memory(two, b).tobytes()
            self._known[key] = Known((a, b), bits, result)
        return self._known[key]

    def _timed(self, module: Any, steps: Sequence[Fill | Launch], job: Job) -> list[float]:
        """Milliseconds of each timed run, with nothing waited for in between.

        Without fills the runs follow each other with one event between them, so that the time
        that a launch takes on the host hides behind the run before it, as in upstream's timing.
        """
        fills = [s for s in steps if isinstance(s, Fill)]
        launches = [s for s in steps if isinstance(s, Launch)]
        while len(self._events) < 2 * job.repeat:
            self._events.append(self.device.event())
        spans = []
        for _ in range(job.warmup):
            _do(self.device, module, steps)
        last = None
        unused = iter(self._events)
        for _ in range(job.repeat):
            _do(self.device, module, fills)
            if fills or last is None:
                last = next(unused)
                self.device.record(last)
            start, last = last, next(unused)
            _do(self.device, module, launches)
            self.device.record(last)
            spans.append((start, last))
        self.device.synchronize()
        return [self.device.elapsed_ms(start, stop) for start, stop in spans]


class _Memory:
    """Buffers with guards around them, freed with the stack."""

    def __init__(self, device: Device, stack: ExitStack) -> None:
        self._device, self._stack = device, stack
        self.addresses: dict[str, int] = {}
        self._sizes: dict[str, int] = {}

    def add(self, name: str, *, data: bytes | None = None, size: int = 0) -> None:
        """Allocates a buffer, for ``data`` or poisoned; nothing if it has no size."""
        size = len(data) if data is not None else size
        if not size:
            return
        base = self._device.allocate(size + 2 * GUARD)
        self._stack.callback(self._device.free, base)
        self._device.fill(base, POISON, size + 2 * GUARD)
        self._device.synchronize()
        self.addresses[name], self._sizes[name] = base + GUARD, size
        if data is not None:
            self._device.write(base + GUARD, data)

    def read(self, name: str) -> bytes:
        """The content of a buffer."""
        return self._device.read(self.addresses[name], self._sizes[name])

    def overruns(self) -> list[str]:
        """The buffers around which the guards have changed."""
        clean = bytes([POISON]) * GUARD
        found = []
        for name, address in self.addresses.items():
            for side, at in (("before", address - GUARD), ("after", address + self._sizes[name])):
                if self._device.read(at, GUARD) != clean:
                    found.append(f"{side} the {name}")
        return found


def _opener(spec: str) -> Opener:
    module, _, name = spec.partition(":")
    return cast(Opener, getattr(importlib.import_module(module), name))


def _do(device: Device, module: Any, steps: Sequence[Fill | Launch]) -> None:
    for step in steps:
        if isinstance(step, Fill):
            device.fill(step.address, 0, step.bytes)
        else:
            device.launch(module, step.entry, step.grid, step.block, step.args)


def _judged(tensors: Tensors, config: Mapping[str, Any], known: Known, memory: _Memory) -> Outcome:
    import numpy as np

    from ckrules.device.patterns import classify
    from ckrules.device.tolerance import compare, thresholds

    data = memory.read(tensors.result)
    found = tensors.from_memory(tensors.result, data)
    tolerance = thresholds(tensors, float(np.abs(known.reference).max()))
    result = compare(found, known.reference, tolerance)
    overruns = memory.overruns()
    outcome = Outcome(
        "ok" if result.passed and not overruns else "wrong",
        f"wrote {' and '.join(overruns)}" if overruns else "",
        supported=True,
        elements=result.elements,
        wrong=result.wrong,
        not_finite=result.not_finite,
        max_abs=result.max_abs,
        max_rel=result.max_rel,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
    )
    if result.passed:
        return outcome
    unwritten = tensors.equal_bytes(tensors.result, data, POISON)
    pattern = classify(tensors, config, result, found, known.reference, known.sources, unwritten)
    return replace(outcome, pattern=pattern.kind, where=pattern.text, first=pattern.first)


def _with_times(outcome: Outcome, times: Sequence[float], flops: int) -> Outcome:
    mean = sum(times) / len(times)
    rate = flops / (mean * 1e-3) / 1e12 if mean > 0 else None
    return replace(outcome, time_ms=mean, time_min_ms=min(times), tflops=rate)
