"""FPROB: sinks that a problem asks for, and windows of kernels that have sinks.

A score beside those of K (gpt-oss) and columns that windows keep (StreamingLLM) are one trait of
kernels, and two things of a problem. Facts of CK 2026.06 and 2026.09 were read, not compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.examples import ASYNC, DECODE, NARROW, SPLITS
from ckrules.constraints.fmha.problem_fields import AttentionFit, whole_tiles
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    IntExpr,
    all_of,
    any_of,
    ceil_div,
    implies,
    ite,
    maximum,
)
from ckrules.engine.rules import rule

_MASK = "ops/fmha/block/block_masking.hpp: GetSinkTileRangeAlongX {}(CK 2026.06, read)"
_SPLIT = "ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_qr_ks_vs.hpp: {} (CK 2026.06, read)"
_TWICE = "https://github.com/ROCm/rocm-libraries/issues/12227"
#: A window of 128 columns, which of the last block begins with column 768.
_WINDOW: Mapping[str, Any] = {"mask": "mask", "p_mask": 2, "p_left": 127}
_SINKS: Mapping[str, Any] = {"sink": True, "mask": "mask"}


@rule(
    "FPROB036", "sinks-of-other-problems", kind="wrong-result",
    says=["the kernel adds no score of sinks, the problem asks for one: sink = {sink}",
          "the windows of {pipeline} keep no first columns, the problem asks for {p_sink_size}: sink = {sink}"],
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: sink_value, if constexpr kHasMask && !kHasSink (CK 2026.06, read)",
            "ops/fmha/kernel/fmha_{fwd_splitkv,fwd_pagedkv,batch_prefill}_kernel.hpp: sink_value (CK 2026.06, read)",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload.hpp: GetTileRangeAlongX, IsOutOfBound (CK 2026.06, read)"],
    accepts=[{}, {"p_sink": 1, "@ck": "2026.06"}, {**_SINKS, **_WINDOW, "p_sink": 1, "p_sink_size": 4, "@ck": "2026.06"}],
    rejects=[{"p_sink": 1, "@ck": "2025.11"}, {"mask": "mask", "p_sink": 1, "@ck": "2026.06"},
             {**_WINDOW, "p_sink_size": 4},
             {**_SINKS, **_WINDOW, "p_sink_size": 4, "pipeline": "qr_async_trload", "arch": "gfx950",
              "trload": True, "@ck": "2026.06"}],
)  # fmt: skip
def sinks_are_the_problems(c: AttentionFit) -> BoolExpr:
    """A score needs a kernel with sinks or none of its masks, columns of windows a kernel with sinks.

    Why: a masked forward kernel without sinks takes the score for minus infinity; others read it
    wherever it is handed over, though upstream's dispatch calls none. No window of a kernel without
    sinks keeps columns, nor do those of qr_async_trload. CK 2025.11 has neither.

    Fix: use a kernel with sinks; for columns another pipeline than qr_async_trload.
    """
    later = c.since("2026.06")
    unmasked = any_of(c.mask == "no", c.variant != "fmha_fwd") if later else FALSE
    return all_of(
        implies(c.asks("sink", "yes"), c.sink | unmasked),
        implies(c.keeps_columns, c.sink & (c.pipeline != "qr_async_trload")),
    )


@rule(
    "FPROB037", "windows-behind-their-sinks", kind="wrong-result", since="2026.06", until="2026.09",
    applies=lambda c: all_of(c.variant == "fmha_fwd", c.sink, c.pipeline.isin("qr", "qr_async", *c.hpad)),
    says=["K moves on to a window after one tile, and there are {p_sink_size} columns before: a window begins with column {window_begins}, tile_n0 = {tile_n0}",
          "K and V do not move on to a window that begins with column {window_begins} (bias = {bias}): sink_size = {p_sink_size}, tile_n0 = {tile_n0}"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: move_tile_window(k_dram_block_window) where i_total_loops == 0 (CK 2026.06, read)",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: i_total_loops++ before the same (CK 2026.06, read)",
            _MASK.format("")],
    accepts=[{**_SINKS, **_WINDOW, "p_sink_size": 4},
             {**ASYNC, **_SINKS, **_WINDOW}, {**ASYNC, **_SINKS, "p_mask": 1}],
    rejects=[{**_SINKS, **_WINDOW}, {**_SINKS, **_WINDOW, "p_sink_size": 129},
             {**ASYNC, **_SINKS, **_WINDOW, "p_sink_size": 4},
             {**ASYNC, **_SINKS, **_WINDOW, "bias": "bias"}],
    issue="https://github.com/ROCm/rocm-libraries/pull/10616",
)  # fmt: skip
def windows_are_reached(c: AttentionFit) -> BoolExpr:
    """Kernels with sinks reach windows by one tile of kept columns with qr, by none with qr_async.

    Why: tiles of K between those that are kept and the window are left out by a move, which qr
    makes after the first tile, kept or not, and qr_async never but for the bias: a comment there
    says so (ROCm/rocm-libraries#6526). Where no block's window begins behind the kept tiles all
    tiles from the first on are read, and nothing is wrong. A reviewer of September 2026 found both
    put right; that text was not read. A block with a single tile behind makes no second step and
    would be right: it is refused as well.

    Fix: use a kernel of fmha_fwd_pagedkv, or without sinks where the problem asks for none.
    """
    kept = whole_tiles(c.p_sink_size, c.tile_n0)
    whole = c.window_begins <= kept
    by_tile = any_of(whole, (c.p_sink_size >= 1) & (c.p_sink_size <= c.tile_n0))
    straight = any_of(whole, (c.p_sink_size == 0) & (c.bias != "bias"))
    return all_of(c.asynchronous | by_tile, ~c.asynchronous | straight)


@rule(
    "FPROB038", "score-of-sinks-counted-twice", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "fmha_fwd_splitkv") & c.asks("sink", "yes"),
    says="the first of {p_splits} splits sees nothing of a window that begins with column {window_begins}, and so the score of sinks counts twice: seqlen_k = {p_seqlen_k}",
    source=_SPLIT.format("lse_acc of i_split == 0 where it has no tiles, and m of i_split whose GetTileRangeAlongX of i_split - 1 is empty"),
    accepts=[{**SPLITS, "p_sink": 1}, {**SPLITS, **_WINDOW, "p_sink": 1, "p_splits": 1}],
    rejects=[{**SPLITS, **_WINDOW, "p_sink": 1}],
    issue=_TWICE,
)  # fmt: skip
def score_counts_once(c: AttentionFit) -> BoolExpr:
    """The first split of K holds a part of every window, where sinks have a score.

    Why: it adds the score even if it has no tiles, and so does the first split that has some.

    Fix: use fewer splits, or a kernel without splits.
    """
    return c.window_begins < ceil_div(c.p_seqlen_k, c.p_splits)


@rule(
    "FPROB039", "capped-score-of-sinks", kind="wrong-result", since="2026.06",
    applies=lambda c: c.logits,
    says="scores are capped, and that of sinks is divided by their scale beside: logits = {logits}, sink of the problem = {p_sink}",
    source=["ops/fmha/pipeline/block_fmha_*pipeline_*.hpp: set_tile(m, sink_v * C_LOG2E), scaled with a bias alone (CK 2026.06, read)",
            "ops/fmha/kernel/fmha_fwd_kernel.hpp: sink_value divided by kargs.scale_s (CK 2026.06, read)"],
    accepts=[{"logits": True, "p_logits": 1}], rejects=[{"logits": True, "p_logits": 1, "p_sink": 1}],
    issue=_TWICE,
)  # fmt: skip
def capped_scores_have_no_sinks(c: AttentionFit) -> BoolExpr:
    """With a soft cap there is no score of sinks.

    Why: the score is divided by the scale of Q K, which the largest score of a row is multiplied
    by later; where scores are capped it is not, as it is not where there is a bias, of which alone
    the pipelines know.

    Fix: use a kernel without cap.
    """
    return c.asks("sink", "no")


@rule(
    "FPROB040", "columns-that-splits-lose", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "fmha_fwd_splitkv") & c.sink,
    says="splits keep the first columns of windows that one tile holds: sink_size = {p_sink_size}, tile_n0 = {tile_n0}, a window begins with column {window_begins}",
    source=[_MASK.format("with splits: sink_in_range "),
            _SPLIT.format("set_tile_if by physical_seqlen_k_start_, 0 for the last tile of sinks alone")],
    accepts=[{**SPLITS, **_SINKS, **_WINDOW, "p_sink_size": 128},
             {**SPLITS, **_SINKS, **_WINDOW, "p_sink_size": 129, "p_seqlen_q": 1}],
    rejects=[{**SPLITS, **_SINKS, **_WINDOW, "p_sink_size": 129},
             {**SPLITS, **_SINKS, **_WINDOW, "p_sink_size": 129, "p_seqlen_q": 1, "paged_kv": True}],
)  # fmt: skip
def splits_keep_one_tile(c: AttentionFit) -> BoolExpr:
    """Split-KV keeps first columns of windows as far as one tile of K reaches.

    Why: a window that begins within the kept tiles loses the columns before it, and with pages all
    kept tiles but the last are masked. Without pages windows are right that begin before or behind
    them in every block.

    Fix: use fmha_fwd_pagedkv, or a larger tile_n0.
    """
    kept = whole_tiles(c.p_sink_size, c.tile_n0)
    before = c.p_left + c.p_seqlen_q - c.p_seqlen_k
    blocks = ceil_div(c.p_seqlen_q, c.tile_m0)
    first = maximum(ceil_div(c.tile_n0 + before, c.tile_m0), 0)  # whose window begins with a tile
    apart = any_of(first >= blocks, first * c.tile_m0 - before >= kept)
    return any_of(
        ~c.keeps_columns, c.p_sink_size <= c.tile_n0, c.window_begins == 0,
        all_of(apart, ~c.paged_kv, ~c.several),
    )  # fmt: skip


@rule(
    "FPROB041", "columns-kept-beyond-keys", kind="wrong-result", since="2026.06",
    applies=lambda c: all_of(c.sink, c.variant != "fmha_fwd_splitkv", c.keeps_columns, c.p_right > 0),
    says="a window keeps columns behind K, which are read as zeros: sink_size = {p_sink_size}, seqlen_k = {p_seqlen_k}, right = {p_right}",
    source="ops/fmha/block/block_masking.hpp: IsOutOfSinkBound, which compares with sink and i_y + x, not with x_total (CK 2026.06, read)",
    accepts=[{**_SINKS, **_WINDOW, "p_sink_size": 4, "p_right": 3},
             {**_SINKS, **_WINDOW, "p_sink_size": 1024, "p_right": 3, "p_seqlen_k": 1000}],
    rejects=[{**_SINKS, **_WINDOW, "p_sink_size": 1024, "p_right": 3, "p_seqlen_k": 1022},
             {**_SINKS, **_WINDOW, "p_sink_size": 4, "p_right": 3, "mode": "group", "p_mode": 1, "p_batch": 2}],
)  # fmt: skip
def kept_columns_are_there(c: AttentionFit) -> BoolExpr:
    """Windows with a right side keep no more columns than K has rows.

    Why: a column that is kept is not compared with the length of K, so that the rest of its last
    tile counts, with scores of 0. Sequences of a group may be shorter. Splits mask what is behind
    K once more.

    Fix: set right = 0, or ask for fewer columns.
    """
    least: IntExpr = ite(c.several, 1, c.p_seqlen_k)
    whole = c.p_seqlen_k % c.tile_n0 == 0
    above = c.p_seqlen_k + c.p_right <= c.p_seqlen_q
    return any_of(c.p_sink_size <= least, ~c.several & any_of(whole, above))


@rule(
    "FPROB042", "score-of-sinks-with-scales-of-tensors", kind="wrong-result", since="2026.06",
    applies=lambda c: c.variant.isin("fmha_fwd", "fmha_batch_prefill") & c.squant,
    says="the score of sinks is multiplied by the scales of Q and K: squant = {squant}, sink of the problem = {p_sink}",
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: sink_value divided by kargs.scale_s, PERTENSOR: kargs.scale_s * q_descale * k_descale (CK 2026.06, read)",
            "ops/fmha/kernel/fmha_batch_prefill_kernel.hpp: the same (CK 2026.06, read)"],
    accepts=[{**NARROW, "squant": True, "p_squant": 1}],
    rejects=[{**NARROW, "squant": True, "p_squant": 1, "p_sink": 1}],
    issue="https://github.com/ROCm/rocm-libraries/pull/11526",
)  # fmt: skip
def scaled_scores_have_no_sinks(c: AttentionFit) -> BoolExpr:
    """Where Q and K have scales that the kernel reads there is no score of sinks.

    Why: the score is divided by the scale that is handed over, and multiplied by that and the
    scales of Q and K, as scores of K are. It is right only if these two make 1. Kernels with splits
    and pages are handed a scale with all in it.

    Fix: use a kernel without scales, or hand over the score divided by both.
    """
    return c.asks("sink", "no")


@rule(
    "FPROB053", "score-of-sinks-in-shuffled-splits", kind="wrong-result", since="2026.06",
    applies=lambda c: c.shuffles & c.asks("sink", "yes"),
    says=["each split that sees nothing adds the score of sinks once more: {p_splits} splits, seqlen_k = {p_seqlen_k}",
          "with a bias the score of sinks is not scaled: bias = {bias}"],
    source="ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_nwarp_sshuffle_qr_ks_vs.hpp: lse_acc of any i_split without tiles, set_tile(m, sink_v * C_LOG2E) for every BiasEnum (CK 2026.06, read in ROCm/rocm-libraries @ 498ed36)",
    accepts=[{**DECODE, "p_sink": 1}, {**DECODE, **_SINKS, "p_mask": 1, "p_sink": 1, "p_splits": 1}],
    rejects=[{**DECODE, **_SINKS, "p_mask": 1, "p_sink": 1}, {**DECODE, "p_sink": 1, "p_seqlen_k": 1},
             {**DECODE, "p_sink": 1, "bias": "alibi", "p_bias": 2}],
)  # fmt: skip
def shuffled_splits_add_one_score(c: AttentionFit) -> BoolExpr:
    """Of qr_nwarp_sshuffle every split sees a part of K where sinks have a score, and there is no bias.

    Why: any split without tiles hands the score over, not the first alone; and with a bias the
    largest score of a row is not multiplied by the scale later, which the score was divided by.

    Fix: use qr, or one split.
    """
    begins = (c.p_splits - 1) * ceil_div(c.p_seqlen_k, c.p_splits)
    seen = all_of(c.asks("mask", "no"), ~c.several, begins < c.p_seqlen_k)
    return all_of((c.p_splits == 1) | seen, c.bias == "no")
