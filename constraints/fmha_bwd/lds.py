"""FBWD: what kernels of attention backward put into LDS.

Facts: ``GetSmemSize`` of ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp and of
block_fmha_bwd_pipeline_trload_default_policy.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha_bwd.vocabulary import BackwardQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_POLICIES = "ops/fmha/pipeline/block_fmha_bwd_pipeline{,_trload}_default_policy.hpp"
_SHORT = "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_trload_qr_qtr_dor.hpp"
_LONG = "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_kr_ktr_vr{,_iglp}.hpp"
_DECODE: Mapping[str, Any] = {
    "arch": "gfx950", "trload": True, "max_seqlen_q": 16, "tile_n0": 16, "tile_k4": 16,
    "wave_n0": 1, "wave_m1": 1, "wave_n2": 1,
}  # fmt: skip


@rule(
    "FBWD024", "gradient-lds-overflow", kind="hardware",
    says="LDS: {lds_bytes} bytes, more than the {table lds_capacity} of {arch}: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, heads of {tile_hdq} and {tile_hdv}",
    source=[f"{_POLICIES}: GetSmemSize", "arch/data/*.toml [lds] bytes"],
    accepts=[{}, {"tile_n0": 64}], rejects=[{"tile_n0": 256}, {"tile_m0": 64, "dtype": "fp32"}],
)  # fmt: skip
def gradient_lds_fits(c: BackwardQuantities) -> BoolExpr:
    """K twice, or a step's Q and dO twice with LSE, D and dS, fit the LDS.

    Why: K is staged as it is and with rows and columns changed, and stays in registers
    afterwards; a step then has the room to itself.

    Fix: use fewer rows of K (tile_n0) or of Q (tile_m0).
    """
    return c.lds_bytes <= c.fact("lds_capacity")


@rule(
    "FBWD025", "gradient-of-scores-beyond-lds", kind="wrong-result",
    applies=lambda c: (c.max_seqlen_q > 0) & c.trload & c.transposes,
    says="dS lies behind K and V, beyond the LDS: {staged_heads} + {staged_scores} bytes of {lds_bytes}",
    source=[f"{_SHORT}: ds_lds_ptr = smem_ptr_ + GetSmemSizeK + GetSmemSizeV",
            "ops/fmha/pipeline/block_fmha_bwd_pipeline_trload_default_policy.hpp: GetSmemSize (max(k + v, ...))"],
    accepts=[_DECODE], rejects=[{**_DECODE, "tile_n0": 64}],
)  # fmt: skip
def scores_stay_in_lds(c: BackwardQuantities) -> BoolExpr:
    """K, V and dS of kernels for short Q fit the LDS that the policy asks for.

    Why: the pipeline keeps dS behind K and V, but GetSmemSize is that of the pipeline that lays
    it over them. Writes beyond the end are lost: all of dQ is 0.

    Fix: use fewer rows of K (tile_n0); the generator's have 16.
    """
    return c.staged_heads + c.staged_scores <= c.lds_bytes


@rule(
    "FBWD032", "short-queries-of-several-waves", kind="wrong-result",
    applies=lambda c: (c.max_seqlen_q > 0) & c.trload,
    says="a kernel for short Q does not wait for what other waves load: {waves} waves",
    source=f"{_SHORT}: load_tile behind async_load_tile and s_waitcnt, without block_sync_lds (CK 2025.11, run; CK 2026.09, read)",
    accepts=[_DECODE], rejects=[{**_DECODE, "tile_n0": 32, "wave_n0": 2, "wave_m1": 2, "wave_n2": 2}],
)  # fmt: skip
def short_queries_have_one_wave(c: BackwardQuantities) -> BoolExpr:
    """A block of a kernel for short Q is one wave.

    Why: waves share the loads of Q, dO, K and V into LDS, and each waits for its own alone before
    it reads all of a tile. The generator's kernels have one wave.

    Fix: use one wave.
    """
    return c.waves == 1


@rule(
    "FBWD033", "values-over-keys-that-are-read", kind="wrong-result",
    applies=lambda c: ~c.trload,
    says="V is put over K with rows and columns changed, which other waves still read: tile_hdv = {tile_hdv}, tile_hdq = {tile_hdq}, {waves} waves",
    source=[f"{_LONG}: kt_reg_tensor = load_tile, then store_tile(v_lds_write_window) without block_sync_lds (CK 2025.11, run; CK 2026.06, read in ROCm/rocm-libraries @ fd965e6)",
            f"{_LONG}: v_lds_ptr = smem_ptr, kt_lds_ptr = smem_ptr + GetSmemSizeK"],
    accepts=[{}, {"tile_hdv": 64, "tile_k2": 64}, {"tile_hdq": 64, "wave_n0": 1, "wave_m1": 1, "wave_n2": 1}],
    rejects=[{"hdim": 64, "tile_hdq": 64, "tile_k0": 64}],
)  # fmt: skip
def values_leave_keys(c: BackwardQuantities) -> BoolExpr:
    """In blocks of several waves a head of V is not larger than one of Q, if operands go by registers.

    Why: V takes the place of K in LDS, and what does not fit there that of K with rows and columns
    changed, which waves read until then without a barrier behind. Most of dQ was wrong of two
    kernels that were run, one of either pipeline.

    Fix: use a tile_hdq of at least tile_hdv, or one wave.
    """
    return (c.tile_hdv <= c.tile_hdq) | (c.waves == 1)
