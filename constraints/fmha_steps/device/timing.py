"""The time of the kernels before and after attention, which move tensors and multiply no matrices.

What they take is the memory's time for what they read and write, or where that is little the
latency of a block's loads. No time of theirs was measured: constants are those of forward.

Sources of what is counted: GridSize of ops/fmha/kernel/fmha_bwd_kernel.hpp,
fmha_fwd_splitkv_combine_kernel.hpp and fmha_fwd_appendkv_kernel.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.fmha.device.rounds import idle
from ckrules.constraints.fmha.device.timing import CONSTANTS, AttentionTiming
from ckrules.constraints.fmha.words import ELEMENT_BYTES
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT
from ckrules.constraints.tile_gemm.device.rounds import BlockRounds
from ckrules.constraints.tile_gemm.device.terms import (
    VECTOR_LANES,
    KernelTerms,
    Terms,
    numbers,
    speeds_of,
)
from ckrules.kernels.timing import Estimate

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.constraints.fmha.problem import AttentionProblem
    from ckrules.kernels.timing import Floats

_THREADS = 256
"""Threads of a block, but those of dO times O: a row each."""
FEATURES = (
    *("blocks", "steps", "share of L2", "share of loads", "share of vector units"),
    *("share of latency", "share of memory", "share of start and end"),
)
SITUATION = ("batch", "heads", "rows", "columns", "moved")


class StepTiming(AttentionTiming):
    """Estimates for kernels before and after attention."""

    quantities: Sequence[str] = (
        *("variant", "arch", "dtype", "mode", "hdim", "tile_s", "tile_sk", "tile_d", "tile_dv"),
        *("lse", "rope", "deterministic", "wave_size", "combined_rows"),
    )
    features: Sequence[str] = FEATURES
    situation: Sequence[str] = SITUATION
    #: Nobody measured any: a factor of two is a guess.
    printed_range: float = 2.0

    def estimate(
        self, kernels: Mapping[str, Any], problem: AttentionProblem, gpu: Gpu, product: GpuProduct
    ) -> Estimate:
        made = _Moved(numbers(kernels), problem, gpu, product)
        return Estimate(made.total, made)


@dataclass(frozen=True)
class _Work:
    """What kernels of one variant do on a problem, an element for each kernel or for all."""

    rows: Floats
    """Rows of a block."""
    blocks: Floats
    steps: Floats
    read: Floats
    """Bytes, of all blocks."""
    written: Floats
    vector: float
    """Elements that a lane loads at once."""
    element: int
    operations: Floats
    """Of vector units, of all blocks."""


class _Moved(BlockRounds):
    def __init__(self, k: KernelTerms, p: AttentionProblem, gpu: Gpu, product: GpuProduct) -> None:
        self.k, self.problem, self.gpu = k, p, gpu
        c, speeds, self.variant = CONSTANTS, speeds_of(gpu), k.only("variant")
        self.work = w = _WORK[self.variant](k, p)
        shape = k.tile_s.shape
        one, zero = np.ones(shape), np.zeros(shape)
        waves = np.maximum((w.rows if self.variant == DOT else _THREADS) / gpu.wave_size, 1) * one
        own = idle(waves, speeds.simds)
        parts = w.blocks * w.steps  # what one step of one block has of the whole
        l2 = (w.read + w.written) / parts / (speeds.l2_bytes_per_clock * c.l2)
        t = Terms(
            tile_m=w.rows * one,
            tile_n=one,
            tile_k=one,
            resident=np.clip(np.floor(speeds.simds * speeds.waves_per_simd / waves), 1, 32),
            idle=own,
            matrix=zero,
            vector=w.operations / parts / VECTOR_LANES * own,
            lds=zero,
            l2=l2 * one,
            loads=w.read / parts / (w.element * w.vector) / gpu.wave_size * c.issue * one,
            slower=one,
            wait=np.full(shape, c.latency),
            overlaps=one,
            first=c.prologue * one,
            last=zero,
        )
        moved = (w.read + w.written) / (product.memory_gbs * c.memory * 1e3)
        super().__init__(t, w.blocks * one, w.steps * one, moved * one, product, c)

    def bounds(self) -> Mapping[str, Floats]:
        return {n: v for n, v in self.limits.items() if n not in ("matrix rate", "LDS")}

    def figures(self) -> Mapping[str, Floats]:
        done, lanes = float(np.min(self.work.operations)), float(VECTOR_LANES)
        return self.figures_of(done, np.ones_like(self.total), lanes)

    def features(self) -> Mapping[str, Floats]:
        known, none = (
            self.bounds(),
            np.zeros_like(self.total),
        )  # nothing is added where nothing turns
        shares = (n for n in FEATURES if n.startswith("share of "))
        return {
            "blocks": np.log2(self.blocks / self.product.compute_units),
            "steps": np.log2(self.steps),
            **{n: known.get(n.removeprefix("share of "), none) / self.total for n in shares},
        }

    def situation(self) -> Mapping[str, float]:
        p, w = self.problem, self.work
        found = {
            "batch": p.batch, "heads": p.heads, "rows": p.seqlen_q, "columns": p.seqlen_k,
            "moved": float(np.min(w.read + w.written)),
        }  # fmt: skip
        return {name: float(np.log2(max(value, 1))) for name, value in found.items()}

    def assumed(self) -> Mapping[str, str]:
        return {f"variant = {self.variant}": "constants of attention forward"}


def _blocks(p: AttentionProblem, rows: Floats) -> Floats:
    """Blocks of so many rows of Q: of each sequence and head."""
    return np.asarray(p.heads * sum(np.ceil(q / rows) for q in p.rows_of("q")))


def _dot(k: KernelTerms, p: AttentionProblem) -> _Work:
    """D from dO and O, a row in each lane."""
    element, rows = ELEMENT_BYTES[k.only("dtype")], sum(p.rows_of("q")) * p.heads
    one = np.ones_like(k.tile_s)
    read, done = one * 2 * rows * p.hdim_v * element, one * 2 * rows * p.hdim_v
    blocks = _blocks(p, k.tile_s)
    return _Work(k.tile_s, blocks, one, read, one * 4 * rows, 16 / element, element, done)


def _convert(k: KernelTerms, p: AttentionProblem) -> _Work:
    """dQ from its sums, or from those of each block of K."""
    element, rows = ELEMENT_BYTES[k.only("dtype")], sum(p.rows_of("q")) * p.heads
    parts = np.where(k.deterministic > 0, np.ceil(p.seqlen_k / np.maximum(k.tile_sk, 1)), 1)
    read, written = 4 * parts * rows * p.hdim, np.ones_like(parts) * rows * p.hdim * element
    blocks, done = _blocks(p, k.tile_s), parts * rows * p.hdim
    return _Work(k.tile_s, blocks, parts, read, written, 4, 4, done)


def _combine(k: KernelTerms, p: AttentionProblem) -> _Work:
    """O and LSE from those of each split."""
    rows, one = sum(p.rows_of("q")) * p.heads, np.ones_like(k.tile_dv)
    read = one * 4 * p.parts * rows * (p.hdim_v + 1)
    written = rows * (p.hdim_v * ELEMENT_BYTES[k.only("dtype")] + 4 * k.lse)
    blocks = _blocks(p, k.combined_rows) * np.ceil(p.hdim_v / k.tile_dv)
    return _Work(
        k.combined_rows, blocks, one, read, written, 4, 4, one * 2 * p.parts * rows * p.hdim_v
    )


def _append(k: KernelTerms, p: AttentionProblem) -> _Work:
    """New rows of K and V, and Q where it is rotated."""
    element, turned = ELEMENT_BYTES[k.only("dtype")], 1 - k.equal("rope", "no")
    queries, new = sum(p.rows_of("q")) * p.heads, p.batch * p.appended_rows * p.heads_k
    moved = (new * (p.hdim + p.hdim_v) + turned * queries * p.hdim) * element
    # a block without rows of Q embeds none
    own = np.where(k.tile_s > 0, np.ceil(p.seqlen_q / np.maximum(k.tile_s, 1)), 1)
    blocks = np.maximum(own, np.ceil(p.appended_rows / k.tile_sk))
    done = (new + queries) * p.hdim * 3 * turned
    return _Work(
        k.tile_s, blocks * p.heads * p.batch, np.ones_like(moved), moved, moved, 16 / element,
        element, done,
    )  # fmt: skip


_WORK = {DOT: _dot, CONVERT: _convert, COMBINE: _combine, APPEND: _append}
