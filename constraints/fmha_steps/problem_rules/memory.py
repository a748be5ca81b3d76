"""KPROB: orders of tensors in memory and strides, as forward has them.

dO lies as O, dQ as Q; rows that are appended are packed in the order of K and V, parts packed.
"""

from __future__ import annotations

from ckrules.constraints.fmha.problem_rules import memory
from ckrules.constraints.fmha_steps.generator import A_CONVERT, AN_APPEND
from ckrules.constraints.fmha_steps.problem_fields import StepFit
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT
from ckrules.engine.expr import BoolExpr, all_of, ceil_div, maximum
from ckrules.engine.rules import rule

_ARGUMENTS = (
    "ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp: MakeKargs, stride_q to batch_stride_vnew"
)


step_rows_lie_apart = memory.rows_lie_apart.under(
    "KPROB031", "step-rows-in-each-other", source=_ARGUMENTS,
    accepts=[{}, {"p_stride_q": 3072, "p_stride_k": 3073}, {"p_order_q": 1, "p_stride_q": 128}],
    rejects=[{"p_stride_q": 128}, {"p_order_o": 1, "p_stride_o": 64}],
    why="as of forward (FPROB031).",
)  # fmt: skip


step_v_is_the_problems = memory.v_is_the_problems.under(
    "KPROB032", "step-v-of-other-problems", applies=lambda c: c.variant == APPEND, source=_ARGUMENTS,
    accepts=[AN_APPEND, {**AN_APPEND, "v_layout": "col", "p_v_layout": 2}],
    rejects=[{**AN_APPEND, "p_v_layout": 2}, {**AN_APPEND, "v_layout": "col", "p_v_layout": 1}],
    fact="Where rows are appended V lies as the kernel takes it: rows or columns are contiguous.",
    why="it is a template parameter (FPROB032).",
)  # fmt: skip


step_strides_are_short = memory.steps_are_short.under(
    "KPROB033", "step-strides-beyond-32-bits", source=_ARGUMENTS,
    accepts=[{}, {"p_batch": 2, "p_seqlen_q": 1048576}, {"p_seqlen_q": 2097152}],
    rejects=[{"p_batch": 2, "p_seqlen_q": 2097152}, {"p_order_o": 1, "p_stride_o": 2097152}],
    why="as of forward (FPROB033).",
)  # fmt: skip


_LONG = {"p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192}
_SUMMED = {**A_CONVERT, **_LONG, "tile_sk": 128, "deterministic": True}
_SIZE = "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource, uint32_t size"


@rule(
    "KPROB034", "parts-of-o-beyond-offsets", kind="wrong-result",
    applies=lambda c: c.variant == COMBINE,
    says="from the first part of a head to its last there are more bytes than offsets reach: splits = {p_splits}, batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, hdim_v = {p_hdim_v}",
    source=["ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: o_acc_dram_naive, make_tuple(num_splits, seqlen_q, hdim_v)", _SIZE],
    accepts=[{**_LONG, "p_splits": 8}], rejects=[{**_LONG, "p_batch": 5, "p_splits": 8}],
)  # fmt: skip
def parts_of_o_are_within_offsets(c: StepFit) -> BoolExpr:
    """Parts of O that are joined reach over less than 4 GiB.

    Why: a part has all sequences and heads, and a head of all parts is one tensor, in which offsets
    have 32 bits.

    Fix: use fewer splits, or fewer sequences or heads at once.
    """
    return c.parts_reach(c.p_splits, c.p_hdim_v) < memory.REACH


@rule(
    "KPROB035", "parts-of-dq-beyond-offsets", kind="wrong-result", until="2026.06",
    applies=lambda c: all_of(c.variant == CONVERT, c.deterministic, c.tile_sk >= 1),
    says="from the first part of a head to its last there are more bytes than offsets reach: seqlen_k = {p_seqlen_k}, tile_sk = {tile_sk}, batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, hdim = {p_hdim}",
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdConvertQGradKernel, dq_acc_dram_naive, make_tuple(nsplits, seqlen_q, hdim_q)", _SIZE,
            "ops/fmha/kernel/fmha_bwd_kernel.hpp: split_stride_dq_acc = physical_seqlen_q * hdim_q (CK 2026.09, read in ROCm/rocm-libraries @ 40bda5c)"],
    issue="ROCm/rocm-libraries#6152",
    accepts=[_SUMMED, {**_SUMMED, "p_seqlen_k": 4096}, {**_SUMMED, "p_seqlen_k": 128, "p_batch": 31}],
    rejects=[{**_SUMMED, "p_seqlen_k": 4097}, {**_SUMMED, "p_seqlen_k": 128, "p_batch": 32}],
)  # fmt: skip
def parts_of_dq_are_within_offsets(c: StepFit) -> BoolExpr:
    """Parts of dQ that are added reach over less than 4 GiB.

    Why: as of O (KPROB034): of 32 heads of 128 with 8192 rows there are 32 parts at the most. To a
    single part the next one is added, which has to lie behind the end that loads are told of. Since
    2026.06 only the parts of a head lie one behind the other.

    Fix: use fewer sequences or heads at once, or sums of dQ that are not in parts.
    """
    parts = maximum(ceil_div(c.p_seqlen_k, c.tile_sk), 2)
    return c.parts_reach(parts, c.p_hdim) < memory.REACH
