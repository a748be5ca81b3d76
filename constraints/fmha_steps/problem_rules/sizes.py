"""KPROB: lengths and head dimensions that the kernels before and after attention are made for."""

from __future__ import annotations

from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT
from ckrules.constraints.fmha_steps.problem_fields import StepFit
from ckrules.constraints.fmha_steps.words import COMBINE, CONVERT, DOT
from ckrules.engine.expr import BoolExpr, all_of, ite
from ckrules.engine.rules import rule

_BWD = "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdOGradDotOKernel, FmhaBwdConvertQGradKernel, pad_tensor_view"
_COMBINE = "ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: pad_tensor_view"


@rule(
    "KPROB001", "step-rows-not-padded", kind="wrong-result",
    applies=lambda c: ~c.pad_s & ~c.grouped & c.variant.isin(COMBINE, DOT, CONVERT),
    says=["the kernel pads no rows: seqlen_q = {p_seqlen_q} is not a multiple of tile_s = {tile_s}",
          "the kernel pads no rows: seqlen_q = {p_seqlen_q} is not a multiple of {wave_size * 4 // tile_dv=}"],
    source=[_BWD, _COMBINE,
            "ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaSplitKVCombinePipelineTileSizes::kM0"],
    accepts=[{}, {**A_DOT, "p_seqlen_q": 1024}],
    rejects=[{**A_DOT, "pad_s": False, "p_seqlen_q": 1000}, {"p_seqlen_q": 1001}],
)  # fmt: skip
def rows_are_whole_blocks(c: StepFit) -> BoolExpr:
    """Without pad_s the rows of Q are whole blocks.

    Why: rows behind the sequence are those of the next head, or memory of others.

    Fix: use a kernel with pad_s.
    """
    own = ite(c.variant == COMBINE, 1, c.tile_s)
    joined = ite(c.variant == COMBINE, c.wave_size * 4 // c.tile_dv, 1)
    return all_of(c.p_seqlen_q % own == 0, c.p_seqlen_q % joined == 0)


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
