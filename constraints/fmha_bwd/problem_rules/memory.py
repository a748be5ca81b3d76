"""BPROB: orders of tensors in memory and strides, as forward has them.

dO lies as O, dQ as Q; dK and dV, which have all heads of Q, are packed in the order of K and V.
"""

from __future__ import annotations

from ckrules.constraints.fmha.problem_rules import memory
from ckrules.constraints.fmha_bwd.problem_fields import BackwardFit
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_ARGUMENTS = "ops/fmha/kernel/fmha_bwd_kernel.hpp: MakeKargsImpl, stride_q to batch_stride_dbias"


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
