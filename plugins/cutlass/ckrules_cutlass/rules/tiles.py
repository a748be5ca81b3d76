"""Block tiles and clusters."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr
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
        "gemm/collective/builders/sm90_gmma_builder.inl: AtomLayoutMNK",
    ),
    applies=lambda c: c.cooperative,
    accepts=[{}], rejects=[{"tile_m": 64}, {"tile_m": 192}],
    says="{tile_m=} is not a multiple of 128, the rows of two cooperating warp groups",
)  # fmt: skip
def cooperative_tiles_are_of_128(c: HopperGemm) -> BoolExpr:
    """A cooperative kernel's block tile has a multiple of 128 rows.

    Why: two warp groups compute 64 rows each at a time.

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
