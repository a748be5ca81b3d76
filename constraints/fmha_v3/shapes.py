"""FTG: how block tile, waves and warp tiles of two groups of waves go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha import shapes as forward
from ckrules.constraints.fmha_v3.vocabulary import DEPTH, SIDE, TwoGroupQuantities
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

PIPELINE = "ops/fmha/pipeline/block_fmha_fwd_v3_pipeline.hpp"
POLICY = "ops/fmha/pipeline/block_fmha_fwd_v3_pipeline_default_policy.hpp"
KERNEL = "ops/fmha/kernel/fmha_fwd_v3_kernel.hpp"
_GEMM = "ops/gemm/block/block_gemm_areg_breg_creg_v2.hpp: BlockGemmARegBRegCRegV2"
LONG: Mapping[str, Any] = {"tile_n0": 64, "tile_k1": 64}
_SMALL: Mapping[str, Any] = {
    "hdim": 64, "tile_k0": 64, "tile_k0max": 64, "tile_n1": 64, **LONG,
}  # fmt: skip


waves_fit_together = forward.waves_fit_together.under(
    "FTG001", "waves-of-two-products-differ", accepts=[{}], rejects=[{"wave_m1": 4}]
)


@rule(
    "FTG002", "head-in-several-steps", kind="compile",
    says="the head dimension is one step: tile_k0 = {tile_k0}, tile_k0max = {tile_k0max}",
    source=f"{PIPELINE}: static_assert 1 == k0_loops",
    accepts=[{}, _SMALL], rejects=[{"tile_k0": 64}],
)  # fmt: skip
def head_is_one_step(c: TwoGroupQuantities) -> BoolExpr:
    """The step along the head dimension is all that a block holds of it.

    Why: asserted; Q stays in registers, and a tile of K is multiplied by all of it at once.

    Fix: use tile_k0max for tile_k0.
    """
    return c.tile_k0 == c.tile_k0max


@rule(
    "FTG003", "head-beyond-two-groups", kind="compile",
    says="a block holds at most 256 of the head dimension, and since CK 2026.06 128: tile_k0max = {tile_k0max}",
    source=[f"{PIPELINE}: static_assert kSubQKHeaddim <= 256",
            f"{PIPELINE}: static_assert kQKHeaddim == 128 (CK 2026.06, read)"],
    accepts=[{}, {**_SMALL, "@ck": "2025.11"}],
    rejects=[{"tile_k0": 512, "tile_k0max": 512}, {**_SMALL, "@ck": "2026.06"}],
)  # fmt: skip
def head_fits_registers(c: TwoGroupQuantities) -> BoolExpr:
    """A block holds 256 of the head dimension at most; since CK 2026.06 it holds 128.

    Why: asserted.

    Fix: use another pipeline for other heads.
    """
    return c.tile_k0max == 128 if c.since("2026.06") else c.tile_k0max <= 256


@rule(
    "FTG004", "keys-and-values-of-other-steps", kind="compile",
    says="a tile of K has as many rows as one of V: tile_n0 = {tile_n0}, tile_k1 = {tile_k1}",
    source=f"{PIPELINE}: static_assert kN0 == kK1",
    accepts=[{}, LONG], rejects=[{"tile_n0": 64}],
)  # fmt: skip
def keys_and_values_have_one_step(c: TwoGroupQuantities) -> BoolExpr:
    """The steps along K's sequence are the same for both products.

    Why: asserted; scores of a tile of K are multiplied by one tile of V.

    Fix: use the same for tile_n0 and tile_k1.
    """
    return c.tile_n0 == c.tile_k1


@rule(
    "FTG005", "not-two-groups-of-waves", kind="compile",
    says="there are two groups of four waves: {waves=}",
    source=f"{PIPELINE}: static_assert NumWarpGroups == 2 (of kBlockSize / NumThreadPerWarpGroup)",
    accepts=[{}],
    rejects=[{"tile_m0": 128, "wave_m0": 4, "wave_m1": 4}, {"tile_m0": 512, "wave_m0": 16, "wave_m1": 16}],
)  # fmt: skip
def waves_are_two_groups(c: TwoGroupQuantities) -> BoolExpr:
    """A block has two groups of four waves.

    Why: asserted; one group multiplies while the other computes exponentials.

    Fix: use 8 waves along M.
    """
    return c.waves // 4 == 2


@rule(
    "FTG006", "rows-of-a-lane", kind="compile",
    says="a wave has 32 rows of Q: tile_m0 = {tile_m0}, wave_m0 = {wave_m0}",
    source=[f"{PIPELINE}: static_assert m.thread_buf_.size() == 1, \"assuming that each thread holds 1 rowmax value\"",
            "core/tensor/tile_distribution.hpp: slice_distribution_from_x, static_assert len_ % p_len_over_h[i] == 0"],
    accepts=[{}], rejects=[{"tile_m0": 512}, {"tile_m0": 128}, {"tile_m0": 288}],
)  # fmt: skip
def lanes_have_one_row(c: TwoGroupQuantities) -> BoolExpr:
    """Each wave of product 0 has 32 rows of Q, so that a lane has one row of scores.

    Why: asserted; maxima and sums of a row are joined across the halves of a wave by one
    instruction. Rows beyond are refused where Q and P are taken as a whole.

    Fix: use 32 rows of Q for each wave.
    """
    return c.tile_m0 == SIDE * c.wave_m0


@rule(
    "FTG007", "no-warp-gemm-for-values", kind="compile",
    says="product 1 has warp tiles 32x32x16 and 16x16x32, not {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1}",
    source=[f"{POLICY}: GetPVBlockGemm, WGAttrNumAccessEnum::Double",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp (implicit instantiation of undefined template)"],
    accepts=[{}], rejects=[{"warp_tile_k1": 8}, {"warp_tile_k1": 32}],
)  # fmt: skip
def values_have_a_warp_gemm(c: TwoGroupQuantities) -> BoolExpr:
    """The headers have the warp GEMM of product 1 with two accesses to each operand.

    Why: V is transposed as LDS is read, which wants operands in two halves; the dispatcher lists
    them for two warp tiles with C transposed.

    Fix: use 32x32x16.
    """
    large = all_of(c.warp_tile_m1 == 32, c.warp_tile_n1 == 32, c.warp_tile_k1 == 16)
    small = all_of(c.warp_tile_m1 == 16, c.warp_tile_n1 == 16, c.warp_tile_k1 == 32)
    return large | small


@rule(
    "FTG008", "warp-tile-that-changes-nothing", kind="no-effect",
    says="product 0 has warp tiles of 32x32x16, whatever is said: {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0}",
    source=f"{POLICY}: GetQKBlockGemm, warp_gemm",
    accepts=[{}], rejects=[{"warp_tile_m0": 16, "warp_tile_n0": 16, "warp_tile_k0": 32}],
)  # fmt: skip
def scores_have_one_warp_tile(c: TwoGroupQuantities) -> BoolExpr:
    """The warp tile of product 0 is 32x32x16.

    Why: the policy names the warp GEMM and does not ask the shape.

    Fix: say 32x32x16.
    """
    return all_of(c.warp_tile_m0 == SIDE, c.warp_tile_n0 == SIDE, c.warp_tile_k0 == DEPTH)


@rule(
    "FTG009", "waves-that-share-rows", kind="wrong-result",
    says=["a wave takes the maximum of whole rows: wave_n0 = {wave_n0}",
          "product 1 reads P as the waves of product 0 left it: wave_n1 = {wave_n1}",
          "product 1 reads P as the waves of product 0 left it: wave_m0 = {wave_m0}, wave_m1 = {wave_m1}",
          "product 1 reads P as lanes of product 0 left it: warp_tile_m1 = {warp_tile_m1}"],
    source=[f"{PIPELINE}: fmha_alu0 and fmha_alu1, __builtin_amdgcn_permlane32_swap of a wave's maxima and sums",
            f"{PIPELINE}: union sp_compute_type, and p filled by the order of sp_compute's registers"],
    accepts=[{}],
    rejects=[{"wave_m0": 4, "wave_n0": 2}, {"wave_m1": 4, "wave_n1": 2},
             {"warp_tile_m1": 16, "warp_tile_n1": 16, "warp_tile_k1": 32}],
)  # fmt: skip
def waves_keep_their_rows(c: TwoGroupQuantities) -> BoolExpr:
    """The waves of both products lie along Q, each with the same 32 rows.

    Why: each wave takes maximum and sum of whole rows, and product 1 takes the registers of
    product 0 as they are.

    Fix: use 8 waves along M and warp tiles of 32 rows for both.
    """
    return all_of(c.wave_n0 == 1, c.wave_n1 == 1, c.wave_m0 == c.wave_m1, c.warp_tile_m1 == SIDE)


head_fits_tile = forward.head_fits_tile.under(
    "FTG010", "head-beyond-what-is-held",
    source=f"{KERNEL}: the window of Q has kSubQKHeaddim columns",
    accepts=[{}, {"hdim": 64}], rejects=[{"hdim": 256}],
)  # fmt: skip


block_can_be_launched = forward.block_can_be_launched.under(
    "FTG011", "two-groups-too-large", accepts=[{}],
    rejects=[{"wave_m0": 32, "wave_m1": 32, "tile_m0": 1024}], fix="use 8 waves.",
)  # fmt: skip


launch_bound_is_positive = forward.launch_bound_is_positive.under(
    "FTG012", "no-blocks-of-two-groups", source=f"{KERNEL}: static_assert kBlockPerCu > 0",
    accepts=[{}, {"block_per_cu": 1}], rejects=[{"block_per_cu": 0}],
    fix="use -1, with which there are 2.",
)  # fmt: skip


@rule(
    "FTG013", "tiles-below-one-warp-tile", kind="compile",
    applies=lambda c: all_of(c.wave_m1 >= 1, c.wave_n0 >= 1, c.wave_n1 >= 1),
    says=["a turn of warp tiles has more columns than the scores: tile_n0 = {tile_n0}, wave_n0 = {wave_n0}",
          "a turn of warp tiles has more columns than the results: tile_n1 = {tile_n1}, {wave_n1 * warp_tile_n1=}",
          "a turn of warp tiles has more rows than Q: tile_m0 = {tile_m0}, {wave_m1 * warp_tile_m1=}",
          "a warp tile is deeper than a tile: tile_k0 = {tile_k0}",
          "a warp tile is deeper than a tile: tile_k1 = {tile_k1}, warp_tile_k1 = {warp_tile_k1}"],
    source=[f"{_GEMM}: MIterPerWarp, NIterPerWarp, KIterPerWarp",
            "core/tensor/static_distributed_tensor.hpp: static_assert 0 < kThreadElementSpaceSize"],
    accepts=[{}, LONG], rejects=[{"tile_n0": 16, "tile_k1": 16}, {"wave_n0": 2}],
)  # fmt: skip
def tiles_have_a_warp_tile(c: TwoGroupQuantities) -> BoolExpr:
    """Scores, results and P have a warp tile of each wave at least.

    Why: asserted; a lane would hold no element of them.

    Fix: use waves along M alone, and larger tiles.
    """
    return all_of(
        c.tile_n0 >= c.wave_n0 * SIDE, c.tile_n1 >= c.wave_n1 * c.warp_tile_n1,
        c.tile_m0 >= c.wave_m1 * c.warp_tile_m1, c.tile_k0 >= DEPTH,
        c.tile_k1 >= c.warp_tile_k1,
    )  # fmt: skip
