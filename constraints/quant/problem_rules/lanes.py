"""QPROB: what the host counts with waves of 64 lanes, and waves of 32 do not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.quant.problems import QuantProblem
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_SMALL: Mapping[str, Any] = {
    "variant": "tensor_quant", "arch": "gfx1201", "pad_k": True, "tile_m": 64, "tile_n": 16,
    "tile_k": 16, "wave_m": 2, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16,
}  # fmt: skip


@rule(
    "QPROB010", "rows-not-whole-loads-of-fewer-lanes", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.wave_size == 32) & (c.pipeline != "basic_v1"),
    says=["the host checks {length_a=} against {checked_vector_a=}, and lanes load {vector_a} at once",
          "the host checks {length_b=} against {checked_vector_b=}, and lanes load {vector_b} at once"],
    source=["core/arch/arch.hpp: get_warp_size (64 on the host)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: QuantGemmKernel::IsSupportedArgument (GetVectorSizeA without IsWave32Host, which UniversalGemmKernel gives; run)"],
    accepts=[{**_SMALL, "K": 32}, {**_SMALL, "K": 48}], rejects=[{**_SMALL, "K": 40}],
)  # fmt: skip
def lanes_load_what_the_host_checks(c: QuantProblem) -> BoolExpr:
    """Rows are whole loads of a thread, which the host takes to be narrower on RDNA.

    Why: the host counts 64 lanes to a wave, so that each has half of the elements of a small tile,
    and asks for rows that are whole loads of this width. Lanes load the wider one beyond a row.

    Fix: pad the tensors to whole loads, or use a larger tile.
    """
    return all_of(
        implies(c.length_a % c.checked_vector_a == 0, c.length_a % c.vector_a == 0),
        implies(
            (c.pipeline != "preshufflev2") & (c.length_b % c.checked_vector_b == 0),
            c.length_b % c.vector_b == 0,
        ),
    )
