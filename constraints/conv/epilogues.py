"""EPI: how the block tile is stored."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_SHUFFLE = "ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue"
_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"


def _cshuffle(c: Quantities) -> BoolExpr:
    return c.epilogue == "cshuffle"


def _stores(c: Quantities) -> BoolExpr:
    return _cshuffle(c) & c.c.sound


@rule(
    "EPI001", "shuffles-not-whole", kind="compile",
    applies=_cshuffle,
    source=f"{_SHUFFLE} static_assert kMPerBlock % num_xdl_shuffles == 0",
    accepts=[{}, {"vector_c": 4}],
    rejects=[
        {"@ck": "2025.11", "warp_tile_m": 16, "warp_tile_n": 16, "vector_c": 12},
        {"@ck": "2026.06", "tile_m": 100, "vector_c": 2},
    ],
)  # fmt: skip
def shuffles_divide_m(c: Quantities) -> BoolExpr:
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
    source=f"{_SHUFFLE} static_assert on the elements of a lane and VectorSizeC",
    accepts=[{}, {"vector_c": 4}],
    rejects=[{"vector_c": 3}],
)  # fmt: skip
def lane_elements_split(c: Quantities) -> BoolExpr:
    """A lane's accumulator elements split into whole output vectors.

    Why: a lane that holds more elements of a warp tile than a vector stores them in several
    vectors.

    Fix: make vector_c a power of two.
    """
    return c.lane_elements % c.vector_c == 0


@rule(
    "EPI002", "odd-shuffle-repeat", kind="wrong-result",
    applies=lambda c: _cshuffle(c) & (c.repeat_m >= 1) & (c.tile_m % (c.wave_m * c.warp_tile_m) == 0),
    source=f"{_SHUFFLE} MPerIterationShuffle falls back to one repeat, the register slice does not",
    issue="ROCm/rocm-libraries#9684",
    accepts=[{}],
    rejects=[
        {"@ck": "2025.11", "tile_m": 96, "tile_n": 64, "warp_tile_m": 16, "warp_tile_n": 16},
        {"@ck": "2026.06", "tile_m": 192},
    ],
)  # fmt: skip
def repeats_split_evenly(c: Quantities) -> BoolExpr:
    """The warp tiles of a wave along M divide into equal shuffles.

    Why: otherwise the LDS window shrinks to one warp tile while the registers are still taken
    in larger slices, and wrong numbers are stored. It compiles and runs.

    Fix: use another tile_m, more waves along M or another vector_c.
    """
    return c.repeat_m % c.shuffle_repeat == 0


@rule(
    "EPI003", "output-vector-does-not-divide", kind="compile",
    applies=_cshuffle,
    source=f"{_PATTERN} static_assert XPerTile % VecSize == 0 (store of the epilogue's slice)",
    accepts=[{}], rejects=[{"vector_c": 128}],
)  # fmt: skip
def output_vector_divides(c: Quantities) -> BoolExpr:
    """The output vector divides the columns that one shuffle stores.

    Why: a thread stores whole vectors within a row of the slice of
    wave_n * warp_tile_n columns. tile_n itself does not matter.

    Fix: narrow vector_c.
    """
    return c.c.vector_fits


@rule(
    "EPI004", "more-threads-than-stored-elements", kind="compile",
    applies=_cshuffle,
    source=f"{_PATTERN}: X1 becomes 0 and divides (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"arch": "gfx950", "warp_tile_m": 4, "warp_tile_n": 4}],
)  # fmt: skip
def slice_feeds_every_thread(c: Quantities) -> BoolExpr:
    """A shuffled slice has at least one element for each thread.

    Why: with fewer, the header divides by zero in a constant expression.

    Fix: use a larger warp tile.
    """
    return c.c.every_thread_moves


@rule(
    "EPI005", "store-lanes-do-not-fill-wave", kind="compile",
    applies=_stores,
    source=f"{_PATTERN} static_assert X0 * Y1 == warp_size (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_n": 3, "tile_n": 96, "wave_m": 1, "vector_c": 4}],
)  # fmt: skip
def store_lanes_fill_waves(c: Quantities) -> BoolExpr:
    """The lanes of a wave cover rows of the stored slice without a rest.

    Why: as for the loads: lanes along the columns times lanes along the rows must be the wave
    size. Before 2026.06 a row of the slice must also fit in one wave.

    Fix: use a power of two of waves along N, or another vector_c.
    """
    return c.c.lanes_fill_wave


@rule(
    "EPI006", "stored-rows-not-covered", kind="compile",
    applies=lambda c: _stores(c) & c.c.lanes_fill_wave,
    source=f"{_PATTERN} static_assert Y0 * Y1 * Y2 == YPerTile (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_m": 1, "wave_n": 3, "tile_n": 96, "vector_c": 3}],
)  # fmt: skip
def stored_rows_are_covered(c: Quantities) -> BoolExpr:
    """Waves and lanes cover the rows of the stored slice exactly.

    Why: the number of passes is a truncating division whose result is asserted.

    Fix: narrow vector_c or move waves from N to M.
    """
    return c.c.rows_covered


@rule(
    "EPI007", "stored-columns-not-covered", kind="compile", since="2026.06",
    applies=_stores,
    source=f"{_PATTERN} static_assert X0 * X1 * X2 == XPerTile (store of the epilogue's slice)",
    accepts=[{}],
    rejects=[{"wave_n": 3, "tile_n": 96, "wave_m": 1, "vector_c": 1}],
)  # fmt: skip
def stored_columns_are_covered(c: Quantities) -> BoolExpr:
    """Lanes and vectors cover the columns of the stored slice in whole passes.

    Why: the number of passes is a truncating division whose result is asserted.

    Fix: use a power of two of waves along N.
    """
    return c.c.extent_covered


@rule(
    "EPI008", "no-such-store-width", kind="compile",
    applies=_stores,
    source="core/arch/amd_buffer_addressing.hpp: buffer_store of 1, 2, 4, 8 or 16 elements",
    accepts=[{"vector_c": 16}], rejects=[{"wave_m": 1, "wave_n": 3, "tile_n": 96, "vector_c": 3}],
)  # fmt: skip
def stores_have_width(c: Quantities) -> BoolExpr:
    """Stores of C move 1, 2, 4, 8 or 16 elements at once.

    Why: the buffer stores are written for these numbers.

    Fix: take the next smaller power of two.
    """
    return c.c.width.isin(1, 2, 4, 8, 16)


@rule(
    "EPI009", "no-such-atomic-width", kind="compile", since="2026.06",
    applies=lambda c: _stores(c) & c.backward,
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_atomic_add static_assert on the width",
            "grouped_convolution_backward_*_kernel.hpp: the split-K path is always instantiated"],
    accepts=[{"variant": "bwd_weight"}, {"variant": "bwd_weight", "vector_c": 1}],
    rejects=[{"variant": "bwd_weight", "vector_c": 16},
             {"variant": "bwd_weight", "two_stage": True, "vector_c": 8}],
)  # fmt: skip
def atomics_have_width(c: Quantities) -> BoolExpr:
    """Backward kernels store at a width that atomic additions have.

    Why: they always contain the split-K path, which adds atomically: 1, 2 or 4 floats, or 2, 4
    or 8 16-bit elements. With 16-bit output and an odd vector the path is left out.

    Fix: narrow vector_c.
    """
    return c.odd_halves | c.adds_atomically
