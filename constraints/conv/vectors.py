"""VEC: vector widths, and the distribution of A and B tiles over the threads that load them."""

from __future__ import annotations

from ckrules.constraints.conv.folding import folds
from ckrules.constraints.conv.pattern import Pattern
from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, implies
from ckrules.engine.rules import rule

_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"
_WIDTHS = (1, 2, 4, 8, 16)


def _sound(c: Quantities) -> BoolExpr:
    """VEC001 and VEC002 hold; without them the rest would only repeat the fault."""
    return c.a.sound & c.b.sound


@rule(
    "VEC001", "vector-does-not-divide-extent", kind="compile",
    source=f"{_PATTERN} static_assert XPerTile % VecSize == 0",
    accepts=[{}, {"tile_k": 48, "vector_a": 16}],
    rejects=[{"tile_k": 48, "vector_a": 32}, {"tile_n": 96, "variant": "bwd_weight", "vector_b": 64}],
)  # fmt: skip
def vectors_divide_extent(c: Quantities) -> BoolExpr:
    """The vectors of A and B divide the tile along its contiguous dimension.

    Why: a thread never loads across the end of a row of the tile. Contiguous is K in forward,
    K and N in backward data, M and N in backward weight.

    Fix: narrow the vector.
    """
    return c.a.vector_fits & c.b.vector_fits


@rule(
    "VEC002", "more-threads-than-elements", kind="compile",
    source=f"{_PATTERN}: X1 becomes 0 and divides",
    accepts=[{}],
    rejects=[{"tile_m": 32, "tile_k": 4, "wave_m": 1, "wave_n": 4}],
)  # fmt: skip
def tiles_feed_every_thread(c: Quantities) -> BoolExpr:
    """The A and B tiles have at least one element for each loading thread.

    Why: with fewer, the header divides by zero in a constant expression.

    Fix: raise the tile or use fewer waves.
    """
    return c.a.every_thread_moves & c.b.every_thread_moves


@rule(
    "VEC003", "lanes-do-not-fill-wave", kind="compile",
    applies=_sound,
    source=f"{_PATTERN} static_assert X0 * Y1 == warp_size",
    accepts=[{}],
    rejects=[{"tile_k": 48}, {"variant": "bwd_weight", "tile_m": 192}],
)  # fmt: skip
def lanes_fill_waves(c: Quantities) -> BoolExpr:
    """The lanes of a wave cover rows of the A and B tiles without a rest.

    Why: lanes run along the contiguous dimension first, then over rows; their product must be
    the wave size. Before 2026.06 a row of the tile must also fit in one wave.

    Fix: use a power of two along the contiguous dimension, or another vector.
    """
    return c.a.lanes_fill_wave & c.b.lanes_fill_wave


@rule(
    "VEC004", "rows-not-covered", kind="compile",
    applies=lambda c: _sound(c) & c.a.lanes_fill_wave & c.b.lanes_fill_wave,
    source=f"{_PATTERN} static_assert Y0 * Y1 * Y2 == YPerTile",
    accepts=[{}],
    rejects=[{"tile_m": 48}],
)  # fmt: skip
def rows_are_covered(c: Quantities) -> BoolExpr:
    """Waves and lanes cover the rows of the A and B tiles exactly.

    Why: each pass of the block loads lanes_y * waves rows; the number of passes is a
    truncating division whose result is asserted.

    Fix: use fewer waves, a wider vector or another tile.
    """
    return c.a.rows_covered & c.b.rows_covered


@rule(
    "VEC005", "extent-not-covered", kind="compile", since="2026.06",
    applies=_sound,
    source=f"{_PATTERN} static_assert X0 * X1 * X2 == XPerTile",
    accepts=[{}], rejects=[{"variant": "bwd_weight", "tile_m": 96, "vector_a": 1}],
)  # fmt: skip
def extent_is_covered(c: Quantities) -> BoolExpr:
    """Lanes and vectors cover the contiguous dimension of the A and B tiles in whole passes.

    Why: since 2026.06 a wave may go over a long row several times; the number of passes is a
    truncating division whose result is asserted.

    Fix: use a power of two along the contiguous dimension, or a wider vector.
    """
    return c.a.extent_covered & c.b.extent_covered


@rule(
    "VEC006", "width-not-of-this-dtype", kind="compile", until="2026.06",
    applies=_sound,
    source=["core/tensor/transpose_tile.hpp: transpose_tile2d (H lengths of both tiles must be equal)",
            "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetVectorSizeA/B"],
    accepts=[{"variant": "bwd_weight", "vector_a": 8, "vector_b": 8}],
    rejects=[{"variant": "bwd_weight", "vector_a": 4, "vector_b": 8}],
)  # fmt: skip
def transposed_width_is_computed_width(c: Quantities) -> BoolExpr:
    """A transposed operand is loaded at the width that the pipeline computes for itself.

    Why: the tile from global memory has the configured width, the tile shuffled in registers
    the computed one (16, 8 or 4 bytes), and transposing wants them alike. Since 2026.06 both
    use the configured width.

    Fix: take the computed width.
    """
    return all_of(
        implies(c.a_transposed, _width(c.a, c.computed_vector_a)),
        implies(c.b_transposed, _width(c.b, c.computed_vector_b)),
    )


def _width(pattern: Pattern, computed: IntExpr) -> BoolExpr:
    return pattern.width == computed


@rule(
    "VEC007", "rows-too-short-to-transpose", kind="compile", since="2026.06",
    applies=lambda c: (c.a_folded | c.b_folded) & _sound(c),
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: Make{A,B}LdsBlockDescriptorImpl (kfold)",
            "ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor, which basic_v1, mem, compv3 and wavelet use, has no kfold"],
    accepts=[{"variant": "bwd_weight", "pipeline": "compv6"}],
    rejects=[{"variant": "bwd_weight", "pipeline": "compv6", "tile_m": 256, "tile_k": 16,
              "vector_a": 1, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def transposed_rows_fold(c: Quantities) -> BoolExpr:
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
    source="core/arch/amd_buffer_addressing.hpp: amd_buffer_load_impl, static_assert on type and N",
    accepts=[{"vector_a": 16}],
    rejects=[{"tile_m": 384, "tile_n": 384, "tile_k": 192, "vector_a": 64},
             {"tile_m": 384, "tile_k": 96, "vector_a": 24}],
)  # fmt: skip
def loads_have_width(c: Quantities) -> BoolExpr:
    """Loads of A and B move 1, 2, 4, 8 or 16 elements at once, 16-bit ones also 32.

    Why: the buffer loads are written for these numbers. There is no limit in bytes: wide ones
    become several instructions.

    Fix: take the next smaller power of two.
    """
    return all_of(_loadable(c, c.a), _loadable(c, c.b))


def _loadable(c: Quantities, operand: Pattern) -> BoolExpr:
    return operand.width.isin(*_WIDTHS) | ((operand.width == 32) & (c.element_bytes == 2))


@rule(
    "VEC009", "wave-groups-transposing-vectors", kind="compile", until="2026.06",
    applies=lambda c: (c.num_wave_groups > 1) & _sound(c),
    source="core/tensor/transpose_tile.hpp: static_assert on the dimensions of the shuffled tile",
    accepts=[{"num_wave_groups": 2}],
    rejects=[{"variant": "bwd_weight", "num_wave_groups": 2},
             {"variant": "bwd_data", "num_wave_groups": 2}],
)  # fmt: skip
def wave_groups_transpose_elements(c: Quantities) -> BoolExpr:
    """With several wave groups a transposed operand is loaded one element at a time.

    Why: the distribution for wave groups names its dimensions so that transposing loses one of
    them as soon as a vector has more than one element.

    Fix: set num_wave_groups to 1.
    """
    return all_of(implies(c.a_transposed, c.a.width == 1), implies(c.b_transposed, c.b.width == 1))
