"""The time of attention forward: two matrix products, and the softmax between them.

A block has ``tile_m0`` rows of Q and goes through K and V in steps of ``tile_n0`` rows: steps that a
mask hides as a whole are left out, so that blocks of a causal mask have more or fewer. A step has
both products, the softmax of its scores on the vector units, and K and V on their way through LDS.
Each needs what the one before it made, so that a wave does one after the other, and other waves of
its SIMD fill the gaps. Blocks come in rounds as those of GEMMs do (`BlockRounds`). docs/ranking.md
says what published times the `CONSTANTS` were fitted to.

Sources of what is counted: ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs*.hpp: operator(), and
block_dropout.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.fmha.networks import usual
from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.vocabulary import TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha.words import ELEMENT_BYTES, OPERANDS
from ckrules.constraints.tile_gemm.device.rounds import BlockRounds
from ckrules.constraints.tile_gemm.device.terms import (
    GEMMS,
    VECTOR_LANES,
    Constants,
    KernelTerms,
    Terms,
    numbers,
    speeds_of,
)
from ckrules.kernels.timing import Estimate, once
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Floats

CONSTANTS = replace(GEMMS, matrix=0.6, lds=1.0, epilogue=3300.0, launch=1.5, spill=1.5)
"""``matrix`` and ``epilogue`` are fitted to published times, with the LDS's peak and the launch of
earlier GEMMs: with the share of LDS that GEMMs reach attention of MI355X would be said 29 % slower than published.
The others are those of GEMMs."""

#: Vector operations for a score, an exponential counted as four: the largest of a row, the
#: difference to it, the exponential, the sum, and half of a conversion of two.
SOFTMAX = 7.5
#: What functions add to them.
FUNCTIONS: Mapping[str, float] = {
    "bias": 2.0, "alibi": 3.0, "logits": 12.0, "dropout": 6.0, "squant": 1.0,
}  # fmt: skip
#: Registers that lanes want: so many, and for each that results, scores and Q take at least so many.
#: Fitted to 37 kernels that clang 19 and 22 compiled for gfx90a, gfx942, gfx950 and gfx1201.
WANTED = (45.0, 1.65)
#: Bytes of an element of O, where they are not those of Q.
_RESULTS: Mapping[str, int] = {"fp8fp16": 2, "fp8bf16": 2, "fp8fp32": 4}
#: The share of the latency of a step's loads that a step at least takes.
_WAITS: Mapping[str, float] = {
    "qr_async": 0.8, "qr_async_trload": 0.8, "qr": 1.0, "qs": 1.0, "qr_pagedkv": 1.0,
}  # fmt: skip
_FITTED = ("qr_async", "qr_async_trload", "qr")
FEATURES = (
    *("estimate", "blocks", "steps", "resident", "useful", "tile_m0", "tile_n0", "hdim", "waves"),
    *("lds", "share of matrix rate", "share of LDS", "share of L2", "share of loads"),
    *("share of vector units", "share of latency", "share of memory", "share of start and end"),
)
SITUATION = ("batch", "heads", "shared_heads", "rows", "columns", "visible", "intensity")


class AttentionTiming:
    """Estimates for attention forward."""

    quantities: Sequence[str] = (
        *("variant", "arch", "dtype", "mode", "hdim", "pipeline", "bias", "mask", "logits", "lse"),
        *("dropout", "squant", "wave_size", "waves", "lds_bytes", "launch_blocks", "held_vgprs"),
        *("k_vector", "k_load", "v_vector", *TILE, *(n for w in (*WAVES, *WARP_TILES) for n in w)),
    )
    features: Sequence[str] = FEATURES
    situation: Sequence[str] = SITUATION
    columns: Sequence[str] = ()
    apart: Sequence[str] = ("variant", "arch", "dtype")

    def estimate(
        self, kernels: Mapping[str, Any], problem: AttentionProblem, gpu: Gpu, product: GpuProduct
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        made = _Model(kernels, problem, gpu, product)
        return Estimate(made.total, _Said(made))

    def compiled(
        self, kernels: Mapping[str, Any], gpu: Gpu, product: GpuProduct
    ) -> Mapping[str, Floats]:
        """Nothing: the dispatcher library of C estimates no attention.

        Raises:
            UsageError: Always.
        """
        raise UsageError("the dispatcher library estimates no times of attention")

    def usual(self, values: Mapping[str, Sequence[Any]]) -> Sequence[AttentionProblem]:
        """Attention of well-known networks, as the kernels compute it."""
        return usual(values)

    def measured(self, row: Mapping[str, str], gpu: str) -> Point | None:
        """None: measurements name their kernels."""
        return None


@dataclass(frozen=True)
class _Said:
    """What an estimate is made of."""

    model: _Model

    def bounds(self) -> Mapping[str, Floats]:
        return self.model.limits

    def figures(self) -> Mapping[str, Floats]:
        m = self.model
        return m.figures(m.problem.flops, m.useful(), m.peak)

    def features(self) -> Mapping[str, Floats]:
        return self.model.features()

    def situation(self) -> Mapping[str, float]:
        return self.model.situation()

    def assumed(self) -> Mapping[str, str]:
        return self.model.assumed()


class _Model(BlockRounds):
    """One estimate."""

    def __init__(
        self,
        kernels: Mapping[str, Any],
        p: AttentionProblem,
        gpu: Gpu,
        product: GpuProduct,
        c: Constants = CONSTANTS,
    ) -> None:
        self.k, self.problem, self.gpu = numbers(kernels), p, gpu
        self.dtype = self.k.only("dtype")
        self.peak = float(dict(speeds_of(gpu).matrix_flops).get(OPERANDS[self.dtype], 1))
        t = once(kernels, "attention", lambda: _terms(kernels, self.k, gpu, c))
        blocks, steps, self.longest = self.work()
        moved = self.tensor_bytes() / (product.memory_gbs * c.memory * 1e3)
        super().__init__(t, blocks, steps, np.broadcast_to(moved, blocks.shape), product, c)

    def work(self) -> tuple[Floats, Floats, Floats]:
        """Blocks of each kernel, their steps in the mean, and those of the longest block."""
        k, p = self.k, self.problem
        sizes, place = np.unique(np.stack([k.tile_m0, k.tile_n0]), axis=1, return_inverse=True)
        each = np.asarray([_tiles(p, int(m), int(n)) for m, n in sizes.T])[place.ravel()].T
        rows, steps, longest = each
        parts = np.where(k.equal("variant", "fmha_fwd_splitkv") > 0, p.parts, 1)
        blocks = rows * np.ceil(p.hdim_v / k.tile_n1) * p.heads * parts
        return blocks, np.maximum(steps / rows, 1) / parts, np.ceil(np.maximum(longest, 1) / parts)

    def tensor_bytes(self) -> Floats:
        """Bytes of all tensors, each moved once; parts of split sums are written and read."""
        p, element = self.problem, ELEMENT_BYTES[self.dtype]
        rows, columns = (sum(p.rows_of(n)) for n in "qk")
        result = _RESULTS.get(self.dtype, element)
        moved = rows * p.heads * (p.hdim * element + p.hdim_v * result)
        moved += columns * p.heads_k * (p.hdim + p.hdim_v) * element
        if p.bias == "bias":
            moved += rows * p.heads * p.seqlen_k * element
        if p.lse == "yes":
            moved += rows * p.heads * 4
        parts = rows * p.heads * p.parts * (p.hdim_v + 1) * 4
        return np.asarray(moved + self.k.equal("variant", "fmha_fwd_splitkv") * 2 * parts)

    def slowest(self) -> Floats:
        """What waves do one after the other, or what is under way beside it.

        A wave that is alone on its SIMD hides nothing behind the longest part of its step.
        """
        turns = np.stack([self.steps_by[n] for n in ("matrix rate", "vector units", "LDS")])
        longest = turns.max(axis=0)
        waves = np.maximum(self._at_once() * self.k.waves / speeds_of(self.gpu).simds, 1)
        busy = longest + (turns.sum(axis=0) - longest) / waves
        return np.asarray(np.maximum.reduce([busy, self.steps_by["L2"], self.steps_by["loads"]]))

    def busy(self) -> Floats:
        """Clocks of all rounds, and no less than those of the longest block."""
        alone = self.longest * np.maximum(self.step, self.t.wait) + self.ends(1.0)
        return np.maximum(super().busy(), alone)

    def useful(self) -> Floats:
        """The share of the multiplications that the problem asks for."""
        k = self.k
        done = 2 * self.blocks * self.steps * k.tile_m0 * k.tile_n0 * (k.tile_k0max + k.tile_n1)
        return np.minimum(self.problem.flops / done, 1.0)

    def features(self) -> dict[str, Floats]:
        """Dimensionless numbers, logarithms to base 2 where they span orders of magnitude."""
        k = self.k
        ideal = self.problem.flops / (self.product.compute_units * self.clock * self.peak)
        found = {
            "estimate": np.log2(self.total / np.maximum(ideal, 1e-3)),
            "blocks": np.log2(self.blocks / self.product.compute_units),
            "steps": np.log2(self.steps),
            "resident": self.t.resident,
            "useful": np.log2(self.useful()),
            **{n: np.log2(getattr(k, n)) for n in ("tile_m0", "tile_n0", "waves")},
            "hdim": np.log2(k.tile_k0max + k.tile_n1),
            "lds": np.log2(self.gpu.lds_bytes / _lds(k)),
        }
        found |= {f"share of {name}": v / self.total for name, v in self.limits.items()}
        return {name: np.broadcast_to(v, self.total.shape) for name, v in found.items()}

    def situation(self) -> dict[str, float]:
        """The problem alone."""
        p = self.problem
        scores = 2 * p.batch * p.heads * p.seqlen_q * p.seqlen_k * (p.hdim + p.hdim_v)
        moved = float(np.min(self.tensor_bytes()))
        found = {
            "batch": p.batch, "heads": p.heads, "shared_heads": p.heads / p.heads_k,
            "rows": p.seqlen_q, "columns": p.seqlen_k, "visible": p.flops / scores,
            "intensity": p.flops / moved,
        }  # fmt: skip
        return {name: float(np.log2(value)) for name, value in found.items()}

    def assumed(self) -> dict[str, str]:
        """What no published time was at hand of."""
        others = (n for n in self.k.words("pipeline") if n not in _FITTED)
        return {f"pipeline = {n}": "as fast as qr" for n in others}


def _tiles(p: AttentionProblem, m: int, n: int) -> tuple[int, int, int]:
    """Blocks of one head along all sequences, steps of all of them, and of the longest one.

    >>> from ckrules.constraints.fmha.problem import parse
    >>> _tiles(parse("b=2,h=1,s=512,d=64"), 128, 128), _tiles(parse("b=2,h=1,s=512,d=64,mask=causal"), 128, 128)
    ((8, 32, 4), (8, 20, 4))
    """
    left, right = p.window
    blocks = steps = longest = 0
    for (rows, columns), count in Counter(zip(p.rows_of("q"), p.rows_of("k"), strict=True)).items():
        first = np.arange(0, rows, m) + columns - rows
        last = first + m if right < 0 else np.clip(first + m + right, 0, columns)
        end = np.minimum(last, columns) if right >= 0 else np.full_like(first, columns)
        start = np.clip(first - left, 0, columns) if left >= 0 else np.zeros_like(first)
        found = np.maximum(-(-end // n) - start // n, 0)
        blocks, steps = blocks + count * len(first), steps + count * int(found.sum())
        longest = max(longest, int(found.max(initial=0)))
    return max(blocks, 1), steps, longest


def _lds(k: KernelTerms) -> Floats:
    """LDS of a block; all of it where it is not modelled."""
    return np.nan_to_num(k.lds_bytes, nan=65536.0)


def _rate(kernels: Mapping[str, Any], product: int, gpu: Gpu) -> Floats:
    """Matrix operations of a compute unit in a clock, of one of the two products."""
    dtype = kernels["dtype"]
    names = dict(
        zip(("warp_tile_m", "warp_tile_n", "warp_tile_k"), WARP_TILES[product], strict=True)
    )
    columns = {n: kernels[own] for n, own in names.items()}
    columns["dtype"] = replace(dtype, values=[OPERANDS[str(word)] for word in dtype.values])
    return KernelTerms(columns).rates(speeds_of(gpu))


def _terms(kernels: Mapping[str, Any], k: KernelTerms, gpu: Gpu, c: Constants) -> Terms:
    """What a step takes of a block that is alone on its compute unit, in clocks."""
    speeds, dtype = speeds_of(gpu), k.only("dtype")
    element = ELEMENT_BYTES[dtype]
    scores = k.tile_m0 * k.tile_n0
    keys, values = k.tile_n0 * k.tile_k0max, k.tile_n0 * k.tile_n1
    idle = _idle(k.waves, speeds.simds)
    # a product has waves of its own, and others of the block may have nothing to do
    clocks = (
        depth / _rate(kernels, product, gpu) * _idle(waves, speeds.simds)
        for product, (depth, waves) in enumerate(
            ((k.tile_k0max, k.wave_m0 * k.wave_n0), (k.tile_n1, k.wave_m1 * k.wave_n1))
        )
    )
    operations = scores * _operations(k) + k.tile_m0 * k.tile_n1
    queries = k.tile_m0 * k.tile_k0max * k.equal("pipeline", "qs")  # in steps, as K
    staged = keys + values + queries
    read = k.wave_m0 * keys + k.wave_m1 * values + k.wave_n0 * queries
    straight = (k.equal("pipeline", "qr") + k.equal("pipeline", "qs")) == 0
    vector = np.where(straight, k.k_vector, k.k_load)
    loads = (keys + queries) / np.maximum(vector, 1) + values / np.maximum(k.v_vector, 1)
    l2 = (staged + scores * k.equal("bias", "bias")) * element
    l2 = l2 / (speeds.l2_bytes_per_clock * c.l2)
    waits = k.table("pipeline", _WAITS)
    return Terms(
        tile_m=k.tile_m0,
        tile_n=k.tile_n1,
        tile_k=k.tile_n0,
        resident=_resident(k, gpu),
        idle=idle,
        matrix=2 * scores * sum(clocks) / c.matrix,
        vector=operations / VECTOR_LANES * idle,
        lds=(read + staged) * element / (speeds.lds_bytes_per_clock * c.lds),
        l2=l2,
        loads=loads / gpu.wave_size * c.issue,
        slower=1 + (c.spill - 1) * _spilled(k, gpu),
        wait=c.latency * waits,
        overlaps=np.ones_like(waits),
        first=c.prologue + l2,
        last=c.epilogue * k.tile_m0 * k.tile_n1 / 4096,
    )


def _idle(waves: Floats, simds: int) -> Floats:
    """How much longer so many waves take than one for each SIMD."""
    return np.maximum(simds / np.minimum(waves, simds), 1)


def _operations(k: KernelTerms) -> Floats:
    """Vector operations for a score."""
    found = SOFTMAX + sum(k.equal("bias", n) * FUNCTIONS[n] for n in ("bias", "alibi"))
    return np.asarray(
        found + sum(getattr(k, n) * FUNCTIONS[n] for n in ("logits", "dropout", "squant"))
    )


def _bound(k: KernelTerms, gpu: Gpu) -> Floats:
    """Registers that a lane has: launch bounds are waves of a SIMD, whatever they are called."""
    registers = gpu.vgprs_per_simd or gpu.vgprs_per_wave
    return np.minimum(registers / k.launch_blocks, gpu.vgprs_per_wave)


def _wanted(k: KernelTerms) -> Floats:
    """Registers that a lane wants."""
    return np.asarray(WANTED[0] + WANTED[1] * k.held_vgprs)


def _resident(k: KernelTerms, gpu: Gpu) -> Floats:
    """Blocks that a compute unit holds at once, by LDS, registers and slots for waves."""
    speeds = speeds_of(gpu)
    by_lds = np.floor(gpu.lds_bytes / np.maximum(_lds(k), 1))
    taken = np.minimum(_wanted(k), _bound(k, gpu))
    of_simd = np.floor((gpu.vgprs_per_simd or gpu.vgprs_per_wave) / taken)
    by_waves = np.floor(speeds.simds * np.clip(of_simd, 1, speeds.waves_per_simd) / k.waves)
    return np.asarray(np.clip(np.minimum(by_lds, by_waves), 1, 32))


def _spilled(k: KernelTerms, gpu: Gpu) -> Floats:
    """How far wanted registers exceed what a lane has, 1 at half as many again."""
    there = _bound(k, gpu)
    return np.clip(2 * (_wanted(k) - there) / there, 0, 1)
