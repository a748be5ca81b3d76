"""The time of attention backward: five matrix products, P and its gradient between them.

A block has ``tile_n0`` rows of K and V in registers and goes through the rows of Q that see them, in
steps of ``tile_m0``; where Q is one tile it goes through K instead. A step has all five products,
P and dS on the vector units, and Q, dO and dS on their way through LDS; its share of dQ is added to
memory by atomic additions, or stored apart where the order of sums is fixed. No time of backward
was measured: constants are those of forward.

Sources of what is counted: ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_*.hpp: operator(),
and fmha_bwd_kernel.hpp: GridSize, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.fmha.device.rounds import (
    AttentionRounds,
    idle,
    rate,
    resident,
    spilled,
    tiles_of,
)
from ckrules.constraints.fmha.device.timing import AttentionTiming
from ckrules.constraints.fmha.words import ELEMENT_BYTES
from ckrules.constraints.fmha_bwd.vocabulary import TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha_bwd.words import STORED
from ckrules.constraints.tile_gemm.device.terms import (
    VECTOR_LANES,
    Constants,
    KernelTerms,
    Terms,
    speeds_of,
)

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.constraints.fmha.problem import AttentionProblem
    from ckrules.kernels.timing import Floats

#: Vector operations for a score, an exponential counted as four: the difference to LSE, the
#: exponential, dP - D, its product with P, and half of a conversion of two, of P and of dS.
GRADIENT = 8.0
#: What functions add to them; values that are dropped are so in P and in dP.
FUNCTIONS: Mapping[str, float] = {"bias": 2.0, "alibi": 3.0}
DROPOUT, DBIAS = 8.0, 1.0
#: Bytes of an element of dQ's sums.
_SUMS = 4


class _Backward(AttentionRounds):
    @property
    def flops(self) -> int:
        """Five products, of half the scores where a causal mask leaves half of them out."""
        p = self.problem
        return p.flops // (p.hdim + p.hdim_v) * self.asked

    @property
    def columns(self) -> Floats:
        return np.asarray(3 * self.k.tile_hdq + 2 * self.k.tile_hdv)

    @property
    def asked(self) -> int:
        return 3 * self.problem.hdim + 2 * self.problem.hdim_v

    def work(self) -> tuple[Floats, Floats, Floats]:
        k, p = self.k, self.problem
        sizes, place = np.unique(
            np.stack([k.tile_m0, k.tile_n0, k.max_seqlen_q > 0]), axis=1, return_inverse=True
        )
        each = np.asarray([tiles(p, int(m), int(n), short=bool(s)) for m, n, s in sizes.T])
        blocks, steps, longest = each[place.ravel()].T
        return blocks * p.heads, np.maximum(steps / blocks, 1), np.maximum(longest, 1)

    def tensor_bytes(self) -> Floats:
        """Bytes of all tensors, each moved once; dQ's sums are read, too, or come in parts."""
        p, element, k = self.problem, ELEMENT_BYTES[self.dtype], self.k
        rows, columns = (sum(p.rows_of(n)) for n in "qk")
        moved = rows * p.heads * ((p.hdim + p.hdim_v) * element + 8)  # Q, dO, LSE and D
        moved += columns * (p.hdim + p.hdim_v) * element * (p.heads_k + p.heads)  # and dK, dV
        if p.bias == "bias":
            moved += rows * p.heads * p.seqlen_k * element
        scores = rows * p.heads * p.seqlen_k
        stored = [word for word in k.words("dropout") if word in STORED]
        random = sum((k.equal("dropout", word) for word in stored), np.zeros_like(k.tile_m0))
        parts = np.where(k.deterministic > 0, np.ceil(p.seqlen_k / k.tile_n0), 2)
        sums = np.where(k.max_seqlen_q > 0, element, parts * _SUMS)
        gradients = rows * p.heads * p.hdim * sums
        return np.asarray(moved + gradients + scores * (k.dbias * element + random))

    def assumed(self) -> dict[str, str]:
        return {"variant = fmha_bwd": "constants of attention forward"}


def tiles(p: AttentionProblem, m: int, n: int, *, short: bool) -> tuple[int, int, int]:
    """Blocks of one head along all sequences, steps of all of them, and of the longest one.

    >>> from ckrules.constraints.fmha.problem import parse
    >>> tiles(parse("b=2,h=1,s=512,d=64"), 64, 128, short=False)
    (8, 64, 8)
    >>> tiles(parse("b=2,h=1,s=512,d=64,mask=causal"), 64, 128, short=False)
    (8, 40, 8)
    >>> tiles(parse("b=2,h=1,s=16,s_k=512,d=64"), 16, 16, short=True)
    (2, 64, 32)
    """
    lengths = list(zip(p.rows_of("q"), p.rows_of("k"), strict=True))
    left, right = p.window
    if short:
        return tiles_of(lengths, p.window, m, n)
    return tiles_of(((k, q) for q, k in lengths), (right, left), n, m)


def _terms(kernels: Mapping[str, Any], k: KernelTerms, gpu: Gpu, c: Constants) -> Terms:
    """What a step takes of a block that is alone on its compute unit, in clocks."""
    speeds, element = speeds_of(gpu), ELEMENT_BYTES[k.only("dtype")]
    scores, own = k.tile_m0 * k.tile_n0, idle(k.waves, speeds.simds)
    short = k.max_seqlen_q > 0
    clocks = sum(depth / rate(kernels, warp_tile, gpu) for warp_tile, depth in _products(k))
    q, do = k.tile_m0 * k.tile_hdq, k.tile_m0 * k.tile_hdv
    keys, values = k.tile_n0 * k.tile_hdq, k.tile_n0 * k.tile_hdv
    # what a step brings, and what stays: Q and dO, or K and V where Q is one tile
    brought, held = (
        np.where(short, (keys, values), (q, do)),
        np.where(short, (q, do), (keys, values)),
    )
    copies = np.where(k.trload > 0, 1, 2)  # rows and columns changed on the way, or as it is read
    read = np.where(short, k.wave_m0 + k.wave_n1, k.wave_n0 + k.wave_m1)
    lds = brought.sum(axis=0) * (copies + read) + scores * (1 + k.wave_n2)
    # sums of dQ, which the L2 reads and writes; with Q of one tile dK and dV leave in each step
    sums = np.where(short, 0, q * _SUMS * np.where(k.deterministic > 0, 1, 2))
    gone = np.where(short, (keys + values) * element, 0)
    added = scores * element * (k.equal("bias", "bias") + k.dbias)
    l2 = (brought.sum(axis=0) * element + sums + gone + added) / (speeds.l2_bytes_per_clock * c.l2)
    loads = sum(b / v for b, v in zip(brought, _vectors(k, element), strict=True))
    loads = loads + np.where(short, (keys + values) * element / 16, q)  # an atomic addition each
    bounds, registers = np.maximum(k.block_per_cu, 1), _registers(k, held, element)
    first = held.sum(axis=0) * element / (speeds.l2_bytes_per_clock * c.l2)
    return Terms(
        tile_m=k.tile_n0,
        tile_n=k.tile_hdv,
        tile_k=k.tile_m0,
        resident=resident(k, gpu, registers, bounds),
        idle=own,
        matrix=2 * scores * clocks / c.matrix * own,
        vector=(scores * _operations(k) + q) / VECTOR_LANES * own,
        lds=lds * element / (speeds.lds_bytes_per_clock * c.lds),
        l2=l2,
        loads=loads / gpu.wave_size * c.issue,
        slower=1 + (c.spill - 1) * spilled(registers, bounds, gpu),
        wait=np.full_like(scores, c.latency),
        overlaps=np.ones_like(scores),
        first=c.prologue + first,
        last=c.epilogue * np.where(short, q, keys + values) / 4096,
    )


def _products(k: KernelTerms) -> Iterator[tuple[int, Floats]]:
    """The warp tile of each of the five products, and what a score of it is multiplied with."""
    yield from ((0, k.tile_hdq), (1, k.tile_hdv), (0, k.tile_hdv), (1, k.tile_hdq))
    yield 0, k.tile_hdq


def _vectors(k: KernelTerms, element: int) -> tuple[Floats, Floats]:
    """Elements of Q or K, and of dO or V, that a lane loads at once."""
    whole = 16 / element
    return np.where(k.pad_d == 1, 1.0, whole), np.where(k.pad_dv == 1, 1.0, whole)


def _operations(k: KernelTerms) -> Floats:
    """Vector operations for a score."""
    found = GRADIENT + sum(k.equal("bias", n) * more for n, more in FUNCTIONS.items())
    drops = 1 - k.equal("dropout", "no") if "no" in k.words("dropout") else 1.0
    return np.asarray(found + drops * DROPOUT + k.dbias * DBIAS)


def _registers(k: KernelTerms, held: Floats, element: int) -> Floats:
    """Registers of a lane that results, scores and what stays take at least.

    Of K, or Q, there is a second copy with rows and columns changed.
    """
    stays = (2 * held[0] + held[1]) * element / 4
    results = k.tile_n0 * (k.tile_hdq + k.tile_hdv) + k.tile_m0 * k.tile_hdq
    return np.asarray((stays + results + 2 * k.tile_m0 * k.tile_n0) / k.threads)


class BackwardTiming(AttentionTiming):
    """Estimates for attention backward."""

    quantities: Sequence[str] = (
        *("variant", "arch", "dtype", "mode", "hdim", "bias", "dbias", "mask", "dropout"),
        *("deterministic", "trload", "max_seqlen_q", "pad_d", "pad_dv", "block_per_cu"),
        *("wave_size", "waves", "threads", "lds_bytes", *TILE),
        *(n for w in (*WAVES, *WARP_TILES) for n in w),
    )
    #: Nobody measured any: a factor of two is a guess.
    printed_range: float = 2.0
    rounds = _Backward
    terms = staticmethod(_terms)
