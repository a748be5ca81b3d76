"""Times of kernels on problems, measured interleaved in one process that holds the GPU.

Every problem is a round of all kernels, several times; the median of a kernel's launches is its
time.
cuBLAS computes the same problems through PyTorch, where that is installed.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.constraints.gemm.problem import MatrixProduct, parse
from ckrules.device.execute import carry_out, room_of
from ckrules.device.hostlib import HostLaunch
from ckrules.device.interface import DeviceError, DeviceLostError
from ckrules_cutlass.built import CutlassKernel, open_kernel
from ckrules_cutlass.device import CudaPlugin

CUBLAS, GRAPH = "cublas", "cublas, a graph"
LOAD = "load"
"""What is said of a kernel before any problem."""
ROUNDS, REPEAT = 3, 2
COVER = 1 << 29
_CHUNK = 1 << 24
_LAYERS = (
    *((4096, 4096), (11008, 4096), (4096, 11008), (8192, 8192), (1024, 8192), (28672, 8192)),
    *((8192, 28672), (2048, 512), (512, 2048), (5120, 5120), (1536, 6144), (256, 16384)),
)
_FURTHER = (
    *((14336, 4096), (4096, 14336), (3584, 18944), (18944, 3584), (24576, 1536), (7168, 16384)),
    *((2112, 7168), (2304, 768), (768, 3072), (32000, 4096), (12288, 3072), (640, 10240)),
)
_LATER = (
    *((6144, 4096), (27648, 5120), (5120, 27648), (7168, 5120), (3584, 14336), (14336, 3584)),
    *((12288, 12288), (1024, 1024), (4096, 1024), (1024, 4096), (3072, 1024), (1280, 5120)),
    *((5120, 1280), (1280, 1280), (3840, 1280), (18432, 7168), (7168, 18432), (4096, 7168)),
    *((7168, 2048), (1536, 7168), (576, 7168), (2560, 2560), (10240, 2560), (2560, 10240)),
)


def _products(layers: Sequence[tuple[int, int]], *rows: int) -> list[MatrixProduct]:
    return [MatrixProduct(m, n, k) for n, k in layers for m in rows]


PROBLEMS = (
    *_products(_LAYERS, 64, 256, 1024, 4096, 8192),
    *_products(_LAYERS, 128, 512, 2048),
    *_products(_FURTHER, 32, 128, 512, 1536, 3000, 6144),
    *_products(_LATER, 48, 96, 192, 384, 768, 2504, 5000),
)
"""Layers (N, K) of language and vision models, and small and long products: 336 in all."""


@dataclass
class _Timed:
    name: str
    launch: Callable[[], None]
    clear: Callable[[], None] | None = None
    """What comes before each launch and is not timed: barriers are cleared."""


class KernelTimer:
    """Times kernels on one GPU.

    Args:
        names: Those that are timed; all of the same types and layout.
        say: Told of each kernel and problem before it runs.
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        say: Callable[[str, str], None],
        plugin: CudaPlugin | None = None,
    ) -> None:
        self.device = (plugin or CudaPlugin()).open(0)
        self._say = say
        self._kernels: dict[str, tuple[CutlassKernel, Any]] = {}
        for name in names:
            say(name, LOAD)
            kernel, code = open_kernel(folder, name)
            self._kernels[name] = (kernel, self.device.load(code))
        self._events = [self.device.event() for _ in range(2 * REPEAT)]
        self._cover = self.device.allocate(COVER)

    def times(self, problem: MatrixProduct) -> Iterator[dict[str, Any]]:
        """A row for each kernel that takes the problem, and one for cuBLAS.

        A kernel that cannot be started has a row that says why, and is left out from then on.
        """
        sizes = {
            "a": 2 * problem.m * problem.k,
            "b": 2 * problem.n * problem.k,
            "d": 2 * problem.m * problem.n,
        }
        with ExitStack() as stack:
            places = {}
            for name, size in sizes.items():
                places[name] = self.device.allocate(size)
                stack.callback(self.device.free, places[name])
            for name in ("a", "b"):
                self._random(places[name], sizes[name])
            timed = [*self._prepared(problem, places, stack), *_cublas(problem)]
            found: dict[str, list[float]] = {each.name: [] for each in timed}
            for turn in range(ROUNDS):
                for each in timed if turn % 2 == 0 else reversed(timed):
                    if each.name not in found:
                        continue
                    self._say(each.name, str(problem))
                    try:
                        found[each.name] += self._measured(each)
                    except DeviceLostError:
                        raise
                    except DeviceError as error:
                        del found[each.name], self._kernels[each.name]
                        yield {"kernel": each.name, "problem": str(problem), "fault": str(error)}
            after = clocks()
        for name, spans in found.items():
            yield {
                "kernel": name, "problem": str(problem), "ms": statistics.median(spans),
                "spans": [round(s, 5) for s in spans], "clocks": after,
            }  # fmt: skip

    def _prepared(
        self, problem: MatrixProduct, places: Mapping[str, int], stack: ExitStack
    ) -> Iterator[_Timed]:
        for name, (kernel, module) in self._kernels.items():
            self._say(name, f"{problem}, plan")
            if not kernel.is_supported(problem):
                continue
            room = room_of(self.device, kernel.info, module)
            size = kernel.workspace_bytes(problem, room)
            workspace = self.device.allocate(size) if size else 0
            if size:
                stack.callback(self.device.free, workspace)
            addresses = [places[t] for t in kernel.info.tensors]
            steps = kernel.plan(problem, addresses, workspace, room)
            clears = [s for s in steps if not isinstance(s, HostLaunch)]
            launches = [s for s in steps if isinstance(s, HostLaunch)]
            yield _Timed(
                name,
                partial(carry_out, self.device, module, launches),
                partial(carry_out, self.device, module, clears) if clears else None,
            )

    def _measured(self, each: _Timed) -> list[float]:
        """Milliseconds of launches one behind the other, after one to warm up.

        While the GPU clears a buffer all of them are handed to it, so that no time of the host is
        in theirs; the buffer is larger than the cache.
        """
        device, events = self.device, self._events
        device.fill(self._cover, 0, COVER)
        for turn in range(-1, REPEAT):
            if each.clear is not None:
                each.clear()
            if turn >= 0:
                device.record(events[2 * turn])
            each.launch()
            if turn >= 0:
                device.record(events[2 * turn + 1])
        pairs = zip(events[::2], events[1::2], strict=True)
        return [device.elapsed_ms(start, stop) for start, stop in pairs]

    def _random(self, address: int, size: int) -> None:
        block = _block()
        for at in range(0, size, _CHUNK):
            self.device.write(address + at, block[: min(_CHUNK, size - at)])


@cache
def _block() -> bytes:
    """Numbers of fp16 between -1 and 1."""
    return np.random.default_rng(1).uniform(-1, 1, _CHUNK // 2).astype(np.float16).tobytes()


def _cublas(problem: MatrixProduct) -> list[_Timed]:
    """The product by PyTorch, laid out as the kernels have it, launched and as a graph.

    Nothing without PyTorch.

    A is row-major and B and D are column-major: the row-major product of B and A, transposed.
    """
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return []
    given: dict[str, Any] = {"dtype": torch.float16, "device": "cuda"}
    a = torch.rand((problem.m, problem.k), **given) * 2 - 1
    b = torch.rand((problem.n, problem.k), **given) * 2 - 1
    out = torch.empty((problem.n, problem.m), **given)

    def multiply() -> None:
        torch.matmul(b, a.T, out=out)

    multiply()
    torch.cuda.synchronize()
    found = [_Timed(CUBLAS, multiply)]
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            multiply()
    except RuntimeError:
        return found
    return [*found, _Timed(GRAPH, graph.replay)]


def clocks() -> str:
    """Clocks of multiprocessors and memory in MHz, temperature and watts; empty if nobody says."""
    asked = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits", "-i", "0"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def serve(pipe: Any, folder: str, names: Sequence[str], problems: Sequence[str]) -> None:
    """Times kernels on problems in a process of its own, and sends what it is at, and rows."""

    def say(kernel: str, what: str) -> None:
        pipe.send(("at", kernel, what))

    say(CUBLAS, LOAD)
    _cublas(MatrixProduct(64, 64, 64))
    bench = KernelTimer(Path(folder), names, say)
    for text in problems:
        pipe.send(("rows", list(bench.times(parse(text)))))
    pipe.send(("end",))
