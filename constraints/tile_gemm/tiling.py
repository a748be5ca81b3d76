"""TILE: the block tile is covered by waves and warp tiles."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, implies
from ckrules.engine.rules import rule

_BLOCK = "ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: GemmTraits_"


@rule(
    "TILE001", "waves-do-not-cover-tile-m", kind="compile",
    unless=lambda c: c.truncated & (c.tile_m >= c.wave_m * c.warp_tile_m),
    says=("the waves do not cover the tile along M: tile_m = {tile_m} is not a multiple "
          "of {wave_m * warp_tile_m=}"),
    source=[f"{_BLOCK} static_assert on MIterPerWarp",
            "core/algorithm/space_filling_curve.hpp: static_assert TensorLengths % ScalarsPerAccess"],
    accepts=[{"tile_m": 192}], rejects=[{"tile_m": 96}, {"tile_m": 16}],
)  # fmt: skip
def waves_cover_m(c: TileGemm) -> BoolExpr:
    """The block tile's M is a multiple of the waves and warp tiles along M.

    Why: every wave computes the same number of warp tiles.

    Fix: use fewer waves along M, a smaller warp tile or another tile_m.
    """
    return c.tile_m % (c.wave_m * c.warp_tile_m) == 0


@rule(
    "TILE002", "waves-do-not-cover-tile-n", kind="compile",
    unless=lambda c: c.truncated_n & (c.tile_n >= c.wave_n * c.warp_tile_n),
    says=("the waves do not cover the tile along N: tile_n = {tile_n} is not a multiple "
          "of {wave_n * warp_tile_n=}"),
    source=[f"{_BLOCK} static_assert on NIterPerWarp",
            "core/algorithm/space_filling_curve.hpp: static_assert TensorLengths % ScalarsPerAccess"],
    accepts=[{"tile_n": 64}], rejects=[{"tile_n": 96}],
)  # fmt: skip
def waves_cover_n(c: TileGemm) -> BoolExpr:
    """The block tile's N is a multiple of the waves and warp tiles along N.

    Why: every wave computes the same number of warp tiles.

    Fix: use fewer waves along N, a smaller warp tile or another tile_n.
    """
    return c.tile_n % (c.wave_n * c.warp_tile_n) == 0


@rule(
    "TILE003", "tile-k-below-warp-tile", kind="compile",
    applies=lambda c: ~c.reads_interwave,
    says=("the tile's K holds no warp tile: tile_k = {tile_k} is less than warp_tile_k = "
          "{warp_tile_k}"),
    source="core/tensor/static_distributed_tensor.hpp: static_assert 0 < kThreadElementSpaceSize",
    accepts=[{"tile_k": 16}], rejects=[{"tile_k": 8}],
)  # fmt: skip
def tile_k_holds_warp_tile(c: TileGemm) -> BoolExpr:
    """The block tile's K holds at least one warp tile.

    Why: with none, the register tiles of A and B have no elements. With scheduler interwave they
    have some all the same, and it is TILE004 that rejects the kernel.

    Fix: raise tile_k or take a warp tile with a smaller K.
    """
    return c.tile_k >= c.warp_tile_k


@rule(
    "TILE004", "partial-warp-tile-in-k", kind="wrong-result",
    applies=lambda c: (c.tile_k >= c.warp_tile_k) | c.reads_interwave,
    says="tile_k = {tile_k} is not a multiple of warp_tile_k = {warp_tile_k}",
    source=[f"{_BLOCK} KIterPerWarp (truncating division, not asserted)",
            "ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: KPerInnerLoop and KRepeat of BlockGemmImpl for Interwave"],
    accepts=[{"tile_k": 32}],
    rejects=[{"tile_k": 24}, {"pipeline": "mem", "scheduler": "interwave", "tile_k": 8}],
)  # fmt: skip
def tile_k_is_whole(c: TileGemm) -> BoolExpr:
    """The block tile's K is a multiple of the warp tile's K.

    Why: the number of iterations is a truncating division, so the rest of K, or all of it, is
    silently dropped from the sum.

    Fix: make tile_k a multiple of warp_tile_k.
    """
    return c.tile_k % c.warp_tile_k == 0


@rule(
    "TILE005", "waves-do-not-cover-tile", kind="wrong-result", applies=lambda c: ~c.asserted,
    says=[("rows are left out with epilogue {epilogue}: tile_m = {tile_m} is not "
          "a multiple of {wave_m * warp_tile_m=}"),
          ("columns are left out with epilogue {epilogue}: tile_n = {tile_n} is "
          "not a multiple of {wave_n * warp_tile_n=}")],
    source=["ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: MIterPerWarp, NIterPerWarp (truncating divisions, not asserted)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_{v4,v5,v6,async}_default_policy.hpp: GetBlockGemm"],
    accepts=[{"pipeline": "compv4", "double_smem_buffer": True, "epilogue": "default"}],
    rejects=[{"pipeline": "compv4", "double_smem_buffer": True, "epilogue": "default", "tile_n": 96},
             {"pipeline": "compv4", "double_smem_buffer": True, "epilogue": "default", "tile_m": 96}],
)  # fmt: skip
def waves_cover_tile(c: TileGemm) -> BoolExpr:
    """The block tile is a multiple of waves and warp tiles with the default epilogue, too.

    Why: the block GEMM of these pipelines does not assert it, and nothing goes over the whole tile
    after it. The remaining rows and columns are neither computed nor stored.

    Fix: use fewer waves, a smaller warp tile or another tile.
    """
    m, n = c.wave_m * c.warp_tile_m, c.wave_n * c.warp_tile_n
    # tiles that are smaller still have no elements, which TILE001 and TILE002 say
    whole = implies(c.tile_m >= m, c.tile_m % m == 0)
    return whole & implies(c.tile_n >= n, c.tile_n % n == 0)
