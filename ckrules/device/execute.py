"""Running one job on an open device: upload, launch, compare, time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from ckrules.device.hostlib import Fill, HostLaunch, Info, Room
from ckrules.device.interface import (
    UNLAUNCHABLE,
    Clustered,
    Device,
    DeviceError,
    DeviceLostError,
    LaunchContext,
    Telling,
    Watchful,
)
from ckrules.device.jobs import Job, LaunchableKernel, Phase, RunOutcome, RunStatus
from ckrules.kernels.families import problems_of
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckrules.device.patterns import ErrorPattern
    from ckrules.device.tensors import Expected
    from ckrules.device.tolerance import Comparison
    from ckrules.kernels.parts import Tensor, Tensors

GUARD = 4096
"""Bytes before and after every buffer that a kernel must not touch."""

_OTHER = 0x5A
"""What a result holds before the launch that tells what is not written from written NaN."""

Watcher = Callable[[Phase], None]
Opener = Callable[["Path", str], tuple[LaunchableKernel, bytes]]


@dataclass(frozen=True)
class ProblemData:
    """Data and references of a problem, kept for the next kernel."""

    bits: Mapping[str, bytes]
    expected: Sequence[Expected]


@dataclass
class Runner:
    """Runs jobs on one device.

    Args:
        phase: Told what is about to happen, so that a watcher can say where a job ended.
    """

    device: Device
    phase: Watcher = lambda _: None
    lost: bool = False
    """Whether a kernel broke the device, so that no further job can run."""
    _known: Recent[tuple[Any, ...], ProblemData] = field(default_factory=lambda: Recent(4))
    _events: list[Any] = field(default_factory=list)

    def run(self, job: Job) -> RunOutcome:
        """Carries out a job; what fails with a message is an outcome and is not raised."""
        start = time.perf_counter()
        try:
            outcome = self._run(job)
        except DeviceLostError as error:
            self.lost = True
            outcome = RunOutcome(RunStatus.CRASH, str(_first(error)))
        except (CkrulesError, OSError) as error:
            outcome = RunOutcome(RunStatus.ERROR, str(error))
        except MemoryError:
            outcome = RunOutcome(RunStatus.ERROR, "not enough memory for the problem")
        return replace(outcome, seconds=round(time.perf_counter() - start, 4))

    def _run(self, job: Job) -> RunOutcome:
        from ckrules.device.tensors import size

        self.phase(Phase.LOAD)
        kernel, code = opener_named(job.opener)(job.folder, job.name)
        reason = kernel.reason(job.problem)
        if reason is not None:
            return RunOutcome(RunStatus.REFUSED, reason, supported=False)
        config = kernel.info.config
        tensors = problems_of(kernel.info.variant).tensors(job.problem, config)
        same_tensors(kernel.info, tensors)
        self.phase(Phase.PREPARE)
        known = self._prepared(tensors, kernel.info.variant)
        self.phase(Phase.LOAD)
        with ExitStack() as stack:
            module = self.device.load(code)
            stack.callback(self.device.unload, module)
            memory = _Memory(self.device, stack)
            for tensor in tensors.all:
                data, written = known.bits.get(tensor.name), tensor.direction != "in"
                memory.add(tensor.name, tensor.dtype, data, written=written, size=size(tensor))
            room = room_of(self.device, kernel.info, module)
            memory.add("workspace", "fp32", size=kernel.workspace_bytes(job.problem, room))
            places = memory.addresses
            addresses = [places.get(t.name, 0) for t in tensors.all]
            steps = kernel.plan(job.problem, addresses, places.get("workspace", 0), room)
            whole = kernel.info.needs_room
            adds = bool(getattr(tensors, "added_up", False))
            self.device.announce(
                LaunchContext(job.name, config, job.problem, places, memory.sizes, whole, adds)
            )

            def launch() -> None:
                self.phase(Phase.LAUNCH)
                carry_out(self.device, module, steps)
                self.device.synchronize()
                self.phase(Phase.COMPARE)

            launch()
            outcome = _observed(self.device, _judged(tensors, known, memory, launch, steps))
            timed = job.repeat >= 1 and self.device.info.has_clock
            if outcome.status is not RunStatus.OK or not timed:
                return outcome
            self.phase(Phase.TIME)
            times = self._timed(module, steps, job)
            return _with_times(outcome, times, job.problem.flops)

    def _prepared(self, tensors: Tensors, variant: str) -> ProblemData:
        from ckrules.device.tensors import expected, inputs, samples, to_memory

        key = (variant, tensors.key())
        if key not in self._known:
            data = samples(tensors)
            bits = {t.name: to_memory(t, data[t.name]).tobytes() for t in inputs(tensors)}
            self._known[key] = ProblemData(bits, expected(tensors, data))
        return self._known[key]

    def _timed(self, module: Any, steps: Sequence[Fill | HostLaunch], job: Job) -> list[float]:
        """Milliseconds of each timed run, with nothing waited for in between.

        Without fills the runs follow each other with one event between them, so that the time
        that a launch takes on the host hides behind the run before it, as in upstream's timing.
        """
        fills = [s for s in steps if isinstance(s, Fill)]
        launches = [s for s in steps if isinstance(s, HostLaunch)]
        while len(self._events) < 2 * job.repeat:
            self._events.append(self.device.event())
        spans = []
        for _ in range(job.warmup):
            carry_out(self.device, module, steps)
        last = None
        unused = iter(self._events)
        for _ in range(job.repeat):
            carry_out(self.device, module, fills)
            if fills or last is None:
                last = next(unused)
                self.device.record(last)
            start, last = last, next(unused)
            carry_out(self.device, module, launches)
            self.device.record(last)
            spans.append((start, last))
        self.device.synchronize()
        return [self.device.elapsed_ms(start, stop) for start, stop in spans]


def _first(error: DeviceError) -> DeviceError:
    """The error that others followed while things were given back: a lost device repeats it."""
    while isinstance(error.__context__, DeviceError):
        error = error.__context__
    return error


def guard_of(dtype: str, *, written: bool) -> bytes:
    """What surrounds a buffer: NaN if it is only read, or negative zeros, which adding 0 changes.

    >>> guard_of("fp8_fnuz", written=False)[:2].hex(), guard_of("fp16", written=True)[:2].hex()
    ('8080', '0080')
    """
    from ckrules.device.dtypes import element, nan_byte

    if not written:
        return bytes([nan_byte(dtype)]) * GUARD
    width = element(dtype).bytes
    return (bytes(width - 1) + b"\x80") * (GUARD // width)


class _Memory:
    """Buffers with guards around them, freed with the stack."""

    def __init__(self, device: Device, stack: ExitStack) -> None:
        self._device, self._stack = device, stack
        self.addresses: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self._guards: dict[str, bytes] = {}

    def add(
        self,
        name: str,
        dtype: str,
        data: bytes | None = None,
        *,
        written: bool = True,
        size: int = 0,
    ) -> None:
        """Allocates a buffer, for ``data`` or full of NaN; nothing if it has no size."""
        from ckrules.device.dtypes import nan_byte

        size = len(data) if data is not None else size
        if not size:
            return
        base = self._device.allocate(size + 2 * GUARD)
        self._stack.callback(self._device.free, base)
        self.addresses[name], self.sizes[name] = base + GUARD, size
        if data is not None:
            self._device.write(base + GUARD, data)
        else:
            self.refill(name, nan_byte(dtype))
            self._device.synchronize()
        self._guards[name] = guard_of(dtype, written=written)
        for at in (base, base + GUARD + size):
            self._device.write(at, self._guards[name])

    def read(self, name: str) -> bytes:
        return self._device.read(self.addresses[name], self.sizes[name])

    def left_out(self, tensor: Tensor) -> NDArray[np.bool_] | None:
        """Elements that the launches did not write since only a part of the blocks ran."""
        from ckrules.device.tensors import equal_bytes

        if not isinstance(self._device, Watchful):
            return None
        mask = self._device.written(self.addresses[tensor.name], self.sizes[tensor.name])
        return None if mask is None else equal_bytes(tensor, mask.tobytes(), 0)

    def wrote_between(self, tensor: Tensor, steps: Sequence[Fill | HostLaunch]) -> bool:
        """Whether the launches wrote what lies between the rows of a result.

        Where results are added, the steps before the launches clear it.
        """
        from ckrules.device.dtypes import nan_byte
        from ckrules.device.tensors import between

        if not tensor.apart:
            return False
        size, first = self.sizes[tensor.name], self.addresses[tensor.name]
        before = bytearray([nan_byte(tensor.dtype)]) * size
        for step in steps:
            if isinstance(step, Fill) and first <= step.address < first + size:
                at = step.address - first
                end = min(at + step.bytes, size)
                before[at:end] = bytes(end - at)
        clean = between(tensor, bytes(before))
        return bool((between(tensor, self.read(tensor.name)) != clean).any())

    def refill(self, name: str, value: int) -> None:
        self._device.fill(self.addresses[name], value, self.sizes[name])

    def overruns(self) -> list[str]:
        """The buffers around which the guards have changed."""
        overruns = []
        for name, address in self.addresses.items():
            for side, at in (("before", address - GUARD), ("after", address + self.sizes[name])):
                if self._device.read(at, GUARD) != self._guards[name]:
                    overruns.append(f"{side} the {name}")
        return overruns


def room_of(device: Device, info: Info, module: Any) -> Room | None:
    """What the device has room for of a kernel that shares its work out over it; None for others.

    Raises:
        DeviceError: If the device does not say, or has no room.
    """
    if not info.needs_room:
        return None
    units = device.info.compute_units
    if units is None:
        raise DeviceError("the device does not say how many compute units it has")
    entry, threads = info.entries[0], info.block_size
    if info.dynamic_bytes:
        held = _clustered(device, entry)
        blocks = held.resident_with(module, entry, threads, info.dynamic_bytes)
    else:
        blocks = device.resident_blocks(module, entry, threads)
    if blocks < 1:
        raise DeviceError(f"no block of {info.entries[0]} fits on a compute unit")
    return Room(units, blocks)


def opener_named(spec: str) -> Opener:
    """The function that a `Job` names as ``module:function``."""
    return cast(Opener, resolve_name(spec))


def carry_out(device: Device, module: Any, steps: Sequence[Fill | HostLaunch]) -> None:
    """Fills and launches in order, waiting for nothing."""
    for step in steps:
        if isinstance(step, Fill):
            device.fill(step.address, 0, step.bytes)
        elif step.plain:
            device.launch(module, step.entry, step.grid, step.block, step.args)
        else:
            _clustered(device, step.entry).launch_clusters(
                *(module, step.entry, step.grid, step.block, step.args),
                cluster=step.cluster,
                dynamic_bytes=step.dynamic_bytes,
            )


def _clustered(device: Device, entry: str) -> Clustered:
    """The device, which starts clusters and dynamic shared memory, or `DeviceError`."""
    if not isinstance(device, Clustered):
        what = f"{device.info.name} starts no clusters of blocks and no dynamic shared memory"
        raise DeviceError(f"{UNLAUNCHABLE}: {entry}: {what}")
    return device


def same_tensors(info: Info, tensors: Tensors) -> None:
    """Complains if the library of a kernel takes other tensors than its family has.

    Raises:
        UsageError: In that case.
    """
    own = [(t.name, t.direction) for t in tensors.all]
    built = list(info.tensors.items())
    # a last result may be left out: the library says where it may not
    if own not in (built, built[:-1] if built and built[-1][1] == "out" else built):
        listed = ", ".join(f"{name} ({direction})" for name, direction in info.tensors.items())
        raise UsageError(f"{info.name} was built for other tensors: {listed}: build it again")


def _judged(
    tensors: Tensors,
    known: ProblemData,
    memory: _Memory,
    again: Callable[[], None],
    steps: Sequence[Fill | HostLaunch],
) -> RunOutcome:
    """What the results came to together; patterns are those of the first wrong one.

    ``again`` carries the steps out once more, for what only a second launch can tell.
    """
    from ckrules.device.tensors import results

    tensor_of = {t.name: t for t in results(tensors)}
    between = [
        f"between the rows of {t.name}"
        for t in tensor_of.values()
        if memory.wrote_between(t, steps)
    ]
    blocks = max((math.prod(s.grid) for s in steps if not isinstance(s, Fill)), default=1)
    parts = [
        _compared(tensors, tensor_of[e.name], e, memory, again, blocks) for e in known.expected
    ]
    overruns = [*memory.overruns(), *between]
    worst = max((c for c, _ in parts), key=_severity)
    beyond = sum(c.beyond for c, _ in parts)
    remarks = [f"wrote {' and '.join(overruns)}"] if overruns else []
    if beyond:
        remarks.append(f"{beyond:,} results beyond the largest value are NaN or infinite")
    outcome = RunOutcome(
        RunStatus.WRONG if overruns or not all(c.passed for c, _ in parts) else RunStatus.OK,
        "; ".join(remarks),
        supported=True,
        elements=sum(c.elements for c, _ in parts),
        wrong=sum(c.wrong for c, _ in parts),
        not_finite=sum(c.not_finite for c, _ in parts),
        nan=sum(c.nan for c, _ in parts),
        max_abs=worst.max_abs,
        max_rel=worst.max_rel,
        rtol=worst.tolerance.rtol,
        atol=worst.tolerance.atol,
    )
    found = next((p for _, p in parts if p is not None), None)
    if found is None:
        return outcome
    return replace(outcome, pattern=found.kind, where=found.text, first=found.first)


def _severity(comparison: Comparison) -> float:
    """How far a result is off, in tolerances; what has no finite error comes after all others."""
    if comparison.max_abs is None:
        return -1.0
    return comparison.max_abs / (comparison.tolerance.atol or 1.0)


def _observed(device: Device, outcome: RunOutcome) -> RunOutcome:
    """The outcome with what the device saw the kernel do."""
    seen = device.observed() if isinstance(device, Watchful) else ()
    told = device.remarks() if isinstance(device, Telling) else ()
    fault = bool(seen) and outcome.status is RunStatus.OK
    status = RunStatus.FAULT if fault else outcome.status
    said = [outcome.detail] if outcome.detail else []
    text = "; ".join([*said, *(f"{each.kind}: {each.text}" for each in seen), *told])
    return replace(outcome, status=status, detail=text)


def _compared(
    tensors: Tensors,
    tensor: Tensor,
    expected: Expected,
    memory: _Memory,
    again: Callable[[], None],
    blocks: int,
) -> tuple[Comparison, ErrorPattern | None]:
    """A result compared with the reference, and what its wrong elements have in common."""
    import numpy as np

    from ckrules.device import small_floats
    from ckrules.device.patterns import classify
    from ckrules.device.tensors import from_memory, results
    from ckrules.device.tolerance import compare, tolerance_of

    data = memory.read(tensor.name)
    found = from_memory(tensor, data)
    left_out = memory.left_out(tensor)
    if left_out is not None:
        found = np.where(left_out, expected.values, found)
    tolerance = tolerance_of(tensors, expected, blocks)
    edge = small_floats.largest(tensor.dtype)
    comparison = compare(found, expected.values, tolerance, edge)
    if left_out is not None:
        comparison = replace(comparison, elements=int((~left_out).sum()))
    if comparison.passed:
        return comparison, None
    # What a part of the blocks did not write is not known to be unwritten.
    unwritten = _unwritten(tensor, data, memory, again) if left_out is None else None
    pattern = classify(tensors, expected, comparison, found, unwritten)
    if len(results(tensors)) > 1:
        pattern = replace(pattern, text=f"{tensor.name}: {pattern.text}")
    return comparison, pattern


def _unwritten(
    tensor: Tensor, data: bytes, memory: _Memory, again: Callable[[], None]
) -> NDArray[np.bool_] | None:
    """True where a kernel wrote nothing; None for a tensor that holds something beforehand.

    A kernel may store the very bits that its result held, so where it seems to have written nothing
    it is launched over other ones.
    """
    from ckrules.device.dtypes import nan_byte
    from ckrules.device.tensors import equal_bytes

    if tensor.direction != "out":
        return None
    same = equal_bytes(tensor, data, nan_byte(tensor.dtype))
    if same.any():
        memory.refill(tensor.name, _OTHER)
        again()
        same &= equal_bytes(tensor, memory.read(tensor.name), _OTHER)
    return same


def _with_times(outcome: RunOutcome, times: Sequence[float], flops: int) -> RunOutcome:
    mean = sum(times) / len(times)
    rate = flops / (mean * 1e-3) / 1e12 if mean > 0 else None
    return replace(outcome, time_ms=mean, time_min_ms=min(times), tflops=rate)
