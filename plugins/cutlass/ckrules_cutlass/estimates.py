"""The time of a kernel, estimated from its tiles and the speeds of a GPU.

Blocks come in rounds of as many as the GPU holds. In a round each works through the K steps of its
tile; a step takes as long as the slowest of matrix instructions, loads through the cache, and what
its stages leave of a load's latency. The constants are fitted to the times of
``data/times.csv.gz``, fp16 on an H100; models of `ckrules train` learn what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.tile_gemm.device.terms import KernelTerms, numbers
from ckrules.kernels.timing import PRINTED_RANGE, Estimate

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.kernels.timing import Floats

MATRIX, MEMORY = 1.0, 0.95
"""The shares of the peaks that are reached."""
LATENCY, STEP, PROLOGUE, EPILOGUE = 2400.0, 80.0, 1600.0, 0.35
"""Clocks of a load, of a step beside it, of a tile's start, and of storing 16 elements."""
CACHE = 45.0
"""Bytes that a multiprocessor loads through the cache in a clock."""
SPLIT, LAUNCH_US = 40000.0, 12.5
"""Clocks of sharing tiles, and microseconds of a launch."""
TURN, TURN_SIZE = 1000.0, 2.3
"""Clocks of adding a part of a shared tile to those before it, and of 16 of its elements."""
SPILLED, FITTING = 0.22, 216
"""Clocks that an instruction takes for each accumulator of a tile when a thread has more of them
than fit: they go through memory. Of one kernel of 192x192x64 by one warp group."""
SHORTEST = 8
"""Steps that stream-K gives a block at least (``min_iters_per_sk_unit_``)."""
SHARED = 232448
"""Bytes of shared memory of a multiprocessor that blocks may have."""

_SQUARES = ((8, 6), (4, 3), (2, 2))
"""Swizzles, and the tiles that the shorter side of a problem has to have for them."""

_FIELDS = (
    *("variant", "arch", "dtype", "tile_m", "tile_n", "tile_k", "cluster_m", "cluster_n"),
    *("swizzle", "cooperative", "pingpong", "tma_epilogue", "tile_scheduler", "stage_count"),
    *("shared_bytes", "operand_bytes", "output_bytes", "epilogue_tile_n", "accumulators", "mma_n"),
)
_FEATURES = (
    *("estimate", "rounds", "last_round", "tiles", "steps", "useful_m", "useful_n", "useful_k"),
    *("tile_m", "tile_n", "tile_k", "stages", "resident", "cluster_m", "cluster_n", "swizzle"),
    *("cooperative", "pingpong", "stream_k", "tma_epilogue", "epilogue_tile_n", "accumulators"),
    "mma_n",
    *("share of matrix rate", "share of cache", "share of latency", "share of memory", "reuse"),
    *("peers", "added_up", "tile", "tile_aspect", "cluster_aspect", "aspect"),
)
_SITUATION = ("m", "n", "k", "batch", "tiles_of_16384", "intensity", "ideal")


@dataclass(frozen=True)
class _Model:
    k: KernelTerms
    problem: MatrixProduct
    gpu: Gpu
    product: GpuProduct

    @cached_property
    def stream_k(self) -> Floats:
        return self.k.table("tile_scheduler", {"persistent": 0.0, "stream_k": 1.0})

    @cached_property
    def sides(self) -> tuple[Floats, Floats, Floats]:
        """Tiles along M and N, those beyond the problem included, and steps along K.

        Whole clusters are computed, and by a persistent kernel whole squares of as many clusters
        as it swizzles.

        Source: gemm/kernel/tile_scheduler_params.h PersistentTileSchedulerSm90Params::initialize,
        get_log_swizzle_size.
        """
        k, p = self.k, self.problem
        clusters = (k.cluster_m, k.cluster_n)
        sizes = ((p.m, k.tile_m), (p.n, k.tile_n))
        along = [
            np.ceil(np.ceil(size / tile) / cluster) * cluster
            for (size, tile), cluster in zip(sizes, clusters, strict=True)
        ]
        least = np.minimum(*along)
        squares = np.select(
            [(k.swizzle >= side) & (least >= tiles) for side, tiles in _SQUARES],
            [float(side) for side, _ in _SQUARES], 1.0,
        )  # fmt: skip
        side = np.where(k.cooperative + k.pingpong > 0, squares, 1.0)
        m, n = (
            np.ceil(tiles / (side * cluster)) * side * cluster
            for tiles, cluster in zip(along, clusters, strict=True)
        )
        return m, n, np.ceil(p.k / k.tile_k)

    @cached_property
    def tiles(self) -> Floats:
        return self.sides[0] * self.sides[1] * self.problem.batch

    @cached_property
    def resident(self) -> Floats:
        """Blocks of a multiprocessor at once: persistent kernels have one."""
        alone = self.k.cooperative + self.k.pingpong > 0
        return np.where(alone, 1.0, np.clip(SHARED // np.maximum(self.k.shared_bytes, 1), 1, 4))

    @cached_property
    def held(self) -> Floats:
        """Tiles of the GPU at once; pingpong blocks have two."""
        cluster = self.k.cluster_m * self.k.cluster_n
        blocks = np.floor(self.product.compute_units * self.resident / cluster) * cluster
        return blocks * (1 + self.k.pingpong)

    @cached_property
    def rounds(self) -> Floats:
        """How often blocks get a tile; stream-K's get parts unless the last round is half full.

        Source: gemm/kernel/tile_scheduler_params.h get_num_sk_tiles.
        """
        exact = self.tiles / self.held
        parts = np.maximum(exact, np.minimum(SHORTEST / self.sides[2], 1))
        shared = (self.stream_k > 0) & ((exact < 0.5) | (exact % 1 < 0.5) & (exact > 1))
        return np.where(shared, parts, np.ceil(exact))

    @cached_property
    def peers(self) -> Floats:
        """How many blocks share a tile of stream-K; each adds its part after the one before.

        Source: gemm/kernel/sm90_tile_scheduler_stream_k.hpp fixup, which waits for the turn.
        """
        units = np.minimum(self.product.compute_units, self.tiles * self.sides[2] // SHORTEST)
        units = np.maximum(units, 1)
        shared = np.where(self.tiles > units, 1.0 + (self.tiles % units > 0), units / self.tiles)
        return np.where(self.stream_k > 0, np.maximum(shared, 1.0), 1.0)

    @cached_property
    def matrix(self) -> Floats:
        """Clocks of a step's matrix instructions, where blocks of a multiprocessor take turns.

        An instruction reads 64 rows of A and its columns of B from shared memory; with few columns
        that takes longer than to multiply.
        """
        assert self.gpu.performance is not None
        rate = dict(self.gpu.performance.matrix_flops)[self.k.only("dtype")] * MATRIX
        shared = np.minimum(self.tiles / self.product.compute_units, self.resident)
        turns = np.maximum(shared, 1.0) * (1 + self.k.pingpong)
        slower = np.maximum((16 + self.k.mma_n / 4) / (self.k.mma_n / 2), 1.0)
        return 2 * self.k.tile_m * self.k.tile_n * self.k.tile_k / rate * turns * slower

    @cached_property
    def cache(self) -> Floats:
        """Clocks of a step's loads; blocks of a cluster load for each other."""
        assert self.gpu.performance is not None
        k = self.k
        rows = k.tile_m / k.cluster_n + k.tile_n / k.cluster_m
        turns = self.resident * (1 + k.pingpong)
        return rows * k.tile_k * k.operand_bytes * turns / CACHE

    @cached_property
    def latency(self) -> Floats:
        """Clocks that a step at least takes, as its load has only so many steps to arrive."""
        return np.asarray(LATENCY / np.maximum(self.k.stage_count - 1, 1))

    @cached_property
    def spilled(self) -> Floats:
        """Clocks of a step in which accumulators go through memory."""
        instructions = self.k.tile_k * self.k.operand_bytes / 32
        lost = SPILLED * self.k.tile_m * self.k.tile_n * instructions
        return np.where(self.k.accumulators > FITTING, lost, 0.0)

    @cached_property
    def loop(self) -> Floats:
        """Microseconds of all rounds' loops, starts and ends."""
        step = np.maximum(np.maximum(self.matrix, self.cache), self.latency) + STEP + self.spilled
        stored = EPILOGUE * self.k.tile_m * self.k.tile_n / 16 * (1 - 0.5 * self.k.pingpong)
        clocks = self.rounds * (self.sides[2] * step + PROLOGUE + stored)
        turn = TURN + TURN_SIZE * self.k.tile_m * self.k.tile_n / 16
        clocks = clocks + self.stream_k * (SPLIT + (self.peers - 1) * turn)
        return np.asarray(clocks / self.product.clock_mhz)

    @cached_property
    def memory(self) -> float:
        """Microseconds that reading and writing every element once takes."""
        p, size = self.problem, float(self.k.operand_bytes.max())
        moved = (p.m * p.k + p.n * p.k) * size + p.m * p.n * float(self.k.output_bytes.max())
        return p.batch * moved / (self.product.memory_gbs * MEMORY * 1e3)

    @cached_property
    def total(self) -> Floats:
        return np.asarray(LAUNCH_US + np.maximum(self.loop, self.memory))

    @cached_property
    def ideal(self) -> float:
        """Microseconds at the peak of matrix instructions."""
        assert self.gpu.performance is not None
        rate = dict(self.gpu.performance.matrix_flops)[self.k.only("dtype")]
        return self.problem.flops / (rate * self.product.compute_units * self.product.clock_mhz)

    def bounds(self) -> Mapping[str, Floats]:
        per = self.rounds * self.sides[2] / self.product.clock_mhz
        ones = np.ones_like(self.total)
        return {
            "matrix instructions": self.matrix * per, "cache": self.cache * per,
            "latency": self.latency * per, "memory": self.memory * ones,
        }  # fmt: skip

    def figures(self) -> Mapping[str, Floats]:
        k, p = self.k, self.problem
        computed = self.tiles * k.tile_m * k.tile_n * self.sides[2] * k.tile_k
        return {
            "tflops": p.flops / self.total / 1e6, "of_peak": self.ideal / self.total,
            "blocks": self.tiles, "rounds": self.rounds, "blocks_per_cu": self.resident,
            "useful": p.flops / 2 / computed,
            "busy": self.tiles / (np.ceil(self.rounds) * self.held),
        }  # fmt: skip

    def features(self) -> Mapping[str, Floats]:
        k, p = self.k, self.problem
        exact = self.tiles / self.held
        step = np.maximum(np.maximum(self.matrix, self.cache), self.latency)
        sizes = {n: np.log2(getattr(k, n)) for n in ("tile_m", "tile_n", "tile_k", "swizzle")}
        plain = ("cooperative", "pingpong", "tma_epilogue", "epilogue_tile_n", "accumulators")
        return {
            "estimate": np.log2(self.total), "rounds": np.log2(exact),
            "last_round": exact / np.ceil(exact), "tiles": np.log2(self.tiles),
            "steps": np.log2(self.sides[2]), "useful_m": p.m / (self.sides[0] * k.tile_m),
            "useful_n": p.n / (self.sides[1] * k.tile_n),
            "useful_k": p.k / (self.sides[2] * k.tile_k), "mma_n": np.log2(k.mma_n),
            **sizes, "stages": k.stage_count, "resident": self.resident,
            "cluster_m": k.cluster_m, "cluster_n": k.cluster_n, "stream_k": self.stream_k,
            **{n: getattr(k, n) for n in plain},
            "share of matrix rate": self.matrix / step, "share of cache": self.cache / step,
            "share of latency": self.latency / step, "share of memory": self.memory / self.total,
            "reuse": np.log2(1 / (1 / k.tile_m + 1 / k.tile_n)), "peers": np.log2(self.peers),
            "added_up": np.where(self.peers > 1, np.log2(self.peers * k.tile_m * k.tile_n), 0.0),
            "tile": np.log2(k.tile_m * k.tile_n), "tile_aspect": np.log2(k.tile_m / k.tile_n),
            "cluster_aspect": np.log2(k.cluster_m / k.cluster_n),
            "aspect": np.log2(k.tile_m * k.cluster_m * p.n / (k.tile_n * k.cluster_n * p.m)),
        }  # fmt: skip

    def situation(self) -> Mapping[str, float]:
        p = self.problem
        moved = p.m * p.k + p.n * p.k + p.m * p.n
        return {
            "m": float(np.log2(p.m)), "n": float(np.log2(p.n)), "k": float(np.log2(p.k)),
            "batch": float(np.log2(p.batch)), "tiles_of_16384": float(np.log2(p.m * p.n / 16384)),
            "intensity": float(np.log2(p.m * p.n * p.k / moved)),
            "ideal": float(np.log2(self.ideal)),
        }  # fmt: skip

    def assumed(self) -> Mapping[str, str]:
        return {}


class CutlassTiming:
    """Estimates for products and batches."""

    quantities: Sequence[str] = _FIELDS
    features: Sequence[str] = _FEATURES
    situation: Sequence[str] = _SITUATION
    columns: Sequence[str] = ()
    printed_range: float = PRINTED_RANGE
    apart: Sequence[str] = ("variant", "arch", "dtype")

    def estimate(
        self, kernels: Mapping[str, Any], problem: MatrixProduct, gpu: Gpu, product: GpuProduct
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        made = _Model(numbers(kernels), problem, gpu, product)
        return Estimate(made.total, made)

    def compiled(
        self, kernels: Mapping[str, Any], gpu: Gpu, product: GpuProduct
    ) -> Mapping[str, Floats]:
        """The C library has no estimates of these kernels.

        Raises:
            UsageError: Always.
        """
        from ckrules.support.errors import UsageError

        raise UsageError("the C library has no estimates of CUTLASS's kernels")

    def usual(self, values: Mapping[str, Sequence[Any]]) -> Sequence[MatrixProduct]:
        """Products of language models' layers, for many tokens and for few."""
        return [MatrixProduct(m, n, 4096) for m in (4096, 64) for n in (4096, 11008)]

    def measured(self, row: Mapping[str, str], gpu: str) -> Mapping[str, Any] | None:
        """None: measurements name their kernels."""
        return None


TIMING = CutlassTiming()
