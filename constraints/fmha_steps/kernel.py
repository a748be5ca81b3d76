"""FSTP: what the kernels before and after attention ask to compile."""

from __future__ import annotations

from ckrules.constraints.fmha.words import profiles
from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT, AN_APPEND
from ckrules.constraints.fmha_steps.vocabulary import ABSENT, OWN, StepQuantities
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, VARIANTS
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_COMBINE = (
    "ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaSplitKVCombinePipelineProblem"
)
_APPEND = "ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline_default_policy.hpp"


@rule(
    "FSTP001", "field-of-other-step", kind="no-effect", profiles=("legal", *profiles(), "dispatcher"),
    says="{variant} kernels lack a field that is set, expected 0, false or no in all that they lack",
    source=["ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdSplitKVCombineTraits, TileFmhaBwdOGradDotOTraits",
            "ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaFwdAppendKVPipelineProblem"],
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


@rule(
    "FSTP002", "combined-columns-not-whole", kind="compile",
    applies=lambda c: (c.variant == COMBINE) & (c.tile_dv >= 1),
    says=["tile_dv = {tile_dv} is larger than the head dimension {hdim}",
          "the head dimension {hdim} is not a multiple of tile_dv = {tile_dv}"],
    source=f"{_COMBINE} static_assert kN1 <= kHeadDimV && kHeadDimV % kN1 == 0",
    accepts=[{}], rejects=[{"hdim": 48}, {"hdim": 16}],
)  # fmt: skip
def columns_are_whole(c: StepQuantities) -> BoolExpr:
    """The head dimension is a multiple of the columns that a block combines.

    Why: asserted.

    Fix: use a smaller tile_dv.
    """
    return all_of(c.tile_dv <= c.hdim, c.hdim % c.tile_dv == 0)


@rule(
    "FSTP003", "no-combined-columns", kind="compile",
    says="a block of {variant} computes no columns: tile_dv = {tile_dv}",
    applies=lambda c: c.variant.isin(COMBINE, APPEND),
    source=[_COMBINE, f"{_APPEND}: GetAlignmentV"], accepts=[{}, AN_APPEND], rejects=[{"tile_dv": 0}],
)  # fmt: skip
def columns_exist(c: StepQuantities) -> BoolExpr:
    """A block that combines or appends has columns.

    Why: the tile would have none.

    Fix: give tile_dv.
    """
    return c.tile_dv >= 1


@rule(
    "FSTP004", "embedded-columns-not-whole", kind="compile",
    applies=lambda c: (c.variant == APPEND) & (c.rope != "no"),
    says="rotary embedding reads 16 bytes at a time: tile_d = {tile_d}, {16 // element_bytes=}",
    source=f"{_APPEND}: GetQThreadRangeAlongK static_assert kK0 % KPerThread == 0",
    accepts=[{**AN_APPEND, "rope": "halves"}], rejects=[{**AN_APPEND, "rope": "halves", "tile_d": 20}],
)  # fmt: skip
def embedded_columns_are_whole(c: StepQuantities) -> BoolExpr:
    """With rotary embedding the head dimension of a block is a multiple of 16 bytes.

    Why: asserted.

    Fix: use a multiple of 8 elements of 16 bits.
    """
    return c.tile_d % (16 // c.element_bytes) == 0


@rule(
    "FSTP005", "step-head-beyond-tile", kind="wrong-result",
    applies=lambda c: c.variant == APPEND,
    says=["a block holds tile_d = {tile_d} of the head dimension {hdim}",
          "a block holds tile_dv = {tile_dv} of the head dimension {hdim}"],
    source="ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp: windows of kK0 and kN1 columns",
    accepts=[AN_APPEND], rejects=[{**AN_APPEND, "tile_d": 64}],
)  # fmt: skip
def head_fits_tile(c: StepQuantities) -> BoolExpr:
    """Appended rows are not longer than what a block holds of them.

    Why: columns beyond are never copied.

    Fix: use a larger tile.
    """
    return all_of(c.hdim <= c.tile_d, c.hdim <= c.tile_dv)
