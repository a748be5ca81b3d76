"""The time of kernels of attention: what estimates of all of them share.

A block goes through steps of tiles that a mask does not hide as a whole. In a step a wave does one
thing after the other, since each needs what the one before it made; other waves of its SIMD fill
the gaps. Blocks come in rounds as those of GEMMs do (`BlockRounds`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.fmha.vocabulary import WARP_TILES
from ckrules.constraints.fmha.words import OPERANDS
from ckrules.constraints.tile_gemm.device.rounds import BlockRounds
from ckrules.constraints.tile_gemm.device.terms import Constants, KernelTerms, Terms, speeds_of

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.constraints.fmha.problem import AttentionProblem
    from ckrules.kernels.timing import Floats

#: Registers that lanes want: so many, and for each that results, scores and operands take at least
#: so many. Fitted to 37 kernels of forward that clang 19 and 22 compiled for gfx90a, gfx942, gfx950
#: and gfx1201.
WANTED = (45.0, 1.65)
FEATURES = (
    *("estimate", "blocks", "steps", "resident", "useful", "tile_m0", "tile_n0", "hdim", "waves"),
    *("lds", "share of matrix rate", "share of LDS", "share of L2", "share of loads"),
    *("share of vector units", "share of latency", "share of memory", "share of start and end"),
)
SITUATION = ("batch", "heads", "shared_heads", "rows", "columns", "visible", "intensity")


class AttentionRounds(BlockRounds, ABC):
    """One estimate of kernels of attention that have such terms.

    Args:
        t: What a step takes, and what comes before and after.
        c: What no data sheet says.
    """

    def __init__(
        self,
        k: KernelTerms,
        p: AttentionProblem,
        gpu: Gpu,
        product: GpuProduct,
        t: Terms,
        c: Constants,
    ) -> None:
        self.k, self.problem, self.gpu = k, p, gpu
        self.dtype = k.only("dtype")
        self.peak = float(dict(speeds_of(gpu).matrix_flops).get(OPERANDS[self.dtype], 1))
        blocks, steps, self.longest = self.work()
        moved = self.tensor_bytes() / (product.memory_gbs * c.memory * 1e3)
        super().__init__(t, blocks, steps, np.broadcast_to(moved, blocks.shape), product, c)

    @property
    @abstractmethod
    def flops(self) -> int:
        """Operations of the products that the problem asks these kernels for."""

    @property
    @abstractmethod
    def columns(self) -> Floats:
        """Columns of heads that a score is multiplied with, in all products."""

    @property
    @abstractmethod
    def asked(self) -> int:
        """The same of the problem, without what tiles add."""

    @abstractmethod
    def work(self) -> tuple[Floats, Floats, Floats]:
        """Blocks of each kernel, their steps in the mean, and those of the longest block."""

    @abstractmethod
    def assumed(self) -> Mapping[str, str]:
        """What no published time was at hand of."""

    @abstractmethod
    def tensor_bytes(self) -> Floats:
        """Bytes of all tensors, each moved once."""

    def slowest(self, held: Floats | float) -> Floats:
        """What waves do one after the other, or what is under way beside it.

        A wave that is alone on its SIMD hides nothing behind the longest part of its step.
        """
        parts = self.step_bounds(held)
        turns = np.stack([parts[n] for n in ("matrix rate", "vector units", "LDS")])
        longest = turns.max(axis=0)
        waves = np.maximum(held * self.k.waves / speeds_of(self.gpu).simds, 1)
        busy = longest + (turns.sum(axis=0) - longest) / waves
        return np.asarray(np.maximum.reduce([busy, parts["L2"], parts["loads"]]))

    def busy(self) -> Floats:
        """Clocks of all rounds, and no less than those of the longest block."""
        alone = self.longest * np.maximum(self.step(1.0), self.t.wait) + self.ends(1.0)
        return np.maximum(super().busy(), alone)

    def useful(self) -> Floats:
        """The share of the multiplications that the problem asks for."""
        k = self.k
        done = 2 * self.blocks * self.steps * k.tile_m0 * k.tile_n0 * self.columns
        return np.minimum(self.flops / np.maximum(done, 1), 1.0)

    def figures(self) -> dict[str, Floats]:
        """What `rank --explain` prints."""
        return self.figures_of(self.flops, self.useful(), self.peak)

    def features(self) -> dict[str, Floats]:
        """Dimensionless numbers, logarithms to base 2 where they span orders of magnitude."""
        k = self.k
        ideal = self.flops / (self.product.compute_units * self.clock * self.peak)
        found = {
            "estimate": np.log2(self.total / np.maximum(ideal, 1e-3)),
            "blocks": np.log2(self.blocks / self.product.compute_units),
            "steps": np.log2(self.steps),
            "resident": self.t.resident,
            "useful": np.log2(self.useful()),
            **{n: np.log2(getattr(k, n)) for n in ("tile_m0", "tile_n0", "waves")},
            "hdim": np.log2(self.columns),
            "lds": np.log2(self.gpu.lds_bytes / lds_of(k)),
        }
        found |= {f"share of {name}": v / self.total for name, v in self.limits.items()}
        return {name: np.broadcast_to(v, self.total.shape) for name, v in found.items()}

    def situation(self) -> dict[str, float]:
        """The problem alone."""
        p = self.problem
        scores = 2 * p.batch * p.heads * p.seqlen_q * p.seqlen_k * self.asked
        moved = float(np.min(self.tensor_bytes()))
        found = {
            "batch": p.batch, "heads": p.heads, "shared_heads": p.heads / p.heads_k,
            "rows": p.seqlen_q, "columns": p.seqlen_k, "visible": self.flops / scores,
            "intensity": self.flops / moved,
        }  # fmt: skip
        return {name: float(np.log2(value)) for name, value in found.items()}


def tiles_of(
    lengths: Iterable[tuple[int, int]], window: tuple[int, int], m: int, n: int
) -> tuple[int, int, int]:
    """Blocks of ``m`` rows of one head, their steps of ``n`` columns, and those of the longest.

    Args:
        lengths: Rows and columns of each sequence.
        window: Columns left and right of the diagonal that count; -1: all.
        m: Rows of a block.
        n: Columns of a step.

    >>> tiles_of([(512, 512)] * 2, (-1, -1), 128, 128), tiles_of([(512, 512)] * 2, (-1, 0), 128, 128)
    ((8, 32, 4), (8, 20, 4))
    """
    left, right = window
    blocks = steps = longest = 0
    for (rows, columns), count in Counter(lengths).items():
        first = np.arange(0, rows, m) + columns - rows
        last = first + m if right < 0 else np.clip(first + m + right, 0, columns)
        end = np.minimum(last, columns) if right >= 0 else np.full_like(first, columns)
        start = np.clip(first - left, 0, columns) if left >= 0 else np.zeros_like(first)
        found = np.maximum(-(-end // n) - start // n, 0)
        blocks, steps = blocks + count * len(first), steps + count * int(found.sum())
        longest = max(longest, int(found.max(initial=0)))
    return max(blocks, 1), steps, longest


def lds_of(k: KernelTerms) -> Floats:
    """LDS of a block; all of it where it is not modelled."""
    return np.nan_to_num(k.lds_bytes, nan=65536.0)


def rate(kernels: Mapping[str, Any], product: int, gpu: Gpu) -> Floats:
    """Matrix operations of a compute unit in a clock, by the warp tile of one of the products."""
    dtype = kernels["dtype"]
    names = dict(
        zip(("warp_tile_m", "warp_tile_n", "warp_tile_k"), WARP_TILES[product], strict=True)
    )
    columns = {n: kernels[own] for n, own in names.items()}
    columns["dtype"] = replace(dtype, values=[OPERANDS[str(word)] for word in dtype.values])
    return KernelTerms(columns).rates(speeds_of(gpu))


def idle(waves: Floats, simds: int) -> Floats:
    """How much longer so many waves take than one for each SIMD."""
    return np.maximum(simds / np.minimum(waves, simds), 1)


def wanted(held: Floats) -> Floats:
    """Registers that a lane wants, which holds so many at least."""
    return np.asarray(WANTED[0] + WANTED[1] * held)


def bound(blocks: Floats, gpu: Gpu) -> Floats:
    """Registers that a lane has: launch bounds are waves of a SIMD, whatever they are called."""
    registers = gpu.vgprs_per_simd or gpu.vgprs_per_wave
    return np.minimum(registers / blocks, gpu.vgprs_per_wave)


def resident(k: KernelTerms, gpu: Gpu, held: Floats, blocks: Floats) -> Floats:
    """Blocks that a compute unit holds at once, by LDS, registers and slots for waves."""
    speeds = speeds_of(gpu)
    by_lds = np.floor(gpu.lds_bytes / np.maximum(lds_of(k), 1))
    taken = np.minimum(wanted(held), bound(blocks, gpu))
    of_simd = np.floor((gpu.vgprs_per_simd or gpu.vgprs_per_wave) / taken)
    by_waves = np.floor(speeds.simds * np.clip(of_simd, 1, speeds.waves_per_simd) / k.waves)
    return np.asarray(np.clip(np.minimum(by_lds, by_waves), 1, 32))


def spilled(held: Floats, blocks: Floats, gpu: Gpu) -> Floats:
    """How far wanted registers exceed what a lane has, 1 at half as many again."""
    there = bound(blocks, gpu)
    return np.clip(2 * (wanted(held) - there) / there, 0, 1)
