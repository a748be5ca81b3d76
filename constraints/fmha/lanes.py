"""FMHA: how waves and lanes hold P between the two products."""

from __future__ import annotations

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.examples import LOW, NARROW
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies, ite
from ckrules.engine.rules import rule

_BLOCK = "ops/gemm/block/block_gemm_areg_bsmem_creg_v2.hpp: BlockGemmARegBSmemCRegV2"


@rule(
    "FMHA009", "waves-beside-each-other", kind="wrong-result",
    applies=lambda c: c.staged & ~c.shuffles,
    says=["{pipeline} takes the maximum of a row within one wave: wave_n0 = {wave_n0}",
          "product 1 reads P as the waves of product 0 left it: wave_n1 = {wave_n1}",
          "product 1 reads P as lanes of product 0 left it: warp_tile_m0 = {warp_tile_m0}, warp_tile_m1 = {warp_tile_m1}",
          "product 1 reads rows of P that other waves of product 0 have: wave_m0 = {wave_m0}, wave_m1 = {wave_m1}"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs*.hpp: block_tile_reduce_sync over the lanes of a wave",
            f"{_BLOCK}: a_block_tensor.get_thread_buffer() = a_block_tensor_tmp.get_thread_buffer()"],
    accepts=[{}],
    rejects=[{"wave_m0": 2, "wave_n0": 2}, {"wave_n1": 2}, {"warp_tile_m1": 16, "warp_tile_n1": 16},
             {"arch": "gfx1100", **LOW, "wave_m0": 2, "@ck": "2025.11"}],
)  # fmt: skip
def waves_lie_along_queries(c: AttentionQuantities) -> BoolExpr:
    """Where P stays in registers, the waves of both products lie along Q, with the same rows.

    Why: each wave takes maximum and sum of whole rows, and product 1 takes the registers of
    product 0 as they are.

    Fix: use the same waves, all along M, and warp tiles of the same rows.
    """
    return all_of(
        c.wave_n0 == 1, c.wave_n1 == 1, c.warp_tile_m0 == c.warp_tile_m1,
        implies(c.lanes_differ, c.wave_m0 == c.wave_m1),  # FMHA039 sees to the others
    )  # fmt: skip


@rule(
    "FMHA039", "lanes-have-other-shares-of-p", kind="compile",
    applies=lambda c: all_of(c.has_body, c.keeps_p, ~c.lanes_differ),
    says="a lane has other parts of P in product 1 than in product 0: wave_m1 = {wave_m1}, {wave_m0 * wave_n0=}",
    source=f"{_BLOCK}: a_block_tensor.get_thread_buffer() = a_block_tensor_tmp.get_thread_buffer() (no viable assignment)",
    accepts=[{}, {"wave_m0": 2, "wave_n0": 2}], rejects=[{"wave_m0": 2}, {"wave_m1": 8}],
)  # fmt: skip
def lanes_keep_their_shares(c: AttentionQuantities) -> BoolExpr:
    """Where P stays in registers, product 1 has as many waves along M as product 0 has in all.

    Why: the registers of product 0 are assigned to those of product 1, which have to be as many.
    With waves along N qr_async_trload hands P over in LDS.

    Fix: use the same waves for both, all along M.
    """
    return c.wave_m1 == c.wave_m0 * c.wave_n0


@rule(
    "FMHA059", "lanes-hold-other-keys-of-p", kind="wrong-result",
    applies=lambda c: all_of(c.staged, ~c.shuffles, c.has_body, c.wave_size == 64, c.dtype != "fp32"),
    says="a lane holds other columns of P than product 1 multiplies: warp_tile_k1 = {warp_tile_k1}",
    source=[f"{_BLOCK}: a_block_tensor.get_thread_buffer() = a_block_tensor_tmp.get_thread_buffer()",
            "ops/gemm/warp/warp_gemm_attribute_mfma.hpp: kCM1PerLane, kABKPerLane * kKIter, WarpGemmAttributeMfmaTransposedCDistribution_SwizzleB (SFactor)"],
    accepts=[{}, {**LOW, "warp_tile_k0": 32}, NARROW],
    rejects=[{"warp_tile_k1": 8}, {**LOW, "warp_tile_k1": 32},
             {**NARROW, **LOW, "@ck": "2026.06"}],
    issue="https://github.com/ROCm/rocm-libraries/pull/12011",
)  # fmt: skip
def lanes_hold_what_they_multiply(c: AttentionQuantities) -> BoolExpr:
    """Where P stays in registers, a lane has the columns in a row that product 1 multiplies.

    Why: the registers of product 0 are assigned to those of product 1, whatever columns they are
    of. Waves of 64 lanes leave 4 columns in a row in a lane where they have 16 rows, 8 where they
    have 32, and 16 of 8-bit types; product 1 multiplies by as many only with 16 columns a warp
    tile, or 32 of 8-bit types. Nearly every element is wrong, at any size. Of 8-bit types nothing
    else compiles in CK 2025.11.

    Fix: use warp_tile_k1 = 16, and 32x32x32 of 8-bit types.
    """
    halves = c.warp_tile_k1 == 16
    if not c.since("2026.06"):
        return ~c.dtype.isin(*w.HALVES) | halves
    narrow = (c.warp_tile_m1 == 32) & (c.warp_tile_k1 == 32)
    return ite(c.dtype.isin(*w.HALVES), halves, narrow)


@rule(
    "FMHA063", "products-for-other-waves", kind="compile",
    applies=lambda c: all_of(c.has_body, c.keeps_p, c.lanes_differ),
    says=("product 0 leaves a warp tile of P ({dtype}) in {scores_lanes} lanes and product 1 takes one from {values_lanes}: "
          "warp_tile_k0 = {warp_tile_k0}, warp_tile_k1 = {warp_tile_k1}, {wave_m0 * wave_n0=}, wave_m1 = {wave_m1}"),
    source=[f"{_BLOCK}: a_block_tensor.get_thread_buffer() = a_block_tensor_tmp.get_thread_buffer() (no viable assignment)",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmWmma_f32_16x16x16_f16_f16, WarpGemmMfmaF16F16F32M16N16K32TransposedCDistribution",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase<gfx11_t> kRepeat",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: PermuteWarpGemmCToA (CK 2026.06, read)"],
    accepts=[{"arch": "gfx1201", **LOW, "warp_tile_k0": 32, "wave_m0": 2},
             {"arch": "gfx1100", **LOW, "@ck": "2026.06"}],
    rejects=[{"arch": "gfx1201", **LOW, "warp_tile_k0": 32},
             {"arch": "gfx1201", **LOW, "warp_tile_k1": 32},
             {"arch": "gfx1100", **LOW, "@ck": "2025.11"},
             {"arch": "gfx1100", **LOW, "dtype": "fp8", "@ck": "2026.06"}],
)  # fmt: skip
def products_share_lanes(c: AttentionQuantities) -> BoolExpr:
    """Where P stays in registers, as many lanes hold it behind product 0 as before product 1.

    Why: the registers of product 0 are assigned to those of product 1, which have to be as many. On
    waves of 32 lanes the headers give 16x16x16 of 16-bit and 8-bit types to WMMA, whose 32 lanes
    hold 8 elements each, and every other warp tile to MFMA, whose 64 lanes hold 4. GPUs of the
    gfx11 family want 16-bit operands in both halves of a wave, so that nothing fits there, until
    2026.06 moves P (read).

    Fix: use 16x16x16 for both products.
    """
    left, taken = c.wave_m0 * c.wave_n0 * c.scores_lanes, c.wave_m1 * c.values_lanes
    if not c.since("2026.06"):
        return left == taken
    moved = all_of(c.dtype.isin(*w.HALVES), left == 2 * taken)
    return ite(c.has("operands_in_both_halves"), moved, left == taken)


@rule(
    "FMHA065", "dropout-of-other-waves", kind="compile",
    applies=lambda c: all_of(c.dropout, c.has_body, c.wave_size == 32),
    says="random numbers of a warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0} ({dtype}) are made for waves of {wave_size} lanes, and it is spread over {scores_lanes}",
    source="ops/fmha/block/block_dropout.hpp: BlockDropout, get_warp_size() == 32, static_assert kThreadElementSpaceSize == 8 (or 16)",
    accepts=[{"arch": "gfx1201", **LOW, "dropout": True}, {"arch": "gfx1201", "dropout": True}],
    rejects=[{"arch": "gfx1201", **LOW, "warp_tile_k0": 32, "dropout": True}],
)  # fmt: skip
def random_numbers_fill_waves(c: AttentionQuantities) -> BoolExpr:
    """Dropout on waves of 32 lanes has warp tiles of 32 rows, or those of WMMA.

    Why: a lane makes 8 random numbers for each warp tile of 16 rows, and has only 4 scores of one
    that the headers give to MFMA (FMHA063). Of 32 rows it makes 16, which is what MFMA leaves it.

    Fix: use 16x16x16.
    """
    return (c.warp_tile_m0 == 32) | (c.scores_lanes == c.wave_size)
