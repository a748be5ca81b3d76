"""BPROB: orders of tensors in memory and strides, as forward has them.

dO lies as O, dQ as Q; dK and dV, which have all heads of Q, are packed in the order of K and V.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.problem_rules import memory
from ckrules.constraints.fmha_bwd.problem_fields import BackwardFit
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_ARGUMENTS = "ops/fmha/kernel/fmha_bwd_kernel.hpp: MakeKargsImpl, stride_q to batch_stride_dbias"
_BIASED: Mapping[str, Any] = {"bias": "bias", "p_bias": 1}
_PARTS: Mapping[str, Any] = {"deterministic": True}
_TENSOR = "a head of {X} reaches with its last tile over more bytes than offsets: stride_{x} = {{p_stride_{x}}}, seqlen_{s} = {{p_seqlen_{s}}}, {h} = {{p_{h}}}, {d} = {{p_{d}}}, {t} = {{{t}}}"
_QUERIES, _KEYS = (
    {"s": "q", "h": "heads", "t": "tile_m0"},
    {"s": "k", "h": "heads_k", "t": "tile_n0"},
)
_BEYOND = [
    *memory.with_heads([
        _TENSOR.format(X="Q", x="q", d="hdim", **_QUERIES),
        _TENSOR.format(X="K", x="k", d="hdim", **_KEYS),
        _TENSOR.format(X="V", x="v", d="hdim_v", **_KEYS),
        _TENSOR.format(X="dO", x="o", d="hdim_v", **_QUERIES),
    ]),
    *(f"a head of d{x} reaches with its last tile over more bytes than offsets: seqlen_k = {{p_seqlen_k}}, heads = {{p_heads}}, {d} = {{p_{d}}}, tile_n0 = {{tile_n0}}"
      for x, d in (("K", "hdim"), ("V", "hdim_v"))),
    "the sums of a head of dQ have more bytes than offsets reach: seqlen_q = {p_seqlen_q}, hdim = {p_hdim}, tile_m0 = {tile_m0}",
]  # fmt: skip


gradient_rows_lie_apart = memory.rows_lie_apart.under(
    "BPROB031", "gradient-rows-in-each-other", source=_ARGUMENTS,
    accepts=[{}, {"p_stride_q": 3072, "p_stride_k": 3073}, {"p_order_q": 1, "p_stride_q": 128}],
    rejects=[{"p_stride_q": 128}, {"p_order_o": 1, "p_stride_o": 64}],
    why="as of forward (FPROB031).",
)  # fmt: skip


@rule(
    "BPROB032", "gradient-v-of-other-problems", kind="launch",
    says="the kernel takes V with contiguous rows, the problem has another one ({p_v_layout})",
    source=_ARGUMENTS, accepts=[{}, {"p_v_layout": 1}], rejects=[{"p_v_layout": 2}],
)  # fmt: skip
def gradient_v_is_the_problems(c: BackwardFit) -> BoolExpr:
    """Rows of V are contiguous.

    Why: backward has no column-major V.

    Fix: transpose V.
    """
    return c.asks("v_layout", "any") | c.asks("v_layout", "row")


gradient_strides_are_short = memory.steps_are_short.under(
    "BPROB033", "gradient-strides-beyond-32-bits", source=_ARGUMENTS,
    accepts=[{}, {"p_batch": 2, "p_seqlen_q": 1048576}, {"p_seqlen_q": 2097152}],
    rejects=[{"p_batch": 2, "p_seqlen_q": 2097152}, {"p_order_o": 1, "p_stride_o": 2097152}],
    why="as of forward (FPROB033).",
)  # fmt: skip


@rule(
    "BPROB034", "gradient-heads-beyond-offsets", kind="wrong-result",
    says=_BEYOND,
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: q_dram to dv_dram, sequence<false, ...> (rows are not padded)",
            "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource, uint32_t size"],
    accepts=[{}, {"p_stride_q": 2097152, "p_stride_o": 2097152}, {"p_seqlen_q": 2097152}],
    rejects=[{"p_stride_q": 2101248}, {"p_stride_o": 2101248}, {"p_stride_k": 2097152, "p_seqlen_k": 1025},
             {"p_order_k": 1, "p_order_v": 1, "p_heads": 32, "p_heads_k": 1, "p_seqlen_k": 16777217}],
)  # fmt: skip
def gradient_heads_are_within_offsets(c: BackwardFit) -> BoolExpr:
    """A head of a sequence reaches over less than 4 GiB, with the rows of its last tile.

    Why: offsets within a head have 32 bits (FPROB034), and rows behind the last are read and stored
    as they are: what lies behind the tensor's end is zero, which is what they are multiplied with,
    but beyond 4 GiB offsets begin again at 0. On the device `cpu` such problems are wrong for each
    of Q, K, V and dO.

    Fix: use packed tensors, with rows of a head one behind the other, or fewer heads at once.
    """
    return all_of(
        c.of_each(lambda x: [c.reach(x) < memory.REACH]),
        *(c.gradient_reach(x) < memory.REACH for x in "kv"),
        c.summed_reach < memory.REACH,
    )


@rule(
    "BPROB035", "gradients-of-k-beyond-32-bits", kind="launch",
    says=[f"from a {what} of d{x.upper()} to the next there are more than 2**31 - 1 elements: batch = {{p_batch}}, heads = {{p_heads}}, seqlen_k = {{p_seqlen_k}}, {d} = {{p_{d}}}"
          for what in ("head", "sequence") for x, d in (("k", "hdim"), ("v", "hdim_v"))],
    source=_ARGUMENTS,
    accepts=[{}, {"p_heads": 64, "p_heads_k": 1, "p_seqlen_k": 262144}, {"p_heads": 64, "p_heads_k": 1, "p_seqlen_k": 262143, "p_batch": 2}],
    rejects=[{"p_heads": 64, "p_heads_k": 1, "p_seqlen_k": 262144, "p_batch": 2},
             {"p_order_v": 1, "p_seqlen_k": 16777216}],
)  # fmt: skip
def gradients_of_k_are_short(c: BackwardFit) -> BoolExpr:
    """From a head of dK and dV, and from a sequence of a batch, to the next there are less than 2**31 elements.

    Why: they have all heads of Q, more than K and V may have, and strides are handed over in 32
    bits. Our host libraries refuse others.

    Fix: call the kernel for fewer sequences, or use group mode.
    """
    batches = ~c.grouped & (c.p_batch > 1)
    return all_of(
        *(implies(c.p_heads > 1, c.gradient_step(x) < 2**31) for x in "kv"),
        *(implies(batches, c.gradient_batch_step(x) < 2**31) for x in "kv"),
    )


@rule(
    "BPROB036", "scores-beyond-32-bits", kind="wrong-result",
    says=["from a head of biases, dBias or random bytes to the next there are more than 2**31 - 1 elements: heads = {p_heads}, seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}",
          "from a sequence of biases, dBias or random bytes to the next there are more than 2**31 - 1 elements: batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}",
          "a head of biases, dBias or random bytes reaches with its last tile over more bytes than offsets: seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}"],
    applies=lambda c: c.scores_apart,
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdCommonBiasKargs, FmhaBwdCommonBiasGradKargs, FmhaBwdCommonDropoutKargs (nhead_stride_bias to batch_stride_randval, index_t)",
            "ops/fmha/kernel/fmha_bwd_kernel.hpp: bias_dram, dbias_dram and randval_dram, sequence<false, true> (rows are not padded)",
            "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource, uint32_t size"],
    accepts=[_BIASED, {**_BIASED, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192, "p_seqlen_k": 8192}],
    rejects=[{**_BIASED, "p_batch": 2, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192, "p_seqlen_k": 8192},
             {**_BIASED, "p_heads": 1, "p_heads_k": 1, "p_seqlen_q": 65536, "p_seqlen_k": 32768},
             {**_BIASED, "p_seqlen_q": 65536, "p_seqlen_k": 32768}],
)  # fmt: skip
def scores_are_within_offsets(c: BackwardFit) -> BoolExpr:
    """Tensors with a number for each score have strides and offsets of 32 bits.

    Why: strides from head to head and from sequence to sequence are handed over as index_t, though
    products with them have 64 bits; offsets within a head have 32 bits (BPROB034).

    Fix: call the kernel for fewer sequences or heads at once.
    """
    return memory.scores_within_offsets(c, c.scores_of_a_head, c.scores_reach)


@rule(
    "BPROB037", "parts-of-dq-beyond-32-bits", kind="wrong-result", until="2026.06",
    applies=lambda c: c.deterministic & (c.max_seqlen_q == 0) & (c.p_seqlen_k > c.tile_n0),
    says="from a part of dQ to the next there are more than 2**31 - 1 elements: batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, total_q = {p_total_q}, hdim = {p_hdim}",
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdDeterministicKargs, split_stride_dq_acc (index_t)",
            "ops/fmha/kernel/fmha_bwd_kernel.hpp: run_, split_stride of 64 bits (CK 2026.09, read in ROCm/rocm-libraries @ 40bda5c)"],
    issue="ROCm/rocm-libraries#6152",
    accepts=[_PARTS, {**_PARTS, "p_batch": 63, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192}],
    rejects=[{**_PARTS, "p_batch": 64, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192}],
)  # fmt: skip
def parts_of_dq_are_short(c: BackwardFit) -> BoolExpr:
    """From a block's part of dQ to the next one's there are less than 2**31 elements.

    Why: parts of all sequences and heads lie one behind the other, and the stride is handed over in
    32 bits. Since 2026.06 the kernel knows how they lie.

    Fix: call the kernel for fewer sequences at once.
    """
    return c.part_of_dq < 2**31
