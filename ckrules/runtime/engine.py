"""Kernels on an open device: what is loaded and allocated stays for the next call.

An engine serves one call at a time. Memory is kept by stream, so that what a call on one stream
still uses is not handed to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckrules.device.execute import carry_out, room_of, same_tensors
from ckrules.device.hostlib import Fill, HostLaunch, Room
from ckrules.device.interface import Device, LaunchContext, Streaming
from ckrules.device.tensors import size
from ckrules.kernels.families import problems_of
from ckrules.runtime.padding import Shape, runs
from ckrules.support.errors import UsageError
from ckrules.support.recent import Recent

if TYPE_CHECKING:
    from ckrules.device.jobs import LaunchableKernel
    from ckrules.kernels.parts import Problem, Tensor
    from ckrules.runtime.built import KernelFile

_PLANS = 256
"""So many argument blocks are kept: frameworks hand out the same addresses again and again."""
_LAYOUTS = 4096
_WORKSPACE = "workspace"


@dataclass(frozen=True)
class KernelCall:
    """One run of a kernel on a problem that it takes.

    Args:
        kernel: Where the kernel is.
        problem: What it computes.
        inputs: By tensor, the bytes that go to the device or the address where they are.
        outputs: By tensor, the address where the result goes; None: it is read back.
        stream: The stream; 0: the usual one.
    """

    kernel: KernelFile
    problem: Problem
    inputs: Mapping[str, bytes | int] = field(repr=False)
    outputs: Mapping[str, int | None] = field(repr=False)
    stream: int = 0
    timed: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a call came to."""

    results: Mapping[str, bytes] = field(repr=False)
    """What was read back, by tensor."""
    milliseconds: float | None = None
    """Of the launches; None where nothing was measured."""


@dataclass(frozen=True)
class _Loaded:
    library: LaunchableKernel
    module: Any
    room: Room | None


@dataclass(frozen=True)
class _Layout:
    tensors: Sequence[Tensor]
    sizes: Mapping[str, int]
    workspace: int


class Engine:
    """Runs calls on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._streams = device if isinstance(device, Streaming) else None  # asking takes long
        self._kernels: dict[KernelFile, _Loaded] = {}
        self._layouts: Recent[tuple[KernelFile, Problem], _Layout] = Recent(_LAYOUTS)
        self._plans: Recent[tuple[Any, ...], Sequence[Fill | HostLaunch]] = Recent(_PLANS)
        self._buffers: dict[tuple[int, str], tuple[int, int]] = {}
        self._events: list[Any] = []

    def run(self, call: KernelCall) -> Outcome:
        """Carries out a call; it waits for the device only if results are read back or timed.

        Raises:
            DeviceError: If the device refuses an operation.
            UsageError: If the kernel cannot be opened or refuses the problem.
        """
        self.use_stream(call.stream)
        kernel, layout = self.loaded(call.kernel), self._layout(call)
        places = self._places(call, layout)
        addresses = [places[t.name] for t in layout.tensors]
        steps = self.steps(call.kernel, call.problem, addresses, places.get(_WORKSPACE, 0))
        info = kernel.library.info
        sizes = {name: n for name, n in layout.sizes.items() if name in places}
        self.device.announce(
            LaunchContext(info.name, info.config, call.problem, places, sizes, info.needs_room)
        )
        timed = call.timed and self.device.info.has_clock
        time = self._timed(kernel.module, steps) if timed else None
        if not timed:
            carry_out(self.device, kernel.module, steps)
        wanted = [name for name, address in call.outputs.items() if address is None]
        if wanted:
            self.device.synchronize()
        return Outcome({n: self.device.read(places[n], layout.sizes[n]) for n in wanted}, time)

    def use_stream(self, stream: int) -> None:
        """Has what follows go to a stream.

        Raises:
            UsageError: If the device has none.
        """
        if self._streams is not None:
            self._streams.use_stream(stream)
        elif stream:
            raise UsageError(f"{self.device.info.name} has no streams")

    def loaded(self, file: KernelFile) -> _Loaded:
        """The kernel, opened and loaded once."""
        found = self._kernels.get(file)
        if found is None:
            library, code = file.open()
            module = self.device.load(code)
            found = _Loaded(library, module, room_of(self.device, library.info, module))
            self._kernels[file] = found
        return found

    def steps(
        self, file: KernelFile, problem: Problem, addresses: Sequence[int], workspace: int
    ) -> Sequence[Fill | HostLaunch]:
        """The launches of a problem with their arguments packed, kept by addresses."""
        key = (file, problem, *addresses, workspace)
        steps = self._plans.get(key)
        if steps is None:
            kernel = self.loaded(file)
            steps = kernel.library.plan(problem, addresses, workspace, kernel.room)
            self._plans[key] = steps
        return steps

    def _layout(self, call: KernelCall) -> _Layout:
        key = (call.kernel, call.problem)
        found = self._layouts.get(key)
        if found is None:
            kernel = self.loaded(call.kernel)
            info = kernel.library.info
            made = problems_of(info.variant).tensors(call.problem, info.config)
            same_tensors(info, made)
            workspace = kernel.library.workspace_bytes(call.problem, kernel.room)
            sizes = {t.name: size(t) for t in made.all} | {_WORKSPACE: workspace}
            found = self._layouts[key] = _Layout(made.all, sizes, workspace)
        return found

    def _places(self, call: KernelCall, layout: _Layout) -> dict[str, int]:
        """Where the tensors and the workspace are; inputs from the host are there then."""
        places: dict[str, int] = {}
        for tensor in layout.tensors:
            name = tensor.name
            given = call.inputs[name] if name in call.inputs else call.outputs[name]
            if isinstance(given, int):
                places[name] = given
                continue
            places[name] = self.buffer(call.stream, name, layout.sizes[name])
            if given is not None:
                self.device.write(places[name], given)
        if layout.workspace:
            places[_WORKSPACE] = self.buffer(call.stream, _WORKSPACE, layout.workspace)
        return places

    def buffer(self, stream: int, name: str, size: int) -> int:
        """Memory of at least so many bytes, the same one for the next call that asks."""
        place, there = self._buffers.get((stream, name), (0, 0))
        if there < size:
            if there:
                self.device.synchronize()  # a call before may still use it
                self.device.free(place)
                del self._buffers[stream, name]
            place = self.device.allocate(size)
            self._buffers[stream, name] = (place, size)
        return place

    def grow(self, target: int, source: int, small: Shape, large: Shape, width: int) -> None:
        """Copies an array on the device into the corner of a larger one, with zeros behind it.

        ``width`` is the bytes of an element, sizes are in the order of memory.
        """
        self.device.fill(target, 0, _bytes(large, width))
        for from_, to, gap, pitch, length, rows in runs(small, large):
            self._copy(
                *(target + to * width, pitch * width, source + from_ * width, gap * width),
                *(length * width, rows),
            )

    def shrink(self, target: int, source: int, small: Shape, large: Shape, width: int) -> None:
        """Copies the corner of an array on the device into a smaller one."""
        for to, from_, pitch, gap, length, rows in runs(small, large):
            self._copy(
                *(target + to * width, pitch * width, source + from_ * width, gap * width),
                *(length * width, rows),
            )

    def _copy(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int
    ) -> None:
        if self._streams is not None:
            self._streams.copy_rows(target, target_pitch, source, source_pitch, width, rows)
            return
        self.device.synchronize()
        for row in range(rows):  # by way of the host
            data = self.device.read(source + row * source_pitch, width)
            self.device.write(target + row * target_pitch, data)

    def _timed(self, module: Any, steps: Sequence[Fill | HostLaunch]) -> float:
        """Milliseconds of the launches; fills are not part of a kernel's time."""
        while len(self._events) < 2:
            self._events.append(self.device.event())
        start, stop = self._events
        carry_out(self.device, module, [s for s in steps if isinstance(s, Fill)])
        self.device.record(start)
        carry_out(self.device, module, [s for s in steps if isinstance(s, HostLaunch)])
        self.device.record(stop)
        self.device.synchronize()
        return self.device.elapsed_ms(start, stop)

    def close(self) -> None:
        """Gives memory, code objects and the device back."""
        self.device.synchronize()
        for place, _ in self._buffers.values():
            self.device.free(place)
        for kernel in self._kernels.values():
            self.device.unload(kernel.module)
        self._buffers.clear()
        self._kernels.clear()
        self._plans.clear()
        self.device.close()


def _bytes(shape: Shape, width: int) -> int:
    total = width
    for n in shape:
        total *= n
    return total
