"""The time of a kernel that is a GEMM, estimated from its tiles and the speeds of a GPU.

Blocks come in rounds: a round is as many as the GPU holds at once. In a round every compute unit
works through the K tiles of its blocks; a step of the loop takes as long as the slowest of matrix
instructions, vector units, LDS, L2 and issued loads, and no less than the latency of a load. Before
the loop come prologue and the loads of the first step, after it the epilogue; where blocks are
staggered, other blocks of the compute unit hide them but once. The whole takes no less than the
memory needs for tensors.

`Constants` are fitted to measurements of one GPU and one kind of kernel; elsewhere they are
assumptions, and `Estimate.assumed` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckrules.constraints.tile_gemm.device.rounds import BlockRounds
from ckrules.constraints.tile_gemm.device.terms import (
    FITTED,
    FITTED_PIPELINES,
    MEASURED_PIPELINES,
    PIPELINES,
    Constants,
    Elements,
    cache_bytes,
    known_terms,
    numbers,
    peak,
    speeds_of,
)
from ckrules.kernels.timing import Estimate

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.kernels.timing import Floats


FEATURES = (
    *("estimate", "blocks", "steps", "resident", "useful_m", "useful_n", "useful_k", "tall"),
    *("tile_reuse", "tile_aspect", "tile_k", "tile", "waves", "of_wave", "warp_tile", "rate"),
    *("lds", "vgprs", "vector", "interwave", "default_epilogue"),
    *("tail_1", "tail_2", "tail_4", "tail_8", "share of matrix rate", "share of LDS"),
    *("share of L2", "share of loads", "share of vector units", "share of latency"),
    *("share of memory", "share of start and end", *MEASURED_PIPELINES),
)
"""The numbers of a kernel on a problem; that of vector units is there where kernels use them."""
SITUATION = (
    *("m", "n", "k", "batch", "tiles_of_4096", "intensity", "in_cache", "ideal"),
    *("even_n", "even_k"),
)
"""The numbers of a problem alone."""


class GemmWork(NamedTuple):
    """A problem as GEMMs: sizes of one, how many there are, and bytes of all tensors.

    Every entry is a number or an array over the kernels (split-K and merged groups change them).
    """

    m: Any
    n: Any
    k: Any
    batch: Any
    read_bytes: Any
    write_bytes: Any
    flops: float
    elements: Elements
    alone: tuple[float, float, float, float, float] | None = None
    """M, N, K, batch and bytes of a kernel that only does what it must; None: the least of all."""

    @property
    def least(self) -> tuple[float, float, float, float, float]:
        """M, N, K, batch and bytes of the problem itself, whichever kernels are asked."""
        if self.alone is not None:
            return self.alone
        m, n, k, batch, read, written = (float(np.min(v)) for v in self[:6])
        return m, n, k, batch, read + written


def estimate(
    kernels: Mapping[str, Any],
    work: GemmWork,
    gpu: Gpu,
    product: GpuProduct,
    constants: Constants = FITTED,
    *,
    situation: Callable[[], Mapping[str, float]] = dict,
    assumed: Mapping[str, str] = MappingProxyType({}),
) -> Estimate:
    """The times of kernels on a problem; see the module for how.

    Args:
        kernels: A column for each quantity.
        work: The problem, as these kernels compute it.
        constants: What no data sheet says.
        situation: What the family adds to `Explained.situation`.
        assumed: What it adds to `Explained.assumed`.

    Raises:
        UsageError: If nothing is known of the GPU's speeds, or of its rate for the dtype.
    """
    made = _Model(kernels, work, gpu, product, constants, situation, assumed)
    return Estimate(made.total, made)


class _Model(BlockRounds):
    def __init__(
        self,
        kernels: Mapping[str, Any],
        w: GemmWork,
        gpu: Gpu,
        product: GpuProduct,
        c: Constants,
        more: Callable[[], Mapping[str, float]],
        taken: Mapping[str, str],
    ) -> None:
        self.more, self.taken = more, taken
        self.k, self.w, self.gpu, self.speeds = numbers(kernels), w, gpu, speeds_of(gpu)
        t = known_terms(kernels, gpu, w.elements, c)
        self.tile = t.tile_m * t.tile_n
        self.blocks_m, self.blocks_n = np.ceil(w.m / t.tile_m), np.ceil(w.n / t.tile_n)
        blocks = self.blocks_m * self.blocks_n * w.batch
        self.peak = peak(kernels, self.speeds)
        # each byte is moved once
        moved = np.broadcast_to(w.read_bytes + w.write_bytes, blocks.shape)
        moved = np.asarray(moved / (product.memory_gbs * c.memory * 1e3))
        super().__init__(t, blocks, np.ceil(w.k / t.tile_k), moved, product, c)

    def useful(self) -> Floats:
        """The share of the multiplications that the problem asks for."""
        wanted = self.w.m * self.w.n * self.w.k * self.w.batch
        return np.asarray(wanted / (self.blocks * self.steps * self.tile * self.k.tile_k))

    def figures(self) -> Mapping[str, Floats]:
        return self.figures_of(self.w.flops, self.useful(), self.peak)

    def ideal(self) -> float:
        """Microseconds at the peaks of matrix units and memory: no kernel is faster."""
        product = self.product
        compute = self.w.flops / (product.compute_units * product.clock_mhz * self.peak)
        return max(compute, self.w.least[4] / (product.memory_gbs * 1e3), 1e-3)

    def features(self) -> dict[str, Floats]:
        """Dimensionless numbers, logarithms to base 2 where they span orders of magnitude."""
        k, units, total = self.k, self.product.compute_units, self.total
        each = self.blocks / units
        found = {
            "estimate": np.log2(total / self.ideal()),
            "blocks": np.log2(each),
            "steps": np.log2(self.steps),
            "resident": self.t.resident,
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
            "interwave": k.equal("scheduler", "interwave"),
            "default_epilogue": k.equal("epilogue", "default"),
        }
        for held in (1, 2, 4, 8):
            rounds = np.ceil(each / held)
            found[f"tail_{held}"] = each / (rounds * held)
        for name, value in self.limits.items():
            found[f"share of {name}"] = value / total
        for name in MEASURED_PIPELINES:
            found[name] = k.equal("pipeline", name)
        return {name: np.broadcast_to(v, total.shape) for name, v in found.items()}

    def situation(self) -> Mapping[str, float]:
        """The problem alone, in units of this product, and what the family adds."""
        w, units = self.w, self.product.compute_units
        m, n, k, batch, moved = w.least
        balance: float = self.peak * units
        balance *= self.product.clock_mhz / (self.product.memory_gbs * 1e3)
        return {
            "m": np.log2(m),
            "n": np.log2(n),
            "k": np.log2(k),
            "batch": np.log2(batch),
            "tiles_of_4096": np.log2(m * n * batch / 4096 / units),
            "intensity": np.log2(w.flops / moved / balance),
            "in_cache": np.log2(moved / cache_bytes(self.speeds)),
            "ideal": np.log2(self.ideal()),
            "even_n": float(evenness(int(n))),
            "even_k": float(evenness(int(k))),
            **self.more(),
        }

    def assumed(self) -> dict[str, str]:
        found = {}
        for name in self.k.words("pipeline"):
            if name not in PIPELINES:
                found[f"pipeline = {name}"] = "as fast as compv3"
            elif name not in FITTED_PIPELINES:
                found[f"pipeline = {name}"] = "what hides its loads' latency, from its C++"
        return {**found, **self.taken}


def evenness(n: int) -> int:
    """The largest power of two up to 64 that divides a number, as its exponent."""
    return min((n & -n).bit_length() - 1, 6)
