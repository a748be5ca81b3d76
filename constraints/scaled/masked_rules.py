"""SCAL: groups of masked rows, which flatmm computes together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.groups import TOO_EARLY, stores_by_lds
from ckrules.constraints.scaled.kernel import OF_EXPERTS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

KERNEL = "ops/flatmm/kernel/grouped_flatmm_kernel.hpp: GroupedFlatmmKernel"

#: A kernel of masked groups, for examples of rules.
MASKED: Mapping[str, Any] = {"grouping": "masked", "tile_n": 64, "wave_n": 1}


@rule(
    "SCAL057", "groups-of-flatmm-alone", kind="compile",
    says="only flatmm computes groups: {variant}, grouping = {grouping}",
    source=[f"{KERNEL} (is a FlatmmKernel)",
            f"{KERNEL} (the same; CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)"],
    accepts=[MASKED], rejects=[{**OF_EXPERTS, "grouping": "masked"}],
)  # fmt: skip
def groups_are_of_flatmm(c: ScaledQuantities) -> BoolExpr:
    """Groups of masked rows belong to flatmm.

    Why: the kernel starts flatmm's for every tile. Groups of 4-bit operands have a kernel of their
    own in 2026, which is not covered.

    Fix: set grouping to "no".
    """
    return (c.grouping == "no") | (c.variant == "flatmm")


@rule(
    "SCAL058", "tiles-of-groups-without-barrier-between", kind="wrong-result",
    applies=lambda c: stores_by_lds(c) & (c.grouping != "no"),
    says=TOO_EARLY,
    source=[f"{KERNEL}::operator() (while block_linear_idx < group_block_cnt; run)",
            f"{KERNEL}::operator() (the same; CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)"],
    accepts=[MASKED],
    rejects=[{"grouping": "masked"}],
)  # fmt: skip
def tiles_of_groups_are_kept_apart(c: ScaledQuantities) -> BoolExpr:
    """Kernels of groups that store through LDS have one wave.

    Why: as many blocks are launched as run at once, each goes on with the next tile, and nothing waits
    between, as SCAL040 says of persistent kernels. Of seven kernels of several waves that were run two are
    wrong, wherever there are more tiles than blocks; the others, two of four waves in fp8 and two in
    bf16 that aiter makes among them, are right as clang 19 compiled them, which nothing promises.

    Fix: use one wave, or without scales the default epilogue.
    """
    return c.waves == 1
