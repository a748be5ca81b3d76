"""GPROB: parts of sums that are added to memory by address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_PADDED: Mapping[str, Any] = {"pad_m": True, "dtype": "bf16", "dtype_c": "bf16", "k_batch": 2}


@rule(
    "GPROB044", "parts-added-beyond-c", kind="wrong-result", until="2026.06",
    applies=lambda c: ((c.k_batch > 1) | (c.streamk == "atomic")) & c.adds_by_address,
    says=("rows of {dtype_c} beyond the last one are added to memory behind C: M = {M} is not a "
          "multiple of tile_m = {tile_m}"),
    source=["core/tensor/buffer_view.hpp: atomic_add (use_amd_buffer_addressing; run)",
            "core/arch/generic_memory_space_atomic.hpp: atomic_add_g (by address)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmPadViews (C is padded along N alone)"],
    issue="ROCm/rocm-libraries#5842",
    accepts=[_PADDED, {**_PADDED, "arch": "gfx90a", "M": 1024}],
    rejects=[{**_PADDED, "M": 520}],
)  # fmt: skip
def parts_stay_in_c(c: GemmProblem) -> BoolExpr:
    """Where parts of sums are added by address, M is a multiple of tile_m.

    Why: rows of a tile beyond M are zeros that are added as well. Other results go through the
    tensor's buffer, which leaves out what lies behind it; bf16 does so on gfx950 only, and fp8 and
    bf8 on no GPU. These read and write memory that is somebody else's or nobody's.

    Fix: use k_batch = 1, fp16 or fp32 for C, or a tile_m that divides M.
    """
    return c.M % c.tile_m == 0
