"""SPROB: products that flatmm's groups of masked rows take."""

from __future__ import annotations

from ckrules.constraints.scaled.masked_rules import KERNEL, MASKED
from ckrules.constraints.scaled.problem_fields import ScaledProblem
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_MASKED = f"{KERNEL}::operator() for MaskedGroupedFlatmmHostArgs"
_TWO = {**MASKED, "groups": 2}


@rule(
    "SPROB048", "sums-of-groups-in-parts", kind="launch", applies=lambda c: c.masked,
    says="groups split no sums: k_batch = {k_batch}",
    source=f"{KERNEL}::GridSize (assert k_batch == 1)",
    accepts=[_TWO], rejects=[{**_TWO, "k_batch": 2}],
)  # fmt: skip
def groups_split_no_sums(c: ScaledProblem) -> BoolExpr:
    """Sums of groups are in one part.

    Why: asserted where asserts are on, and not asked by the argument check. Host libraries here have no
    kernel that adds parts, as aiter's wrapper never asks for one.

    Fix: use k_batch = 1.
    """
    return c.k_batch == 1


@rule(
    "SPROB049", "groups-that-lie-apart", kind="launch", applies=lambda c: c.masked,
    says=["groups lie one behind the other in A, whatever stride is given: stride_a = {stride_a}",
          "groups lie one behind the other in C, whatever stride is given: stride_c = {stride_c}"],
    source=f"{_MASKED} (group_idx * M * K, group_idx * M * N)",
    accepts=[_TWO], rejects=[{**_TWO, "stride_a": 520}, {**_TWO, "stride_c": 520}],
)  # fmt: skip
def groups_are_packed(c: ScaledProblem) -> BoolExpr:
    """A and C of masked groups are packed.

    Why: where a group begins is counted without strides, so that groups would lie in each other's rows;
    host libraries here take none.

    Fix: use packed tensors.
    """
    return all_of(c.stride_a == 0, c.stride_c == 0)


@rule(
    "SPROB050", "groups-beyond-offsets", kind="wrong-result", applies=lambda c: c.masked,
    says="the weights of the last of {groups} groups begin at element 2**31 or beyond: N = {N}, K = {K}",
    source=f"{_MASKED} (group_idx * N * K of index_t; read, not run)",
    accepts=[{**_TWO, "groups": 32, "N": 8192, "K": 8192}], rejects=[{**_TWO, "groups": 33, "N": 8192, "K": 8192}],
)  # fmt: skip
def groups_are_within_offsets(c: ScaledProblem) -> BoolExpr:
    """Before the weights of the last group lie fewer than 2**31 elements.

    Why: where a group begins is found with 32 bits. So it is in A and C, by the rows that there is room
    for, which rules do not know: M is what divides the rows that count.

    Fix: compute fewer groups at a time.
    """
    return (c.groups - 1) * c.N * c.K < 2**31


@rule(
    "SPROB051", "groups-of-several-widths", kind="launch", applies=lambda c: c.masked,
    says="groups have one N: {widths} different ones",
    source="ops/flatmm/kernel/grouped_flatmm_kernel.hpp: MaskedGroupedFlatmmHostArgs (one N for all groups)",
    accepts=[_TWO], rejects=[{**_TWO, "widths": 2}],
)  # fmt: skip
def groups_have_one_width(c: ScaledProblem) -> BoolExpr:
    """Masked groups have one N.

    Why: the arguments have one, as they have one K.

    Fix: launch the kernel for each N.
    """
    return c.widths == 1
