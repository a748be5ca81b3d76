"""What the time of a kernel that is a GEMM follows from before there is a problem.

`Constants` are fitted to measurements of one GPU and one kind of kernel
(`scripts/fit_timing.py`); elsewhere they are assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckrules.kernels.timing import once
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct, Performance
    from ckrules.kernels.timing import Floats

#: What the estimate reads of a kernel. ``vgprs`` is itself an estimate.
QUANTITIES = (
    *("dtype", "tile_m", "tile_n", "tile_k", "wave_m", "wave_n", "wave_k"),
    *("warp_tile_m", "warp_tile_n", "warp_tile_k", "pipeline", "scheduler", "epilogue"),
    *(
        "vector_a",
        "vector_b",
        "vector_c",
        "lds_bytes",
        "vgprs",
        "bound_vgprs",
        "spilled_vgprs",
        "waves",
    ),
)


@dataclass(frozen=True, slots=True)
class Constants:
    """What no data sheet says, in clocks where nothing else is said.

    ``matrix``, ``lds``, ``l2`` and ``memory`` are the shares of the peaks that loops reach;
    ``latency`` is that of a step's loads where the pipeline hides nothing; ``prologue`` comes
    before a block's loop, beside the loads of its first step; ``epilogue`` is for an output tile of
    4096 elements; ``issue`` is for one load instruction of a wave; ``spill`` is how much longer
    steps take that want half as many registers again as there are, or more; ``launch`` is in
    microseconds. Where blocks are ``staggered``, those of a compute unit get out of step, and what
    comes before and after the loop of one is hidden by the loops of others.
    """

    matrix: float = 1.0
    lds: float = 1.0
    l2: float = 0.32
    memory: float = 1.0
    latency: float = 1500.0
    prologue: float = 3000.0
    epilogue: float = 2250.0
    issue: float = 16.0
    launch: float = 2.5
    spill: float = 1.5
    staggered: bool = False


FITTED = Constants()
"""Those of convolutions, in bf16 on gfx950. Tensors that are measured again and again lie in the
last cache, so that ``memory`` is the whole of the peak."""
GEMMS = replace(
    FITTED,
    matrix=0.7,
    lds=0.6,
    l2=0.5,
    memory=0.6,
    prologue=1000.0,
    epilogue=1600.0,
    launch=1.4,
    spill=1.05,
    staggered=True,
)
"""Those of GEMMs, fitted to winners of aiter's tuning: fp8 with pre-shuffled weights on MI355X and
MI308X, and with block scales (``configs/**/a8w8_*_tuned_gemm.csv``, ROCm/aiter to e4048607);
fitted without one of these they hold on it (docs/ranking.md). ``matrix`` is below 1 since clocks
sink under load. ``benchmarks/selection.py`` prints how near they come, and how near to tables they
were not fitted to."""


#: Lanes of fp32 that a compute unit's vector units finish in a clock: four SIMDs of 16, or two of
#: 32. What two packed operations or two issued at once add is left out.
VECTOR_LANES = 64


class Elements(NamedTuple):
    """What elements take, in bytes, and what kernels do beside multiplying them.

    Each is a number, or an array over the kernels. What is done beside is of one block: its step
    where nothing else is said.
    """

    a: Any
    """Of A, where it is staged."""
    b: Any
    c: Any
    scales_a: Any = 0.0
    """Of the scales that come with an element of A from memory."""
    scales_b: Any = 0.0
    operations: Any = 0.0
    """Of lanes on the vector units: widened operands, scaled sums."""
    exchanged: Any = 0.0
    """Bytes that lanes hand each other through the crossbar of LDS."""
    loads: Any = 0.0
    """Instructions of waves that load scales."""
    last_loads: Any = 0.0
    """The same, once for an output tile."""

    @classmethod
    def alike(cls, size: float) -> Elements:
        """Elements of A, B and C that have one size."""
        return cls(size, size, size)


class PipelineTiming(NamedTuple):
    """How a pipeline hides the latency of its loads."""

    waits: float
    """The share of the latency that a step at least takes, for what is under way at once."""
    slower: float = 1.0
    """How much longer its steps take than those of compv3."""
    overlaps: bool = True
    """Whether loads are under way while it computes; else a step takes the sum of both."""


PIPELINES: Mapping[str, PipelineTiming] = {
    "compv3": PipelineTiming(1.0),
    "compv4": PipelineTiming(1.0, 1.8),
    "compv5": PipelineTiming(1.0),
    "compv6": PipelineTiming(1.0),
    "mem": PipelineTiming(0.6, 1.2),
    "comp_async": PipelineTiming(0.9),
    "wavelet": PipelineTiming(1.0),
    "basic_v1": PipelineTiming(0.8, overlaps=False),
    "basic_v2": PipelineTiming(0.8, overlaps=False),
    "basic_async_v1": PipelineTiming(0.8, overlaps=False),
    "flatmm": PipelineTiming(1.0),
    # what fits the winners of either of aiter's tables with block scales on MI355X
    "abquant": PipelineTiming(1.0, 1.4),
    "abquant_eight_waves": PipelineTiming(1.0, 1.05),
    "abquant_preshuffle": PipelineTiming(1.0, 1.6),
    "abquant_preshuffle_eight_waves": PipelineTiming(1.0, 1.05),
}
UNSTAGED = ("flatmm", "moe_flatmm", "preshufflev2", "abquant_preshuffle")
"""Pipelines whose waves load B from memory into registers, in an order that was made for that."""
MEASURED_PIPELINES = ("compv3", "compv4", "compv5")
"""Pipelines that measurements of convolutions were at hand of when `Constants` were fitted."""
FITTED_PIPELINES = (
    *MEASURED_PIPELINES, "flatmm", *(p for p in PIPELINES if p.startswith("abquant")),
)  # fmt: skip
"""These, and those of the kernels in aiter's tuned tables that times were fitted to."""


class Terms(NamedTuple):
    """What the times of kernels follow from before there is a problem; times are in clocks."""

    tile_m: Floats
    tile_n: Floats
    tile_k: Floats
    resident: Floats
    """Blocks that a compute unit holds at once: by LDS, registers and slots for waves."""
    idle: Floats
    """How much longer matrix instructions take in a block with fewer waves than SIMDs."""
    matrix: Floats
    """A step's matrix instructions, of a block that is alone on its compute unit."""
    vector: Floats
    """The same of what vector units do beside them."""
    lds: Floats
    l2: Floats
    loads: Floats
    slower: Floats
    """How much longer steps take than their slowest part, by pipeline and spilled registers."""
    wait: Floats
    """What a step at least takes, since its loads have to arrive."""
    overlaps: Floats
    """Whether loads are under way while it computes, as 0 or 1."""
    first: Floats
    """What comes before a block's loop: until the loads of its first step are there."""
    last: Floats
    """Storing an output tile; narrow stores take longer."""


def terms(
    kernels: Mapping[str, Any], gpu: Gpu, e: Elements, constants: Constants = FITTED
) -> Terms:
    """The terms of kernels that move such elements.

    Raises:
        UsageError: If nothing is known of the GPU's speeds, or of its rate for the dtype.
    """
    k, c, speeds = numbers(kernels), constants, speeds_of(gpu)
    tile = k.tile_m * k.tile_n
    staged = (k.tile_m * e.a + k.tile_n * e.b) * k.tile_k
    scales = (k.tile_m * e.scales_a + k.tile_n * e.scales_b) * k.tile_k
    b = e.b * k.table("pipeline", {p: float(p not in UNSTAGED) for p in k.words("pipeline")})
    # by way of LDS: what is written to it, and what each wave reads of it
    written = (k.tile_m * e.a + k.tile_n * b) * k.tile_k
    read = (k.tile_m * k.wave_n * e.a + k.tile_n * k.wave_m * b) * k.tile_k
    loads = k.tile_m * k.tile_k / k.vector_a + k.tile_n * k.tile_k / k.vector_b
    loads = loads / gpu.wave_size + e.loads
    idle = np.maximum(speeds.simds / np.minimum(k.waves, speeds.simds), 1)
    wide = 8.0 / np.minimum(np.maximum(k.vector_c, 1) * e.c / 2, 8.0)
    known = {p: PIPELINES.get(p, PipelineTiming(1.0)) for p in k.words("pipeline")}
    slower = k.table("pipeline", {p: v.slower for p, v in known.items()})
    slower = slower * (1 + (c.spill - 1) * _spilled(k))
    l2 = (staged + scales) / (speeds.l2_bytes_per_clock * c.l2)
    return Terms(
        tile_m=k.tile_m,
        tile_n=k.tile_n,
        tile_k=k.tile_k,
        resident=_resident(k, gpu, speeds),
        idle=idle,
        matrix=2 * tile * k.tile_k / (k.rates(speeds) * c.matrix) * idle,
        vector=e.operations / VECTOR_LANES * idle,
        lds=(read + written + e.exchanged) / (speeds.lds_bytes_per_clock * c.lds),
        l2=l2,
        loads=loads * c.issue,
        slower=slower,
        wait=c.latency * k.table("pipeline", {p: v.waits for p, v in known.items()}) * slower,
        overlaps=k.table("pipeline", {p: float(v.overlaps) for p, v in known.items()}),
        first=c.prologue + l2,
        last=c.epilogue * tile / 4096 * np.sqrt(wide) + e.last_loads * c.issue,
    )


def known_terms(
    kernels: Mapping[str, Any], gpu: Gpu, e: Elements, constants: Constants = FITTED
) -> Terms:
    """`terms`, computed once for the same columns and elements."""
    found = once(kernels, "terms", list[Any])
    if not found or found[0] is not gpu or found[1] is not e or found[2] != constants:
        found[:] = gpu, e, constants, terms(kernels, gpu, e, constants)
    made: Terms = found[3]
    return made


def numbers(kernels: Mapping[str, Any]) -> KernelTerms:
    """`KernelTerms`, once for the same columns, which it does not keep alive."""
    return once(kernels, "numbers", lambda: KernelTerms(dict(kernels)))


def speeds_of(gpu: Gpu) -> Performance:
    """The speeds of a GPU, which somebody has to know."""
    if gpu.performance is None:
        raise UsageError(f"nothing is known of the speeds of {gpu.name}: no time can be estimated")
    return gpu.performance


def peak(kernels: Mapping[str, Any], speeds: Performance) -> float:
    """Matrix operations of a compute unit in a clock, by the widest instructions for the dtype."""
    return dict(speeds.matrix_flops).get(numbers(kernels).words("dtype")[0], 1)


def cache_bytes(speeds: Performance) -> int:
    """What the last level of cache holds."""
    return speeds.last_level_bytes or speeds.l2_bytes * speeds.chiplets


def _spilled(k: KernelTerms) -> Floats:
    """How far wanted registers exceed what the launch bound leaves, 1 at half as many again.

    Illegal kernels of more than 256 waves are estimated, too, and leave a lane none.
    """
    return np.clip(2 * k.spilled_vgprs / np.maximum(k.bound_vgprs, 1), 0, 1)


#: Of the estimated registers of a lane, what counts: an estimate just beyond what a further wave
#: leaves is off by as much in half of the kernels, and the compiler saves registers near a step.
_TAKEN = 0.9


def _resident(k: KernelTerms, gpu: Gpu, speeds: Performance) -> Floats:
    by_lds = np.floor(gpu.lds_bytes / np.maximum(k.lds_bytes, 1))
    registers = gpu.vgprs_per_simd or gpu.vgprs_per_wave
    taken = np.maximum(_TAKEN * k.vgprs, 1)
    of_simd = np.minimum(np.floor(registers / taken), speeds.waves_per_simd)
    by_waves = np.floor(speeds.simds * np.maximum(of_simd, 1) / k.waves)
    return np.asarray(np.clip(np.minimum(by_lds, by_waves), 1, 32))


def compiled(
    kernels: Mapping[str, Any],
    gpu: Gpu,
    product: GpuProduct,
    elements: Elements,
    constants: Constants = FITTED,
) -> dict[str, Floats]:
    """The numbers of `ckrules_speed` in ``ckrules_timing.hpp`` that all families have.

    Raises:
        UsageError: As `terms`.
    """
    found, speeds = terms(kernels, gpu, elements, constants), speeds_of(gpu)
    same = {
        "units": product.compute_units,
        "clock_mhz": product.clock_mhz,
        "memory": product.memory_gbs * constants.memory * 1e3,
        "launch": constants.launch,
        "staggered": constants.staggered,
        "peak": peak(kernels, speeds),
        "bandwidth": product.memory_gbs * 1e3,
        "cache": cache_bytes(speeds),
    }
    shape = found.tile_m.shape
    return {**{n: np.full(shape, float(v)) for n, v in same.items()}, **found._asdict()}


class KernelTerms:
    """Columns of kernels as arrays of numbers, and tables over words."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = columns
        self._words: dict[str, list[str]] = {}

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

    def equal(self, name: str, word: str) -> Floats:
        """Which kernels have a word in a column, as 0 or 1."""
        return self.table(name, {w: float(w == word) for w in self.words(name)})

    def words(self, name: str) -> list[str]:
        """The words of a column, each once."""
        if name not in self._words:
            self._words[name] = self._columns[name].used()
        return self._words[name]

    def only(self, name: str) -> str:
        """The one word that kernels have of a column.

        Raises:
            UsageError: If they have several.
        """
        found = self.words(name)
        if len(found) != 1:
            words = ", ".join(sorted(map(str, found)))
            raise UsageError(
                f"kernels of one {name} can be compared, these have {words}: give --{name}"
            )
        return str(found[0])

    def rates(self, speeds: Performance) -> Floats:
        """Matrix operations of a compute unit in a clock."""
        names = ("dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")
        sizes = tuple(len(self._columns[n].values) for n in names)
        together = np.ravel_multi_index([self._columns[n].codes for n in names], sizes)
        found, places = np.unique(together, return_inverse=True)
        rates = []
        for row in zip(*np.unravel_index(found, sizes), strict=True):
            dtype, *tile = (self._columns[n].values[c] for n, c in zip(names, row, strict=True))
            rates.append(speeds.rate(dtype, (tile[0], tile[1], tile[2])))
        return np.asarray(rates, dtype=np.float64)[places]
