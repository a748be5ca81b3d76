"""FSTP: what the kernels before and after attention ask to compile."""

from __future__ import annotations

from ckrules.constraints.fmha.words import profiles
from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT, AN_APPEND
from ckrules.constraints.fmha_steps.vocabulary import ABSENT, OWN, StepQuantities
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, VARIANTS
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_COMBINE = "ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaSplitKVCombinePipelineProblem"
_APPEND = "ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline_default_policy.hpp"


@rule(
    "FSTP001", "field-of-other-step", kind="compile", profiles=("legal", *profiles()),
    says="{variant} kernels lack a field that is set, expected 0, false or no in all that they lack",
    source=["ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdSplitKVCombineTraits, TileFmhaBwdOGradDotOTraits",
            "ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline.hpp: BlockFmhaFwdAppendKVPipelineProblem"],
    accepts=[{}, AN_APPEND, A_DOT, A_CONVERT], rejects=[{"tile_s": 64}, {**A_DOT, "lse": True}],
)  # fmt: skip
def fields_are_the_kernels(c: StepQuantities) -> BoolExpr:
    """Fields that a kernel does not have are 0, false, no, batch and row.

    Why: the kernels have different template parameters; appending is the same for both modes.

    Fix: leave the field out.
    """
    def lacks(variant: str) -> BoolExpr:
        names = (n for n in ABSENT if n not in OWN[variant])
        return all_of(*(getattr(c, n) == ABSENT[n] for n in names))

    return all_of(*(implies(c.variant == v, lacks(v)) for v in VARIANTS))
