"""QUANT: scales and operands in the registers of lanes, since 2026.06."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.quant.kernel import SHUFFLED, B
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import FALSE, BoolExpr, all_of
from ckrules.engine.rules import rule

_DIR = "ops/gemm_quant"
_UTILS = f"{_DIR}/pipeline/gemm_group_quant_utils.hpp"
_BLOCKS = f"{_DIR}/block/block_universal_gemm_as_bs_bquant_cr.hpp"
_FOUR: Mapping[str, Any] = {
    "arch": "gfx1250", "tile_m": 64, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 128,
}  # fmt: skip
_ORDERED: Mapping[str, Any] = {**B, "preshuffle_quant": True}
_WEIGHTS: Mapping[str, Any] = {**SHUFFLED, "preshuffle_quant": True}
_TURNED: Mapping[str, Any] = {
    "arch": "gfx950", "layout": "rrr", "tile_m": 32, "warp_tile_m": 16, "warp_tile_n": 16,
}  # fmt: skip


@rule(
    "QUANT041", "one-scale-for-four-results", kind="wrong-result", since="2026.06",
    applies=lambda c: c.grouped & (c.wave_size == 32) & (c.warp_tile_m == 32),
    says=["a lane of {arch} has two rows of a warp tile of {warp_tile_m}, and {variant} looks up the scale of one",
          ("a lane of {arch} has two columns of a warp tile of {warp_tile_m}, and {variant} looks up the "
           "scale of one: group_n = {group_n} is not a multiple of warp_tile_n = {warp_tile_n}")],
    source=["ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase<gfx12_t>: kCMBlock, kCNBlock (CK 2026.09, read in ROCm/rocm-libraries @ 0149199)",
            f"{_DIR}/block/block_gemm_quant_common.hpp: AQPickerCommon (CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)",
            f"{_UTILS}: tile_distribution_encoding_pattern_aq, _aq_transposed_c and _bq (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[{**_FOUR, **B, "group_n": 32}, {**_FOUR, **B, "group_n": 64}],
    rejects=[_FOUR, {**_FOUR, "transpose_c": True}, {**_FOUR, **B}, {**_FOUR, **B, "group_n": 16}],
)  # fmt: skip
def results_have_their_scales(c: QuantQuantities) -> BoolExpr:
    """In waves of 32 lanes a 32x32 warp tile has no groups but of bquant, for all of its columns.

    Why: it is computed as four results of 16x16, so that a lane has two rows and two columns, 16
    apart. Scales are spread over lanes and looked up as if it had one of each.

    Fix: use a 16x16 warp tile.
    """
    return all_of(c.variant == "bquant", (c.variant == "aquant") | (c.group_n % c.warp_tile_n == 0))


@rule(
    "QUANT042", "shuffled-scales-of-other-columns", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "bquant") & c.preshuffle_quant & (c.group_n > c.warp_tile_n),
    says=[("{pipeline} looks for a scale in a register for each warp tile along N, and all have one: "
           "group_n = {group_n}, {warp_tile_n * wave_n=}, {repeat_n=}, expected 1"),
          ("{pipeline} takes groups along N for warp tiles: tile_n = {tile_n} is more than "
           "{group_n * wave_n=}")],
    source=[f"{_BLOCKS}: operator() (reg_offset; CK 2026.09, read in ROCm/rocm-libraries @ bf2691d and @ 01c432e)",
            f"{_UTILS}: tile_distribution_encoding_pattern_bq (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)",
            f"{_DIR}/pipeline/gemm_bquant_pipeline_ag_bg_cr_v3.hpp: bq_dram_tile_window_step (CK 2026.06, read in ROCm/rocm-libraries @ 8e83791; CK 2026.09, read @ 10fead7)",
            f"{_DIR}/pipeline/gemm_wp_bquant_pipeline_ag_bg_cr_v2.hpp: bq_dram_tile_window_step (CK 2026.06, read in ROCm/rocm-libraries @ 193f079)",
            f"{_DIR}/block/block_universal_gemm_ar_flatbr_bquant_cr.hpp: operator() (reg_offset = nIter; read in a fork, hdt98/rocm-libraries @ 33e4890)"],
    accepts=[{**_ORDERED, "group_n": 64}, {**_ORDERED, "group_n": 128},
             {**_WEIGHTS, "group_n": 64},
             {**_ORDERED, "group_n": 64, "tile_n": 256, "@ck": "2026.09"}],
    rejects=[{**_ORDERED, "group_n": 128, "tile_k": 256}, {**_ORDERED, "group_n": 128, "tile_n": 256},
             {**_WEIGHTS, "group_n": 128},
             {**_WEIGHTS, "group_n": 64, "tile_n": 256},
             {**_ORDERED, "group_n": 64, "tile_n": 256, "@ck": "2026.06"}],
)  # fmt: skip
def shuffled_scales_are_of_their_columns(c: QuantQuantities) -> BoolExpr:
    """Shuffled scales of wide groups of bquant belong to one column of waves, or to a whole tile.

    Why: a wave's warp tiles take one register of scales after the other. Where a group is wider
    than the waves along N, there is one register for all, or in compv3 one for each group of K. A
    wave of several groups has as many registers, fewer than warp tiles; pre-shuffled weights
    do not divide by that, and compv3 of June moved on by it from one tile to the next.

    Fix: turn preshuffle_quant off, or use more waves along N.
    """
    wide = c.group_n > c.warp_tile_n * c.wave_n
    whole = (c.tile_n == c.group_n) & (c.scales_k == 1) & ~c.shuffled_b
    counted = ~c.shuffled_b if c.since("2026.09") else FALSE
    return all_of(~wide | (c.repeat_n == 1) | whole, (c.tile_n <= c.group_n * c.wave_n) | counted)


@rule(
    "QUANT043", "transposing-reads-of-one-access", kind="compile", since="2026.06",
    applies=lambda c: (c.grouped & ~c.shuffled_b & (c.a_transpose_load | c.b_transpose_load)
                       & (c.wave_size == 64)),
    says=("{arch} reads transposed operands 8 bytes at a time, and warp tiles of {variant} have "
          "{lane_operand} elements of {dtype} a lane at once: layout {layout}, {lane_operand=}"),
    source=[f"{_DIR}/pipeline/gemm_aquant_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (WarpGemmDispatcher without accesses; read in a fork, hdt98/rocm-libraries @ b596569)",
            "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: is_a_load_tr, is_b_load_tr (CK 2026.09, read in ROCm/rocm-libraries @ 1ce6fcd)",
            "core/tensor/load_tile_transpose.hpp: TransposeTileDistributionTraits static_assert on the innermost lengths"],
    accepts=[{**_TURNED, "warp_tile_k": 32}, {**_TURNED, **B, "layout": "ccr", "warp_tile_k": 32}],
    rejects=[{**_TURNED, "warp_tile_k": 64}, {**_TURNED, **B, "warp_tile_k": 64}],
)  # fmt: skip
def transposing_reads_are_single(c: QuantQuantities) -> BoolExpr:
    """With groups, where LDS reads transpose an operand, a lane has 8 bytes of a warp tile.

    Why: other GEMMs ask for a warp GEMM of two or four such reads (GEMM035); policies of aquant and
    bquant ask for none, so that a longer one is a single read of more, which is asserted (headers of
    November 2025 that were made to ask for none, too, refuse 16x16x64 and compile 16x16x32).

    Fix: use warp tile 16x16x32, or keep K contiguous.
    """
    return c.lane_operand == 8 // c.element_bytes
