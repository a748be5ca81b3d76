"""EPI: how the block tile is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_SHUFFLE = "ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue"
_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"

#: Kernels of a GPU where the waves of a pipeline for block scales store.
_EIGHT: Mapping[str, Any] = {"arch": "gfx950", "tile_m": 256}


def _cshuffle(c: TileGemm) -> BoolExpr:
    return c.epilogue == "cshuffle"


def _stores(c: TileGemm) -> BoolExpr:
    return _cshuffle(c) & c.c.sound


@rule(
    "EPI001", "shuffles-not-whole", kind="compile",
    applies=_cshuffle,
    says=("tile_m = {tile_m} is not a multiple of the warp tiles that a shuffle of "
          "{epilogue} wants: {shuffle_split=}"),
    source=f"{_SHUFFLE} static_assert kMPerBlock % num_xdl_shuffles == 0",
    accepts=[{}, {"vector_c": 4}],
    rejects=[
        {"@ck": "2025.11", "warp_tile_m": 16, "warp_tile_n": 16, "vector_c": 12},
        {"@ck": "2026.06", "tile_m": 100, "vector_c": 2},
    ],
)  # fmt: skip
def shuffles_divide_m(c: TileGemm) -> BoolExpr:
    """The block tile's M is a multiple of the warp tiles that one shuffle wants.

    Why: the shuffle takes several warp tiles at once where the accumulator elements of a lane
    and the output vector differ: until 2026.06 as many as fill a wide vector, since then as
    many vectors as a lane's elements hold.

    Fix: make vector_c a power of two.
    """
    return c.tile_m % c.shuffle_split == 0


@rule(
    "EPI010", "lane-elements-not-split", kind="compile", since="2026.06",
    applies=lambda c: _cshuffle(c) & (c.lane_elements > c.vector_c),
    says=("a lane's {lane_elements} accumulator elements do not split into vectors of "
          "vector_c = {vector_c}: {lane_elements=}"),
    source=f"{_SHUFFLE} static_assert on the elements of a lane and VectorSizeC",
    accepts=[{}, {"vector_c": 4}],
    rejects=[{"vector_c": 3}],
)  # fmt: skip
def lane_elements_split(c: TileGemm) -> BoolExpr:
    """A lane's accumulator elements split into whole output vectors.

    Why: a lane that holds more elements of a warp tile than a vector stores them in several
    vectors.

    Fix: make vector_c a power of two.
    """
    return c.lane_elements % c.vector_c == 0


@rule(
    "EPI002", "odd-shuffle-repeat", kind="wrong-result",
    applies=lambda c: _cshuffle(c) & (c.repeat_m >= 1) & (c.tile_m % (c.wave_m * c.warp_tile_m) == 0),
    says=("a wave's {repeat_m} warp tiles along M do not divide into shuffles of "
          "{shuffle_repeat}: {repeat_m=}, {shuffle_repeat=}"),
    source=f"{_SHUFFLE} MPerIterationShuffle falls back to one repeat, the register slice does not",
    issue="ROCm/rocm-libraries#9684",
    accepts=[{}],
    rejects=[
        {"@ck": "2025.11", "tile_m": 96, "tile_n": 64, "warp_tile_m": 16, "warp_tile_n": 16},
        {"@ck": "2026.06", "tile_m": 192},
    ],
)  # fmt: skip
def repeats_split_evenly(c: TileGemm) -> BoolExpr:
    """The warp tiles of a wave along M divide into equal shuffles.

    Why: otherwise the LDS window shrinks to one warp tile while the registers are still taken
    in larger slices, and wrong numbers are stored. It compiles and runs. An epilogue that is told
    of two LDS buffers takes single warp tiles; convolution's is told (not in stream-K), that of GEMMs is not.

    Fix: use another tile_m, more waves along M or another vector_c.
    """
    return c.repeat_m % c.shuffle_repeat == 0


@rule(
    "EPI003", "output-vector-does-not-divide", kind="compile",
    applies=_cshuffle,
    says=("vector_c = {vector_c} does not divide the columns that {epilogue} stores at "
          "once: {c_extent=}"),
    source=f"{_PATTERN} static_assert XPerTile % VecSize == 0 (store of the epilogue's slice)",
    accepts=[{}], rejects=[{"vector_c": 128}],
)  # fmt: skip
def output_vector_divides(c: TileGemm) -> BoolExpr:
    """The output vector divides the columns that one shuffle stores.

    Why: a thread stores whole vectors within a row of the slice of
    wave_n * warp_tile_n columns. tile_n itself does not matter.

    Fix: narrow vector_c.
    """
    return c.c.vector_fits


@rule(
    "EPI004", "more-threads-than-stored-elements", kind="compile",
    applies=_cshuffle,
    says=("{epilogue} stores {c_rows}x{c_extent} elements at once, fewer than threads: "
          "{wave_m * wave_n * wave_size=}"),
    source=f"{_PATTERN}: X1 becomes 0 and divides (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"arch": "gfx950", "warp_tile_m": 4, "warp_tile_n": 4}],
)  # fmt: skip
def slice_feeds_every_thread(c: TileGemm) -> BoolExpr:
    """A shuffled slice has at least one element for each thread.

    Why: with fewer, the header divides by zero in a constant expression.

    Fix: use a larger warp tile.
    """
    return c.c.every_thread_moves


@rule(
    "EPI011", "columns-of-eight-waves-mixed-up", kind="wrong-result", since="2026.06",
    applies=lambda c: (_cshuffle(c) & (c.wave_size == 64) & (c.wave_m * c.wave_n == 8)
                       & c.neighbouring_results),
    says=("{epilogue} on {arch} mixes up the columns of {wave_m}x{wave_n} waves that hold several "
          "warp tiles each along N: {tile_n // (warp_tile_n * wave_n)=}, expected 1"),
    source=[f"{_SHUFFLE} EightWave, BlockedXDLN_PerWarp and MakeLdsDistributionEncode (read, not run)",
            f"{_SHUFFLE} MakeLdsDistributionEncode: is_950, pk_int4_t and pk_fp4_t (CK 2026.09, read in ROCm/rocm-libraries @ 098502e)"],
    issue="ROCm/rocm-libraries#7669",
    accepts=[{**_EIGHT, "wave_m": 4, "tile_n": 64}, {**_EIGHT, "wave_m": 8, "wave_n": 1}],
    rejects=[{**_EIGHT, "wave_m": 4}, {**_EIGHT, "wave_m": 1, "wave_n": 8, "tile_n": 512}],
)  # fmt: skip
def columns_stay_in_place(c: TileGemm) -> BoolExpr:
    """Of eight waves along M and N on gfx950, each has one warp tile along N, or all lie along M.

    Why: CShuffle takes eight waves for those of a pipeline for block scales, where a wave's warp
    tiles are neighbours along N. Those of the other pipelines alternate with the other waves',
    so that all columns but the first warp tile's are stored in other places. Upstream saw it in
    a GEMM with 4x2 waves. On other GPUs only int4 operands have the order of neighbours.

    Fix: use four waves, or a smaller tile_n.
    """
    return (c.wave_n == 1) | (c.tile_n // (c.warp_tile_n * c.wave_n) <= 1)


@rule(
    "EPI005", "store-lanes-do-not-fill-wave", kind="compile",
    applies=_stores,
    says=("stores of C leave lanes idle: with {c_extent=} columns and vector_c = "
          "{vector_c} a wave stores {c_lanes_y} rows with {c_lanes_x} lanes each, "
          "{c_lanes_x * c_lanes_y} of {wave_size} lanes"),
    source=f"{_PATTERN} static_assert X0 * Y1 == warp_size (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_n": 3, "tile_n": 96, "wave_m": 1, "vector_c": 4}],
)  # fmt: skip
def store_lanes_fill_waves(c: TileGemm) -> BoolExpr:
    """The lanes of a wave cover rows of the stored slice without remainder.

    Why: as for the loads: lanes along the columns times lanes along the rows must be the wave
    size. Before 2026.06 a row of the slice must also fit in one wave.

    Fix: use a power of two of waves along N, or another vector_c.
    """
    return c.c.lanes_fill_wave


@rule(
    "EPI006", "stored-rows-not-covered", kind="compile",
    applies=lambda c: _stores(c) & c.c.lanes_fill_wave,
    says=("stores of C do not cover the {c_rows} rows that a shuffle holds: {c_wave_rows} "
          "waves at once store {c_lanes_y} rows each, with vector_c = {vector_c}"),
    source=f"{_PATTERN} static_assert Y0 * Y1 * Y2 == YPerTile (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_m": 1, "wave_n": 3, "tile_n": 96, "vector_c": 3}],
)  # fmt: skip
def stored_rows_are_covered(c: TileGemm) -> BoolExpr:
    """Waves and lanes cover the rows of the stored slice exactly.

    Why: the number of passes is a truncating division whose result is asserted.

    Fix: narrow vector_c or move waves from N to M.
    """
    return c.c.rows_covered


@rule(
    "EPI007", "stored-columns-not-covered", kind="compile", since="2026.06",
    applies=_stores,
    says=("stores of C cover {c_lanes_x * c_width * c_passes_x} of the columns "
          "{c_extent=}: {c_passes_x} passes of {c_lanes_x} lanes with vector_c = "
          "{vector_c}"),
    source=f"{_PATTERN} static_assert X0 * X1 * X2 == XPerTile (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_n": 3, "tile_n": 96, "wave_m": 1, "vector_c": 1}],
)  # fmt: skip
def stored_columns_are_covered(c: TileGemm) -> BoolExpr:
    """Lanes and vectors cover the columns of the stored slice in whole passes.

    Why: the number of passes is a truncating division whose result is asserted.

    Fix: use a power of two of waves along N.
    """
    return c.c.extent_covered


@rule(
    "EPI008", "no-such-store-width", kind="compile",
    applies=_stores,
    says=("no store moves what vector_c = {vector_c} and {c_width=} elements of a thread have in "
          "common, expected 1, 2, 4, 8 or 16 elements"),
    source="core/arch/amd_buffer_addressing.hpp: buffer_store of 1, 2, 4, 8 or 16 elements",
    accepts=[{"vector_c": 16}], rejects=[{"wave_m": 1, "wave_n": 3, "tile_n": 96, "vector_c": 3}],
)  # fmt: skip
def stores_have_width(c: TileGemm) -> BoolExpr:
    """Stores of C move 1, 2, 4, 8 or 16 elements at once.

    Why: the buffer stores are written for these numbers. One store moves the greatest common
    divisor of the vector and of the elements that a thread has side by side.

    Fix: take the next smaller power of two.
    """
    return c.c.moves(16)


@rule(
    "EPI012", "stores-nothing-of-sixteen", kind="wrong-result",
    applies=lambda c: _stores(c) & c.stores_floats & c.c.moves(16),
    says=("nothing is stored: with vector_c = {vector_c} a store moves 16 elements, for which the "
          "header writes nothing"),
    source=("core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_store_impl asserts that 16 "
            "elements of fp32, fp16 and bf16 are possible and has no branch for them (CK 2025.11: "
            "run; rocm-libraries of 2026: read)"),
    accepts=[{}, {"vector_c": 16, "tile_m": 32, "warp_tile_m": 16, "warp_tile_n": 16}],
    rejects=[{"vector_c": 16, "wave_m": 1, "wave_n": 1}],
)  # fmt: skip
def stores_are_written(c: TileGemm) -> BoolExpr:
    """Stores of C move fewer than 16 elements at once.

    Why: for 16 elements of a floating-point type the header's function is empty, so that the
    compiler takes away the stores and the kernel computes nothing that anyone sees. It compiles
    and runs.

    Fix: take vector_c = 8.
    """
    return ~((c.vector_c % 16 == 0) & (c.c.width % 16 == 0))
