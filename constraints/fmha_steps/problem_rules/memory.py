"""KPROB: orders of tensors in memory and strides, as forward has them.

dO lies as O, dQ as Q; rows that are appended are packed in the order of K and V, parts packed.
"""

from __future__ import annotations

from ckrules.constraints.fmha.problem_rules.memory import DISTANT, OVERLAPPING
from ckrules.constraints.fmha_steps.generator import AN_APPEND
from ckrules.constraints.fmha_steps.problem_fields import StepFit
from ckrules.constraints.fmha_steps.words import APPEND
from ckrules.engine.expr import FALSE, BoolExpr
from ckrules.engine.rules import rule

_ARGUMENTS = (
    "ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp: MakeKargs, stride_q to batch_stride_vnew"
)


@rule(
    "KPROB031", "step-rows-in-each-other", kind="launch", says=OVERLAPPING, source=_ARGUMENTS,
    accepts=[{}, {"p_stride_q": 3072, "p_stride_k": 3073}, {"p_order_q": 1, "p_stride_q": 128}],
    rejects=[{"p_stride_q": 128}, {"p_order_o": 1, "p_stride_o": 64}],
)  # fmt: skip
def step_rows_lie_apart(c: StepFit) -> BoolExpr:
    """A stride is at least as long as what is contiguous in the tensor.

    Why: as of forward (FPROB031).

    Fix: use a larger stride, or none for packed tensors.
    """
    return c.rows_apart()


@rule(
    "KPROB032", "step-v-of-other-problems", kind="launch", applies=lambda c: c.variant == APPEND,
    says="the kernel takes V with v_layout {v_layout}, the problem has another one ({p_v_layout})",
    source=_ARGUMENTS,
    accepts=[AN_APPEND, {**AN_APPEND, "v_layout": "col", "p_v_layout": 2}],
    rejects=[{**AN_APPEND, "p_v_layout": 2}, {**AN_APPEND, "v_layout": "col", "p_v_layout": 1}],
)  # fmt: skip
def step_v_is_the_problems(c: StepFit) -> BoolExpr:
    """Where rows are appended V lies as the kernel takes it: rows or columns are contiguous.

    Why: it is a template parameter (FPROB032).

    Fix: use a kernel of the other layout, or transpose V.
    """
    return c.v_as_asked(c.v_layout == "row", c.v_layout == "col")


@rule(
    "KPROB033", "step-strides-beyond-32-bits", kind="launch", says=DISTANT, source=_ARGUMENTS,
    accepts=[{}, {"p_batch": 2, "p_seqlen_q": 1048576}, {"p_seqlen_q": 2097152}],
    rejects=[{"p_batch": 2, "p_seqlen_q": 2097152}, {"p_order_o": 1, "p_stride_o": 2097152}],
)  # fmt: skip
def step_strides_are_short(c: StepFit) -> BoolExpr:
    """From a head, and from a sequence of a batch, to the next there are less than 2**31 elements.

    Why: as of forward (FPROB033).

    Fix: call the kernel for each sequence or head, or use group mode.
    """
    return c.short_steps(c.paged_kv, FALSE)
