"""KPROB: head dimensions that the kernels before and after attention are made for.

Rows without padding are right, whole blocks or not, as runs show: what lies behind the sequence is
behind the end that loads and stores are told of.
"""

from __future__ import annotations

from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT
from ckrules.constraints.fmha_steps.problem_fields import StepFit
from ckrules.constraints.fmha_steps.words import CONVERT
from ckrules.engine.expr import BoolExpr, all_of, ite
from ckrules.engine.rules import rule

_BWD = "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdOGradDotOKernel, FmhaBwdConvertQGradKernel, pad_tensor_view"
_COMBINE = "ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: pad_tensor_view"


@rule(
    "KPROB002", "step-head-not-padded", kind="wrong-result",
    says=["the kernel pads no columns: hdim_v = {p_hdim_v}, expected {hdim}",
          "the kernel pads no columns: hdim = {p_hdim}, expected {hdim}"],
    source=[_BWD, _COMBINE],
    accepts=[{}, {**A_DOT, "pad_dv": True, "p_hdim_v": 80}],
    rejects=[{"p_hdim_v": 80}, {**A_CONVERT, "pad_d": False, "p_hdim": 80}],
)  # fmt: skip
def columns_are_whole(c: StepFit) -> BoolExpr:
    """Without padding the head dimension is the kernel's, with it not larger.

    Why: columns behind the head are those of the next one; columns beyond are never read.

    Fix: use a kernel of the head dimension, or one with padding.
    """
    value = ite(c.variant == CONVERT, c.hdim, c.p_hdim_v)
    head = ite(c.variant == CONVERT, c.p_hdim, c.hdim)
    return all_of(
        (value == c.hdim) | (c.pad_dv & (value < c.hdim)),
        (head == c.hdim) | (c.pad_d & (head < c.hdim)),
    )


@rule(
    "KPROB021", "step-mode-of-other-problems", kind="launch",
    says="the kernel is made for mode {mode}, the problem asks for another one ({p_mode})",
    source="example/ck_tile/01_fmha/codegen/ops/{fmha_bwd,fmha_fwd_splitkv}.py: mode (CK 2025.11)",
    accepts=[{}], rejects=[{"p_mode": 1}],
)  # fmt: skip
def mode_is_the_problems(c: StepFit) -> BoolExpr:
    """Kernel and problem have the same mode.

    Why: it is a template parameter, and so are the arguments.

    Fix: use a kernel of the other mode.
    """
    return c.same("mode", "batch", "group")
