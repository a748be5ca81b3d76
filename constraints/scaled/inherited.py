"""The rules that GEMMs with scales share with other tile GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.block_rules import OF_BLOCK_WEIGHTS as _WEIGHTS
from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import Examples, RuleDef

#: Shared rules that hold for these kernels.
SHARED = (
    "TILE001", "TILE002", "TILE003", "TILE004", "TILE005", "WARP001", "WARP002", "HW001", "LDS001",
)  # fmt: skip
#: Those of the shuffle through LDS, which results of permuted columns do not take.
SHUFFLES = ("EPI002", "EPI004", "EPI005", "EPI006", "EPI011")
#: Those of loads through LDS, which block scales have and flatmm has in a pattern of its own.
LOADS = ("VEC002", "VEC003", "VEC004")

_PERMUTED: Mapping[str, Any] = {"permute_n": True, "scales": "no"}

#: Rules of GEMMs, of pre-shuffled weights and of halves of instructions, that hold here.
WEIGHTS = ("GEMM049", "GEMM050", "GEMM074", "GEMM084")
#: Those of A's buffers, loads and reads beside weights, which block scales with such weights share.
BESIDE_WEIGHTS = ("GEMM023", "GEMM040", "GEMM041", "GEMM042", "GEMM043", "GEMM044")

_PLAIN: Mapping[str, Any] = {"scales": "no", "epilogue": "default"}

#: Examples of inherited rules.
EXAMPLES: Mapping[str, Examples] = {
    "TILE005": Examples(
        [_PLAIN],
        [
            {**_PLAIN, "tile_n": 96},
            {**_PLAIN, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 32, "tile_m": 112},
            {**OF_FOUR_BITS, "epilogue": "default", "tile_n": 40, "wave_n": 1},
        ],
        instead=True,
    ),
    "TILE003": Examples([{"scheduler": "interwave"}], [{"scheduler": "interwave", "tile_k": 32}]),
    "GEMM049": Examples(
        [_PERMUTED], [{**_PERMUTED, "warp_tile_m": 32, "warp_tile_n": 32}], instead=True
    ),
    "GEMM050": Examples(
        [_PERMUTED],
        [{**_PERMUTED, "dtype": "bf16", "warp_tile_m": 4, "warp_tile_n": 64, "warp_tile_k": 16}],
        instead=True,
    ),
    "GEMM074": Examples([_PERMUTED], [{**_PERMUTED, "transpose_c": True}], instead=True),
    "GEMM023": Examples([_WEIGHTS], [{**_WEIGHTS, "double_smem_buffer": False}], instead=True),
    "GEMM040": Examples(
        [_WEIGHTS], [{**_WEIGHTS, "warp_tile_m": 64, "warp_tile_n": 4}], instead=True
    ),
    "GEMM041": Examples([_WEIGHTS], [{**_WEIGHTS, "warp_tile_k": 32, "tile_m": 48}], instead=True),
    "GEMM042": Examples([_WEIGHTS], [{**_WEIGHTS, "tile_k": 2048}], instead=True),
    "GEMM043": Examples([_WEIGHTS], [{**_WEIGHTS, "tile_m": 16}], instead=True),
    "GEMM044": Examples([_WEIGHTS], [{**_WEIGHTS, "tile_k": 384}], instead=True),
}


def flat(c: ScaledQuantities) -> BoolExpr:
    return c.flat


def _other_loads(c: ScaledQuantities) -> BoolExpr:
    """Kernels whose weights do not go through LDS, and whose A does in a pattern of its own."""
    return c.or_block_weights(c.flat)


def _columns_truncated(c: ScaledQuantities) -> BoolExpr:
    """Columns that go from registers to memory: nothing asserts that waves cover them (SCAL024)."""
    return c.from_registers & (c.tile_n >= c.wave_n * c.warp_tile_n)


def _rows_truncated(c: ScaledQuantities) -> BoolExpr:
    """Their rows, which CShuffle asserts where a shuffle would take several warp tiles."""
    single = c.lane_elements >= c.vector_c
    return all_of(c.from_registers, single, c.tile_m >= c.wave_m * c.warp_tile_m)


def _by_experts(c: ScaledQuantities) -> BoolExpr:
    """Kernels for experts store by an epilogue of their own, whatever permute_n says (SCAL014)."""
    return c.variant == "moe_flatmm"


def _in_order(c: ScaledQuantities) -> BoolExpr:
    """Whose results CShuffle takes as they are: gate and up become one first (SCAL052 has pairs)."""
    return c.eight_waves | (c.stage == 1) | c.paired_columns


#: Where an inherited rule does not hold.
EXCEPT = {
    "TILE001": _rows_truncated, "TILE002": _columns_truncated,
    "GEMM049": _by_experts, "GEMM074": _by_experts, "EPI011": _in_order,
}  # fmt: skip


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules that hold, narrowed where they do."""
    kept = [r.inherited() for r in rules if r.code in (*SHARED, *WEIGHTS)]
    kept += [r.inherited().starting("2026.06") for r in rules if r.code in BESIDE_WEIGHTS]
    kept = [r.except_where(EXCEPT[r.code]) if r.code in EXCEPT else r for r in kept]
    shuffles = [r.inherited() for r in rules if r.code in SHUFFLES]
    shuffles = [r.except_where(EXCEPT[r.code]) if r.code in EXCEPT else r for r in shuffles]
    kept += [r.except_where(lambda c: c.from_registers) for r in shuffles]
    return kept + [r.inherited().except_where(_other_loads) for r in rules if r.code in LOADS]
