"""Configurations that make the same device code: ``--distinct`` keeps one of each set.

What is alike was read in the headers named; that of CK 2025.11 was also checked against the compiler
(`scripts/same_code.py`). The values that stay are the smallest: their kernels accept each problem
that those of the others accept, since the argument check asks that vectors divide channels.
"""

from __future__ import annotations

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.constraints.tile_gemm.pattern import TileDistribution
from ckrules.engine.expr import BoolExpr, Expr, IntExpr
from ckrules.engine.rules.alike import alike

_POWERS = (1, 2, 4, 8, 16, 32)
_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d (X1)"
_GCD = (
    "core/algorithm/coordinate_transform.hpp: "
    "unmerge::calculate_upper_dimension_safe_vector_length_strides (gcd)"
)


def _access(pattern: TileDistribution) -> tuple[Expr, ...]:
    """How a thread moves its elements: how many it has side by side, and how many at once."""
    return pattern.width, pattern.at_once


def _loads(c: ConvQuantities, vector: IntExpr) -> BoolExpr:
    """Where nothing but the distribution of the tile and its tensor depends on the vector.

    Since 2026.06 pipelines with a schedule count their loads by it; basic_v1 and mem have none.
    """
    found: BoolExpr = vector.isin(*_POWERS)
    return found & c.pipeline.isin("basic_v1", "mem") if c.since("2026.06") else found


@alike(
    "loads-of-a-narrowed", "vector_a", applies=lambda c: _loads(c, c.vector_a),
    source=[_PATTERN, _GCD, "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeADramTileDistribution"],
)  # fmt: skip
def a_is_narrowed(c: ConvQuantities) -> tuple[Expr, ...]:
    """A vector of A that is wider than a thread's share of the tile is narrowed to it."""
    return _access(c.a)


@alike(
    "loads-of-b-narrowed", "vector_b", applies=lambda c: _loads(c, c.vector_b),
    source=[_PATTERN, _GCD, "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeBDramTileDistribution"],
)  # fmt: skip
def b_is_narrowed(c: ConvQuantities) -> tuple[Expr, ...]:
    """A vector of B that is wider than a thread's share of the tile is narrowed to it."""
    return _access(c.b)


@alike(
    "stores-narrowed", "vector_c", until="2026.06",
    applies=lambda c: (c.epilogue == "cshuffle") & c.vector_c.isin(*_POWERS),
    source=[_PATTERN, _GCD, "ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue::shuffle_tile_tuple",
            "grouped_convolution_backward_weight_kernel.hpp: operator() (atomic additions want an even VectorSizeC)"],
)  # fmt: skip
def c_is_narrowed(c: ConvQuantities) -> tuple[Expr, ...]:
    """A vector of C that is wider than a thread's share of the shuffled slice is narrowed to it.

    The vector also says how many warp tiles a shuffle takes, and whether 16-bit atomic additions
    are compiled.
    """
    return (*_access(c.c), c.shuffle_repeat, c.vector_c % 2)


@alike(
    "stores-by-element", "vector_c",
    applies=lambda c: (c.epilogue == "default") & c.vector_c.isin(*_POWERS),
    source=["ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue::GetVectorSizeC (one element along N without TransposeC)",
            "grouped_convolution_{backward_data,backward_weight}_kernel.hpp: operator() (atomic additions want an even VectorSizeC)"],
)  # fmt: skip
def default_epilogue_stores_elements(c: ConvQuantities) -> tuple[Expr, ...]:
    """The epilogue default stores one element at a time, whatever vector_c says.

    Kernels of CK 2025.11 have no atomic additions with it; since then they always have them, for
    16-bit results where the vector is even.
    """
    return (c.vector_c % 2,) if c.since("2026.06") else ()


@alike(
    "one-buffer-of-basic-v1", "double_smem_buffer", until="2026.06",
    applies=lambda c: c.pipeline == "basic_v1",
    source="ops/gemm/pipeline/gemm_pipeline_agmem_bgmem_creg_v1.hpp: GemmPipelineAGmemBGmemCRegV1::DoubleSmemBuffer = false",
)  # fmt: skip
def basic_v1_has_one_buffer(c: ConvQuantities) -> tuple[Expr, ...]:
    """basic_v1 has one LDS buffer whatever double_smem_buffer says."""
    return ()


@alike(
    "launch-bound-of-upstream", "block_per_cu",
    source="include/ck_tile/host/kernel_launch.hpp: kentry __launch_bounds__(Kernel::kBlockSize, MinBlockPerCu)",
)  # fmt: skip
def bound_is_said_or_meant(c: ConvQuantities) -> tuple[Expr, ...]:
    """block_per_cu = 0 means upstream's launch bound, which a number can say as well."""
    return (c.launch_blocks,)


ALIKE = (
    a_is_narrowed,
    b_is_narrowed,
    c_is_narrowed,
    default_epilogue_stores_elements,
    basic_v1_has_one_buffer,
    bound_is_said_or_meant,
)
