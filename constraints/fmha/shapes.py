"""FMHA: how block tile, waves and warp tiles of an attention kernel go together."""

from __future__ import annotations

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.examples import LOW, NARROW, SPLITS
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, any_of, is_pow2, rel
from ckrules.engine.rules import rule

_SHAPE = "ops/fmha/pipeline/tile_fmha_shape.hpp: TileFmhaShape"
_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp"
_BLOCK = "ops/gemm/block/block_gemm_areg_bsmem_creg_v2.hpp: BlockGemmARegBSmemCRegV2"


@rule(
    "FMHA001", "waves-of-products-differ", kind="compile",
    applies=lambda c: c.waves0 >= 1,
    says="the waves of product 1 are not a multiple of those of product 0: {waves1=}, {waves0=}",
    source=f"{_SHAPE} static_assert NumGemm1Warps % NumGemm0Warps == 0",
    accepts=[{}, {"wave_m0": 2}], rejects=[{"wave_m1": 2}],
)  # fmt: skip
def waves_fit_together(c: AttentionQuantities) -> BoolExpr:
    """The waves of product 1 are a multiple of those of product 0.

    Why: asserted.

    Fix: use the same waves for both.
    """
    return c.waves1 % c.waves0 == 0


@rule(
    "FMHA002", "partial-head-steps", kind="compile",
    says="tile_k0max = {tile_k0max} is not a multiple of tile_k0 = {tile_k0}",
    source=f"{_SHAPE} static_assert kQKHeaddim % kK0 == 0",
    accepts=[{}, {"tile_k0": 64}], rejects=[{"tile_k0": 48}],
)  # fmt: skip
def head_has_whole_steps(c: AttentionQuantities) -> BoolExpr:
    """The head dimension that a block holds is a multiple of the step along it.

    Why: asserted.

    Fix: use a divisor of tile_k0max.
    """
    return c.tile_k0max % c.tile_k0 == 0


@rule(
    "FMHA003", "head-dimension-unknown", kind="compile",
    applies=lambda c: c.pipeline != "qs",
    says=["a block holds 48, 96, 160, 192 or a power of two of the head dimension (80 since 2026.09): tile_k0max = {tile_k0max}",
          "a block holds at most 256 of the head dimension: tile_k0max = {tile_k0max}"],
    source=[f"{_SHAPE}, ceil_to_qualified_tile_length",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs*.hpp: static_assert kSubQKHeaddim <= 256"],
    accepts=[{}, {"hdim": 160, "tile_k0max": 160},
             {"tile_k0max": 80, "tile_k0": 16, "@ck": "2026.09"}],
    rejects=[{"tile_k0max": 512}, {"tile_k0max": 80, "tile_k0": 16, "@ck": "2025.11"},
             {"tile_k0max": 112, "tile_k0": 16, "@ck": "2026.09"}],
)  # fmt: skip
def head_dimension_is_known(c: AttentionQuantities) -> BoolExpr:
    """A block holds a head dimension of 48, 96, 160, 192 or a power of two, at most 256.

    Why: asserted; larger ones do not fit the registers. CK 2026.09 knows 80, too (read), which
    lies in registers for 96. qs holds no head in registers: a kernel of 176 compiled.

    Fix: use the next larger one, with padding.
    """
    known = (48, 80, 96, 160, 192) if c.since("2026.09") else (48, 96, 160, 192)
    return all_of(is_pow2(c.tile_k0max) | c.tile_k0max.isin(*known), c.tile_k0max <= 256)


@rule(
    "FMHA004", "head-dimension-beyond-tile", kind="wrong-result",
    says="a block holds tile_k0max = {tile_k0max} of the head dimension {hdim}",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: the window of Q has kSubQKHeaddim columns",
    accepts=[{}, {"hdim": 64}], rejects=[{"hdim": 256}],
)  # fmt: skip
def head_fits_tile(c: AttentionQuantities) -> BoolExpr:
    """The head dimension is not larger than what a block holds of it.

    Why: columns of Q and K beyond are never read.

    Fix: use a larger tile_k0max.
    """
    return c.hdim <= c.tile_k0max


@rule(
    "FMHA005", "few-head-steps", kind="compile",
    applies=lambda c: c.pipeline.isin("qr", "qs", "qr_pagedkv", w.SHUFFLED, *c.hpad),
    says="{pipeline} takes two steps along the head dimension at least: {tile_k0max // tile_k0=}",
    source=["ops/fmha/pipeline/block_fmha_pipeline_{qr,qs}_ks_vs.hpp: static_assert 2 <= k0_loops",
            "ops/fmha/pipeline/block_fmha_fwd_{splitkv,pagedkv}_pipeline_*.hpp: the same"],
    accepts=[{}], rejects=[{"tile_k0": 128}],
)  # fmt: skip
def head_has_two_steps(c: AttentionQuantities) -> BoolExpr:
    """Pipelines that load K by registers take at least two steps along the head dimension.

    Why: asserted; the first and the last step are outside the loop.

    Fix: halve tile_k0, or use qr_async.
    """
    return c.tile_k0max // c.tile_k0 >= 2


@rule(
    "FMHA006", "partial-value-steps", kind="compile",
    applies=lambda c: c.has_body,
    says="tile_n0 = {tile_n0} is not a multiple of tile_k1 = {tile_k1}",
    source=[f"{_BLOCK} static_assert KPerBlock == BlockGemmShape::kK (the last slice of P is longer)",
            "ops/fmha/pipeline/block_fmha_pipeline_*.hpp: static_assert 1 <= k1_loops"],
    accepts=[{}, {"tile_k1": 16}], rejects=[{"tile_n0": 96, "tile_k1": 64}],
)  # fmt: skip
def values_have_whole_steps(c: AttentionQuantities) -> BoolExpr:
    """The rows of K in a step are a multiple of the step of product 1.

    Why: product 1 takes slices of P; the last one would be longer than its operand.

    Fix: use a divisor of tile_n0.
    """
    return c.tile_n0 % c.tile_k1 == 0


@rule(
    "FMHA007", "waves-do-not-cover-queries", kind="compile",
    applies=lambda c: c.has_body,
    says=["tile_m0 = {tile_m0} is not a multiple of {wave_m0 * warp_tile_m0=}",
          "tile_m0 = {tile_m0} is not a multiple of {wave_m1 * warp_tile_m1=}",
          "tile_k0 = {tile_k0} is not a multiple of warp_tile_k0 = {warp_tile_k0}",
          "tile_k1 = {tile_k1} is not a multiple of warp_tile_k1 = {warp_tile_k1}"],
    source=f"{_BLOCK} static_assert MPerBlock == BlockGemmShape::kM && KPerBlock == BlockGemmShape::kK",
    accepts=[{}, {"tile_m0": 256}],
    rejects=[{"tile_m0": 64}, {"tile_k0": 8}, {"tile_k1": 8}],
)  # fmt: skip
def operands_are_covered(c: AttentionQuantities) -> BoolExpr:
    """Warp tiles cover the rows of Q, and the steps of both products.

    Why: asserted of the operand in registers, whose lengths come from truncating divisions.

    Fix: use fewer waves, smaller warp tiles or larger steps.
    """
    return all_of(
        c.tile_m0 % (c.wave_m0 * c.warp_tile_m0) == 0,
        c.tile_m0 % (c.wave_m1 * c.warp_tile_m1) == 0,
        c.tile_k0 % c.warp_tile_k0 == 0, c.tile_k1 % c.warp_tile_k1 == 0,
    )  # fmt: skip


@rule(
    "FMHA008", "warp-tiles-leave-columns", kind="wrong-result",
    says=["tile_n0 = {tile_n0} is not a multiple of {wave_n0 * warp_tile_n0=}",
          "tile_n1 = {tile_n1} is not a multiple of {wave_n1 * warp_tile_n1=}"],
    source=f"{_BLOCK}: NIterPerWarp",
    accepts=[{}], rejects=[{"tile_n0": 96, "warp_tile_n0": 64}, {"tile_n1": 48}],
)  # fmt: skip
def columns_are_covered(c: AttentionQuantities) -> BoolExpr:
    """Warp tiles cover the columns of scores and results.

    Why: the number of warp tiles is a truncating division.

    Fix: use smaller warp tiles or another tile.
    """
    return all_of(
        c.tile_n0 % (c.wave_n0 * c.warp_tile_n0) == 0,
        c.tile_n1 % (c.wave_n1 * c.warp_tile_n1) == 0,
    )


@rule(
    "FMHA040", "no-warp-gemm-of-dropout", kind="compile",
    applies=lambda c: c.dropout & c.staged & rel(c.facts["scores_warp_tiles"], c.dtype, c.wave_size, c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0),
    says="dropout of {dtype} has no warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0} with waves of {wave_size} lanes",
    source=["ops/fmha/block/block_dropout.hpp: MakeRandValTileDistribution, static_assert kThreadElementSpaceSize",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp (implicit instantiation of undefined template)"],
    accepts=[{"dropout": True}, {"dropout": True, **LOW}], rejects=[{"dropout": True, **NARROW}],
)  # fmt: skip
def dropout_has_warp_gemm(c: AttentionQuantities) -> BoolExpr:
    """The headers have the warp GEMM of product 0 with C upright, too, where values are dropped.

    Why: random numbers are made in the order of backward's product. 8-bit types of waves of 64
    lanes have no such warp GEMM of 32 rows.

    Fix: leave dropout out, or take fp16 or bf16.
    """
    tile = (c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0)
    return rel(c.facts["dropout_warp_tiles"], c.dtype, c.wave_size, *tile)


@rule(
    "FMHA010", "no-such-warp-gemm-of-attention", kind="compile",
    applies=lambda c: c.has_body,
    says=["product 0 of {dtype} has no warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0} with waves of {wave_size} lanes",
          "product 1 of {dtype} has no warp tile {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1} with waves of {wave_size} lanes"],
    source=[f"{_POLICY}: GetQKBlockGemm, GetKVBlockGemm",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp (implicit instantiation of undefined template)"],
    accepts=[{}, LOW, NARROW],
    rejects=[{"warp_tile_k0": 32}, {**NARROW, "warp_tile_k1": 16, "@ck": "2025.11"},
             {**NARROW, "warp_tile_k0": 16, "@ck": "2026.06"}, {"dtype": "fp32"}],
)  # fmt: skip
def warp_gemms_exist(c: AttentionQuantities) -> BoolExpr:
    """The headers have the warp GEMMs of both products, with C transposed.

    Why: the dispatcher is a list of specializations; with 32 rows product 0 takes one whose
    operand is changed about. 8-bit types on waves of 64 lanes have 32x32x32 alone; since CK 2026.06
    that is not asserted (read), and others compile and compute wrong (FMHA059).

    Fix: take a warp tile that the headers list.
    """
    tiles = (
        (c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0),
        (c.warp_tile_m1, c.warp_tile_n1, c.warp_tile_k1),
    )
    names = ("scores_warp_tiles", "values_warp_tiles")
    return all_of(
        *(rel(c.facts[n], c.dtype, c.wave_size, *t) for n, t in zip(names, tiles, strict=True))
    )


@rule(
    "FMHA011", "no-matrix-instruction-for-attention", kind="hardware",
    says=["{arch} has no {dtype} warp tile {warp_tile_m0}x{warp_tile_n0}x{warp_tile_k0}",
          "{arch} has no {dtype} warp tile {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1}"],
    source="ops/gemm/warp/warp_gemm_attribute_{mfma_impl,wmma_impl*}.hpp; arch/data/*.toml [[warp_tile]]",
    accepts=[{}], rejects=[{"arch": "gfx1201"}],
)  # fmt: skip
def gpu_has_instructions(c: AttentionQuantities) -> BoolExpr:
    """The GPU computes the warp tiles of both products.

    Why: the headers' list is not keyed by GPU; where the instruction is missing the body is
    empty.

    Fix: take a warp tile of the GPU (`ckrules archs GPU`).
    """
    table = c.facts["hardware_warp_tiles"]
    return all_of(
        rel(table, c.arch, c.dtype, c.warp_tile_m0, c.warp_tile_n0, c.warp_tile_k0),
        rel(table, c.arch, c.dtype, c.warp_tile_m1, c.warp_tile_n1, c.warp_tile_k1),
    )


@rule(
    "FMHA012", "attention-block-too-large", kind="launch",
    says="{threads} threads in a block, more than the {table max_threads} that {arch} launches: {waves} waves",
    source="arch/data/*.toml max_threads",
    accepts=[{}], rejects=[{"wave_m0": 32, "wave_m1": 32, "tile_m0": 1024}],
)  # fmt: skip
def block_can_be_launched(c: AttentionQuantities) -> BoolExpr:
    """A block has no more threads than the GPU launches.

    Why: the limit of the hardware.

    Fix: use fewer waves.
    """
    return c.threads <= c.fact("max_threads")


@rule(
    "FMHA041", "no-blocks-on-a-unit", kind="compile",
    says="the launch bound is {launch_blocks} blocks on a compute unit: block_per_cu = {block_per_cu}, expected -1 or more than 0",
    source="ops/fmha/kernel/fmha_{fwd,fwd_splitkv,fwd_pagedkv,batch_prefill}_kernel.hpp: static_assert kBlockPerCu > 0",
    accepts=[{}, {"block_per_cu": 3}], rejects=[{"block_per_cu": 0}],
)  # fmt: skip
def launch_bound_is_positive(c: AttentionQuantities) -> BoolExpr:
    """The launch bound names one block at least.

    Why: asserted.

    Fix: use -1, with which the pipeline decides.
    """
    return c.launch_blocks > 0


@rule(
    "FMHA042", "odd-slices-of-registers", kind="compile",
    applies=lambda c: c.staged,
    says=["the registers hold {q_columns} columns of Q, not a multiple of tile_k0 = {tile_k0}",
          "a slice of P is neither a multiple nor a divisor of a warp tile: tile_k1 = {tile_k1}, {wave_n0 * warp_tile_n0=}",
          "the registers hold {p_columns} columns of P, not a multiple of tile_k1 = {tile_k1}"],
    source=["core/container/sequence.hpp: reverse_slice_sequence, static_assert on the slice size",
            "core/tensor/slice_tile.hpp: get_slice_tile; ops/fmha/pipeline/tile_fmha_shape.hpp: kSubQKHeaddim"],
    accepts=[{}, {"tile_k1": 16}, {"hdim": 96, "tile_k0max": 96}],
    rejects=[{"hdim": 96, "tile_k0max": 96, "tile_k0": 48}, {"tile_n0": 96, "tile_k1": 48},
             {"tile_n0": 48, "tile_k1": 48}],
)  # fmt: skip
def slices_are_even(c: AttentionQuantities) -> BoolExpr:
    """Steps cut what a lane holds of Q and P into equal slices.

    Why: asserted; a head of 96 lies in registers for 128, one of 160 in those for 256. qs takes Q
    from LDS.

    Fix: use a power of two for tile_k0 and tile_k1.
    """
    row = c.wave_n0 * c.warp_tile_n0
    return all_of(
        (c.pipeline == "qs") | (c.q_columns % c.tile_k0 == 0),
        any_of(c.shuffles, c.tile_k1 % row == 0, row % c.tile_k1 == 0),
        any_of(c.shuffles, c.tile_n0 % c.tile_k1 != 0, c.p_columns % c.tile_k1 == 0),
    )


@rule(
    "FMHA043", "columns-below-one-warp-tile", kind="compile",
    applies=lambda c: c.staged,
    says=["a turn of warp tiles has more columns than the scores: tile_n0 = {tile_n0}, {wave_n0 * warp_tile_n0=}",
          "a turn of warp tiles has more columns than the results: tile_n1 = {tile_n1}, {wave_n1 * warp_tile_n1=}"],
    source=["core/tensor/static_distributed_tensor.hpp: static_assert 0 < kThreadElementSpaceSize",
            f"{_BLOCK}: NIterPerWarp"],
    accepts=[{}, {"tile_n1": 32}], rejects=[{"tile_n0": 16, "tile_k1": 16}, {"tile_n1": 32, "wave_n1": 2}],
)  # fmt: skip
def columns_have_a_warp_tile(c: AttentionQuantities) -> BoolExpr:
    """Scores and results have a warp tile of each wave at least.

    Why: asserted; a lane would hold no element of them.

    Fix: use fewer waves along N, or smaller warp tiles.
    """
    return all_of(c.tile_n0 >= c.wave_n0 * c.warp_tile_n0, c.tile_n1 >= c.wave_n1 * c.warp_tile_n1)


@rule(
    "FMHA013", "feature-of-other-kernel", kind="compile",
    says=["{variant} kernels have other pipelines than {pipeline}", "{variant} kernels have no dropout: dropout = {dropout}",
          "{variant} kernels skip no sequences: skip = {skip}", "{variant} kernels do not transpose V as LDS is read: trload = {trload}",
          "without trload qr_async_trload has a body, which transposes as LDS is read and {arch} does not: trload = {trload}",
          "splits have no mask of class GenericAttentionMask: mask = {mask}",
          "{variant} kernels read no pages: paged_kv = {paged_kv}", "batch prefill reads pages: paged_kv = {paged_kv}"],
    source=["ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaTraits, TileFmhaFwdPagedKVTraits, TileFmhaFwdSplitKVTraits",
            "ops/fmha/kernel/fmha_{fwd,fwd_splitkv,fwd_pagedkv,batch_prefill}_kernel.hpp",
            "ops/fmha/block/block_masking.hpp: GetTileRangeAlongX with splits, of SimplifiedGenericAttentionMask alone"],
    accepts=[{}],
    rejects=[{"variant": "fmha_fwd_splitkv", "mask": "causal"}, {"pipeline": "qr_pagedkv"}, {"paged_kv": True},
                           {"variant": "fmha_fwd_splitkv", "trload": True}, {"pipeline": "qr_async_trload"},
                           {**SPLITS, "pipeline": "qr_hpad"}],
)  # fmt: skip
def features_are_the_kernels(c: AttentionQuantities) -> BoolExpr:
    """Pipelines and traits are those that the kernel has.

    Why: the kernels have different template parameters.

    Fix: take another kernel or leave the trait out.
    """
    fwd, split, paged, prefill = (c.variant == v for v in w.VARIANTS)
    pipelines = {**w.OF_VARIANT, "fmha_fwd": (*w.OF_VARIANT["fmha_fwd"], *c.hpad)}
    return all_of(
        any_of(*((c.variant == v) & c.pipeline.isin(*p) for v, p in pipelines.items())),
        ~c.dropout | fwd | prefill, ~c.skip | fwd | paged,
        ~c.trload | fwd | prefill, c.trload | c.transposes | c.staged,
        ~split | c.mask.isin("no", "mask"),
        ~c.paged_kv | split | paged | prefill, c.paged_kv | ~prefill,
    )  # fmt: skip
