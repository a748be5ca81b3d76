"""QPROB: what the host counts with waves of 64 lanes, and waves of 32 do not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.quant.problems import QuantProblem
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, implies, ite, minimum
from ckrules.engine.rules import rule

_SMALL: Mapping[str, Any] = {
    "variant": "tensor_quant", "arch": "gfx1201", "pad_k": True, "tile_m": 64, "tile_n": 64,
    "tile_k": 16, "wave_m": 2, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16,
}  # fmt: skip
_ROWS: Mapping[str, Any] = {
    **_SMALL, "layout": "rrc", "pad_m": True, "pad_n": True, "tile_m": 16, "wave_m": 1, "wave_n": 4,
    "dtype_c": "fp32", "permute_n": True, "M": 64, "K": 48,
}  # fmt: skip
_COLUMNS: Mapping[str, Any] = {
    **_SMALL, "variant": "rowcol_quant", "layout": "ccr", "pad_m": True, "pad_n": True,
    "tile_m": 32, "dtype_c": "fp32", "transpose_c": True, "N": 64, "K": 48,
}  # fmt: skip
#: Elements of one byte, and of half a byte, that a lane loads at once or not at all.
_DWORD, _NARROW = 4, 8


def _of_fewer_lanes(c: QuantProblem) -> BoolExpr:
    return (c.wave_size == 32) & ~c.pipeline.isin("basic_v1", "preshufflev2")


@rule(
    "QPROB010", "rows-not-whole-loads-of-fewer-lanes", kind="wrong-result", until="2026.06",
    applies=_of_fewer_lanes,
    says=[("the host checks {K=} against {checked_vector_a=} and {checked_vector_b=}, and lanes load "
           "{vector_a} elements of A and {vector_b} of B at once")],
    source=["core/arch/arch.hpp: get_warp_size (64 on the host)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: QuantGemmKernel::IsSupportedArgument (GetVectorSizeA without IsWave32Host, which UniversalGemmKernel gives; run)"],
    accepts=[{**_SMALL, "K": 32}, {**_SMALL, "K": 48}, {**_SMALL, "tile_n": 16, "K": 40}],
    rejects=[{**_SMALL, "K": 40}, {**_SMALL, "dtype": "fp8_i4", "tile_n": 16, "K": 40}],
)  # fmt: skip
def lanes_load_what_the_host_checks(c: QuantProblem) -> BoolExpr:
    """Rows of A or of B along K are whole loads of a thread, which the host takes to be narrower.

    Why: the host counts 64 lanes to a wave, so that each has half of the elements of a small tile,
    and asks for rows that are whole loads of this width. On RDNA lanes load the wider one beyond a
    row. Where only one operand does so, the other has zeros there, unless it is int4: no bits are
    the value -8.

    Fix: pad the tensors to whole loads, or use a larger tile.
    """
    along_k = ~c.a_transposed & ~c.b_transposed
    checked = (c.K % c.checked_vector_a == 0) & (c.K % c.checked_vector_b == 0)
    whole_a, whole_b = c.K % c.vector_a == 0, c.K % c.vector_b == 0
    return implies(
        along_k & checked,
        (whole_a | (whole_b & ~c.narrow_b)) & (whole_b | (whole_a & ~c.narrow_a)),
    )


@rule(
    "QPROB013", "last-loads-not-whole-dwords", kind="wrong-result", until="2026.06",
    applies=_of_fewer_lanes,
    says=["the host checks {M=} against {checked_vector_a=}, and lanes load {vector_a} elements of A at once",
          "the host checks {N=} against {checked_vector_b=}, and lanes load {vector_b} elements of B at once"],
    source=["core/arch/arch.hpp: get_warp_size (64 on the host)",
            "core/arch/amd_buffer_addressing.hpp: amd_buffer_load_impl (raw buffers, whose range is checked by the dword; run)"],
    accepts=[{**_ROWS, "N": 124}, {**_COLUMNS, "M": 124}],
    rejects=[{**_ROWS, "N": 126}, {**_COLUMNS, "M": 126}],
)  # fmt: skip
def last_loads_are_whole_dwords(c: QuantProblem) -> BoolExpr:
    """Where M is contiguous in A, or N in B, it is a multiple of the dwords that lanes load.

    Why: as in QPROB010 the host takes the loads to be narrower. What they hold beyond a row is not
    used, but the last one goes beyond the tensor, where a dword counts as outside as a whole: the
    last elements of the last row are zeros, and one product of K is left out.

    Fix: pad the tensors to whole dwords, or use a larger tile.
    """
    a: IntExpr = minimum(c.vector_a, ite(c.narrow_a, _NARROW, _DWORD))
    b: IntExpr = minimum(c.vector_b, ite(c.narrow_b, _NARROW, _DWORD))
    return all_of(
        implies(c.a_transposed & (c.M % c.checked_vector_a == 0), c.M % a == 0),
        implies(c.b_transposed & (c.N % c.checked_vector_b == 0), c.N % b == 0),
    )
