"""GEMM: kernels whose weights B are shuffled beforehand (pipeline preshufflev2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BOTH
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, ite, maximum
from ckrules.engine.rules import rule

_PIPELINE = "ops/gemm/pipeline/wp_pipeline_agmem_bgmem_creg_v2.hpp"
_POLICY = "ops/gemm/pipeline/wp_pipeline_agmem_bgmem_creg_base_policy.hpp"
_CSHUFFLE = "ops/epilogue/cshuffle_epilogue.hpp: operator() for TiledMMAPermuteN"
_OWN: Mapping[str, Any] = {
    "variant": "preshuffle",
    "pipeline": "preshufflev2",
    "double_smem_buffer": True,
}
_SQUARE: Mapping[str, Any] = {"layout": "ccr", "tile_m": 128, "tile_k": 128}
_SMALL: Mapping[str, Any] = {**_OWN, "warp_tile_m": 16, "warp_tile_n": 16}
_WMMA: Mapping[str, Any] = {**_SMALL, "arch": "gfx1201", "warp_tile_k": 16}
_GFX11: Mapping[str, Any] = {**_SMALL, "permute_n": True, "arch": "gfx1100", "warp_tile_k": 16}
#: One warp tile of each wave along M and N.
_SINGLE: Mapping[str, Any] = {
    **_SMALL, "arch": "gfx950", "dtype": "fp8", "warp_tile_k": 128, "tile_k": 128, "tile_m": 16,
    "wave_m": 1,
}  # fmt: skip


def _rows(c: GemmQuantities) -> BoolExpr:
    """A is loaded in the pattern of its rows, and the pattern has lanes."""
    return c.shuffled_b & ~c.a_transposed


#: What is said where `loop_fits_order` is not so.
BEYOND_ORDER = (
    "a hot loop orders more accesses of {wave_m}x{wave_n} waves and warp tiles {warp_tile_m}x"
    "{warp_tile_n}x{warp_tile_k} than it has places: 10 for each of {repeat_n} warp tiles along N"
)


def loop_fits_order(c: TileGemm, repeat_n: IntExpr) -> BoolExpr:
    """Whether the scheduler of pre-shuffled weights' hot loops has a place for each access.

    It writes down in which order a wave with one warp tile along M reads A from LDS, stores and
    loads the next one's part and loads B, in 10 places for each warp tile along N.
    """
    lanes, vector = c.wave_size, 16
    reads = c.warp_tile_m * c.warp_tile_k * c.element_bytes // (lanes * vector)
    stored = reads // (c.wave_m * c.wave_n)
    weights = c.tile_n * c.warp_tile_k * c.element_bytes // (c.wave_n * lanes * vector)
    # HotLoopScheduler: mIter = 0, of which MIterPerWarp - DsWritePreIssue = 1 - 3 are stored before
    return maximum(reads, 1) + 3 * stored + stored + weights <= 10 * repeat_n


@rule(
    "GEMM040", "weights-of-other-width", kind="compile", applies=lambda c: c.shuffled_b,
    says="pre-shuffled weights have warp tiles of 16 or 32 columns, not warp_tile_n = {warp_tile_n}",
    source=f"{_POLICY}: GetKBPerLoad static_assert WarpTile::at(I1) == 16",
    accepts=[_OWN], rejects=[{**_OWN, "warp_tile_m": 64, "warp_tile_n": 4}],
)  # fmt: skip
def weights_have_16_or_32_columns(c: GemmQuantities) -> BoolExpr:
    """Pre-shuffled weights are read in warp tiles of 16 or 32 columns.

    Why: the order of the shuffled elements is written for these two.

    Fix: use a 16x16 or 32x32 warp tile.
    """
    return c.warp_tile_n.isin(16, 32)


@rule(
    "GEMM081", "weights-without-wmma", kind="compile", until="2026.06",
    applies=lambda c: c.shuffled_b & (c.wave_size == 32) & c.known_warp_tile,
    says="pre-shuffled weights on {arch} have warp tiles of its WMMA, not {warp_tile} of {dtype}",
    source=[f"{_POLICY}: MakeADramTileDistribution, MakeBFlatDramTileDistribution",
            "ops/gemm/warp/warp_gemm_impl.hpp: WarpGemmImpl::operator() static_assert is_similiar_distributed_tensor_v"],
    accepts=[_WMMA, {**_WMMA, "arch": "gfx1100"}, {**_WMMA, "dtype": "fp8", "tile_m": 512}],
    rejects=[{**_WMMA, "dtype": "fp32"}, {**_WMMA, "warp_tile_k": 32},
             {**_WMMA, "arch": "gfx1100", "dtype": "fp8"}],
)  # fmt: skip
def weights_have_wmma(c: GemmQuantities) -> BoolExpr:
    """On waves of 32 lanes pre-shuffled weights have a warp tile that the GPU's WMMA computes.

    Why: the pipeline hands lanes of the GPU's wave their parts of A and B. Other warp tiles have
    warp GEMMs for the 64 lanes of an MFMA, and fp8 on gfx11 that of gfx12, which want other parts;
    asserted.

    Fix: take a warp tile and a dtype of the GPU (`ckrules archs GPU`).
    """
    return c.own_warp_tile


@rule(
    "GEMM087", "weights-of-wmma", kind="compile", until="2026.06",
    applies=lambda c: c.shuffled_b & (c.wave_size == 64) & (c.element_bytes == 1) & c.known_warp_tile,
    says="pre-shuffled weights on {arch} have warp tiles of MFMA, and {warp_tile} of {dtype} is one of WMMA",
    source=[f"{_POLICY}: MakeADramTileDistribution, MakeBFlatDramTileDistribution",
            "ops/gemm/warp/warp_gemm_impl.hpp: WarpGemmImpl::operator() static_assert is_similiar_distributed_tensor_v"],
    accepts=[{**_SMALL, "dtype": "fp8", "warp_tile_k": 32}],
    rejects=[{**_SMALL, "dtype": "fp8", "warp_tile_k": 16}],
)  # fmt: skip
def weights_have_mfma(c: GemmQuantities) -> BoolExpr:
    """On waves of 64 lanes pre-shuffled weights of 8 bits have another warp tile than 16x16x16.

    Why: the pipeline hands 64 lanes their parts of A and B, and this warp tile has a warp GEMM for
    the 32 of a WMMA alone, which wants other parts; asserted. Other pipelines take the parts that
    the warp GEMM wants, and compute zeros (WARP002).

    Fix: take 16x16x32 or 32x32x16.
    """
    return c.bytes_of_mfma


@rule(
    "GEMM085", "weights-in-two-accesses", kind="compile", since="2026.06",
    applies=lambda c: c.shuffled_b & (c.wave_size == 64) & (c.element_bytes == 2) & c.known_warp_tile,
    says=("a lane takes {warp_tile_m * warp_tile_k // wave_size=} elements of {dtype} of a warp tile "
          "{warp_tile} in two accesses, for which no warp GEMM is written: expected 8 or fewer"),
    source=[f"{_POLICY}: GetBlockWeightPreshuffle (NumAccess; CK 2026.09, read in ROCm/rocm-libraries @ 24a479b)",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp: Dispatcher of 16x16x64 (EQuad and ESingle alone; CK 2026.09, read in ROCm/rocm-libraries @ 0149199)"],
    accepts=[{**_SMALL, "dtype": "bf16", "dtype_c": "bf16", "warp_tile_k": 32}],
    rejects=[{**_SMALL, "dtype": "bf16", "dtype_c": "bf16", "warp_tile_k": 64}],
)  # fmt: skip
def weights_are_read_at_once(c: GemmQuantities) -> BoolExpr:
    """Of 16-bit types a lane takes at most 16 bytes of a warp tile of pre-shuffled weights.

    Why: since 2026.06 the pipeline asks for a warp GEMM with an access for every 16 bytes of a
    lane. bf16 16x16x64, which others take in one access, has none with two; 8-bit types have.

    Fix: take a warp tile with a K of 32.
    """
    return c.warp_tile_m * c.warp_tile_k // c.wave_size <= 8


@rule(
    "GEMM041", "partial-reads-of-a", kind="compile", applies=lambda c: c.shuffled_b,
    says="a lane reads A from LDS 16 bytes at a time, and {preshuffle_reads=} bytes of a step along K are not a multiple of 16",
    source=f"{_PIPELINE}: static_assert on WG::kM * WG::kK * sizeof(ADataType) * MIterPerWarp",
    accepts=[_OWN], rejects=[{**_OWN, "tile_m": 64, "warp_tile_k": 8}],
)  # fmt: skip
def a_is_read_whole(c: GemmQuantities) -> BoolExpr:
    """The bytes of A that a lane reads for one step along K are a multiple of 16.

    Why: the schedule counts the reads; asserted on the device.

    Fix: take a warp tile with a larger K, or more warp tiles along M for a wave.
    """
    return c.preshuffle_reads % 16 == 0


@rule(
    "GEMM042", "rows-of-a-beyond-wave", kind="compile", applies=_rows,
    says=["a row of A has fewer than 16 bytes: tile_k = {tile_k} of {element_bytes} bytes",
          ("a row of A takes {preshuffle_lanes_k} lanes, more than the wave has: "
          "{preshuffle_lanes_k=}")],
    source=f"{_POLICY}: MakeADramTileDistribution (K0 and M2; division by zero)",
    accepts=[_OWN],
    rejects=[{**_SMALL, "tile_m": 16, "tile_n": 16, "wave_m": 1, "wave_n": 1, "tile_k": 1024}],
)  # fmt: skip
def row_fits_wave(c: GemmQuantities) -> BoolExpr:
    """A row of A's tile is loaded by at least one lane and at most one wave.

    Why: lanes lie along K first, 16 bytes each; the number of rows that a wave then loads is a
    division whose result must not be zero.

    Fix: lower tile_k.
    """
    return (c.preshuffle_lanes_k >= 1) & (c.preshuffle_rows >= 1)


@rule(
    "GEMM043", "rows-of-a-not-covered", kind="compile",
    applies=lambda c: _rows(c) & (c.preshuffle_lanes_k >= 1) & (c.preshuffle_rows >= 1),
    says=("{waves} waves load {preshuffle_rows} rows of A each, and tile_m = {tile_m} is not a "
          "multiple of {preshuffle_rows * waves=}"),
    source=f"{_POLICY}: MakeADramTileDistribution static_assert M0 * M1 * M2 == MPerBlock",
    accepts=[_OWN], rejects=[{**_SMALL, "tile_m": 16, "wave_m": 1, "tile_k": 32}],
)  # fmt: skip
def rows_of_a_are_covered(c: GemmQuantities) -> BoolExpr:
    """The waves cover the rows of A's tile in whole passes.

    Why: the number of passes is a truncating division whose result is asserted.

    Fix: use fewer waves, a larger tile_k or another tile_m.
    """
    return c.tile_m % (c.preshuffle_rows * c.waves) == 0


@rule(
    "GEMM044", "idle-lanes-of-a", kind="wrong-result",
    applies=lambda c: _rows(c) & (c.preshuffle_lanes_k >= 1) & (c.preshuffle_rows >= 1),
    says=("rows of A leave lanes idle: {preshuffle_lanes_k} lanes along K times "
          "{preshuffle_rows} rows are fewer than {wave_size} lanes"),
    source=[f"{_POLICY}: MakeADramTileDistribution (get_warp_size() % (M2 * K0) is a branch, not an assertion; run)",
            "tile_engine/ops/gemm_preshuffle/commons/validation_utils.py: the check on M2 * K0"],
    accepts=[_OWN], rejects=[{**_SMALL, "tile_m": 64, "tile_n": 64, "tile_k": 192}],
)  # fmt: skip
def lanes_of_a_fill_wave(c: GemmQuantities) -> BoolExpr:
    """The lanes along a row of A divide the wave.

    Why: otherwise the distribution describes fewer lanes than a wave has, and the others load
    and store rows that are not theirs. Nothing asserts it; upstream's own lists leave such
    tiles out.

    Fix: use a power of two for tile_k.
    """
    return c.preshuffle_lanes_k * c.preshuffle_rows == c.wave_size


@rule(
    "GEMM045", "columns-of-a-with-weights", kind="compile",
    applies=lambda c: c.shuffled_b & (c.tile_m != c.tile_k),
    says="pre-shuffled weights want K contiguous in A: layout {layout}",
    source=f"{_PIPELINE}: static_assert on the lengths of A's window",
    accepts=[_OWN], rejects=[{**_OWN, "layout": "ccr"}],
)  # fmt: skip
def a_has_rows(c: GemmQuantities) -> BoolExpr:
    """A has K contiguous where weights are shuffled and the tile is not square.

    Why: the pipeline asserts that A's window is tile_m by tile_k; a transposed A has it the other
    way round.

    Fix: use a layout that begins with r.
    """
    return ~c.a_transposed


@rule(
    "GEMM053", "columns-of-a-not-shared", kind="compile",
    applies=lambda c: c.shuffled_b & c.a_transposed & (c.tile_m == c.tile_k),
    says="{waves} waves do not share out the columns of A: tile_m = tile_k = {tile_k}",
    source=f"{_POLICY}: MakeADramTileDistribution (ColumnMajor), static_assert on total_pixels, KPack and KPerBlock {BOTH}",
    accepts=[{**_OWN, **_SQUARE}],
    rejects=[{**_OWN, **_SQUARE, "tile_m": 32, "tile_k": 32, "wave_k": 8, "warp_tile_m": 16}],
)  # fmt: skip
def columns_of_a_are_shared(c: GemmQuantities) -> BoolExpr:
    """A whose columns are contiguous is shared out evenly over the lanes of the block.

    Why: the distribution of such an A asserts it. A tile that is not square has gone wrong
    before (GEMM045).

    Fix: use a layout that begins with r.
    """
    read = 16 // c.element_bytes
    share = c.tile_m * c.tile_k // (c.waves * c.wave_size)
    steps = maximum(share // read, 1)
    lanes = maximum(read // steps * (c.tile_m // read), 1)
    few = c.waves * (c.wave_size // lanes) * read
    several = maximum(lanes // c.wave_size, 1)
    many = c.waves // several * several * (read // steps // several) * steps
    return all_of(
        share >= read,
        share % read == 0,
        read % steps == 0,
        c.tile_k == ite(lanes <= c.wave_size, few, many),
    )


@rule(
    "GEMM046", "transposed-operand-with-weights", kind="wrong-result",
    applies=lambda c: c.shuffled_b & (~c.a_transposed | (c.tile_m == c.tile_k)),
    says=["pre-shuffled weights want K contiguous in A: layout {layout}",
          "weights are shuffled from a B with K contiguous: layout {layout}"],
    source=[f"{_PIPELINE}: the assertion on A's window holds for a square tile (run)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTensorViews (a row-major B is viewed as it is)"],
    accepts=[_OWN],
    rejects=[{**_OWN, "layout": "ccr", "tile_k": 128}, {**_OWN, "layout": "rrr"}],
)  # fmt: skip
def operands_keep_k_contiguous(c: GemmQuantities) -> BoolExpr:
    """Kernels with pre-shuffled weights have K contiguous in A and B.

    Why: a transposed A of a square tile passes the assertions and is read with its axes swapped;
    a row-major B is viewed as plain rows, not in the shuffled order.

    Fix: use layout rcr.
    """
    return all_of(~c.a_transposed, ~c.b_transposed)


@rule(
    "GEMM047", "partial-warp-tiles-of-weights", kind="wrong-result",
    applies=lambda c: c.unchecked(c.from_registers),
    says=["tile_m = {tile_m} is not a multiple of {wave_m * warp_tile_m=}",
          "tile_n = {tile_n} is not a multiple of {wave_n * warp_tile_n=}"],
    source=[f"{_PIPELINE}: MIterPerWarp, NIterPerWarp (truncating divisions; run)",
            f"{_CSHUFFLE}: MRepeat, NRepeat (run)"],
    accepts=[{**_OWN, "epilogue": "default"}],
    rejects=[{**_OWN, "epilogue": "default", "tile_n": 96}],
)  # fmt: skip
def weights_cover_tile(c: GemmQuantities) -> BoolExpr:
    """The block tile is a multiple of waves and warp tiles with the default epilogue, too.

    Why: the pipeline truncates, and only the CShuffle epilogue goes over the whole tile after it,
    which in 2025.11 takes permuted columns from registers, and truncates as well.

    Fix: use another tile or fewer waves.
    """
    return all_of(
        c.tile_m % (c.wave_m * c.warp_tile_m) == 0, c.tile_n % (c.wave_n * c.warp_tile_n) == 0
    )


@rule(
    "GEMM048", "permuted-columns-elsewhere", kind="wrong-result",
    applies=lambda c: c.permute_n,
    says=["only pre-shuffled weights have permuted columns, not {variant}",
          "only cshuffle stores permuted columns, not {epilogue}: a wave has {repeat_n} warp tiles along N",
          "{variant} with permute_n leaves the D tensors out"],
    source=[f"{_CSHUFFLE} (weights with the default epilogue run)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: UniversalGemmKernel (other variants; read, not run)"],
    accepts=[{**_SMALL, "permute_n": True},
             {**_SMALL, "permute_n": True, "epilogue": "default", "tile_n": 32}],
    rejects=[{"permute_n": True, "warp_tile_m": 16, "warp_tile_n": 16},
             {**_SMALL, "permute_n": True, "epilogue": "default"}],
)  # fmt: skip
def permutation_has_both_ends(c: GemmQuantities) -> BoolExpr:
    """permute_n goes with pre-shuffled weights, no D tensors, and CShuffle where a wave has several tiles.

    Why: the host shuffles the weights in another order then, and the epilogue stores results from
    registers in the order that undoes it; its form for that applies no D. With one warp tile along
    N for each wave there is nothing to undo.

    Fix: turn permute_n off.
    """
    ends = (c.epilogue == "cshuffle") | (c.repeat_n == 1)
    return all_of(c.variant == "preshuffle", ends, c.num_d == 0)


@rule(
    "GEMM049", "permuted-columns-of-wide-tile", kind="wrong-result",
    applies=lambda c: c.permute_n & (c.epilogue == "cshuffle"),
    says=["permute_n is written for warp tiles of 16 rows: warp_tile_m = {warp_tile_m}",
          "permute_n is written for warp tiles of 16 columns: warp_tile_n = {warp_tile_n}"],
    source=f"{_CSHUFFLE}: kM2 rows of a lane are taken as neighbours (run)",
    accepts=[{**_SMALL, "permute_n": True}, {**_SMALL, "permute_n": True, "tile_n": 32}],
    rejects=[{**_OWN, "permute_n": True}],
)  # fmt: skip
def permutation_fits_warp_tile(c: GemmQuantities) -> BoolExpr:
    """permute_n goes with 16x16 warp tiles.

    Why: the order of rows that the epilogue undoes is that of a 16x16 result; 32x32 compiles and
    stores rows in the wrong places. A wave may have any number of them along N (1, 2 and 3 run).

    Fix: use a 16x16 warp tile.
    """
    return all_of(c.warp_tile_m == 16, c.warp_tile_n == 16)


@rule(
    "GEMM074", "permuted-columns-of-transposed-result", kind="wrong-result",
    applies=lambda c: c.permute_n & (c.epilogue == "cshuffle"),
    says="permute_n takes a lane's results for rows of one column, and transpose_c makes them columns of one row",
    source=f"{_CSHUFFLE}: kM2 rows of a lane, with no look at isCTransposed (run)",
    accepts=[{**_SMALL, "permute_n": True}],
    rejects=[{**_SMALL, "permute_n": True, "transpose_c": True}],
)  # fmt: skip
def permuted_results_are_not_transposed(c: GemmQuantities) -> BoolExpr:
    """permute_n goes without transpose_c.

    Why: the epilogue stores from registers and takes what a lane holds of a warp tile for
    neighbours along M. With transpose_c they are neighbours along N, so that every value goes to
    another place: run, nearly all of them were wrong.

    Fix: turn transpose_c or permute_n off.
    """
    return ~c.transpose_c


@rule(
    "GEMM080", "permuted-rows-apart", kind="wrong-result",
    applies=lambda c: c.permute_n & (c.epilogue == "cshuffle"),
    says="permute_n takes a lane's results for rows side by side, and on {arch} they are every second one",
    source=[f"{_CSHUFFLE}: kM2 rows of a lane are taken as neighbours (run)",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl_base_traits.hpp: WmmaTraitsBase<gfx11_t> (kCM1PerLane)"],
    accepts=[{**_SMALL, "permute_n": True}, {**_GFX11, "arch": "gfx1201"}],
    rejects=[_GFX11],
)  # fmt: skip
def permuted_rows_are_side_by_side(c: GemmQuantities) -> BoolExpr:
    """permute_n is not for gfx11.

    Why: the epilogue stores from registers and takes what a lane holds of a warp tile for
    neighbours along M. On gfx11 a lane holds every second row: all rows of a warp tile but the
    first and the last were wrong.

    Fix: turn permute_n off.
    """
    return ~c.has("result_rows_apart")


@rule(
    "GEMM050", "permuted-rows-not-whole", kind="compile",
    applies=lambda c: c.permute_n & (c.epilogue == "cshuffle"),
    says=("a lane's {lane_elements} results do not divide warp_tile_m = {warp_tile_m}: "
          "{lane_elements=}"),
    source=f"{_CSHUFFLE}: static_assert MPerXdl % RowsPerLane == 0",
    accepts=[{**_SMALL, "permute_n": True}],
    rejects=[{**_OWN, "permute_n": True, "arch": "gfx1201", "warp_tile_m": 4, "warp_tile_n": 64}],
)  # fmt: skip
def permuted_rows_are_whole(c: GemmQuantities) -> BoolExpr:
    """The results that a lane holds of a warp tile divide its rows.

    Why: asserted.

    Fix: use a 16x16 warp tile.
    """
    return c.warp_tile_m % c.lane_elements == 0


@rule(
    "GEMM083", "hot-loop-of-weights-beyond-its-order", kind="wrong-result",
    applies=lambda c: c.shuffled_b & (c.repeat_m == 1) & (c.repeat_n >= 1),
    says=BEYOND_ORDER,
    source=[f"{_PIPELINE}: SchedulerPerM (kOrderCap = NIterPerWarp * 10), HotLoopScheduler (run; so in ROCm/rocm-libraries @ 498ed36, read)",
            "ops/gemm_quant/pipeline/gemm_wp_bquant_pipeline_ag_bg_cr_v2.hpp: Base::HotLoopScheduler (run)"],
    accepts=[{**_SINGLE, "wave_n": 4, "tile_n": 64}, {**_SINGLE, "wave_n": 1, "tile_n": 32}],
    rejects=[{**_SINGLE, "wave_n": 1, "tile_n": 16}],
)  # fmt: skip
def loops_of_weights_fit_their_order(c: GemmQuantities) -> BoolExpr:
    """The order in which a hot loop of pre-shuffled weights reads, stores and loads has places for all.

    Why: the pipeline writes it to an array and reads it from there, behind its end where a single
    wave has one warp tile of 8-bit types with a K of 64 or 128. That is undefined: clang 22 leaves
    the loop out, and sums lack all but the last tile or two along K, or the kernel stores nothing.
    Ten kernels of four pipelines are wrong. Of one wave with several warp tiles along M the array is too
    short as well, and those that were run are right.

    Fix: use a larger block tile.
    """
    return loop_fits_order(c, c.repeat_n)
