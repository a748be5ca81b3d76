"""Host libraries of built kernels: what a kernel supports and how it is launched, without a GPU.

The interface is that of ``runtime/ckrules_kernel.h`` in every generated folder.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.compiling import codeobject
from ckrules.kernels.families import problems_of
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Problem

ABI_VERSION = 3
_LAUNCH = 1
_DIRECTIONS = {1: "in", 2: "out", 3: "inout"}


class HostLibraryError(CkrulesError, RuntimeError):
    """A host library that cannot be loaded, or that failed where no kernel should."""


class _Problem(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("bytes", ctypes.c_uint64),
        ("data", ctypes.c_char_p),
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
        ("tensor_count", ctypes.c_uint32),
        ("tensors", ctypes.POINTER(ctypes.c_uint64)),
        ("workspace", ctypes.c_uint64),
    )


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("direction", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class _Info(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("abi_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("ck", ctypes.c_char_p),
        ("arch", ctypes.c_char_p),
        ("family", ctypes.c_char_p),
        ("variant", ctypes.c_char_p),
        ("config", ctypes.c_char_p),
        ("wave_size", ctypes.c_uint32),
        ("block_size", ctypes.c_uint32),
        ("lds_bytes", ctypes.c_uint32),
        ("entry_count", ctypes.c_uint32),
        ("needs_room", ctypes.c_uint32),
        ("tensor_count", ctypes.c_uint32),
        ("entries", ctypes.POINTER(ctypes.c_char_p)),
        ("tensors", ctypes.POINTER(_Tensor)),
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
class Room:
    """How many blocks of a kernel run at once on a GPU, which stream-K kernels have to know."""

    compute_units: int
    blocks_per_cu: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Bytes that have to be zero before the launch; not part of the kernel's time."""

    address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """One kernel launch: everything that hipModuleLaunchKernel takes."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: bytes = field(repr=False)
    lds_bytes: int
    """Static LDS, for information."""
    dynamic_bytes: int = 0
    """Shared memory that the launch asks for beside it; only devices that are `Clustered` do."""
    cluster: tuple[int, int, int] = (1, 1, 1)
    """Blocks that run side by side and see each other's shared memory, as for those devices."""

    @property
    def plain(self) -> bool:
        """Whether every device can start it."""
        return not self.dynamic_bytes and self.cluster == (1, 1, 1)


@dataclass(frozen=True, slots=True)
class Info:
    """What a kernel is."""

    name: str
    ck: str
    arch: str
    family: str
    variant: str
    config: Mapping[str, Any]
    wave_size: int
    block_size: int
    lds_bytes: int
    entries: tuple[str, ...]
    tensors: Mapping[str, str]
    """Name and direction (in, out or inout) of each, in the order of a plan's addresses."""
    needs_room: bool = False
    """Whether workspace and plan depend on the GPU's `Room`: stream-K."""
    dynamic_bytes: int = 0
    """Shared memory that its launches ask for, which decides how many blocks run at once."""


class HostLibrary:
    """A kernel's host library. Problems are those of the kernel's family.

    Args:
        path: ``NAME.host.so``.

    Raises:
        HostLibraryError: If it cannot be loaded or has another interface.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            _check_whole(path)
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
            family=found.family.decode(),
            variant=found.variant.decode(),
            config=json.loads(found.config),
            wave_size=found.wave_size,
            block_size=found.block_size,
            lds_bytes=found.lds_bytes,
            entries=tuple(found.entries[i].decode() for i in range(found.entry_count)),
            tensors={
                t.name.decode(): _DIRECTIONS[t.direction]
                for t in (found.tensors[i] for i in range(found.tensor_count))
            },
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

    def is_supported(self, problem: Problem) -> bool:
        """Whether the kernel takes the problem, by its own IsSupportedArgument.

        Raises:
            UsageError: If the problem makes no sense, such as a stride of 0.
        """
        return self._answer(self._library.ckrules_is_supported(self._bytes(problem)))

    def reason(self, problem: Problem) -> str | None:
        """Why the kernel refuses the problem; None if it takes it."""
        if self.is_supported(problem):
            return None
        return self._said() or "refused"

    def workspace_bytes(self, problem: Problem, room: Room | None = None) -> int:
        """Bytes of device memory that the kernel needs beside the tensors.

        Raises:
            UsageError: If the kernel needs to know the GPU's room and it is not given.
        """
        found = int(self._library.ckrules_workspace_bytes(self._bytes(problem), _room(room)))
        if found < 0:
            raise UsageError(f"{self.info.name}: {self._said()}")
        return found

    def plan(
        self,
        problem: Problem,
        addresses: Sequence[int],
        workspace: int = 0,
        room: Room | None = None,
    ) -> list[Fill | HostLaunch]:
        """The steps that compute the problem, in order.

        Args:
            problem: What is computed.
            addresses: Where the tensors are on the device, in the order of `Info.tensors`.
            workspace: Where `workspace_bytes` are.
            room: What the GPU has room for, if the kernel needs to know.

        Raises:
            UsageError: If the kernel refuses the problem, or needs to know the GPU's room and
                it is not given.
        """
        made = ctypes.POINTER(_Plan)()
        given = _Buffers(
            ctypes.sizeof(_Buffers),
            len(addresses),
            (ctypes.c_uint64 * len(addresses))(*addresses),
            workspace,
        )
        status = self._library.ckrules_plan_create(
            self._bytes(problem), _room(room), given, ctypes.byref(made)
        )
        if not self._answer(status):
            raise UsageError(f"{self.info.name} refuses the problem: {self._said()}")
        try:
            plan = made.contents
            return [_step(plan.steps[i]) for i in range(plan.step_count)]
        finally:
            self._library.ckrules_plan_free(made)

    def _bytes(self, problem: Problem) -> _Problem:
        data = problems_of(self.info.variant).pack(problem)
        return _Problem(ctypes.sizeof(_Problem), 0, len(data), data)

    def _answer(self, status: int) -> bool:
        if status < 0:
            raise UsageError(f"{self.info.name}: {self._said()}")
        return bool(status)

    def _said(self) -> str:
        text: bytes = self._library.ckrules_last_error()
        return text.decode(errors="replace")


def _room(room: Room | None) -> _Room | None:
    if room is None:
        return None
    return _Room(ctypes.sizeof(_Room), room.compute_units, room.blocks_per_cu, 0)


def _step(step: _Step) -> Fill | HostLaunch:
    if step.kind != _LAUNCH:
        return Fill(step.address, step.bytes)
    grid, block = tuple(step.grid), tuple(step.block)
    return HostLaunch(
        entry=step.entry.decode(),
        grid=(grid[0], grid[1], grid[2]),
        block=(block[0], block[1], block[2]),
        args=ctypes.string_at(step.args, step.args_size),
        lds_bytes=step.lds_bytes,
    )


def _check_whole(path: Path) -> None:
    """Complains of a library that was cut off: loading it would end the process (SIGBUS).

    What an ELF file has last is the list of its sections.
    """
    with path.open("rb") as stream:
        head = stream.read(64)
        size = os.fstat(stream.fileno()).st_size
    if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
        return  # whoever loads it says so
    start, each, count = (codeobject.header(head)[i] for i in (6, 11, 12))
    if start + each * count > size:
        raise HostLibraryError(f"{path}: cut off after {size:,} bytes: build it again")
