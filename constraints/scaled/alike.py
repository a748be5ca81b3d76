"""Kernels with scales that make the same device code: ``--distinct`` keeps one of each set.

What is alike was read in the headers of CK 2025.11 that are named, and checked against the compiler
(`scripts/same_code.py`).
"""

from __future__ import annotations

from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.rules.alike import alike


def _flatmm(c: ScaledQuantities) -> BoolExpr:
    return c.variant == "flatmm"


@alike(
    "scheduler-of-flatmm", "scheduler", until="2026.06", applies=_flatmm,
    source="ops/gemm/pipeline/gemm_pipeline_problem.hpp: FlatmmPipelineProblem::Scheduler (always Default)",
)  # fmt: skip
def flatmm_has_one_schedule(c: ScaledQuantities) -> tuple[Expr, ...]:
    """flatmm has a schedule of its own, whatever scheduler is given."""
    return ()


@alike(
    "buffers-of-flatmm", "double_smem_buffer", until="2026.06", applies=_flatmm,
    source="ops/flatmm/kernel/flatmm_kernel.hpp: operator() (smem_ptr_ping, smem_ptr_pong)",
)  # fmt: skip
def flatmm_has_two_buffers(c: ScaledQuantities) -> tuple[Expr, ...]:
    """flatmm has two arrays for A in LDS, whatever double_smem_buffer says."""
    return ()


@alike(
    "rows-of-flatmm", "pad_m", until="2026.06",
    applies=lambda c: _flatmm(c) & (c.epilogue == "cshuffle"),
    source="ops/flatmm/kernel/flatmm_kernel.hpp: MakeGemmPadViews (kPadM for columns of A or C only)",
)  # fmt: skip
def flatmm_pads_no_rows(c: ScaledQuantities) -> tuple[Expr, ...]:
    """flatmm looks at pad_m for columns of A or C only, and with the default epilogue."""
    return ()


ALIKE = (flatmm_has_one_schedule, flatmm_has_two_buffers, flatmm_pads_no_rows)
