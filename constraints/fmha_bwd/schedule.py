"""FBWD: the instructions of products 3 and 4, and lanes of dropout, that backward asks for.

Facts: ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp, CK 2025.11. All divisions there
truncate.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha.warp_gemms import is_wmma
from ckrules.constraints.fmha_bwd.vocabulary import BackwardQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, Value, all_of, ite, maximum, minimum, rel
from ckrules.engine.rules import rule

#: A head of 96 in two waves of 32 lanes: a thread stores 8 elements, a wave has 6 instructions.
NARROW: Mapping[str, Value] = {
    "arch": "gfx1201", "hdim": 64, "tile_n0": 32, "tile_k0": 96, "tile_k4": 16, "tile_hdq": 96,
    "wave_n0": 2, "wave_m1": 2, "wave_n2": 2, "warp_tile_k0": 16, "pad_d": 8,
}  # fmt: skip


def _multiplied(c: BackwardQuantities) -> IntExpr:
    """Matrix instructions of a wave in product 3, of the depth that the schedule takes for all."""
    depth: IntExpr = ite(c.warp_tile_m0 == 16, 16, 8)
    of_one = c.waves * c.warp_tile_m0 * c.warp_tile_n0 * depth
    return c.tile_n0 * c.tile_hdq * c.tile_m0 // of_one


@rule(
    "FBWD027", "more-stores-than-matrix-instructions", kind="compile",
    applies=lambda c: ~c.trload & (c.pad_d != 1) & (c.pad_dv != 1),
    says="in product 3 stores are put between fewer matrix instructions: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, tile_hdq = {tile_hdq}, {threads} threads",
    source=["ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp: HotLoopScheduler GemmStagedScheduler<3>, static_for<0, MFMA_INST - MFMA_INST_LDS_WRITE, 1> (a negative length)",
            "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_selector.hpp: has_dpad1 (the pipeline with a schedule)"],
    accepts=[{}], rejects=[NARROW],
)  # fmt: skip
def stores_have_instructions(c: BackwardQuantities) -> BoolExpr:
    """A wave has a matrix instruction of product 3 for each group of stores of dS.

    Why: stores are told out to the instructions by a truncating division, at least one to each, and
    what is left of the instructions is the length of a loop, which may not be negative. Waves of
    32 lanes come to it sooner, since a block has fewer threads that store.

    Fix: use a larger tile_hdq, smaller tiles of Q and K, or pad heads to single elements.
    """
    instructions = _multiplied(c)
    stores = c.tile_m0 * c.tile_n0 // c.threads
    return stores // maximum(1, stores // instructions) <= instructions


@rule(
    "FBWD028", "no-such-warp-gemm-of-product-4", kind="compile",
    applies=lambda c: c.has_body & _has(c, c.warp_tile_k0),
    says="product 4 of {dtype} has no warp tile {warp_tile_m0}x{warp_tile_n0}x{min(warp_tile_k0, tile_k4)}",
    source=["ops/fmha/pipeline/block_fmha_bwd_pipeline_{default,trload_default}_policy.hpp: GetSGradKTBlockGemm",
            "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: fmha_warp_tile2 (CK 2025.11)",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp (implicit instantiation of undefined template)"],
    accepts=[{}, {"tile_k4": 16, "warp_tile_k0": 16}], rejects=[{"tile_k4": 8}],
)  # fmt: skip
def product_4_has_a_warp_gemm(c: BackwardQuantities) -> BoolExpr:
    """The headers have the warp GEMM of product 4, whose K is tile_k4 where that is less.

    Why: it has the warp tile of product 0 with a K of its own.

    Fix: use a tile_k4 of at least warp_tile_k0.
    """
    return _has(c, minimum(c.warp_tile_k0, c.tile_k4))


@rule(
    "FBWD029", "backward-dropout-of-other-waves", kind="compile",
    applies=lambda c: all_of(c.dropout != "no", c.has_body, c.wave_size == 32),
    says="a lane makes 8 random numbers of a warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0} of {dtype} and has 4 scores",
    source="ops/fmha/block/block_dropout.hpp: BlockDropoutBwd, get_warp_size() == 32, static_assert kThreadElementSpaceSize == 8 (or 16)",
    accepts=[{"arch": "gfx1201", "warp_tile_k0": 16, "dropout": "dropout_wg16"}],
    rejects=[{"arch": "gfx1201", "dropout": "dropout_wg16"}],
)  # fmt: skip
def backward_random_numbers_fill_waves(c: BackwardQuantities) -> BoolExpr:
    """Dropout on waves of 32 lanes has warp tiles of 32 rows, or those of WMMA.

    Why: a lane makes 8 random numbers for each warp tile of 16 rows, and has only 4 scores of one
    that the headers give to MFMA. Of 32 rows it makes 16, which is what MFMA leaves it.

    Fix: use 16x16x16.
    """
    tile = (c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0)
    return (c.warp_tile_m0 == 32) | is_wmma(c, c.dtype, tile)


@rule(
    "FBWD030", "rows-of-keys-that-product-4-does-not-cover", kind="compile",
    applies=lambda c: ~c.trload & (c.tile_k4 > c.tile_n0),
    says="tile_n0 = {tile_n0} is not a multiple of {min(warp_tile_k0, tile_k4)=}",
    source="ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp: MakeKTRegBlockDescriptor, static_assert container_reduce(kt_block_dstr.get_lengths(), …)",
    accepts=[{"tile_k4": 256}], rejects=[{**NARROW, "warp_tile_k0": 32, "tile_n0": 16, "tile_k4": 32}],
)  # fmt: skip
def rows_of_keys_are_warp_tiles_deep(c: BackwardQuantities) -> BoolExpr:
    """The rows of K in a block are whole warp tiles of product 4, also where it has no step.

    Why: asserted of the registers that hold all of K^T. With steps FBWD012 says more.

    Fix: use a warp_tile_k0 that divides tile_n0.
    """
    return c.tile_n0 % minimum(c.warp_tile_k0, c.tile_k4) == 0


@rule(
    "FBWD031", "scores-that-both-halves-take", kind="wrong-result", until="2026.06",
    applies=lambda c: ~c.trload & c.has_body,
    says="on {arch} products 1 and 3 take scores in both halves of a wave, and 0 and 2 leave each row to one of them",
    source=["ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp: PTFromGemm0CToGemm1A, SGradTFromGemm2CToGemm3A (run)",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase<gfx11_t> kRepeat"],
    issue="ROCm/rocm-libraries#4584",
    accepts=[{"arch": "gfx1201", "warp_tile_k0": 16}],
    rejects=[{"arch": "gfx1100", "warp_tile_k0": 16}],
)  # fmt: skip
def halves_have_all_scores(c: BackwardQuantities) -> BoolExpr:
    """Before 2026.06 backward is not for GPUs of the gfx11 family.

    Why: scores and their gradients are handed from product to product by register, as lanes of
    gfx9 and gfx12 have them. On gfx11 both halves of a wave hold all of an operand and only every
    second row of a result, so that dQ, dK and dV are wrong nearly everywhere: the four kernels that
    were drawn and run are. Since 2026.06 lanes exchange them.

    Fix: none; use another GPU.
    """
    return ~c.has("operands_in_both_halves")


def _has(c: BackwardQuantities, deep: IntExpr) -> BoolExpr:
    table = c.facts["upright_warp_tiles"]
    return rel(table, c.dtype, c.wave_size, c.warp_tile_m0, c.warp_tile_n0, deep)
