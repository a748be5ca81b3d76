"""FPROB: functions that an attention kernel is made for, and those that a problem asks for."""

from __future__ import annotations

from ckrules.constraints.fmha.examples import SPLITS
from ckrules.constraints.fmha.problem_fields import AttentionFit
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_API = "example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: FMHA_FWD_API_INNER_DISPATCH (CK 2025.11)"


@rule(
    "FPROB021", "mode-of-other-problems", kind="launch",
    says="the kernel is made for mode {mode}, the problem asks for another one ({p_mode})",
    source=_API, accepts=[{}], rejects=[{"p_mode": 1}],
)  # fmt: skip
def mode_is_the_problems(c: AttentionFit) -> BoolExpr:
    """Kernel and problem have the same mode.

    Why: it is a template parameter, and so are the arguments.

    Fix: use a kernel of the other mode.
    """
    return c.same("mode", "batch", "group")


@rule(
    "FPROB022", "mask-of-other-problems", kind="wrong-result",
    says="the kernel has mask {mask}, the problem asks for another one ({p_mask})",
    source=_API,
    accepts=[{}, {"mask": "mask", "p_mask": 1}, {"mask": "generic", "p_mask": 2}],
    rejects=[{"p_mask": 1}, {"mask": "causal", "p_mask": 2}],
)  # fmt: skip
def mask_is_the_problems(c: AttentionFit) -> BoolExpr:
    """The kernel's mask can say the problem's: simplified and generic ones every mask.

    Why: the simplified mask is decided at run time, none at all too where no window is given;
    upstream's dispatch calls a kernel without mask then.

    Fix: use a kernel with mask.
    """
    return c.mask_as_asked


@rule(
    "FPROB023", "bias-of-other-problems", kind="wrong-result",
    says="the kernel has bias {bias}, the problem asks for another one ({p_bias})",
    source=_API, accepts=[{}, {"bias": "alibi", "p_bias": 2}], rejects=[{"p_bias": 1}],
)  # fmt: skip
def bias_is_the_problems(c: AttentionFit) -> BoolExpr:
    """Kernel and problem have the same bias.

    Why: it is a template parameter.

    Fix: use a kernel with the bias.
    """
    return c.same("bias", "no", "bias", "alibi")


@rule(
    "FPROB024", "functions-of-other-problems", kind="wrong-result",
    says=["the kernel has logits = {logits}, the problem asks for {p_logits}",
          "the kernel has lse = {lse}, the problem asks for {p_lse}",
          "the kernel has dropout = {dropout}, the problem asks for {p_dropout}",
          "the kernel has squant = {squant}, the problem asks for {p_squant}"],
    source=_API, accepts=[{}, {"lse": True, "p_lse": 1}, {"variant": "fmha_fwd_splitkv", "lse": True}],
    rejects=[{"p_lse": 1}, {"dropout": True}],
)  # fmt: skip
def functions_are_the_problems(c: AttentionFit) -> BoolExpr:
    """Kernel and problem have the same cap, LSE, dropout and quantisation; splits always store LSE.

    Why: they are template parameters; split results are joined by their LSE.

    Fix: use a kernel with the function.
    """
    return all_of(
        c.logits == c.asks("logits", "yes"),
        (c.lse == c.asks("lse", "yes")) | ((c.variant == "fmha_fwd_splitkv") & c.lse),
        c.dropout == c.asks("dropout", "yes"),
        c.squant == c.asks("squant", "yes"),
    )


@rule(
    "FPROB047", "splits-beyond-joining", kind="launch",
    applies=lambda c: c.variant == "fmha_fwd_splitkv",
    says="at most 128 splits are joined: splits = {p_splits}",
    source=["example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: kLogMaxSplits of 3 to 7 by num_splits (CK 2025.11)",
            "ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdSplitKVCombineTraits, kMaxSplits"],
    accepts=[SPLITS, {**SPLITS, "p_splits": 128}], rejects=[{**SPLITS, "p_splits": 129}],
)  # fmt: skip
def splits_are_joined(c: AttentionFit) -> BoolExpr:
    """K is split into at most 128 parts.

    Why: the kernel that joins them has a place for each. Upstream's largest has 128, and so have
    our host libraries, beside one of 8.

    Fix: use fewer splits.
    """
    return c.p_splits <= 128
