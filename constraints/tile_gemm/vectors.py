"""VEC: vector widths, and the distribution of A and B tiles over the threads that load them."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.folding import folds
from ckrules.constraints.tile_gemm.pattern import TileDistribution
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, implies
from ckrules.engine.rules import rule

_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"


def elements_at_once(c: TileGemm) -> BoolExpr:
    """Operands that are transposed in registers are loaded one element at a time."""
    return all_of(implies(c.a_shuffled, c.a.width == 1), implies(c.b_shuffled, c.b.width == 1))


def _sound(c: TileGemm) -> BoolExpr:
    """VEC001 and VEC002 hold; without them the rest would only repeat the fault."""
    return c.a.sound & c.b.sound


@rule(
    "VEC001", "vector-does-not-divide-extent", kind="compile",
    says=[("vector_a = {vector_a} does not divide the contiguous dimension of A, "
          "{a_extent=}"),
          ("vector_b = {vector_b} does not divide the contiguous dimension of B, "
          "{b_extent=}")],
    source=f"{_PATTERN} static_assert XPerTile % VecSize == 0",
    accepts=[{}, {"tile_k": 48, "vector_a": 16}],
    rejects=[{"tile_k": 48, "vector_a": 32}],
)  # fmt: skip
def vectors_divide_extent(c: TileGemm) -> BoolExpr:
    """The vectors of A and B divide the tile along its contiguous dimension.

    Why: a thread never loads across the end of a row of the tile. Contiguous is K in forward,
    K and N in backward data, M and N in backward weight.

    Fix: narrow the vector.
    """
    return c.a.vector_fits & c.b.vector_fits


@rule(
    "VEC002", "more-threads-than-elements", kind="compile",
    says=[("A has fewer elements than threads that load it: {a_extent * a_rows=}, "
          "{load_waves * wave_size=}"),
          ("B has fewer elements than threads that load it: {b_extent * b_rows=}, "
          "{load_waves * wave_size=}")],
    source=f"{_PATTERN}: X1 becomes 0 and divides",
    accepts=[{}],
    rejects=[{"tile_m": 32, "tile_k": 4, "wave_m": 1, "wave_n": 4}],
)  # fmt: skip
def tiles_feed_every_thread(c: TileGemm) -> BoolExpr:
    """The A and B tiles have at least one element for each loading thread.

    Why: with fewer, the header divides by zero in a constant expression.

    Fix: raise the tile or use fewer waves.
    """
    return c.a.every_thread_moves & c.b.every_thread_moves


@rule(
    "VEC003", "lanes-do-not-fill-wave", kind="compile",
    applies=_sound,
    says=[("loads of A leave lanes idle: with {a_extent=} contiguous and vector_a = "
          "{vector_a} a wave loads {a_lanes_y} rows with {a_lanes_x} lanes each, "
          "{a_lanes_x * a_lanes_y} of {wave_size} lanes"),
          ("loads of B leave lanes idle: with {b_extent=} contiguous and vector_b = "
          "{vector_b} a wave loads {b_lanes_y} rows with {b_lanes_x} lanes each, "
          "{b_lanes_x * b_lanes_y} of {wave_size} lanes")],
    source=f"{_PATTERN} static_assert X0 * Y1 == warp_size",
    accepts=[{}],
    rejects=[{"tile_k": 48}],
)  # fmt: skip
def lanes_fill_waves(c: TileGemm) -> BoolExpr:
    """The lanes of a wave cover rows of the A and B tiles without remainder.

    Why: lanes run along the contiguous dimension first, then over rows; their product must be
    the wave size. Before 2026.06 a row of the tile must also fit in one wave.

    Fix: use a power of two along the contiguous dimension, or another vector.
    """
    return c.a.lanes_fill_wave & c.b.lanes_fill_wave


@rule(
    "VEC004", "rows-not-covered", kind="compile",
    applies=lambda c: _sound(c) & c.a.lanes_fill_wave & c.b.lanes_fill_wave,
    says=[("loads of A cover {a_wave_rows * a_lanes_y * a_passes_y} of the rows {a_rows=}: "
          "{a_passes_y} passes of {a_wave_rows} waves of {a_lanes_y} rows, with vector_a "
          "= {vector_a}"),
          ("loads of B cover {b_wave_rows * b_lanes_y * b_passes_y} of the rows {b_rows=}: "
          "{b_passes_y} passes of {b_wave_rows} waves of {b_lanes_y} rows, with vector_b "
          "= {vector_b}")],
    source=f"{_PATTERN} static_assert Y0 * Y1 * Y2 == YPerTile",
    accepts=[{}],
    rejects=[{"tile_m": 48}],
)  # fmt: skip
def rows_are_covered(c: TileGemm) -> BoolExpr:
    """Waves and lanes cover the rows of the A and B tiles exactly.

    Why: each pass of the block loads lanes_y * waves rows; the number of passes is a
    truncating division whose result is asserted.

    Fix: use fewer waves, a wider vector or another tile.
    """
    return c.a.rows_covered & c.b.rows_covered


@rule(
    "VEC005", "extent-not-covered", kind="compile", since="2026.06",
    applies=_sound,
    says=[("loads of A cover {a_lanes_x * a_width * a_passes_x} of the contiguous "
          "{a_extent=}: {a_passes_x} passes of {a_lanes_x} lanes with vector_a = "
          "{vector_a}"),
          ("loads of B cover {b_lanes_x * b_width * b_passes_x} of the contiguous "
          "{b_extent=}: {b_passes_x} passes of {b_lanes_x} lanes with vector_b = "
          "{vector_b}")],
    source=f"{_PATTERN} static_assert X0 * X1 * X2 == XPerTile",
    accepts=[{}], rejects=[],
)  # fmt: skip
def extent_is_covered(c: TileGemm) -> BoolExpr:
    """Lanes and vectors cover the contiguous dimension of the A and B tiles in whole passes.

    Why: since 2026.06 a wave may go over a long row several times; the number of passes is a
    truncating division whose result is asserted.

    Fix: use a power of two along the contiguous dimension, or a wider vector.
    """
    return c.a.extent_covered & c.b.extent_covered


@rule(
    "VEC006", "width-not-of-this-dtype", kind="compile", until="2026.06",
    applies=_sound,
    says=[("a transposed A is loaded at the width that the pipeline computes: {a_width=}, "
          "expected {computed_vector_a}"),
          ("a transposed B is loaded at the width that the pipeline computes: {b_width=}, "
          "expected {computed_vector_b}")],
    source=["core/tensor/transpose_tile.hpp: transpose_tile2d (H lengths of both tiles must be equal)",
            "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetVectorSizeA/B"],
    accepts=[], rejects=[],
)  # fmt: skip
def transposed_width_is_computed_width(c: TileGemm) -> BoolExpr:
    """An operand that is transposed in registers has the width that the pipeline computes.

    Why: the tile from global memory has the configured width, the tile shuffled in registers
    the computed one (16, 8 or 4 bytes), and transposing wants them alike. gfx950 transposes on
    the way from LDS instead, except in basic_v1 and compv5. Since 2026.06 both use the
    configured width.

    Fix: take the computed width.
    """
    return all_of(
        implies(c.a_shuffled, _width(c.a, c.computed_vector_a)),
        implies(c.b_shuffled, _width(c.b, c.computed_vector_b)),
    )


def _width(pattern: TileDistribution, computed: IntExpr) -> BoolExpr:
    return pattern.width == computed


@rule(
    "VEC007", "rows-too-short-to-transpose", kind="compile", since="2026.06",
    applies=lambda c: (c.a_folded | c.b_folded) & _sound(c),
    says=[("{pipeline} on {arch} has too few rows of A in LDS to fold: tile_k = {tile_k}, "
          "tile_m = {tile_m}, waves {wave}, vector_a = {vector_a}"),
          ("{pipeline} on {arch} has too few rows of B in LDS to fold: tile_k = {tile_k}, "
          "tile_n = {tile_n}, waves {wave}, vector_b = {vector_b}")],
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: Make{A,B}LdsBlockDescriptorImpl (kfold)",
            "ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor, which basic_v1, mem, compv3 and wavelet use, has no kfold"],
    accepts=[], rejects=[],
)  # fmt: skip
def transposed_rows_fold(c: TileGemm) -> BoolExpr:
    """A transposed operand leaves its LDS layout enough rows to fold.

    Why: on wave64 compv4, compv5 and compv6 write a tile that is transposed through registers
    to LDS in a layout that folds K by bank width; with too few rows at a time a length of it
    becomes zero and divides. The other pipelines have convolution's own layout.

    Fix: raise the vector, the waves or tile_k, or use compv3.
    """
    a, b = folds(c)
    return all_of(implies(c.a_folded, a.has_rows), implies(c.b_folded, b.has_rows))


@rule(
    "VEC008", "no-such-load-width", kind="compile",
    applies=_sound,
    says=[("no load moves what vector_a = {vector_a} and {a_width=} elements of a thread have in "
          "common, expected 1, 2, 4, 8 or 16 elements"),
          ("no load moves what vector_b = {vector_b} and {b_width=} elements of a thread have in "
          "common, expected 1, 2, 4, 8 or 16 elements")],
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_load_impl, static_assert on type and N",
            "core/algorithm/coordinate_transform.hpp: unmerge::calculate_upper_dimension_safe_vector_length_strides (gcd)"],
    accepts=[{"vector_a": 16}, {"tile_m": 16, "tile_k": 96, "warp_tile_m": 16, "wave_m": 1,
                                "vector_a": 8}],
    rejects=[{"tile_m": 384, "tile_n": 384, "tile_k": 192, "vector_a": 64},
             {"tile_m": 384, "tile_k": 96, "vector_a": 24}],
)  # fmt: skip
def loads_have_width(c: TileGemm) -> BoolExpr:
    """Loads of A and B move 1, 2, 4, 8 or 16 elements at once, 16-bit ones also 32.

    Why: the buffer loads are written for these numbers. There is no limit in bytes: wide ones
    become several instructions. One load moves the greatest common divisor of the vector and of
    the elements that a thread has side by side: 2 of 6 with a vector of 8.

    Fix: take the next smaller power of two.
    """
    return all_of(_loadable(c.a, c.a_bytes), _loadable(c.b, c.b_bytes))


def _loadable(operand: TileDistribution, size: IntExpr) -> BoolExpr:
    return operand.moves(16) | ((size == 2) & operand.moves(32))


@rule(
    "VEC009", "wave-groups-transposing-vectors", kind="compile", until="2026.06",
    applies=lambda c: (c.num_wave_groups > 1) & _sound(c),
    says=[("with num_wave_groups = {num_wave_groups} a transposed A is loaded one element at a "
          "time: {a_width=}, expected 1"),
          ("with num_wave_groups = {num_wave_groups} a transposed B is loaded one element at a "
          "time: {b_width=}, expected 1")],
    source="core/tensor/transpose_tile.hpp: static_assert on the dimensions of the shuffled tile",
    accepts=[{"num_wave_groups": 2}],
    rejects=[],
)  # fmt: skip
def wave_groups_transpose_elements(c: TileGemm) -> BoolExpr:
    """With several wave groups an operand is loaded by element to be transposed in registers.

    Why: the distribution for wave groups names its dimensions so that transposing loses one of
    them as soon as a vector has more than one element. Since 2026.06 it goes by their order.

    Fix: set num_wave_groups to 1.
    """
    return elements_at_once(c)
