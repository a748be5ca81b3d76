"""TPROB: functions, lengths and heads that two groups of waves compute right.

The kernel tests no arguments (there is no ``IsSupportedArgument``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.problem_rules import functions, lengths
from ckrules.constraints.fmha_v3.problem_fields import TwoGroupFit
from ckrules.constraints.fmha_v3.shapes import KERNEL, PIPELINE
from ckrules.constraints.fmha_v3.vocabulary import BYTES, PACK
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies
from ckrules.engine.rules import rule

_TRAITS = "ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdV3Traits"
_PLAIN: Mapping[str, Any] = {"pad_s": False, "pad_sk": False}
_GROUP: Mapping[str, Any] = {"mode": "group", "p_mode": 1, "p_batch": 2}
_WINDOW: Mapping[str, Any] = {"mask": "generic", "p_mask": 2}


mode_is_the_problems = functions.mode_is_the_problems.under(
    "TPROB001", "mode-of-other-sequences", source=f"{KERNEL}: Kargs by kIsGroupMode",
    accepts=[{}], rejects=[{"p_mode": 1}],
)  # fmt: skip


mask_is_the_problems = functions.mask_is_the_problems.under(
    "TPROB002", "mask-of-other-scores",
    source=f"{KERNEL}: make_generic_attention_mask_from_lr_window",
    accepts=[{}, {"mask": "mask", "p_mask": 1}, {"mask": "generic", "p_mask": 2}],
    rejects=[{"p_mask": 1}, {"mask": "causal", "p_mask": 2}],
    why="the class of the mask is a template parameter, windows are arguments.",
    fix="use a kernel with the mask.",
)  # fmt: skip


@rule(
    "TPROB003", "functions-of-other-kernels", kind="wrong-result",
    says=["no bias is added: bias of the problem = {p_bias}", "no scores are capped: logits of the problem = {p_logits}",
          "nothing is dropped: dropout of the problem = {p_dropout}", "nothing is scaled: squant of the problem = {p_squant}",
          "the kernel has lse = {lse}, the problem asks for {p_lse}"],
    source=_TRAITS, accepts=[{}, {"lse": True, "p_lse": 1}],
    rejects=[{"p_bias": 1}, {"p_logits": 1}, {"p_lse": 1}],
)  # fmt: skip
def functions_are_the_problems(c: TwoGroupFit) -> BoolExpr:
    """The problem has no bias, cap, dropout or quantisation, and LSE as the kernel has.

    Why: the traits have paddings, LSE and a launch bound alone.

    Fix: use a kernel of fmha_fwd with the function.
    """
    return all_of(
        c.asks("bias", "no"), c.asks("logits", "no"), c.asks("dropout", "no"),
        c.asks("squant", "no"), c.lse == c.asks("lse", "yes"),
    )  # fmt: skip


@rule(
    "TPROB004", "keys-of-part-tiles", kind="wrong-result",
    applies=lambda c: ~c.masks_tail,
    says=["the kernel pads no rows of K: seqlen_k = {p_seqlen_k} is not a multiple of tile_n0 = {tile_n0}",
          "sequences of a group have any length, and scores behind them count: pad_sk = {pad_sk}"],
    source=f"{PIPELINE}: fmha_mask, if constexpr kPadSeqLenK || FmhaMask::IsMasking",
    accepts=[_PLAIN],
    rejects=[{**_PLAIN, "p_seqlen_k": 1000}, {**_PLAIN, "mode": "group", "p_mode": 1}],
)  # fmt: skip
def keys_are_whole_tiles(c: TwoGroupFit) -> BoolExpr:
    """Without pad_sk and mask K has whole tiles, and is not of a group.

    Why: scores of rows behind the sequence are not set to minus infinity, so that they count in
    the softmax.

    Fix: use a kernel with pad_sk.
    """
    return all_of(c.p_seqlen_k % c.tile_n0 == 0, ~c.grouped)


@rule(
    "TPROB005", "heads-of-other-length", kind="wrong-result",
    says=["the kernel computes heads of tile_k0max = {tile_k0max}: hdim = {p_hdim}, seqlen_q = {p_seqlen_q}",
          "the kernel computes heads of V of tile_n1 = {tile_n1}: hdim_v = {p_hdim_v}"],
    source=[f"{KERNEL}: q_dram, k_dram and v_dram (heads are not padded), GetTileIndex (\"assume that num_tile_n1 is always 1\")"],
    accepts=[{}, {"p_hdim": 64, "p_seqlen_q": 1}],
    rejects=[{"p_hdim": 64}, {"p_hdim": 256, "p_seqlen_q": 1}, {"p_hdim_v": 64}, {"p_hdim_v": 256}],
)  # fmt: skip
def heads_are_the_tiles(c: TwoGroupFit) -> BoolExpr:
    """Heads of Q and K have tile_k0max elements, or less where Q has one row, those of V tile_n1.

    Why: without padding, columns behind a head are those of the next one, but the tensor of a head
    ends with its last row: zeros are read behind that. Of a longer head of V no block computes the
    rest: blocks are launched for it, and take other rows.

    Fix: use a kernel of the heads' tiles, or one of fmha_fwd.
    """
    alone = all_of(c.p_seqlen_q == 1, c.p_hdim < c.tile_k0max, c.p_hdim % PACK == 0)
    return all_of((c.p_hdim == c.tile_k0max) | alone, c.p_hdim_v == c.tile_n1)


heads_are_shared_evenly = lengths.heads_are_shared_evenly.under(
    "TPROB006", "queries-of-more-heads", source=f"{KERNEL}: nhead_ratio_qk",
    accepts=[{}, {"p_heads_k": 2}], rejects=[{"p_heads_k": 3}],
)  # fmt: skip


@rule(
    "TPROB007", "two-tiles-of-keys", kind="wrong-result",
    says=["K has two tiles, the second of which is read before it is there: seqlen_k = {p_seqlen_k}, tile_n0 = {tile_n0}",
          "a block sees two tiles of K, the second of which is read before it is there: seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}, left = {p_left}, right = {p_right}, tile_m0 = {tile_m0}, tile_n0 = {tile_n0}",
          "a sequence of the group may have two tiles of K: batch = {p_batch}, seqlen_k = {p_seqlen_k}, total_k = {p_total_k}, tile_n0 = {tile_n0}",
          "a block of a sequence of the group may see two tiles of K: seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}, total_k = {p_total_k}, left = {p_left}, right = {p_right}, tile_m0 = {tile_m0}, tile_n0 = {tile_n0}"],
    source=[f"{PIPELINE}: s_waitcnt_vmcnt and __builtin_amdgcn_s_barrier if 2 < num_total_loop alone, then K_lds_load of K1",
            "ops/fmha/block/block_masking.hpp: GetTileRangeAlongX",
            f"{KERNEL}: seqstart_q_ptr and seqstart_k_ptr, lengths of the sequences of a group"],
    accepts=[{}, {"p_seqlen_k": 32}, {"p_seqlen_k": 65},
             {"mask": "causal", "p_mask": 1, "p_seqlen_q": 1000},
             {**_WINDOW, "p_left": 64}, {**_GROUP, "p_total_k": 2048},
             {**_GROUP, "p_batch": 3, "p_total_k": 1056}],
    rejects=[{"p_seqlen_k": 64}, {"p_seqlen_k": 33},
             {"mask": "causal", "p_mask": 1, "p_seqlen_q": 1224, "p_seqlen_k": 1024},
             {**_WINDOW, "p_seqlen_q": 1, "p_left": 40}, {**_GROUP, "p_batch": 3, "p_total_k": 2048}, _GROUP,
             {**_GROUP, **_WINDOW, "p_total_k": 2000, "p_left": 40}],
)  # fmt: skip
def keys_are_not_two_tiles(c: TwoGroupFit) -> BoolExpr:
    """No block sees exactly two tiles of K.

    Why: the second tile is on its way to LDS when the loop begins, and only where there is a third
    one does a wave wait for it, and for the other waves. Four of the eight waves read it at once,
    the others behind a barrier that waits for no loads: on the device `cpu` O is not a number
    there. A causal mask ends at the diagonal of a block's last row, so that Q with more rows than K
    may have such a block; a window begins at that of its first row, too, so that with less than two
    tiles of `left` the last block may be one. Of a group the batch, the longest sequences and the
    totals are known, and each length on the GPU alone. Where the totals do not make all sequences
    as long as the longest, every length that they leave is taken for possible, and every one where
    none is said: each sequence has to have one tile of K at most, or three and more, of which
    with a mask every block sees three. The text of 2026 is the same.

    Fix: use a tile_n0 of which every block sees one tile, or three and more, or qr_async of fmha_fwd;
    of a group say total_q and total_k.
    """
    rows, masked, alike = c.tile_n0, c.mask != "no", c.of_one_length
    one_tile, long = c.p_seqlen_k <= rows, c.shortest_keys > 2 * rows
    begun = c.tile_m0 + c.seen_right + c.shortest_keys - c.p_seqlen_q > 2 * rows
    return all_of(
        implies(alike & ~masked, one_tile | (c.p_seqlen_k > 2 * rows)),
        implies(alike & masked, ~c.masked_two_tiles),
        any_of(alike, one_tile, long),
        implies(~alike & masked & ~one_tile & long, begun & (c.seen_left >= 2 * rows)),
    )  # fmt: skip


@rule(
    "TPROB008", "two-groups-of-strided-tensors", kind="launch",
    says=["these tensors are packed: order_q = {p_order_q}, order_k = {p_order_k}, order_v = {p_order_v}, order_o = {p_order_o}, expected bshd",
          "these tensors are packed: stride_q = {p_stride_q}, stride_k = {p_stride_k}, stride_v = {p_stride_v}, stride_o = {p_stride_o}",
          "these tensors are packed: head_stride_q = {p_head_stride_q}, head_stride_k = {p_head_stride_k}, head_stride_v = {p_head_stride_v}, head_stride_o = {p_head_stride_o}",
          "V is read by rows: v_layout of the problem = {p_v_layout}"],
    source=f"{KERNEL}: MakeKargs, stride_q to batch_stride_o",
    accepts=[{}, {"p_v_layout": 1}],
    rejects=[{"p_order_q": 1}, {"p_stride_o": 2048}, {"p_head_stride_k": 384}, {"p_v_layout": 2}],
)  # fmt: skip
def tensors_are_packed(c: TwoGroupFit) -> BoolExpr:
    """Tensors are packed, with the heads of a row side by side, and V has rows.

    Why: our host libraries hand over the steps of such tensors alone. The kernel takes strides of
    all tensors.

    Fix: pack them, or use fmha_fwd.
    """
    return all_of(c.packed_tensors, ~c.asks("v_layout", "col"))


@rule(
    "TPROB009", "packed-heads-beyond-offsets", kind="wrong-result",
    says=["a sequence of Q has more bytes than offsets reach: seqlen_q = {p_seqlen_q}, heads = {p_heads}, tile_k0max = {tile_k0max}",
          "a sequence of O has more bytes than offsets reach: seqlen_q = {p_seqlen_q}, heads = {p_heads}, tile_n1 = {tile_n1}",
          "a sequence of K has more bytes than offsets reach: seqlen_k = {p_seqlen_k}, heads_k = {p_heads_k}, tile_k0max = {tile_k0max}",
          "a sequence of V has more bytes than offsets reach: seqlen_k = {p_seqlen_k}, heads_k = {p_heads_k}, tile_n1 = {tile_n1}"],
    source=[f"{KERNEL}: q_dram_naive, k_dram_naive, v_dram_naive and o_dram_naive (rows of all heads)",
            "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource, uint32_t size"],
    accepts=[{}, {"p_seqlen_q": 1048576}],
    rejects=[{"p_seqlen_q": 2097152}, {"p_seqlen_k": 2097152}],
)  # fmt: skip
def sequences_are_within_offsets(c: TwoGroupFit) -> BoolExpr:
    """The rows of a sequence reach over less than 4 GiB.

    Why: heads and sequences are found with 64 bits, but what is within has offsets of 32, as buffer
    instructions do.

    Fix: call the kernel for fewer heads at once.
    """
    rows = c.p_seqlen_q // c.tile_m0 * c.tile_m0 + c.tile_m0
    queries = rows * c.p_heads * BYTES
    keys = c.p_seqlen_k * c.p_heads_k * BYTES
    return all_of(
        queries * c.tile_k0max < 2**32, queries * c.tile_n1 < 2**32,
        keys * c.tile_k0max < 2**32, keys * c.tile_n1 < 2**32,
    )  # fmt: skip


@rule(
    "TPROB010", "sinks-of-other-kernels", kind="wrong-result",
    says=["no score of sinks is added: sink of the problem = {p_sink}",
          "windows keep no first columns, the problem asks for {p_sink_size}"],
    source=_TRAITS, accepts=[{}], rejects=[{"p_sink": 1}, {"mask": "generic", "p_mask": 2, "p_left": 40, "p_sink_size": 4}],
)  # fmt: skip
def sinks_are_not_asked_for(c: TwoGroupFit) -> BoolExpr:
    """The problem has no sinks.

    Why: the traits have none; lists of 2026 name these kernels without them.

    Fix: use a kernel of fmha_fwd with sinks.
    """
    return all_of(c.asks("sink", "no"), ~c.keeps_columns)
