"""GPROB: what the host counts as on another GPU than the kernel's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_COLUMNS: Mapping[str, Any] = {
    "arch": "gfx1100", "layout": "rcc", "epilogue": "default", "pad_m": True, "tile_m": 64,
    "tile_n": 64, "tile_k": 32, "wave_m": 2, "wave_n": 2, "warp_tile_m": 16, "warp_tile_n": 16,
    "warp_tile_k": 16,
}  # fmt: skip


@rule(
    "GPROB043", "rows-not-whole-stores-of-another-gpu", kind="launch",
    applies=lambda c: (c.epilogue == "default") & c.has("result_rows_apart"),
    says=["N = {N} is not a multiple of the 8 elements that the host takes to be stored at once",
          "M = {M} is not a multiple of the 8 elements that the host takes to be stored at once"],
    source=["core/arch/arch.hpp: get_device_arch (gfx12_t on every host; gfx120_t in CK 2026.09, read)",
            "ops/epilogue/default_2d_epilogue.hpp: GetVectorSizeC, GetVectorSizeD",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase (kCM1PerLane)"],
    accepts=[{**_COLUMNS, "M": 520}, {**_COLUMNS, "layout": "rcr", "M": 513}],
    rejects=[{**_COLUMNS, "M": 513}],
)  # fmt: skip
def stores_are_whole_on_the_host(c: GemmProblem) -> BoolExpr:
    """With the default epilogue rows of C and D are multiples of 8 on gfx11, as on gfx12.

    Why: a lane of gfx11 holds every second row of a result and stores single elements, but the
    argument check is compiled with gfx12's warp GEMM, whose lanes hold 8 rows side by side.

    Fix: use cshuffle, or pad the tensor.
    """
    wide = c.c_row == c.transpose_c
    rows, columns = wide & (c.c_row | c.d_row), wide & (~c.c_row | c.d_column)
    return all_of(implies(rows, c.N % 8 == 0), implies(columns, c.M % 8 == 0))
