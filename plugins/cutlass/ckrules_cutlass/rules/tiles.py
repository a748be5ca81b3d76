"""Block tiles and clusters."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, implies
from ckrules.engine.rules import rule
from ckrules_cutlass.vocabulary import HopperGemm

_SELECTOR = "cute/arch/mma_sm90.hpp: ss_op_selector"


@rule(
    "CUTT001", "tile-m-not-of-64", kind="compile",
    profiles=("legal", "library"), source=_SELECTOR,
    accepts=[{}, {"tile_m": 192, "schedule": "pingpong"}], rejects=[{"tile_m": 96}],
    says="{tile_m=} is not a multiple of 64, the rows of a warp-group MMA",
)  # fmt: skip
def tile_m_is_of_instructions(c: HopperGemm) -> BoolExpr:
    """The block tile's M is a multiple of 64.

    Why: every warp-group MMA has 64 rows.

    Fix: take a tile_m of 64, 128, 192 or 256.
    """
    return c.tile_m % 64 == 0


@rule(
    "CUTT002", "tile-n-not-of-8", kind="compile",
    profiles=("legal", "library"), source=_SELECTOR,
    accepts=[{}, {"tile_n": 24, "epilogue": "nosmem"}], rejects=[{"tile_n": 20}],
    says="{tile_n=} is not a multiple of 8, the columns of the narrowest warp-group MMA",
)  # fmt: skip
def tile_n_is_of_instructions(c: HopperGemm) -> BoolExpr:
    """The block tile's N is a multiple of 8.

    Why: the narrowest warp-group MMA has 8 columns.

    Fix: take a multiple of 8.
    """
    return c.tile_n % 8 == 0


@rule(
    "CUTT003", "partial-instruction-in-k", kind="compile", source=_SELECTOR,
    accepts=[{}, {"dtype": "tf32", "tile_k": 8, "align": 4}],
    rejects=[{"tile_k": 8}, {"dtype": "fp8", "tile_k": 16}],
)  # fmt: skip
def tile_k_is_of_instructions(c: HopperGemm) -> BoolExpr:
    """The block tile's K is a multiple of the warp-group MMA's K.

    Why: an instruction multiplies 32 bytes of K.

    Fix: take a multiple of 8 for tf32, 16 for 16-bit types, 32 for 8-bit types.
    """
    return c.tile_k % c.mma_k == 0


@rule(
    "CUTT004", "cooperative-tile-too-small", kind="compile",
    profiles=("legal", "library"),
    source=(
        "gemm/kernel/sm90_gemm_tma_warpspecialized_cooperative.hpp: operator() static_assert",
        "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp: EPI_TILE_M must divide CTA_M",
    ),
    applies=lambda c: c.cooperative,
    accepts=[{}, {"tile_m": 192, "epilogue": "nosmem"}], rejects=[{"tile_m": 64}, {"tile_m": 192}],
    says=(
        "{tile_m=}, expected 128 or more, the rows of two cooperating warp groups",
        "{tile_m=} is not a multiple of 128, the rows of the epilogue tile",
    ),
)  # fmt: skip
def cooperative_tiles_have_128_rows(c: HopperGemm) -> BoolExpr:
    """A cooperative kernel's block tile has 128 rows at least, in whole epilogue tiles.

    Why: two warp groups compute 64 rows each at a time.

    Fix: take tile_m = 128 or 256, or the pingpong schedule.
    """
    return (c.tile_m >= 128) & implies(c.tma_epilogue, c.tile_m % 128 == 0)


@rule(
    "CUTT009", "rows-of-one-warp-group", kind="wrong-result",
    profiles=("legal", "library"),
    source="gemm/collective/builders/sm90_gmma_builder.inl: AtomLayoutMNK",
    applies=lambda c: c.cooperative & ~c.tma_epilogue,
    accepts=[{"epilogue": "nosmem"}], rejects=[{"tile_m": 192, "epilogue": "nosmem"}],
    says="{tile_m=} is not a multiple of 128, the rows of two cooperating warp groups",
)  # fmt: skip
def cooperative_tiles_are_of_128(c: HopperGemm) -> BoolExpr:
    """A cooperative kernel's block tile has a multiple of 128 rows.

    Why: both warp groups compute 64 rows each at a time, also where only 64 are left: the last tile
    along M is wrong, and stream-K kernels wait for ever.

    Fix: take tile_m = 128 or 256, or the pingpong schedule.
    """
    return c.tile_m % 128 == 0


@rule(
    "CUTT005", "cluster-too-large", kind="launch",
    source="CUDA C++ Programming Guide 13.0: Thread Block Clusters, compute capability 9.0",
    accepts=[{}, {"cluster_m": 4, "cluster_n": 4}],
    rejects=[{"cluster_m": 8, "cluster_n": 4}],
)  # fmt: skip
def clusters_are_small(c: HopperGemm) -> BoolExpr:
    """A cluster has at most 16 blocks.

    Why: a GPU processing cluster has no room for more.

    Fix: take a smaller cluster.
    """
    return c.cluster_m * c.cluster_n <= c.max_cluster


@rule(
    "CUTT007", "columns-across-a-swizzle", kind="compile",
    source=(
        "cute/swizzle_layout.hpp: slice_and_offset",
        "cute/layout.hpp: composition_impl, Shape Divisibility Condition",
    ),
    applies=lambda c: c.swizzled_columns,
    accepts=[{}, {"tile_n": 8, "epilogue": "nosmem"}, {"dtype": "tf32", "align": 4, "tile_k": 32}],
    rejects=[{"tile_n": 24, "epilogue": "nosmem"},
             {"dtype": "tf32", "align": 4, "tile_k": 32, "tile_n": 24, "stages": 4},
             {"dtype": "tf32", "align": 4, "tile_k": 32, "tile_n": 80}],
    says="{tile_n=} is not a multiple of {swizzle_columns}, the columns of B until a swizzle "
         "begins again",
)  # fmt: skip
def columns_are_of_swizzles(c: HopperGemm) -> BoolExpr:
    """Where B is contiguous along K, a tile has a multiple of 16 columns of 2 bytes, or 32 of 4.

    Why: rows of 8 elements lie in a swizzle that begins again after so many columns, and the
    mainloop's constants slice that layout. Fewer columns than that pass where they divide it.

    Fix: take a multiple, or 8 columns (8 or 16 for tf32).
    """
    whole = c.tile_n % c.swizzle_columns == 0
    return whole | (c.tile_n == 8) | ((c.operand_bytes == 4) & (c.tile_n == 16))


@rule(
    "CUTT008", "stages-across-a-swizzle", kind="compile",
    source=(
        "cute/swizzle_layout.hpp: slice_and_offset",
        "cute/layout.hpp: composition_impl, Stride Divisibility Condition",
    ),
    applies=lambda c: c.swizzled_columns & (c.tile_n < c.swizzle_columns),
    accepts=[{"tile_n": 8, "epilogue": "nosmem", "stages": 4},
             {"tile_n": 8, "epilogue": "nosmem", "tile_k": 128, "stages": 3}],
    rejects=[{"tile_n": 8, "epilogue": "nosmem", "stages": 3},
             {"tile_n": 8, "epilogue": "nosmem", "tile_k": 96, "stages": 4}],
    says="{stage_count=} of {tile_n * tile_k=} elements of B, of which {swizzle_period} are a "
         "swizzle's period",
)  # fmt: skip
def stages_are_of_swizzles(c: HopperGemm) -> BoolExpr:
    """A stage of few columns of B is a period of its swizzle, or stages together are several.

    Why: the mainloop's constants slice a stage out of the layout.

    Fix: take an even number of stages, or more columns.
    """
    held, period, stages = c.tile_n * c.tile_k, c.swizzle_period, c.stage_count
    few = (stages == 2) | ((stages == 3) & (period != 256))
    return (
        (held % period == 0)
        | ((2 * held == period) & (stages % 2 == 0))
        | ((4 * held == period) & ((stages % 4 == 0) | few))
    )


@rule(
    "CUTT006", "many-accumulators", kind="performance", severity="warning", profiles=("fast",),
    source="gemm/kernel/sm90_gemm_tma_warpspecialized_pingpong.hpp: MmaRegisterRequirement",
    accepts=[{}], rejects=[{"tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def accumulators_leave_registers(c: HopperGemm) -> BoolExpr:
    """Sums leave a thread 24 registers at least.

    Why: what has no register is spilled, and warp-group MMAs wait for each other.

    Fix: take a smaller tile, or the cooperative schedule.
    """
    return c.accumulators + 24 <= c.mma_registers


@rule(
    "CUTT010", "multicast-parts-not-aligned", kind="hardware",
    source=(
        "cute/atom/copy_traits_sm90_tma.hpp: make_tma_copy_desc, num_multicast",
        "CUDA C++ Programming Guide 13.0: Tensor Memory Access, alignment of shared memory",
    ),
    accepts=[{"cluster_m": 8}, {"tile_n": 8, "epilogue": "nosmem"}],
    rejects=[{"cluster_m": 16, "tile_n": 8, "epilogue": "nosmem"},
             {"cluster_m": 8, "tile_n": 80, "tile_k": 16}],
    says="a block's part of B: {multicast_bytes=} // {cluster_m} is not a multiple of 128",
)  # fmt: skip
def multicast_parts_are_aligned(c: HopperGemm) -> BoolExpr:
    """What each block of a cluster loads of B for the others begins at a multiple of 128 bytes.

    Why: the blocks that read the same columns of B load a part of them each, and the tensor memory
    accelerator writes to aligned addresses of shared memory only. A's 64 rows are always enough.

    Fix: take a smaller cluster_m, or a larger tile.
    """
    return c.multicast_bytes % (128 * c.cluster_m) == 0


@rule(
    "CUTT011", "eight-columns-in-a-narrow-swizzle", kind="wrong-result",
    source=(
        "cute/swizzle_layout.hpp: slice_and_offset",
        "plugins/cutlass/ckrules_cutlass/data/runs.csv.gz: kernels of 256x8x8 and 256x8x16",
    ),
    applies=lambda c: c.swizzled_columns & (c.operand_bytes == 4) & (c.tile_n == 8),
    accepts=[{"dtype": "tf32", "align": 4, "tile_n": 8, "tile_k": 32, "epilogue": "nosmem"}],
    rejects=[{"dtype": "tf32", "align": 4, "tile_n": 8, "tile_k": 8, "epilogue": "nosmem"}],
    says="{tile_k=} is not a multiple of 32 where a tile of tf32 has 8 columns",
)  # fmt: skip
def eight_columns_have_long_rows(c: HopperGemm) -> BoolExpr:
    """A tile of tf32 with 8 columns has rows of a multiple of 128 bytes.

    Why: with shorter ones columns are wrong, 4 of 8 at tile_k = 8 and 6 of 8 at 16, as runs of five
    kernels on an H100 showed, whatever cluster and type of D: a stage is a quarter of what the
    swizzle repeats after.

    Fix: take a tile_k that is a multiple of 32, or 16 columns.
    """
    return c.tile_k % 32 == 0
