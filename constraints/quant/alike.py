"""Quantised kernels that make the same device code: ``--distinct`` keeps one of each set.

What is alike was read in the headers of CK 2025.11 that are named, and checked against the compiler
(`scripts/same_code.py`).
"""

from __future__ import annotations

from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import Expr
from ckrules.engine.rules.alike import alike

_DIR = "ops/gemm_quant"


@alike(
    "columns-of-default-epilogue", "permute_n", until="2026.06",
    applies=lambda c: (c.epilogue == "default") & (~c.shuffled_b | (c.repeat_n == 1)),
    source="ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue (has no TiledMMAPermuteN)",
)  # fmt: skip
def default_epilogue_permutes_nothing(c: QuantQuantities) -> tuple[Expr, ...]:
    """The default epilogue does not look at permute_n, nor the host where nothing is permuted."""
    return ()


@alike(
    "scales-in-one-order", "preshuffle_quant", until="2026.06", applies=lambda c: ~c.grouped,
    source=f"{_DIR}/kernel/gemm_quant_kernel.hpp: MakeGemmTensorViews (PreshuffleQuant with AQuantGrouped only)",
)  # fmt: skip
def single_scales_have_one_order(c: QuantQuantities) -> tuple[Expr, ...]:
    """Kernels of rowcol_quant and tensor_quant do not look at preshuffle_quant."""
    return ()


@alike(
    "scheduler-of-weights", "scheduler", until="2026.06", applies=lambda c: c.shuffled_b,
    source=f"{_DIR}/pipeline/gemm_wp_bquant_pipeline_ag_bg_cr_v2.hpp: HotLoopScheduler, operator()",
)  # fmt: skip
def weights_have_one_schedule(c: QuantQuantities) -> tuple[Expr, ...]:
    """The pipeline for pre-shuffled weights has a schedule of its own."""
    return ()


ALIKE = (default_epilogue_permutes_nothing, single_scales_have_one_order, weights_have_one_schedule)
