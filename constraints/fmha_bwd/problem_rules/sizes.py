"""BPROB: lengths, head dimensions and functions that a kernel of attention backward is made for.

No kernel tests its arguments: the tests are conditions in upstream's generator
(example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: FmhaBwdApiTrait, CK 2025.11). The lengths of Q
and K are always padded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.problem_rules import functions, lengths
from ckrules.constraints.fmha_bwd.problem_fields import BackwardFit
from ckrules.engine.expr import BoolExpr, all_of, any_of, ite
from ckrules.engine.rules import rule

_API = "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: FmhaBwdApiTrait {} (CK 2025.11)"
_KERNEL = "ops/fmha/kernel/fmha_bwd_kernel.hpp: {}"
_GROUP: Mapping[str, Any] = {"mode": "group", "p_mode": 1, "p_batch": 4}
_WINDOW: Mapping[str, Any] = {"mask": "mask", "p_mask": 2, "p_left": 127}
_SHORT: Mapping[str, Any] = {
    "arch": "gfx950", "trload": True, "tile_m0": 32, "max_seqlen_q": 32, "p_seqlen_q": 32,
}  # fmt: skip
_BIASED: Mapping[str, Any] = {"bias": "bias", "p_bias": 1}
_RANDOM: Mapping[str, Any] = {"dropout": "dropout_wg16_storerandval", "p_dropout": 1}
#: A window that shows the last tile of K alone.
_NEAR: Mapping[str, Any] = {"mask": "mask", "p_mask": 2, "p_left": 31}


@rule(
    "BPROB001", "gradient-head-not-padded", kind="wrong-result",
    says=["the kernel pads the head dimension of Q and K to {pad_d}: hdim = {p_hdim}, tile_hdq = {tile_hdq}",
          "the kernel pads the head dimension of V to {pad_dv}: hdim_v = {p_hdim_v}, tile_hdv = {tile_hdv}"],
    source=[_API.format("dcheck, dvcheck"), _KERNEL.format("pad_tensor_view by kPadHeadDimQ, kPadHeadDimV")],
    accepts=[{}, {"pad_d": 8, "p_hdim": 80}, {"pad_d": 1, "p_hdim": 81}],
    rejects=[{"p_hdim": 80}, {"pad_dv": 8, "p_hdim_v": 81}],
)  # fmt: skip
def heads_are_padded(c: BackwardFit) -> BoolExpr:
    """Head dimensions are what a block holds, or multiples of 8 or 1 as the kernel pads them.

    Why: columns behind the head are those of the next one.

    Fix: use a kernel with pad_d and pad_dv of 8, or of 1 for other than multiples of 8.
    """
    q, v = ite(c.pad_d == 0, c.tile_hdq, c.pad_d), ite(c.pad_dv == 0, c.tile_hdv, c.pad_dv)
    return all_of(c.p_hdim % q == 0, c.p_hdim_v % v == 0)


@rule(
    "BPROB002", "gradient-head-beyond-kernel", kind="wrong-result",
    says=["the kernel holds tile_hdq = {tile_hdq} of the head dimension: hdim = {p_hdim}",
          "the kernel holds tile_hdv = {tile_hdv} of the head dimension of V: hdim_v = {p_hdim_v}"],
    source=_KERNEL.format("windows of kQKHeaddim and kVHeaddim columns"),
    accepts=[{}, {"pad_d": 8, "p_hdim": 64}], rejects=[{"p_hdim": 256}, {"p_hdim_v": 256}],
)  # fmt: skip
def heads_fit(c: BackwardFit) -> BoolExpr:
    """Head dimensions are not larger than what a block holds of them.

    Why: the rest is never read.

    Fix: use a kernel with a larger tile_hdq and tile_hdv.
    """
    return all_of(c.p_hdim <= c.tile_hdq, c.p_hdim_v <= c.tile_hdv)


@rule(
    "BPROB003", "queries-beyond-one-tile", kind="wrong-result",
    applies=lambda c: c.max_seqlen_q != 0,
    says="the kernel is made for max_seqlen_q = {max_seqlen_q} rows of Q: seqlen_q = {p_seqlen_q}",
    source=[_API.format("max_seq_q_cond"), _KERNEL.format("kUseQrQtrDorPipeline, one tile of Q")],
    accepts=[_SHORT], rejects=[{**_SHORT, "p_seqlen_q": 33}],
)  # fmt: skip
def queries_are_one_tile(c: BackwardFit) -> BoolExpr:
    """Q is not longer than the kernel is made for.

    Why: the pipeline holds one tile of Q in registers and goes through K.

    Fix: use a kernel with max_seqlen_q of 0.
    """
    return c.p_seqlen_q <= c.max_seqlen_q


@rule(
    "BPROB004", "sequences-without-queries", kind="wrong-result", until="2026.06",
    applies=lambda c: c.grouped,
    says="a sequence has no rows of Q, and its dK and dV are not written: batch = {p_batch}, seqlen_q = {p_seqlen_q}, total_q = {p_total_q}",
    source=_KERNEL.format("if(kargs.seqlen_q == 0 || kargs.seqlen_k == 0) return (CK 2025.11; run)"),
    accepts=[_GROUP, {**_GROUP, "p_total_q": 2048}], rejects=[{**_GROUP, "p_total_q": 1026}],
    issue="ROCm/rocm-libraries#5790",
)  # fmt: skip
def sequences_have_queries(c: BackwardFit) -> BoolExpr:
    """Every sequence of a group has rows of Q.

    Why: blocks of a sequence without end before they store the zeros that dK and dV are there.
    Lengths are known on the GPU alone, one by one: what is asked is whether the rows that the
    longest sequence leaves are enough for the others. Upstream saw NaN, and stores zeros since
    2026.06.

    Fix: clear dK and dV beforehand, or leave out sequences without queries.
    """
    return c.rows_for_all("q")


@rule(
    "BPROB005", "columns-of-the-next-queries", kind="wrong-result",
    applies=lambda c: (c.max_seqlen_q != 0) & any_of(c.bias == "bias", c.dbias, c.stores_random),
    says="behind the first tile_n0 = {tile_n0} of {seen_keys} columns the kernel takes biases, and stores dBias and random bytes, of the rows below",
    source=["ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_trload_qr_qtr_dor.hpp: move_tile_window(bias_dram_window, {kM0, 0}), the same of dbias_dram_window (CK 2025.11, run; CK 2026.09, read)",
            "ops/fmha/block/block_dropout.hpp: BlockDropoutBwd::Run, move_tile_window(randval_dram_window, {kMPerBlock, -kNPerBlock})"],
    accepts=[{**_SHORT, **_BIASED, "p_seqlen_k": 128}, {**_SHORT, **_BIASED, **_NEAR, "p_seqlen_k": 1024}],
    rejects=[{**_SHORT, **_BIASED, "p_seqlen_k": 129}, {**_SHORT, **_RANDOM, "p_seqlen_k": 129}],
)  # fmt: skip
def short_queries_have_one_tile_of_columns(c: BackwardFit) -> BoolExpr:
    """Kernels for short Q see one tile of K if they read a bias, or store its gradient or random bytes.

    Why: the pipeline goes through K, but moves these windows along Q, as that for long Q does.
    Rows below are those of the next head, or lie behind the tensor.

    Fix: use a kernel with max_seqlen_q of 0, or with a tile_n0 that holds K.
    """
    return c.seen_keys <= c.tile_n0


@rule(
    "BPROB006", "sequences-without-keys-of-short-queries", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.max_seqlen_q != 0) & c.grouped,
    says="a sequence has no rows of K, and its dQ is not written: batch = {p_batch}, seqlen_k = {p_seqlen_k}, total_k = {p_total_k}",
    source=_KERNEL.format("if(kargs.seqlen_q == 0 || kargs.seqlen_k == 0) return (CK 2025.11; run)"),
    accepts=[{**_SHORT, **_GROUP}, {**_SHORT, **_GROUP, "p_total_k": 2048}],
    rejects=[{**_SHORT, **_GROUP, "p_total_k": 1026}],
    issue="ROCm/rocm-libraries#5790",
)  # fmt: skip
def sequences_have_keys(c: BackwardFit) -> BoolExpr:
    """Every sequence of a group has rows of K, if the kernel is for short Q.

    Why: the block of a sequence without ends before it stores dQ. Other kernels add to a sum that is
    cleared beforehand. What is asked is whether the rows that the longest sequence leaves are
    enough for the others.

    Fix: clear dQ beforehand, or use a kernel with max_seqlen_q of 0.
    """
    return c.rows_for_all("k")


heads_are_shared_evenly = lengths.heads_are_shared_evenly.under(
    "BPROB009", "gradients-of-several-heads", source=_KERNEL.format("nhead_ratio_qk"),
    accepts=[{}, {"p_heads_k": 2}], rejects=[{"p_heads_k": 3}],
    why="the ratio is a truncating division.",
)  # fmt: skip


mode_is_the_problems = functions.mode_is_the_problems.under(
    "BPROB021", "gradient-mode-of-other-problems", source=_API.format("mode"),
    accepts=[{}], rejects=[{"p_mode": 1}],
)  # fmt: skip


@rule(
    "BPROB022", "gradient-functions-of-other-problems", kind="wrong-result",
    says=["the kernel has mask {mask}, the problem asks for another one ({p_mask})",
          "the kernel has bias {bias}, the problem asks for another one ({p_bias})",
          "the kernel has dropout = {dropout}, the problem asks for {p_dropout}",
          "backward has no soft cap: {p_logits=}", "backward has no static quantisation: {p_squant=}"],
    source=_API.format("mask, bias, dropout"),
    accepts=[{}, {"mask": "mask", "p_mask": 2}, {"mask": "causal", "p_mask": 1}],
    rejects=[{"p_mask": 1}, {"p_bias": 1}, {"p_dropout": 1}, {"p_logits": 1}],
)  # fmt: skip
def functions_are_the_problems(c: BackwardFit) -> BoolExpr:
    """Kernel and problem have the same mask, bias and dropout.

    Why: they are template parameters; LSE is always read.

    Fix: use a kernel with the functions.
    """
    return all_of(
        c.mask_as_asked,
        c.same("bias", "no", "bias", "alibi"),
        (c.dropout != "no") == c.asks("dropout", "yes"),
        c.asks("logits", "no"),
        c.asks("squant", "no"),
    )


@rule(
    "BPROB023", "gradient-of-kept-columns", kind="wrong-result",
    says="windows of backward keep no first columns, the problem asks for {p_sink_size}",
    source=[_KERNEL.format("make_generic_attention_mask_from_lr_window"),
            "ops/fmha/block/block_masking.hpp: make_generic_attention_mask_from_lr_window, the overload without sink_size (CK 2026.06, read)"],
    accepts=[{}, {"p_sink": 1}, {**_WINDOW, "p_sink_size": 4, "p_left": 2000}],
    rejects=[{**_WINDOW, "p_sink_size": 4}],
)  # fmt: skip
def windows_keep_no_columns(c: BackwardFit) -> BoolExpr:
    """Backward has windows without columns that they keep.

    Why: the mask is made without them. A score of sinks is in LSE, which backward reads; its own
    gradient is not a result.

    Fix: none; no kernel of backward has them.
    """
    return ~c.keeps_columns
