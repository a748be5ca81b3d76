"""KPROB: orders of tensors in memory and strides, as forward has them.

dO lies as O, dQ as Q; rows that are appended are packed in the order of K and V, parts packed.
"""

from __future__ import annotations

from ckrules.constraints.fmha.problem_rules import memory
from ckrules.constraints.fmha_steps.generator import AN_APPEND
from ckrules.constraints.fmha_steps.words import APPEND

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
