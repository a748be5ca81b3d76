"""FBWD: what the kernel of dQ, dK and dV asks of its shape and its GPU."""

from __future__ import annotations

from ckrules.constraints.fmha import shapes as forward
from ckrules.constraints.fmha_bwd import words as w
from ckrules.constraints.fmha_bwd.vocabulary import TRLOAD, BackwardQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies, minimum, rel
from ckrules.engine.rules import rule

_SHAPE = "ops/fmha/pipeline/tile_fmha_shape.hpp: TileFmhaBwdShape"
_KERNEL = "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdDQDKDVKernel"
#: Rows and columns of the products' results, with the waves and warp tiles that lie along them.
_SIDES = (
    ("tile_m0", "wave_m0", "warp_tile_m0"), ("tile_n0", "wave_n0", "warp_tile_n0"),
    ("tile_n0", "wave_m1", "warp_tile_m1"), ("tile_hdv", "wave_n1", "warp_tile_n1"),
    ("tile_hdq", "wave_n1", "warp_tile_n1"), ("tile_m0", "wave_m2", "warp_tile_m0"),
    ("tile_hdq", "wave_n2", "warp_tile_n0"),
)  # fmt: skip


@rule(
    "FBWD001", "waves-of-five-products-differ", kind="compile",
    says=["products 0 and 1 have the same waves: {waves=}, {wave_m1 * wave_n1 * wave_k1=}",
          "products 0 and 4 have the same waves: {waves=}, {wave_m2 * wave_n2 * wave_k2=}"],
    source=f"{_SHAPE} static_assert NumWarps == those of Gemm1BlockWarps and Gemm4BlockWarps",
    accepts=[{}], rejects=[{"wave_m1": 2}, {"wave_m2": 2}],
)  # fmt: skip
def waves_are_the_same(c: BackwardQuantities) -> BoolExpr:
    """All five products have the same number of waves.

    Why: asserted.

    Fix: use maps of one number of waves.
    """
    return all_of(
        c.waves == c.wave_m1 * c.wave_n1 * c.wave_k1, c.waves == c.wave_m2 * c.wave_n2 * c.wave_k2
    )


@rule(
    "FBWD002", "longest-queries-not-a-tile", kind="compile",
    says="a kernel for short Q takes one tile: max_seqlen_q = {max_seqlen_q}, tile_m0 = {tile_m0}",
    source=f"{_SHAPE} static_assert kMaxSeqLenQ == kM0 || kMaxSeqLenQ == 0",
    accepts=[{}, {**TRLOAD, "max_seqlen_q": 32}], rejects=[{"max_seqlen_q": 32}],
)  # fmt: skip
def short_queries_are_one_tile(c: BackwardQuantities) -> BoolExpr:
    """The longest sequence of Q is tile_m0, or 0 for any.

    Why: asserted.

    Fix: use 0 or tile_m0.
    """
    return (c.max_seqlen_q == 0) | (c.max_seqlen_q == c.tile_m0)


@rule(
    "FBWD003", "short-queries-by-registers", kind="compile",
    says="kernels for short Q transpose as LDS is read: max_seqlen_q = {max_seqlen_q}, trload = {trload}",
    source=[f"{_KERNEL} static_assert kUseQrQtrDorPipeline == (kMaxSeqLenQ != 0)",
            "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_selector.hpp: BlockFmhaBwdDQDKDVPipelineSelector"],
    accepts=[{}, {**TRLOAD, "max_seqlen_q": 32}], rejects=[{"max_seqlen_q": 16}],
)  # fmt: skip
def short_queries_transpose(c: BackwardQuantities) -> BoolExpr:
    """Kernels for short sequences of Q use transposing loads.

    Why: asserted; only that pipeline keeps Q and dO in registers.

    Fix: set trload, on a GPU that has it.
    """
    return implies(c.max_seqlen_q != 0, c.trload)


@rule(
    "FBWD004", "padding-of-other-width", kind="compile",
    says=["pad_d = {pad_d}, expected 0, 8 or 1", "pad_dv = {pad_dv}, expected 0, 8 or 1"],
    source="ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaBwdTraits static_assert on kPadHeadDimQ, kPadHeadDimV",
    accepts=[{}, {"pad_d": 8}], rejects=[{"pad_d": 4}],
)  # fmt: skip
def paddings_are_known(c: BackwardQuantities) -> BoolExpr:
    """Paddings are 0, 8 or 1.

    Why: asserted.

    Fix: use 8 for multiples of 8, else 1.
    """
    return all_of(c.pad_d.isin(*w.PADS), c.pad_dv.isin(*w.PADS))


@rule(
    "FBWD005", "no-transposing-loads-backward", kind="hardware",
    applies=lambda c: c.trload,
    says="{arch} does not transpose as LDS is read, so the kernel is empty",
    source=f"{_KERNEL}::kIsAvailable (true on __gfx950__, else !kUseTrLoad)",
    accepts=[TRLOAD], rejects=[{**TRLOAD, "arch": "gfx942"}],
)  # fmt: skip
def gpu_transposes(c: BackwardQuantities) -> BoolExpr:
    """Kernels that transpose as LDS is read run on gfx950.

    Why: elsewhere their body is empty: they are launched and write nothing.

    Fix: clear trload.
    """
    return c.transposes


@rule(
    "FBWD006", "no-matrix-instruction-backward", kind="hardware",
    says=["{arch} has no {dtype} warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0}",
          "{arch} has no {dtype} warp tile {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1}",
          "{arch} has no {dtype} warp tile of product 4: {warp_tile_m0}x{warp_tile_n0}x{min(warp_tile_k0, tile_k4)}"],
    source=["ops/gemm/warp/warp_gemm_attribute_{mfma_impl,wmma_impl*}.hpp; arch/data/*.toml [[warp_tile]]",
            "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py: fmha_warp_tile2 (CK 2025.11)"],
    accepts=[{}], rejects=[{"arch": "gfx1201"}, {"warp_tile_k1": 8}],
)  # fmt: skip
def gpu_has_instructions(c: BackwardQuantities) -> BoolExpr:
    """The GPU computes the warp tiles of all products.

    Why: the headers' list is not keyed by GPU. Product 4 has the warp tile of product 0, with
    tile_k4 for its K where that is less.

    Fix: take a warp tile of the GPU (`ckrules archs GPU`).
    """
    table = c.facts["hardware_warp_tiles"]
    first = (c.warp_tile_m0, c.warp_tile_n0)
    return all_of(
        rel(table, c.arch, c.dtype, *first, c.warp_tile_k0),
        rel(table, c.arch, c.dtype, c.warp_tile_m1, c.warp_tile_n1, c.warp_tile_k1),
        rel(table, c.arch, c.dtype, *first, minimum(c.warp_tile_k0, c.tile_k4)),
    )


@rule(
    "FBWD007", "backward-head-beyond-tile", kind="wrong-result",
    says="a block holds tile_hdq = {tile_hdq} of the head dimension {hdim}",
    source=f"{_KERNEL}: windows of kQKHeaddim columns",
    accepts=[{}, {"hdim": 96}], rejects=[{"hdim": 256}],
)  # fmt: skip
def head_fits_tile(c: BackwardQuantities) -> BoolExpr:
    """The head dimension is not larger than what a block holds of it.

    Why: columns of Q and K beyond are never read.

    Fix: use a larger tile_hdq.
    """
    return c.hdim <= c.tile_hdq


block_can_be_launched = forward.block_can_be_launched.under(
    "FBWD008", "backward-block-too-large", accepts=[{}],
    rejects=[{"wave_n0": 32, "wave_m1": 32, "wave_n2": 32}],
)  # fmt: skip


#: What to say of each of `sides_are_covered`.
UNCOVERED = tuple(
    f"{side} = {{{side}}} is not a multiple of {{{wave} * {tile}=}}" for side, wave, tile in _SIDES
)


def sides_are_covered(c: BackwardQuantities) -> tuple[BoolExpr, ...]:
    """Whether warp tiles cover rows and columns of all products."""
    return tuple(
        getattr(c, side) % (getattr(c, wave) * getattr(c, tile)) == 0 for side, wave, tile in _SIDES
    )


@rule(
    "FBWD009", "backward-warp-tiles-leave-rows", kind="wrong-result",
    applies=lambda c: c.trload,
    says=UNCOVERED,
    source="ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: MIterPerWarp, NIterPerWarp",
    accepts=[TRLOAD], rejects=[{**TRLOAD, "tile_m0": 24}, {**TRLOAD, "tile_n0": 96, "warp_tile_n0": 32}],
)  # fmt: skip
def warp_tiles_cover(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, warp tiles cover rows and columns of all products.

    Why: the number of warp tiles is a truncating division.

    Fix: use fewer waves, smaller warp tiles or a larger tile.
    """
    return all_of(*sides_are_covered(c))


@rule(
    "FBWD010", "steps-of-other-tiles", kind="compile",
    applies=lambda c: c.has_body,
    says=["tile_k0 = {tile_k0} is larger than the head that a block holds: tile_hdq = {tile_hdq}",
          "tile_k2 = {tile_k2} is larger than the head that a block holds: tile_hdv = {tile_hdv}",
          "product 1 takes all rows of Q at once: tile_k1 = {tile_k1}, tile_m0 = {tile_m0}",
          "product 3 takes all rows of Q at once: tile_k3 = {tile_k3}, tile_m0 = {tile_m0}"],
    source="ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_*.hpp: static_assert kQKHeaddim >= kK0, kM0 == kK1, kVHeaddim >= kK2, kM0 == kK3",
    accepts=[{}], rejects=[{"tile_k1": 32}, {"tile_k3": 32}, {"tile_k0": 256}, {"tile_k2": 256}],
)  # fmt: skip
def steps_are_tiles(c: BackwardQuantities) -> BoolExpr:
    """Products 1 and 3 take all rows of Q in a step, and 0 and 2 no more than a head.

    Why: asserted.

    Fix: use tile_m0 for tile_k1 and tile_k3.
    """
    return all_of(
        c.tile_k0 <= c.tile_hdq, c.tile_k2 <= c.tile_hdv,
        c.tile_k1 == c.tile_m0, c.tile_k3 == c.tile_m0,
    )  # fmt: skip


@rule(
    "FBWD011", "no-such-warp-gemm-backward", kind="compile",
    applies=lambda c: c.has_body,
    says=["products 0 and 2 of {dtype} have no warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0}",
          "products 1 and 3 of {dtype} have no warp tile {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1}"],
    source=["ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp: GetQKBlockGemm, GetPTOGradTBlockGemm",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp (implicit instantiation of undefined template)"],
    accepts=[{}], rejects=[{"warp_tile_m0": 64, "warp_tile_n0": 4}, {"warp_tile_k1": 64}],
)  # fmt: skip
def warp_gemms_exist(c: BackwardQuantities) -> BoolExpr:
    """The headers have the warp GEMMs of the products.

    Why: the dispatcher is a list of specializations; products 1 and 3 have C transposed, and with
    32 rows products 0 and 2 take one whose operand is changed about.

    Fix: take a warp tile that the headers list.
    """
    first = (c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0)
    second = (c.warp_tile_m1, c.warp_tile_n1, c.warp_tile_k1)
    return all_of(
        rel(c.facts["upright_warp_tiles"], c.dtype, c.wave_size, *first),
        rel(c.facts["transposed_warp_tiles"], c.dtype, c.wave_size, *second),
    )
