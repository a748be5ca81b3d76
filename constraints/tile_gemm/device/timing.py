"""The time of a kernel that is a GEMM, estimated from its tiles and the speeds of a GPU.

Blocks come in rounds: a round is as many as the GPU holds at once. In a round every compute unit
works through the K tiles of its blocks; a step of the loop takes as long as the slowest of matrix
instructions, LDS, L2 and issued loads, and no less than the latency of a load. Before and after
the loop come prologue and epilogue. The whole takes no less than the memory needs for tensors.

`Constants` are fitted to measurements of one GPU and one kind of kernel
(`scripts/fit_timing.py`); elsewhere they are assumptions, and `Estimate.assumed` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckrules.kernels.timing import Estimate
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import Performance, Product
    from ckrules.kernels.timing import Floats

#: What the estimate reads of a kernel. ``vgprs`` is itself an estimate.
QUANTITIES = (
    *("dtype", "tile_m", "tile_n", "tile_k", "wave_m", "wave_n", "wave_k"),
    *("warp_tile_m", "warp_tile_n", "warp_tile_k", "pipeline", "scheduler", "epilogue"),
    *("vector_a", "vector_b", "vector_c", "num_wave_groups", "lds_bytes", "vgprs", "waves"),
)


class Work(NamedTuple):
    """A problem as GEMMs: sizes of one, how many there are, and bytes of all tensors.

    Every entry is a number or an array over the kernels (split-K and merged groups change them).
    """

    m: Any
    n: Any
    k: Any
    batch: Any
    read_bytes: float
    write_bytes: Any
    flops: float
    element_bytes: int


@dataclass(frozen=True, slots=True)
class Constants:
    """What no data sheet says, in clocks where nothing else is said.

    ``matrix``, ``lds``, ``l2`` and ``memory`` are the shares of the peaks that loops reach;
    ``latency`` is that of a step's loads where the pipeline hides nothing; ``prologue`` comes
    before each round's loop; ``epilogue`` is for an output tile of 4096 elements; ``issue`` is
    for one load instruction of a wave; ``spill`` is how much longer steps take whose registers
    do not fit; ``launch`` is in microseconds.
    """

    matrix: float = 1.0
    lds: float = 1.0
    l2: float = 0.25
    memory: float = 0.7
    latency: float = 1500.0
    prologue: float = 6000.0
    epilogue: float = 1800.0
    issue: float = 16.0
    launch: float = 1.0
    spill: float = 3.0


class Pipeline(NamedTuple):
    """How a pipeline hides the latency of its loads."""

    waits: float
    """The share of the latency that a step at least takes, for what is under way at once."""
    slower: float = 1.0
    """How much longer its steps take than those of compv3."""
    overlaps: bool = True
    """Whether loads are under way while it computes; else a step takes the sum of both."""


PIPELINES: Mapping[str, Pipeline] = {
    "compv3": Pipeline(1.0),
    "compv4": Pipeline(1.0, 1.8),
    "compv5": Pipeline(1.0),
    "compv6": Pipeline(1.0),
    "mem": Pipeline(0.6, 1.2),
    "comp_async": Pipeline(0.9),
    "wavelet": Pipeline(1.0),
    "basic_v1": Pipeline(0.8, overlaps=False),
    "basic_v2": Pipeline(0.8, overlaps=False),
    "basic_async_v1": Pipeline(0.8, overlaps=False),
}
MEASURED_PIPELINES = ("compv3", "compv4", "compv5")
"""Pipelines that measurements were at hand of when `Constants` were fitted."""


def estimate(
    kernels: Mapping[str, Any],
    work: Work,
    gpu: Gpu,
    product: Product,
    constants: Constants = Constants(),
) -> Estimate:
    """The times of kernels on a problem; see the module for how.

    Raises:
        UsageError: If nothing is known of the GPU's speeds, or of its rate for the dtype.
    """
    speeds = gpu.performance
    if speeds is None:
        raise UsageError(f"nothing is known of the speeds of {gpu.name}: no time can be estimated")
    k = _Kernels(kernels)
    return _Model(k, work, gpu, speeds, product, constants).estimate()


class _Kernels:
    """The columns as arrays of numbers, and tables over words."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> Floats:
        column = self._columns[name]
        values = np.asarray([np.nan if v is None else v for v in column.values], dtype=np.float64)
        # Kept, since `__getattr__` is asked for what is not there only.
        found: Floats = values[column.codes]
        self.__dict__[name] = found
        return found

    def table(self, name: str, values: Mapping[str, float]) -> Floats:
        """A number for each word of a column; words that no row has need none."""
        column = self._columns[name]
        found = [values.get(w, np.nan) for w in column.values]
        return np.asarray(np.asarray(found, dtype=np.float64)[column.codes])

    def words(self, name: str) -> list[str]:
        """The words of a column, each once."""
        found: list[str] = self._columns[name].used()
        return found

    def size(self) -> int:
        return len(self._columns["tile_m"])

    def rates(self, speeds: Performance) -> Floats:
        """Matrix operations of a compute unit in a clock."""
        names = ("dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")
        codes = np.stack([self._columns[n].codes for n in names])
        found, places = np.unique(codes, axis=1, return_inverse=True)
        rates = []
        for column in found.T:
            dtype, *tile = (self._columns[n].values[c] for n, c in zip(names, column, strict=True))
            rates.append(speeds.rate(dtype, (tile[0], tile[1], tile[2])))
        return np.asarray(rates, dtype=np.float64)[places.ravel()]


class _Model:
    """One estimate under way."""

    def __init__(
        self, k: _Kernels, w: Work, gpu: Gpu, speeds: Performance, product: Product, c: Constants
    ) -> None:
        self.k, self.w, self.gpu, self.speeds, self.product, self.c = k, w, gpu, speeds, product, c
        self.tile = k.tile_m * k.tile_n
        self.blocks_m, self.blocks_n = np.ceil(w.m / k.tile_m), np.ceil(w.n / k.tile_n)
        self.steps = np.ceil(w.k / k.tile_k)
        self.blocks = self.blocks_m * self.blocks_n * w.batch
        self.staged = (k.tile_m + k.tile_n) * k.tile_k * w.element_bytes
        self.resident = self._resident()
        self.peak = dict(speeds.matrix_flops).get(k.words("dtype")[0], 1)

    def _resident(self) -> Floats:
        """Blocks that a compute unit holds at once: by LDS, registers and slots for waves."""
        k, gpu, speeds = self.k, self.gpu, self.speeds
        by_lds = np.floor(gpu.lds_bytes / np.maximum(k.lds_bytes, 1))
        registers = gpu.vgprs_per_simd or gpu.vgprs_per_wave
        of_simd = np.minimum(np.floor(registers / np.maximum(k.vgprs, 1)), speeds.waves_per_simd)
        by_waves = np.floor(speeds.simds * np.maximum(of_simd, 1) / k.waves)
        return np.clip(np.minimum(by_lds, by_waves), 1, 32)

    def step_bounds(self) -> dict[str, Floats]:
        """Clocks of one block's step by what could limit it, the compute unit being its own."""
        k, w, c, speeds = self.k, self.w, self.c, self.speeds
        # Fewer waves than SIMDs leave matrix units idle.
        idle = np.maximum(speeds.simds / np.minimum(k.waves, speeds.simds), 1)
        shared = np.minimum(idle, np.maximum(self._at_once(), 1))
        matrix = 2 * self.tile * k.tile_k / (k.rates(speeds) * c.matrix) * idle / shared
        read = (k.tile_m * k.wave_n + k.tile_n * k.wave_m) * k.tile_k * w.element_bytes
        loads = k.tile_m * k.tile_k / k.vector_a + k.tile_n * k.tile_k / k.vector_b
        return {
            "matrix rate": matrix,
            "LDS": (read + self.staged) / (speeds.lds_bytes_per_clock * c.lds),
            "L2": self.staged / (speeds.l2_bytes_per_clock * c.l2),
            "loads": loads / self.gpu.wave_size * c.issue,
        }

    def _at_once(self) -> Floats:
        """Blocks that share a compute unit."""
        each = np.ceil(self.blocks / self.product.compute_units)
        return np.asarray(np.minimum(self.resident, each))

    def rounds(self, step: Floats, wait: Floats, overlaps: Any) -> tuple[Floats, Floats]:
        """Clocks of all rounds: of the loops, and of what comes before and after them."""
        c, units = self.c, self.product.compute_units
        last = self.epilogue()
        full = np.floor(self.blocks / (units * self.resident))
        rest = np.ceil((self.blocks - full * units * self.resident) / units)

        def each(held: Floats) -> Floats:
            # Blocks that share a compute unit hide each other's latency.
            own = np.where(overlaps, 0.0, wait / np.maximum(held, 1))
            return np.asarray(self.steps * np.maximum(held * step + own, wait))

        loop = full * each(self.resident) + (rest > 0) * each(rest)
        ends = full * (c.prologue + self.resident * last)
        ends = ends + (rest > 0) * (c.prologue + rest * last)
        return loop, ends

    def epilogue(self) -> Floats:
        """Clocks to store an output tile; narrow stores take longer."""
        wide = 8.0 / np.minimum(np.maximum(self.k.vector_c, 1) * self.w.element_bytes / 2, 8.0)
        return self.c.epilogue * self.tile / 4096 * np.sqrt(wide)

    def memory(self) -> Floats:
        """Microseconds that the memory needs for the tensors, each byte moved once."""
        moved = np.broadcast_to(self.w.read_bytes + self.w.write_bytes, self.blocks.shape)
        return np.asarray(moved / (self.product.memory_gbs * self.c.memory * 1e3))

    def estimate(self) -> Estimate:
        c, k = self.c, self.k
        unknown = [p for p in k.words("pipeline") if p not in PIPELINES]
        known = {p: PIPELINES.get(p, Pipeline(1.0)) for p in k.words("pipeline")}
        factor = k.table("pipeline", {p: v.slower for p, v in known.items()})
        factor = np.where(k.vgprs >= self.gpu.vgprs_per_wave, factor * c.spill, factor)
        overlaps = k.table("pipeline", {p: float(v.overlaps) for p, v in known.items()}) > 0
        latency = c.latency * k.table("pipeline", {p: v.waits for p, v in known.items()}) * factor
        steps = self.step_bounds()
        step = np.maximum.reduce(list(steps.values())) * factor
        clock = float(self.product.clock_mhz)
        loop, ends = (v / clock for v in self.rounds(step, latency, overlaps))
        memory = self.memory()
        total = c.launch + np.maximum(loop + ends, memory)
        bounds = {
            name: self.rounds(value * factor, np.zeros_like(value), overlaps)[0] / clock
            for name, value in steps.items()
        }
        bounds["latency"] = self.rounds(np.zeros_like(step), latency, overlaps)[0] / clock
        bounds["memory"] = memory
        bounds["start and end"] = ends
        return Estimate(
            total, bounds, self.figures(total), self.features(total, bounds, loop),
            self.situation(), self.assumed(unknown),
        )  # fmt: skip

    def figures(self, total: Floats) -> dict[str, Floats]:
        units = self.product.compute_units
        rounds = np.ceil(self.blocks / (units * self.resident))
        tflops = self.w.flops / total * 1e-6
        return {
            "blocks": self.blocks,
            "blocks_per_cu": self.resident,
            "rounds": rounds,
            "useful": self.w.m * self.w.n * self.w.k * self.w.batch
            / (self.blocks * self.steps * self.tile * self.k.tile_k),
            "busy": self.blocks / (np.ceil(self.blocks / units) * units),
            "tflops": tflops,
            "of_peak": tflops * 1e6 / (units * self.product.clock_mhz * self.peak),
        }  # fmt: skip

    def ideal(self) -> float:
        """Microseconds at the peaks of matrix units and memory: no kernel is faster."""
        product = self.product
        compute = self.w.flops / (product.compute_units * product.clock_mhz * self.peak)
        moved = self.w.read_bytes + float(np.min(self.w.write_bytes))
        return max(compute, moved / (product.memory_gbs * 1e3), 1e-3)

    def features(
        self, total: Floats, bounds: Mapping[str, Floats], loop: Floats
    ) -> dict[str, Floats]:
        """Dimensionless numbers, logarithms to base 2 where they span orders of magnitude."""
        k, units = self.k, self.product.compute_units
        each = self.blocks / units
        found = {
            "estimate": np.log2(total / self.ideal()),
            "blocks": np.log2(each),
            "steps": np.log2(self.steps),
            "resident": self.resident,
            "useful_m": self.w.m / (self.blocks_m * k.tile_m),
            "useful_n": self.w.n / (self.blocks_n * k.tile_n),
            "useful_k": self.w.k / (self.steps * k.tile_k),
            "tall": np.log2(self.blocks_m / self.blocks_n),
            "tile_reuse": np.log2(self.tile / (k.tile_m + k.tile_n)),
            "tile_aspect": np.log2(k.tile_m / k.tile_n),
            "tile_k": np.log2(k.tile_k),
            "tile": np.log2(self.tile),
            "waves": np.log2(k.waves),
            "of_wave": np.log2(self.tile / k.waves),
            "warp_tile": np.log2(k.warp_tile_m * k.warp_tile_n),
            "rate": np.log2(k.rates(self.speeds)),
            "lds": np.log2(np.maximum(k.lds_bytes, 1) / self.gpu.lds_bytes),
            "vgprs": k.vgprs / self.gpu.vgprs_per_wave,
            "vector": np.log2(k.vector_a * k.vector_b),
            "interwave": k.table("scheduler", {"intrawave": 0.0, "interwave": 1.0}),
            "default_epilogue": k.table("epilogue", {"cshuffle": 0.0, "default": 1.0}),
        }
        for held in (1, 2, 4, 8):
            rounds = np.ceil(each / held)
            found[f"tail_{held}"] = each / (rounds * held)
        for name, value in bounds.items():
            found[f"share of {name}"] = value / total
        for name in MEASURED_PIPELINES:
            column = {p: float(p == name) for p in k.words("pipeline")}
            found[name] = k.table("pipeline", column)
        return {name: np.broadcast_to(v, total.shape) for name, v in found.items()}

    def situation(self) -> dict[str, float]:
        """The problem alone, in units of this product."""
        w, units = self.w, self.product.compute_units
        m, n, k, batch = (float(np.min(v)) for v in (w.m, w.n, w.k, w.batch))
        moved = w.read_bytes + float(np.min(w.write_bytes))
        cache = self.speeds.last_level_bytes or self.speeds.l2_bytes * self.speeds.chiplets
        balance: float = self.peak * units
        balance *= self.product.clock_mhz / (self.product.memory_gbs * 1e3)
        return {
            "m": np.log2(m),
            "n": np.log2(n),
            "k": np.log2(k),
            "batch": np.log2(batch),
            "tiles_of_4096": np.log2(m * n * batch / 4096 / units),
            "intensity": np.log2(w.flops / moved / balance),
            "in_cache": np.log2(moved / cache),
            "ideal": np.log2(self.ideal()),
            "even_n": float(evenness(int(n))),
            "even_k": float(evenness(int(k))),
        }

    def assumed(self, unknown: list[str]) -> dict[str, str]:
        found = {}
        for name in self.k.words("pipeline"):
            if name in unknown:
                found[f"pipeline = {name}"] = "as fast as compv3"
            elif name not in MEASURED_PIPELINES:
                found[f"pipeline = {name}"] = "what hides its loads' latency, from its C++"
        return found


def evenness(n: int) -> int:
    """The largest power of two up to 64 that divides a number, as its exponent."""
    return min((n & -n).bit_length() - 1, 6)
