"""FMHA: split KV whose waves lie along K and hand scores over in LDS (qr_nwarp_sshuffle)."""

from __future__ import annotations

from ckrules.constraints.fmha.examples import DECODE, LOW
from ckrules.constraints.fmha.loads import spread
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, is_pow2
from ckrules.engine.rules import rule

_POLICY = (
    "ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_nwarp_sshuffle_qr_ks_vs_default_policy.hpp"
)


@rule(
    "FMHA080", "scores-of-waves-along-queries", kind="compile",
    applies=lambda c: c.shuffles,
    says="a wave of product 1 reads all rows of scores: wave_m1 = {wave_m1}",
    source=f"{_POLICY}: MakeSRegTileDistribution static_assert MWarp == 1",
    accepts=[DECODE, {**DECODE, "wave_m0": 2, "wave_n0": 2, "tile_m0": 64}],
    rejects=[{**DECODE, "wave_m1": 2, "wave_n1": 2, "tile_m0": 64}],
)  # fmt: skip
def waves_read_all_rows(c: AttentionQuantities) -> BoolExpr:
    """The waves of product 1 lie along the head dimension of V.

    Why: asserted; each wave reads the scores of all rows from LDS and multiplies columns of its own
    of V.

    Fix: set wave_m1 = 1, or use qr.
    """
    return c.wave_m1 == 1


def _loads(c: AttentionQuantities) -> tuple[BoolExpr, IntExpr]:
    """Whether lanes and waves cover Q, and the rows that a wave loads at once."""
    return spread(c, c.tile_m0, c.q_columns, c.q_pack)


@rule(
    "FMHA081", "threads-beyond-q", kind="compile",
    applies=lambda c: c.shuffles,
    says=["{threads} threads load Q of {tile_m0 * q_columns=} elements",
          "a wave loads less than a row of Q: {q_columns} columns, {wave_size} lanes of {q_pack} elements",
          "a turn of all waves loads more than the tile_m0 = {tile_m0} rows of Q",
          "a thread loads {q_pack} elements of Q at once (pad_d = {pad_d})"],
    source=f"{_POLICY}: MakeQDramTileDistribution static_assert 0 < ElemPerThread, MThreadPerWarp and MPerThread (lengths of 0)",
    accepts=[DECODE],
    rejects=[{**DECODE, "tile_m0": 1, "warp_tile_m0": 1, "warp_tile_m1": 1}],
)  # fmt: skip
def queries_feed_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Every thread loads an element of Q, in vectors of which a wave has a row (qr_nwarp_sshuffle).

    Why: asserted; Q goes through LDS, so that all waves have it.

    Fix: use fewer waves or a larger tile_m0.
    """
    _, across = _loads(c)
    return all_of(
        c.q_share >= 1, across >= 1, c.tile_m0 // (across * c.waves) >= 1,
        c.pad_d | is_pow2(c.q_pack),
    )  # fmt: skip


@rule(
    "FMHA082", "queries-not-covered-by-loads", kind="wrong-result",
    applies=lambda c: all_of(c.shuffles, c.q_share >= 1, _loads(c)[1] >= 1),
    says="lanes and waves do not cover Q: tile_m0 = {tile_m0}, {q_columns} columns, {threads} threads of {q_pack} elements",
    source=f"{_POLICY}: MakeQDramTileDistribution, MPerThread (a truncating division)",
    accepts=[DECODE], rejects=[{**DECODE, "hdim": 32, "tile_k0max": 32, "tile_k0": 16, "tile_m0": 96}],
)  # fmt: skip
def loads_cover_queries(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover Q where it lies in LDS (qr_nwarp_sshuffle).

    Why: the lengths of the load come from truncating divisions; what no lane loads keeps in LDS what
    was there.

    Fix: use powers of two.
    """
    whole, _ = _loads(c)
    return whole


@rule(
    "FMHA083", "waves-without-scores", kind="wrong-result",
    applies=lambda c: c.shuffles,
    says="waves that product 0 has no part for write scores, too: {waves0=}, {waves1=}",
    source=["ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_nwarp_sshuffle_qr_ks_vs.hpp: store_tile(s_write_lds_window, s) by all waves (run)",
            "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp: GetQKBlockGemm, kNumGemm0Warps"],
    accepts=[DECODE, {**DECODE, "wave_m0": 2, "wave_n0": 2, "tile_m0": 64}],
    rejects=[{**DECODE, "wave_n0": 2}],
)  # fmt: skip
def waves_have_scores(c: AttentionQuantities) -> BoolExpr:
    """Both products have as many waves (qr_nwarp_sshuffle).

    Why: a block has the waves of product 1, and those that product 0 has no part for load and store
    beyond its tile; they write over V, and over each other's scores.

    Fix: use the same waves for both.
    """
    return c.waves0 == c.waves1


@rule(
    "FMHA084", "scores-beyond-half-a-wave", kind="wrong-result", until="2026.09",
    applies=lambda c: c.shuffles,
    says="lanes of the second half of a wave read beyond the scores: {arch} takes operands in both halves",
    source=[f"{_POLICY}: MakeSRegTileDistribution, kABKLane (1) and kAMLane (16) for 32 lanes (run)",
            "example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: KernelComponentFactoryGfx11 (CK 2026.09, read in ROCm/rocm-libraries @ 4e5c4b1)"],
    accepts=[{**DECODE, "@ck": "2025.11"}],
    rejects=[{**DECODE, **LOW, "arch": "gfx1100", "tile_m0": 16, "@ck": "2025.11"}],
    issue="https://github.com/ROCm/rocm-libraries/pull/7500",
)  # fmt: skip
def lanes_read_their_scores(c: AttentionQuantities) -> BoolExpr:
    """Before CK 2026.09 GPUs whose waves hold operands in both halves have no qr_nwarp_sshuffle.

    Why: scores are shared out among the lanes of one half there; those of the other read what lies
    behind, and nearly every element is wrong. The pipeline was adapted in 2026.

    Fix: use qr, of later headers.
    """
    return ~c.has("operands_in_both_halves")
