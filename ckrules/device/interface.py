"""What a device has to do: load a code object, hold memory, launch, tell the time.

A plug-in is an object with the members of `Plugin`, named by an entry point of the group
``ckrules.devices``. ``docs/validation.md`` shows how to write one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ckrules.support.errors import CkrulesError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckrules.kernels.parts import Problem

Dim3 = tuple[int, int, int]

CLOCK = ("event", "record", "elapsed_ms")
"""The members that a device without a clock need not have."""

GROUP = "ckrules.devices"
"""The entry-point group of plug-ins."""


UNLAUNCHABLE = "cannot be launched"
"""What messages begin with that say that a GPU would not start a kernel."""


class DeviceError(CkrulesError, RuntimeError):
    """A device refused an operation; the message says which and why."""


class DeviceLostError(DeviceError):
    """A kernel broke the device for this process: whatever follows fails, so the worker ends."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device. What is not known is empty or None."""

    index: int
    name: str
    arch: str
    """Such as ``gfx942``, without target features; empty if it runs kernels of every GPU."""
    driver: str = ""
    runtime: str = ""
    memory_bytes: int | None = None
    compute_units: int | None = None
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    has_clock: bool = True
    """Whether times mean something; without, nothing is timed and no events are needed."""


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What the next launches belong to, for devices that log or emulate."""

    kernel: str
    config: Mapping[str, Any]
    problem: Problem
    addresses: Mapping[str, int]
    """Of each tensor by name, and of ``workspace`` where there is one."""
    sizes: Mapping[str, int]
    """Bytes of what is at these addresses."""
    shared_out: bool = False
    """Whether blocks share the work out among as many as run at once (`Info.needs_room`)."""
    added_up: bool = False
    """Whether blocks that differ along x or y add to the same results (`Tensors`)."""


@runtime_checkable
class Device(Protocol):
    """An open device, used by one thread of one process.

    Every member may raise `DeviceError`, and `DeviceLostError` where a fault of a kernel stays with
    the process, as an illegal address does with a context of CUDA.
    """

    info: DeviceInfo

    def load(self, code: bytes) -> Any:
        """A handle for a code object's kernels."""

    def unload(self, module: Any) -> None:
        """Frees the code object."""

    def allocate(self, size: int) -> int:
        """The address of so many bytes of device memory, aligned to 256 bytes at least."""

    def free(self, address: int) -> None:
        """Frees what `allocate` gave."""

    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to the device."""

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from the device, when everything launched before is done."""

    def fill(self, address: int, value: int, size: int) -> None:
        """Sets so many bytes to one value, in the order of launches."""

    def launch(self, module: Any, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Starts a kernel: grid in blocks, block in threads, and the bytes of its arguments."""

    def resident_blocks(self, module: Any, entry: str, threads: int) -> int:
        """How many blocks of so many threads of a kernel one compute unit runs at once."""

    def synchronize(self) -> None:
        """Waits until everything launched before is done; faults of kernels are raised here."""

    def event(self) -> Any:
        """A handle for a point in time."""

    def record(self, event: Any) -> None:
        """Makes an event mark the point between the launches before and after."""

    def elapsed_ms(self, start: Any, stop: Any) -> float:
        """Milliseconds between two events that have been recorded and reached."""

    def announce(self, work: LaunchContext) -> None:
        """Says what the next launches belong to; most devices need not know."""

    def close(self) -> None:
        """Gives the device back."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a device saw a kernel do wrong, whatever came out."""

    kind: str
    """Such as ``lds-race``."""
    text: str
    """What and where, in one line."""


@runtime_checkable
class Watchful(Protocol):
    """A device that sees more than results; members beside those of `Device`."""

    def observed(self) -> Sequence[Observation]:
        """What was seen in the launches since `Device.announce`, most severe first."""

    def written(self, address: int, size: int) -> NDArray[np.bool_] | None:
        """Which bytes were written by launches of which only some blocks ran; None if all ran."""


@runtime_checkable
class Telling(Protocol):
    """A device that reports more of its launches than faults."""

    def remarks(self) -> Sequence[str]:
        """What there is to say of the launches since `Device.announce`, in lines."""


@runtime_checkable
class Streaming(Protocol):
    """A device with streams, on which launches wait for each other; beside those of `Device`."""

    def use_stream(self, stream: int) -> None:
        """Has fills, copies, launches and events go to a stream from now on; 0: the usual one."""

    def copy_rows(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int
    ) -> None:
        """Copies rows of so many bytes between device addresses; pitches lead to the next row."""


@runtime_checkable
class Clustered(Protocol):
    """A device that starts clusters of blocks and dynamic shared memory; beside `Device`."""

    def launch_clusters(
        self,
        module: Any,
        entry: str,
        grid: Dim3,
        block: Dim3,
        args: bytes,
        *,
        cluster: Dim3,
        dynamic_bytes: int,
    ) -> None:
        """Starts a kernel as `Device.launch` does, in clusters of so many blocks."""

    def resident_with(self, module: Any, entry: str, threads: int, dynamic_bytes: int) -> int:
        """`Device.resident_blocks` of blocks with so much dynamic shared memory."""


class Plugin(Protocol):
    """What an entry point names: an object like this, or a class that makes one without arguments.

    All members are called in worker processes only, so that the caller never holds a GPU.
    """

    def discover(self) -> Sequence[DeviceInfo]:
        """The devices that are there; an empty list is not an error."""

    def open(self, index: int, options: Mapping[str, str]) -> Device:
        """Opens the device of this `DeviceInfo.index`; a plug-in may leave ``options`` out.

        Raises:
            UnknownNameError: For an option that it does not have; see `check_options`.
            UsageError: For a value that it cannot take.
        """

    def looked_for(self) -> Sequence[tuple[str, str]]:
        """What `discover` needs, each with what was found of it, for ``ckrules doctor``."""


def check_options(device: str, options: Mapping[str, str], known: Iterable[str]) -> None:
    """Refuses options that a device does not have.

    >>> check_options("mine", {"order": "reversed"}, ["order", "seed"])

    Raises:
        UnknownNameError: With near matches.
    """
    names = list(known)
    for name in options:
        if name not in names:
            raise unknown(f"option of the device {device}", name, names)
