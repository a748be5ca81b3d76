"""QUANT: the scales: how they are grouped, and how lanes come by theirs."""

from __future__ import annotations

from ckrules.constraints.quant.kernel import ROWCOL, SHUFFLED, TENSOR, B
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_DIR = "ops/gemm_quant"
_PROBLEM = f"{_DIR}/pipeline/gemm_quant_pipeline_problem.hpp: GemmQuantPipelineProblemBase"
_UTILS = f"{_DIR}/pipeline/gemm_group_quant_utils.hpp"
_PICKER = f"{_DIR}/block/block_universal_gemm_as_aquant_bs_cr.hpp: AQPicker"


def _other_rows(c: QuantQuantities) -> BoolExpr:
    """Where scales are looked up by the rows that a lane has of a result."""
    return (c.variant == "aquant") & ~c.transpose_c


def _whole(c: QuantQuantities) -> BoolExpr:
    whole: BoolExpr = c.tile_k % c.group_k == 0
    return c.grouped & whole


@rule(
    "QUANT020", "groups-across-operands", kind="compile",
    applies=lambda c: c.grouped,
    says=["a group has one row: group_m = {group_m}, expected 1",
          "groups of {variant} have one column: group_n = {group_n}, expected 1"],
    source=f"{_DIR}/pipeline/gemm_{{a,b}}quant_pipeline_ag_bg_cr_v3.hpp: static_assert on QuantGroupSize::kM, kN",
    accepts=[{}, {**B, "group_n": 32}], rejects=[{"group_m": 2}, {"group_n": 2}],
)  # fmt: skip
def groups_have_one_row(c: QuantQuantities) -> BoolExpr:
    """A group has one row, and in aquant one column as well.

    Why: asserted; only scales of B belong to blocks.

    Fix: use groups of 1x1xK.
    """
    return all_of(c.group_m == 1, (c.variant == "bquant") | (c.group_n == 1))


@rule(
    "QUANT032", "blocks-of-shuffled-weights", kind="compile", until="2026.06",
    applies=lambda c: c.shuffled_b & (c.variant == "bquant"),
    says="groups of pre-shuffled weights have one column: group_n = {group_n}, expected 1",
    source=f"{_DIR}/block/block_universal_gemm_ar_flatbr_bquant_cr.hpp: static_assert on QuantGroupSize::kN",
    accepts=[SHUFFLED], rejects=[{**SHUFFLED, "group_n": 32}],
)  # fmt: skip
def shuffled_groups_have_one_column(c: QuantQuantities) -> BoolExpr:
    """With pre-shuffled weights a group has one column.

    Why: asserted until 2026.06; since then the pipeline counts blocks along N.

    Fix: use groups of 1x1xK, or compv3.
    """
    return c.group_n == 1


@rule(
    "QUANT021", "tile-of-partial-groups", kind="compile",
    applies=lambda c: c.grouped,
    says=["tile_n = {tile_n} is not a multiple of group_n = {group_n}",
          "tile_k = {tile_k} is not a multiple of group_k = {group_k}"],
    source=[f"{_PROBLEM} static_assert BlockGemmShape::kN, kK % QuantGroupSize",
            f"{_DIR}/pipeline/gemm_{{a,b}}quant_pipeline_ag_bg_cr_base.hpp: static_assert KPerBlock % QuantGroupSize::kK"],
    accepts=[{}, {**B, "group_n": 128}, {"@ck": "2026.06", **B, "group_n": 256}],
    rejects=[{"tile_k": 64}, {"@ck": "2025.11", **B, "group_n": 256}, {**B, "group_n": 96}],
)  # fmt: skip
def tile_has_whole_groups(c: QuantQuantities) -> BoolExpr:
    """The block tile is a multiple of the groups along N and K.

    Why: asserted; a tile has scales of its own. Since 2026.06 tiles along N may share a scale
    (QUANT039).

    Fix: raise the tile, or use smaller groups.
    """
    along_n = c.tile_n % c.group_n == 0
    if c.since("2026.06"):
        along_n = along_n | (c.tile_n < c.group_n)
    return all_of(along_n, c.tile_k % c.group_k == 0)


@rule(
    "QUANT039", "group-of-partial-tiles", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "bquant") & (c.tile_n < c.group_n),
    says=["group_n = {group_n} is not a multiple of tile_n = {tile_n}",
          "shuffled scales are shared by two block tiles along N, not by {group_n // tile_n=}"],
    source=[f"{_DIR}/kernel/gemm_quant_kernel.hpp: MakeBQBlockWindow (i_n / kN; block_n_idx >> 1 of shuffled scales; read in ROCm/rocm-libraries @ ea58c2b)",
            f"{_DIR}/pipeline/gemm_bquant_pipeline_ag_bg_cr_v3.hpp: NPerBlockBQ (1 where kN is more than the tile; read in ROCm/rocm-libraries @ 10fead7)"],
    issue="ROCm/composable_kernel#3462",
    accepts=[{**B, "group_n": 256}, {**B, "group_n": 256, "preshuffle_quant": True}],
    rejects=[{**B, "group_n": 192}, {**B, "group_n": 512, "preshuffle_quant": True}],
)  # fmt: skip
def groups_have_whole_tiles(c: QuantQuantities) -> BoolExpr:
    """A group that is wider than a block tile has whole ones, and two where scales are shuffled.

    Why: a block finds its scale by its first column, and among shuffled ones by half of its number.

    Fix: use another tile_n or group_n.
    """
    return all_of(c.group_n % c.tile_n == 0, ~c.preshuffle_quant | (c.group_n // c.tile_n == 2))


@rule(
    "QUANT022", "group-of-partial-warp-tiles", kind="compile",
    applies=lambda c: c.grouped & ~c.shuffled_b,
    says="group_k = {group_k} is not a multiple of warp_tile_k = {warp_tile_k}",
    source=f"{_DIR}/pipeline/gemm_{{a,b}}quant_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm static_assert QuantGroupSize::kK % WarpTile::at(I2)",
    accepts=[{}, {"group_k": 32}], rejects=[{"group_k": 8}, {**B, "group_k": 8}],
)  # fmt: skip
def group_has_whole_warp_tiles(c: QuantQuantities) -> BoolExpr:
    """A group's K is a multiple of the warp tile's K.

    Why: asserted; a scale is applied to the sums of whole matrix instructions.

    Fix: use larger groups, or a warp tile with a smaller K.
    """
    return c.group_k % c.warp_tile_k == 0


@rule(
    "QUANT023", "weights-in-partial-groups", kind="wrong-result",
    applies=lambda c: c.shuffled_b & c.grouped,
    says="group_k = {group_k} is not a multiple of warp_tile_k = {warp_tile_k}",
    source=f"{_DIR}/block/block_universal_gemm_ar_flatbr_bquant_cr.hpp: KIterPerQScale (truncating division, not asserted; run)",
    accepts=[SHUFFLED], rejects=[{**SHUFFLED, "group_k": 8}],
)  # fmt: skip
def shuffled_groups_have_whole_warp_tiles(c: QuantQuantities) -> BoolExpr:
    """With pre-shuffled weights, too, a group's K is a multiple of the warp tile's K.

    Why: the number of warp tiles of a group is a truncating division here; what is left over is
    not summed.

    Fix: use larger groups, or a warp tile with a smaller K.
    """
    return c.group_k % c.warp_tile_k == 0


@rule(
    "QUANT024", "scales-for-one-wave-along-k", kind="compile",
    applies=lambda c: c.grouped,
    says="groups of scales want one wave along K: wave_k = {wave_k}",
    source=f"{_UTILS}: static_assert KWarps == 1",
    accepts=[{}, B], rejects=[{"wave_k": 2}],
)  # fmt: skip
def scales_have_one_wave(c: QuantQuantities) -> BoolExpr:
    """With groups of scales one wave spans K.

    Why: asserted; scales are spread over the waves along M and N.

    Fix: set wave_k to 1.
    """
    return c.wave_k == 1


@rule(
    "QUANT025", "columns-of-partial-groups", kind="compile",
    applies=lambda c: (c.variant == "bquant") & (c.group_n < c.warp_tile_n),
    says="warp_tile_n = {warp_tile_n} is not a multiple of group_n = {group_n}",
    source=f"{_UTILS}: tile_distribution_encoding_pattern_bq static_assert X0 * X1 * X2 == XPerTile",
    accepts=[B, {**B, "group_n": 8}], rejects=[{**B, "group_n": 6, "tile_n": 192}],
)  # fmt: skip
def warp_tile_has_whole_groups(c: QuantQuantities) -> BoolExpr:
    """Groups that are narrower than a warp tile divide it.

    Why: asserted; each lane gets the scale of its column.

    Fix: use a power of two.
    """
    return c.warp_tile_n % c.group_n == 0


@rule(
    "QUANT026", "group-across-waves", kind="wrong-result",
    applies=lambda c: (c.variant == "bquant") & (c.group_n >= c.warp_tile_n),
    says=("groups of group_n = {group_n} columns fit neither the warp tiles nor the waves along N: "
          "{warp_tile_n * wave_n=}, warp_tile_n = {warp_tile_n}"),
    source=[f"{_UTILS}: tile_distribution_encoding_pattern_bq (XR, X1, X0: truncating divisions)",
            f"{_DIR}/block/block_universal_gemm_as_bs_bquant_cr.hpp: reg_offset (run)"],
    accepts=[{**B, "group_n": 32}, {**B, "group_n": 128}],
    rejects=[{**B, "group_n": 96, "tile_n": 192}],
)  # fmt: skip
def group_fits_waves(c: QuantQuantities) -> BoolExpr:
    """Wider groups are whole warp tiles that divide the waves along N, or a multiple of them.

    Why: a wave takes one scale for each of its warp tiles, so no warp tile may lie in two groups,
    and the waves of a group take the same number.

    Fix: use a power of two.
    """
    across = c.warp_tile_n * c.wave_n
    return all_of(
        c.group_n % c.warp_tile_n == 0,
        (across % c.group_n == 0) | (c.group_n % across == 0),
    )


@rule(
    "QUANT027", "scales-that-nobody-reads", kind="wrong-result",
    applies=lambda c: ~c.grouped,
    says=["scales of {variant} are of fp32, not {dtype_scale}",
          "{variant} has no groups: group_m = {group_m}, expected 1",
          "{variant} has no groups: group_n = {group_n}, expected 1",
          "{variant} has no groups: group_k = {group_k}, expected 1"],
    source=["ops/gemm_quant/kernel/gemm_quant_kernel.hpp: get_aq_data_type_or (AccDataType), PreshuffleQuant",
            f"{_DIR}/pipeline/gemm_quant_pipeline_problem.hpp: GemmRowColTensorQuantPipelineProblem (run)"],
    accepts=[ROWCOL, TENSOR], rejects=[{**ROWCOL, "dtype_scale": "fp8"}, {**TENSOR, "group_k": 128}],
)  # fmt: skip
def scales_are_read(c: QuantQuantities) -> BoolExpr:
    """Scales of rows and columns, and of whole tensors, are of fp32 and have no groups.

    Why: these kernels have no parameter for it, and read a scale of fp32 for each row and column.

    Fix: use group_k = 1 and scales of fp32.
    """
    return all_of(c.dtype_scale == "fp32", c.group_m == 1, c.group_n == 1, c.group_k == 1)


@rule(
    "QUANT033", "shuffled-scales-elsewhere", kind="wrong-result", until="2026.06",
    says="{variant} reads its scales in order: preshuffle_quant = {preshuffle_quant}",
    source="ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeGemmTensorViews (PreshuffleQuant with AQuantGrouped only; run)",
    accepts=[{}, B, {"preshuffle_quant": True}, {**ROWCOL, "preshuffle_quant": True}],
    rejects=[{**B, "preshuffle_quant": True}],
)  # fmt: skip
def shuffled_scales_are_of_a(c: QuantQuantities) -> BoolExpr:
    """Of groups only the scales of aquant may be shuffled.

    Why: bquant does not look at the trait and reads its scales in order. Nor do rowcol_quant and
    tensor_quant, but a single scale for a row, a column or a tensor has no other order.

    Fix: turn preshuffle_quant off.
    """
    return ~c.preshuffle_quant | (c.variant != "bquant")


@rule(
    "QUANT028", "shuffled-scales-in-mem", kind="compile",
    applies=lambda c: (c.pipeline == "mem") & c.grouped,
    says="{pipeline} reads scales in order: preshuffle_quant = {preshuffle_quant}",
    source=f"{_DIR}/pipeline/gemm_aquant_pipeline_ag_bg_cr_mem.hpp: static_assert on the lengths of AQ's window",
    accepts=[{"pipeline": "mem"}], rejects=[{"pipeline": "mem", "preshuffle_quant": True}],
)  # fmt: skip
def mem_reads_scales_in_order(c: QuantQuantities) -> BoolExpr:
    """mem takes scales of A as they are.

    Why: it asserts that the window of scales is as high as the block tile, and shuffled scales
    have a row for each warp tile. Since 2026.06 it asserts that they are not shuffled.

    Fix: use compv3.
    """
    return ~c.preshuffle_quant


@rule(
    "QUANT029", "more-shuffled-scales-than-lanes", kind="wrong-result",
    applies=lambda c: _whole(c) & c.preshuffle_quant,
    says=("a wave holds one scale a lane of a warp tile's shuffled scales: {warp_tile_m * scales_k=}, "
          "more than {wave_size} lanes"),
    source=f"{_PICKER}: thread buffer at mIter, lane row * QScalesPerBlockRow + kQScale (run)",
    accepts=[{"preshuffle_quant": True}],
    rejects=[{"preshuffle_quant": True, "tile_k": 512, "group_k": 128}],
)  # fmt: skip
def shuffled_scales_fit_lanes(c: QuantQuantities) -> BoolExpr:
    """The shuffled scales of a warp tile's rows are no more than a wave has lanes.

    Why: a lane asks another for its scale by the number of the scale; beyond the wave the number
    wraps around, and scales in further registers are never looked at.

    Fix: use larger groups, a smaller tile_k or a 16x16 warp tile.
    """
    return c.warp_tile_m * c.scales_k <= c.wave_size


@rule(
    "QUANT030", "scales-of-first-warp-tile-only", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "aquant") & ~c.preshuffle_quant & ~c.transpose_c,
    says=("lanes look for the scales of {repeat_m} warp tiles along M in each other, and have those "
          "of one: {repeat_m=}, expected 1"),
    source=[f"{_PICKER}: mIters_per_warp, lane_base_offset",
            f"{_UTILS}: tile_distribution_encoding_pattern_aq (Y0 = 1, Y1 = MIterPerWarp; run)"],
    accepts=[{}], rejects=[{"tile_m": 128}],
)  # fmt: skip
def one_warp_tile_along_m(c: QuantQuantities) -> BoolExpr:
    """aquant without transposed C and shuffled scales has one warp tile along M for each wave.

    Why: scales of further warp tiles lie in further registers of the same lanes; the block GEMM
    asks the lanes behind them instead. Since 2026.06 it takes the registers.

    Fix: turn transpose_c on, use more waves along M or a smaller tile_m.
    """
    return c.repeat_m == 1


@rule(
    "QUANT031", "scales-on-waves-of-32", kind="wrong-result", until="2026.06",
    applies=lambda c: _other_rows(c) & c.preshuffle_quant,
    says="lanes of {arch} hold other rows of results than aquant takes them to",
    source=f"{_PICKER}: kTileRowsOfCPerThread = 4 (run)",
    accepts=[{"preshuffle_quant": True}],
    rejects=[{"preshuffle_quant": True, "arch": "gfx1201"}],
)  # fmt: skip
def rows_are_those_of_mfma(c: QuantQuantities) -> BoolExpr:
    """aquant with shuffled scales and without transposed C runs on GPUs with waves of 64 lanes.

    Why: the block GEMM finds a row's scale by the rows that a lane has of an MFMA's result, four
    side by side; WMMA has another order. Since 2026.06 it goes by the instruction's.

    Fix: turn transpose_c on.
    """
    return c.wave_size == 64


@rule(
    "QUANT036", "rows-of-lanes-unsaid", kind="compile", until="2026.06",
    applies=lambda c: _other_rows(c) & ~c.preshuffle_quant,
    says="the warp GEMMs of {arch} do not say which rows of results a lane holds, as aquant asks",
    source=[f"{_PICKER}: kCMLane",
            "ops/gemm/warp/warp_gemm_impl.hpp: kCMLane",
            "ops/gemm/warp/warp_gemm_attribute_wmma.hpp: WarpGemmAttributeWmma"],
    accepts=[{}], rejects=[{"arch": "gfx1201"}],
)  # fmt: skip
def warp_gemm_says_rows(c: QuantQuantities) -> BoolExpr:
    """aquant without shuffled scales and transposed C runs on GPUs with waves of 64 lanes.

    Why: the block GEMM finds a row's scale by a member of the warp GEMM, which that of WMMA has
    not. Since 2026.06 it asks for another.

    Fix: turn transpose_c on.
    """
    return c.wave_size == 64


@rule(
    "QUANT044", "rows-of-wmma-unsaid", kind="compile", until="2026.06",
    applies=lambda c: (_other_rows(c) & ~c.preshuffle_quant & (c.wave_size == 64)
                       & (c.element_bytes == 1) & c.known_warp_tile),
    says="the warp GEMM of {warp_tile} of {dtype} does not say which rows of results a lane holds, as aquant asks",
    source=[f"{_PICKER}: kCMLane (no such member, seen with clang 19)",
            "ops/gemm/warp/warp_gemm_attribute_wmma.hpp: WarpGemmAttributeWmma"],
    accepts=[{}], rejects=[{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16}],
)  # fmt: skip
def warp_tile_says_rows(c: QuantQuantities) -> BoolExpr:
    """aquant without shuffled scales and transposed C has no 8-bit warp tile 16x16x16.

    Why: this warp tile has a warp GEMM of WMMA alone, on every GPU (QUANT036).

    Fix: take another warp tile.
    """
    return c.bytes_of_mfma


@rule(
    "QUANT035", "eight-bit-scales-without-conversion", kind="hardware", until="2026.06",
    applies=lambda c: c.grouped & (c.dtype_scale != "fp32"),
    says="{arch} has no instruction that widens a byte of a register (v_cvt_f32_fp8 with SDWA): scales of {dtype_scale}",
    source=["ops/elementwise/unary_element_wise_operation.hpp: amd_assembly_fp8_to_fp32, amd_assembly_bf8_to_fp32 (v_cvt_f32_fp8, v_cvt_f32_bf8, src0_sel:BYTE_0)",
            "LLVM 19, AMDGPU/VOP1Instructions.td: V_CVT_F32_FP8_sdwa, V_CVT_F32_BF8_sdwa (HasFP8ConversionInsts, SDWA9)"],
    accepts=[{"dtype_scale": "fp8"}],
    rejects=[{"dtype_scale": "fp8", "arch": "gfx1201"},
             {"dtype_scale": "bf8", "arch": "gfx90a", "warp_tile_k": 16}],
)  # fmt: skip
def eight_bit_scales_are_widened(c: QuantQuantities) -> BoolExpr:
    """Groups have scales of fp8 and bf8 on GPUs with waves of 64 lanes that convert fp8.

    Why: the function that widens a scale is written in the assembly of gfx940 and its successors.
    Other assemblers refuse it: gfx90a has no such instruction, RDNA none that picks a byte.

    Fix: use scales of fp32.
    """
    return (c.wave_size == 64) & c.has("packed_fp8_convert")
