"""FMHA: what lies in the three LDS buffers that K and V of qr_async share."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha.examples import ASYNC, PREFILL
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, Value, all_of, any_of, ite
from ckrules.engine.rules import rule

_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp"
_PIPELINE = "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp"
#: Batch prefill with one step of V, and four of K.
_SHORT: Mapping[str, Value] = {**PREFILL, "tile_n0": 32}
#: Steps of K and of V whose buffers a table gives (LdsBufferSequence); only those of 3 and 4 meet.
_TABLED = ((4, 4), (4, 2), (2, 4), (3, 3), (3, 4), (2, 2))


@rule(
    "FMHA047", "v-stored-over-keys", kind="wrong-result", until="2026.06",
    applies=lambda c: c.asynchronous,
    says="the first step of V is stored where others still read the last of K: {tile_k0max // tile_k0=}, {tile_n0 // tile_k1=}",
    source=[f"{_POLICY}: LdsBufferSequence, GetLdsBufferSequence",
            f"{_PIPELINE}: no barrier between the last gemm_0 and store_tile of V"],
    accepts=[ASYNC, {**ASYNC, "tile_n0": 64, "tile_k0": 64},
             {**ASYNC, "hdim": 96, "tile_k0max": 96, "tile_m0": 32, "wave_m0": 1, "wave_m1": 1}],
    rejects=[{**ASYNC, "hdim": 96, "tile_k0max": 96}, {**ASYNC, "hdim": 192, "tile_k0max": 192}],
    issue="https://github.com/ROCm/rocm-libraries/pull/4742",
)  # fmt: skip
def v_waits_for_keys(c: AttentionQuantities) -> BoolExpr:
    """The last step of K and the first of V have different buffers of the three of qr_async.

    Why: there is no barrier between, so that a fast wave overwrites what a slow one still reads. A
    barrier where they meet came in February 2026. A block of one wave waits for nobody. The
    generator lists such kernels of heads of 96 and 192: 3 or 6 steps of K and 4 of V.

    Fix: use qr, or another number of steps (tile_k0, tile_n0, tile_k1).
    """
    keys, values = c.tile_k0max // c.tile_k0, c.tile_n0 // c.tile_k1
    tabled = any_of(*((keys == k) & (values == v) for k, v in _TABLED))
    apart = (keys + 2) % 3 != (8 - (values + 2) % 3) % 3
    return any_of(c.waves == 1, ite(tabled, ~((keys == 3) & (values == 4)), apart))


@rule(
    "FMHA068", "keys-loaded-over-keys", kind="wrong-result",
    applies=lambda c: all_of(c.asynchronous, c.tile_n0 == c.tile_k1, ~c.dropout),
    says="the first step of the next K is loaded where others still read the last: {tile_k0max // tile_k0=}, tile_n0 = tile_k1 = {tile_k1}",
    source=[f"{_POLICY}: LdsBufferSequence, GetLdsBufferSequence",
            f"{_PIPELINE}: s_barrier before async_load_tile_raw only if k1_loops >= 2",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: the same"],
    accepts=[{**_SHORT, "tile_k0": 64}, {**_SHORT, "tile_m0": 32, "wave_m0": 1, "wave_m1": 1}],
    rejects=[_SHORT],
)  # fmt: skip
def next_keys_wait_for_keys(c: AttentionQuantities) -> BoolExpr:
    """With one step of V, the first step of K and the last have different buffers of the three.

    Why: with more steps of V, waves wait for each other between two of them. With one the next K is
    loaded at once, so that a fast wave overwrites what a slow one still reads. Dropout waits of its
    own accord, and a block of one wave for nobody.

    Fix: use a smaller tile_k1, or another number of steps of K (tile_k0).
    """
    return any_of(c.waves == 1, c.tile_k0max // c.tile_k0 % 3 != 1)


@rule(
    "FMHA069", "values-of-one-step", kind="wrong-result",
    applies=lambda c: c.asynchronous & (c.variant == "fmha_fwd"),
    says="qr_async moves along V from step to step of a tile only: tile_n0 = {tile_n0}, tile_k1 = {tile_k1}",
    source=f"{_PIPELINE}: move_tile_window of v_dram_window in if constexpr(k1_loops > 1) alone",
    accepts=[ASYNC, {**ASYNC, "tile_n0": 64}], rejects=[{**ASYNC, "tile_n0": 32}],
)  # fmt: skip
def values_have_steps(c: AttentionQuantities) -> BoolExpr:
    """A tile of K's sequence has two steps of product 1 at least (qr_async).

    Why: the window of V is moved between steps. Where a tile has one, every tile of K is multiplied
    by the first rows of V. So it is in the headers of September 2026 (read). Batch prefill looks its
    rows up one by one, and is right. The generator lists no such kernel.

    Fix: use a larger tile_n0 or a smaller tile_k1.
    """
    return c.tile_n0 > c.tile_k1
