"""Host libraries of built kernels: what a kernel supports and how it is launched, without a GPU.

The interface is that of ``runtime/ckrules_kernel.h`` in every generated folder.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.engine.errors import CkrulesError, UsageError

ABI_VERSION = 2
_LAUNCH = 1


class HostLibraryError(CkrulesError, RuntimeError):
    """A host library that cannot be loaded, or that failed where no kernel should."""


class _Problem(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("ndim", ctypes.c_int32),
        ("groups", ctypes.c_int64),
        ("batch", ctypes.c_int64),
        ("out_channels", ctypes.c_int64),
        ("in_channels", ctypes.c_int64),
        ("input", ctypes.c_int64 * 3),
        ("filter", ctypes.c_int64 * 3),
        ("stride", ctypes.c_int64 * 3),
        ("dilation", ctypes.c_int64 * 3),
        ("left_pad", ctypes.c_int64 * 3),
        ("right_pad", ctypes.c_int64 * 3),
        ("k_batch", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


class _Room(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("compute_units", ctypes.c_int32),
        ("blocks_per_cu", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


class _Buffers(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("input", ctypes.c_uint64),
        ("weight", ctypes.c_uint64),
        ("output", ctypes.c_uint64),
        ("workspace", ctypes.c_uint64),
    )


class _Info(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("abi_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("ck", ctypes.c_char_p),
        ("arch", ctypes.c_char_p),
        ("variant", ctypes.c_char_p),
        ("config", ctypes.c_char_p),
        ("ndim", ctypes.c_int32),
        ("wave_size", ctypes.c_uint32),
        ("block_size", ctypes.c_uint32),
        ("lds_bytes", ctypes.c_uint32),
        ("entry_count", ctypes.c_uint32),
        ("needs_room", ctypes.c_uint32),
        ("entries", ctypes.POINTER(ctypes.c_char_p)),
    )


class _Step(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("lds_bytes", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("entry", ctypes.c_char_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("args", ctypes.c_void_p),
        ("args_size", ctypes.c_uint64),
    )


class _Plan(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("step_count", ctypes.c_uint32),
        ("steps", ctypes.POINTER(_Step)),
    )


@dataclass(frozen=True, slots=True)
class ConvShape:
    """One grouped convolution; channels are those of one group, slowest dimension first."""

    groups: int
    batch: int
    out_channels: int
    in_channels: int
    input: tuple[int, ...]
    filter: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    left_pad: tuple[int, ...]
    right_pad: tuple[int, ...]
    k_batch: int = 1

    @property
    def ndim(self) -> int:
        """Spatial dimensions."""
        return len(self.input)

    @property
    def output(self) -> tuple[int, ...]:
        """Spatial lengths of the output.

        >>> ConvShape(1, 1, 8, 8, (7, 7), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1)).output
        (4, 4)
        """
        return tuple(
            (self.input[i] + self.left_pad[i] + self.right_pad[i] - self._reach(i))
            // self.stride[i]
            + 1
            for i in range(self.ndim)
        )

    def _reach(self, i: int) -> int:
        return (self.filter[i] - 1) * self.dilation[i] + 1


@dataclass(frozen=True, slots=True)
class Room:
    """How many blocks of a kernel run at once on a GPU, which stream-K kernels have to know."""

    compute_units: int
    blocks_per_cu: int


@dataclass(frozen=True, slots=True)
class Buffers:
    """Device addresses of a problem's tensors."""

    input: int = 0
    weight: int = 0
    output: int = 0
    workspace: int = 0


@dataclass(frozen=True, slots=True)
class Fill:
    """Bytes that have to be zero before the launch; not part of the kernel's time."""

    address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch: everything that hipModuleLaunchKernel takes."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: bytes = field(repr=False)
    lds_bytes: int
    """Static LDS, for information: no dynamic LDS has to be asked for."""


@dataclass(frozen=True, slots=True)
class Info:
    """What a kernel is."""

    name: str
    ck: str
    arch: str
    variant: str
    config: Mapping[str, Any]
    ndim: int
    wave_size: int
    block_size: int
    lds_bytes: int
    entries: tuple[str, ...]
    needs_room: bool = False
    """Whether workspace and plan depend on the GPU's `Room`: stream-K."""


class HostLibrary:
    """A kernel's host library.

    Args:
        path: ``NAME.host.so``.

    Raises:
        HostLibraryError: If it cannot be loaded or has another interface.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(str(path.resolve()))
            self._declare()
        except (OSError, AttributeError) as error:
            raise HostLibraryError(f"{path}: no host library: {error}") from None
        found = self._library.ckrules_describe().contents
        if found.abi_version != ABI_VERSION:
            raise HostLibraryError(
                f"{path}: interface {found.abi_version}, expected {ABI_VERSION}: build it again"
            )
        self.info = Info(
            name=found.name.decode(),
            ck=found.ck.decode(),
            arch=found.arch.decode(),
            variant=found.variant.decode(),
            config=json.loads(found.config),
            ndim=found.ndim,
            wave_size=found.wave_size,
            block_size=found.block_size,
            lds_bytes=found.lds_bytes,
            entries=tuple(found.entries[i].decode() for i in range(found.entry_count)),
            needs_room=bool(found.needs_room),
        )

    def _declare(self) -> None:
        problem, plan, room = map(ctypes.POINTER, (_Problem, _Plan, _Room))
        library = self._library
        library.ckrules_describe.restype = ctypes.POINTER(_Info)
        library.ckrules_describe.argtypes = ()
        library.ckrules_last_error.restype = ctypes.c_char_p
        library.ckrules_is_supported.argtypes = (problem,)
        library.ckrules_workspace_bytes.argtypes = (problem, room)
        library.ckrules_workspace_bytes.restype = ctypes.c_int64
        library.ckrules_plan_create.argtypes = (
            problem,
            room,
            ctypes.POINTER(_Buffers),
            ctypes.POINTER(plan),
        )
        library.ckrules_plan_free.argtypes = (plan,)
        library.ckrules_plan_free.restype = None

    def is_supported(self, shape: ConvShape) -> bool:
        """Whether the kernel takes the problem, by its own IsSupportedArgument.

        Raises:
            UsageError: If the problem makes no sense, such as a stride of 0.
        """
        return self._answer(self._library.ckrules_is_supported(_problem(shape)))

    def reason(self, shape: ConvShape) -> str | None:
        """Why the kernel refuses the problem; None if it takes it."""
        if self.is_supported(shape):
            return None
        return self._said() or "refused"

    def workspace_bytes(self, shape: ConvShape, room: Room | None = None) -> int:
        """Bytes of device memory that the kernel needs beside the tensors.

        Raises:
            UsageError: If the kernel needs to know the GPU's room and it is not given.
        """
        found = int(self._library.ckrules_workspace_bytes(_problem(shape), _room(room)))
        if found < 0:
            raise UsageError(f"{self.info.name}: {self._said()}")
        return found

    def plan(
        self, shape: ConvShape, buffers: Buffers, room: Room | None = None
    ) -> list[Fill | Launch]:
        """The steps that compute the problem, in order.

        Raises:
            UsageError: If the kernel refuses the problem, or needs to know the GPU's room and
                it is not given.
        """
        made = ctypes.POINTER(_Plan)()
        given = _Buffers(
            ctypes.sizeof(_Buffers),
            0,
            buffers.input,
            buffers.weight,
            buffers.output,
            buffers.workspace,
        )
        status = self._library.ckrules_plan_create(
            _problem(shape), _room(room), given, ctypes.byref(made)
        )
        if not self._answer(status):
            raise UsageError(f"{self.info.name} refuses the problem: {self._said()}")
        try:
            plan = made.contents
            return [_step(plan.steps[i]) for i in range(plan.step_count)]
        finally:
            self._library.ckrules_plan_free(made)

    def _answer(self, status: int) -> bool:
        if status < 0:
            raise UsageError(f"{self.info.name}: {self._said()}")
        return bool(status)

    def _said(self) -> str:
        text: bytes = self._library.ckrules_last_error()
        return text.decode(errors="replace")


def _problem(shape: ConvShape) -> _Problem:
    n = shape.ndim
    lists = (
        *(shape.input, shape.filter, shape.stride),
        *(shape.dilation, shape.left_pad, shape.right_pad),
    )
    if not 1 <= n <= 3 or any(len(each) != n for each in lists):
        raise UsageError("a convolution has 1, 2 or 3 spatial dimensions, the same everywhere")
    return _Problem(
        ctypes.sizeof(_Problem),
        n,
        *(shape.groups, shape.batch, shape.out_channels, shape.in_channels),
        *(_three(each) for each in lists),
        shape.k_batch,
        0,
    )


def _room(room: Room | None) -> _Room | None:
    if room is None:
        return None
    return _Room(ctypes.sizeof(_Room), room.compute_units, room.blocks_per_cu, 0)


def _three(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * 3)(*values)


def _step(step: _Step) -> Fill | Launch:
    if step.kind != _LAUNCH:
        return Fill(step.address, step.bytes)
    grid, block = tuple(step.grid), tuple(step.block)
    return Launch(
        entry=step.entry.decode(),
        grid=(grid[0], grid[1], grid[2]),
        block=(block[0], block[1], block[2]),
        args=ctypes.string_at(step.args, step.args_size),
        lds_bytes=step.lds_bytes,
    )
