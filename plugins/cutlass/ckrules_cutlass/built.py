"""Built kernels: their host libraries, by the C interface of ``templates/ckrules_cutlass.h.j2``."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.codeobject import LARGEST
from ckrules.device.hostlib import Fill, HostLaunch, HostLibraryError, Info, Room
from ckrules.support import opening
from ckrules.support.errors import UsageError
from ckrules_cutlass.family import HEADERS
from ckrules_cutlass.problems import PROBLEMS
from ckrules_cutlass.vocabulary import VARIANT
from ckrules_cutlass.words import NONE

ABI = 2


class _Problem(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in ("m", "n", "k", "batch"))


class _Place(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("a", "b", "c", "d", "workspace")),
        ("sm_count", ctypes.c_int32),
        ("max_active_clusters", ctypes.c_int32),
    )


_NUMBERS = ("shared_bytes", "threads", "cluster_m", "cluster_n", "stages", "params_bytes")


class _Info(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("config", ctypes.c_char_p),
        *((name, ctypes.c_uint32) for name in _NUMBERS),
        ("has_source", ctypes.c_uint32),
    )


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("params", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("params_bytes", "cleared_at", "cleared_bytes")),
    )


class CutlassKernel:
    """A kernel's host library.

    Args:
        path: ``NAME.host.so``.

    Raises:
        HostLibraryError: If it cannot be loaded or has another interface.
    """

    def __init__(self, path: Path) -> None:
        try:
            library: Any = ctypes.CDLL(str(path.resolve()))
            library.ckrules_cutlass_describe.restype = ctypes.POINTER(_Info)
            library.ckrules_cutlass_said.restype = ctypes.c_char_p
            library.ckrules_cutlass_workspace.restype = ctypes.c_int64
        except (OSError, AttributeError) as error:
            raise HostLibraryError(f"{path}: no host library: {error}") from None
        found = library.ckrules_cutlass_describe().contents
        if found.abi != ABI:
            raise HostLibraryError(f"{path}: interface {found.abi}, expected {ABI}: build it again")
        self._library = library
        config = json.loads(found.config)
        self.stages = int(found.stages)
        self.cluster = (int(found.cluster_m), int(found.cluster_n), 1)
        source = {} if config["c_dtype"] == NONE else {"c": "in"}
        self.info = Info(
            name=found.name.decode(),
            ck=HEADERS,
            arch=str(config["arch"]),
            family="cutlass",
            variant=VARIANT,
            config=config,
            wave_size=32,
            block_size=int(found.threads),
            lds_bytes=0,
            entries=(found.name.decode(),),
            tensors={"a": "in", "b": "in", **source, "d": "out"},
            needs_room=True,
            dynamic_bytes=int(found.shared_bytes),
        )

    def is_supported(self, problem: Any) -> bool:
        """The kernel's own answer."""
        return self.reason(problem) is None

    def reason(self, problem: Any) -> str | None:
        """Why the kernel refuses the problem; None if it takes it."""
        if not PROBLEMS.fits(self.info.config, problem):
            return "not a packed product in one part"
        if self._library.ckrules_cutlass_supports(ctypes.byref(_sizes(problem))):
            return None
        return str(self._library.ckrules_cutlass_said().decode()) or "refused"

    def workspace_bytes(self, problem: Any, room: Room | None = None) -> int:
        """Bytes of device memory that the kernel needs beside the tensors."""
        place = _Place(sm_count=room.compute_units if room else 0)
        given = ctypes.byref(_sizes(problem)), ctypes.byref(place)
        return int(self._library.ckrules_cutlass_workspace(*given))

    def plan(
        self, problem: Any, addresses: Sequence[int], workspace: int = 0, room: Room | None = None
    ) -> list[Fill | HostLaunch]:
        """The steps that compute the problem: barriers cleared where there are any, and one launch.

        Stream-K's barriers count up and are never set back: no launch may be repeated without.

        Raises:
            UsageError: If the kernel refuses the problem.
        """
        names = dict(zip(self.info.tensors, addresses, strict=True))
        units = room.compute_units if room else 0
        place = _Place(**names, workspace=workspace, sm_count=units)
        launch = _Launch()
        given = (ctypes.byref(each) for each in (_sizes(problem), place, launch))
        if not self._library.ckrules_cutlass_plan(*given):
            said = self._library.ckrules_cutlass_said().decode()
            raise UsageError(f"{self.info.name} refuses the problem: {said}")
        grid, block = tuple(launch.grid), tuple(launch.block)
        step = HostLaunch(
            entry=self.info.name,
            grid=(grid[0], grid[1], grid[2]),
            block=(block[0], block[1], block[2]),
            args=ctypes.string_at(launch.params, launch.params_bytes),
            lds_bytes=0,
            dynamic_bytes=self.info.dynamic_bytes,
            cluster=self.cluster,
        )
        barriers = Fill(launch.cleared_at, launch.cleared_bytes)
        return [*([barriers] if barriers.bytes else []), step]


def _sizes(problem: Any) -> _Problem:
    return _Problem(problem.m, problem.n, problem.k, problem.batch)


@cache
def _library(path: Path, changed: int) -> CutlassKernel:
    """The library of a file; it stays loaded, as the runtime in it does."""
    return CutlassKernel(path)


def open_kernel(folder: Path, name: str) -> tuple[CutlassKernel, bytes]:
    """The host library and the cubin of a built kernel.

    Raises:
        HostLibraryError: If the library cannot be loaded.
        UsageError: If the kernel is not built.
    """
    code = folder / Artifact.DEVICE.result(name)
    library = opening.inside(folder, Artifact.HOST.result(name))
    try:
        image = opening.read(opening.inside(folder, code.name), LARGEST)
        return _library(library, library.stat().st_mtime_ns), image
    except FileNotFoundError:
        raise UsageError(f"{code}: not built") from None
