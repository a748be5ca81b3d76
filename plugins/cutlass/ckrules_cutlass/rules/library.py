"""The generator of cutlass_library as a profile: what it lets through before levels prune it.

Its if-chains are those of ``is_tile_desc_valid`` and ``get_valid_schedules`` at a pruning level of
1 and more, for GEMMs that are not grouped.
"""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, implies
from ckrules.engine.rules import rule
from ckrules_cutlass.vocabulary import HopperGemm
from ckrules_cutlass.words import AUTO, NONE

_FILE = "cutlass_library/sm90_utils.py"
_TILES = f"{_FILE}: is_tile_desc_valid"
_SCHEDULES = f"{_FILE}: get_valid_schedules"
_SHAPES = "cutlass_library/sm90_shapes.py"


@rule(
    "CUTL001", "tile-beyond-library", kind="profile", profiles=("library",), source=_TILES,
    accepts=[{}], rejects=[{"tile_n": 8}, {"tile_m": 192}, {"tile_k": 8}],
    says="block tile of {tile_m} x {tile_n} x {tile_k}, expected 64, 128 or 256 by 16 to 256 by "
         "16 to 256",
)  # fmt: skip
def tiles_are_of_the_library(c: HopperGemm) -> BoolExpr:
    """Block tiles have 64, 128 or 256 rows, and 16 to 256 columns and products.

    Why: the generator leaves others out.

    Fix: take a larger or smaller tile.
    """
    return (
        c.tile_m.isin(64, 128, 256)
        & ((c.tile_n >= 16) & (c.tile_n <= 256))
        & ((c.tile_k >= 16) & (c.tile_k <= 256))
    )


@rule(
    "CUTL002", "tile-k-not-a-multiplier", kind="profile", profiles=("library",),
    source=f"{_SHAPES}: SM90_MMA_MULTIPLIERS",
    accepts=[{}], rejects=[{"tile_k": 32}],
)  # fmt: skip
def tile_k_is_a_multiple(c: HopperGemm) -> BoolExpr:
    """The block tile's K is 4, 8 or 16 times the instruction's.

    Why: the generator multiplies instructions by its table.

    Fix: take such a tile_k.
    """
    k = c.mma_k
    return (c.tile_k == 4 * k) | (c.tile_k == 8 * k) | (c.tile_k == 16 * k)


@rule(
    "CUTL003", "few-stages-guessed", kind="profile", profiles=("library",), source=_TILES,
    accepts=[{}], rejects=[{"tile_k": 256}, {"dtype": "tf32", "align": 4, "tile_k": 128},
                           {"tile_m": 256, "tile_n": 256, "tile_k": 128}],
)  # fmt: skip
def clusters_leave_stages(c: HopperGemm) -> BoolExpr:
    """Clusters with many rows or columns have few products a stage.

    Why: the generator guesses from sizes of clusters that two stages would not fit.

    Fix: take a smaller tile_k.
    """
    m, n = c.tile_m * c.cluster_m, c.tile_n * c.cluster_n
    wide, square = (m >= 128) | (n >= 128), (m >= 256) & (n >= 256)
    fp32, fp16 = c.dtype == "tf32", c.dtype.isin("fp16", "bf16")
    return (
        implies(wide, c.tile_k < 256)
        & implies(fp32 & wide, c.tile_k < 128)
        & implies(fp32 & square, c.tile_k < 64)
        & implies(fp16 & square, c.tile_k < 128)
    )


@rule(
    "CUTL004", "cluster-beyond-library", kind="profile", profiles=("library",),
    source=f"{_SHAPES}: SM90_CLUSTER_SIZES",
    accepts=[{}], rejects=[{"cluster_m": 16}, {"cluster_m": 8, "cluster_n": 2}],
)  # fmt: skip
def clusters_are_of_the_library(c: HopperGemm) -> BoolExpr:
    """Clusters have up to 8 blocks, or 4 by 4.

    Why: the generator's table ends there.

    Fix: take a smaller cluster.
    """
    square = (c.cluster_m == 4) & (c.cluster_n == 4)
    return (c.cluster_m * c.cluster_n <= 8) | square


@rule(
    "CUTL005", "schedules-apart", kind="profile", profiles=("library",), source=_SCHEDULES,
    accepts=[{}, {"schedule": AUTO, "epilogue": AUTO},
             {"schedule": "warpspecialized", "epilogue": "nosmem"}],
    rejects=[{"schedule": AUTO}, {"schedule": "warpspecialized"}, {"epilogue": AUTO}],
)  # fmt: skip
def schedules_are_paired(c: HopperGemm) -> BoolExpr:
    """The automatic schedule is alone with its epilogue, and TMA goes with persistent kernels.

    Why: the generator makes these pairs only.

    Fix: take such a pair.
    """
    auto = (c.schedule == AUTO) & (c.epilogue == AUTO)
    plain = (c.schedule == "warpspecialized") & (c.epilogue == "nosmem")
    named = c.schedule.isin("pingpong", "cooperative") & c.epilogue.isin("nosmem", "tma")
    streamed = (c.tile_scheduler == "persistent") | (c.schedule != AUTO)
    return (auto | plain | named) & streamed


@rule(
    "CUTL006", "epilogue-guessed-too-large", kind="profile", profiles=("library",),
    source=f"{_FILE}: can_tile_desc_use_shmem_in_epilogue",
    applies=lambda c: c.tma_epilogue,
    accepts=[{}], rejects=[{"tile_m": 256, "c_dtype": "fp32", "d_dtype": "fp32"}],
)  # fmt: skip
def epilogues_fit_a_guess(c: HopperGemm) -> BoolExpr:
    """C and D of a block tile have at most 2**20 bits where they go through shared memory.

    Why: the generator guesses that more would not fit.

    Fix: set epilogue to nosmem, or take a smaller tile.
    """
    return c.tile_m * c.tile_n * 8 * (c.source_bytes + c.output_bytes) <= 2**20


@rule(
    "CUTL007", "no-source-without-tma", kind="profile", profiles=("library",), source=_SCHEDULES,
    applies=lambda c: c.c_dtype == NONE,
    accepts=[{}, {"epilogue": "nosmem"}],
    rejects=[{"tile_m": 256, "tile_n": 256, "d_dtype": "fp32", "epilogue": "nosmem"}],
)  # fmt: skip
def void_sources_could_use_tma(c: HopperGemm) -> BoolExpr:
    """Kernels without a C are made where the epilogue could go through shared memory.

    Why: the generator sees no use in others.

    Fix: take a smaller tile.
    """
    return c.tile_m * c.tile_n * 8 * c.output_bytes <= 2**20


@rule(
    "CUTL008", "types-beyond-library", kind="profile", profiles=("library",),
    source="cutlass_library/generator.py: GenerateSM90_TensorOp_16b_WGMMA_gemm and its siblings",
    accepts=[{}, {"d_dtype": "fp32", "c_dtype": "fp32"}],
    rejects=[{"d_dtype": "bf16"}, {"c_dtype": "fp32"},
             {"dtype": "int8", "acc": "int32", "align": 16, "tile_k": 128, "d_dtype": "int8"}],
)  # fmt: skip
def types_are_of_the_library(c: HopperGemm) -> BoolExpr:
    """D has the type of the sums or of A, and C that of D; int8 results have a C.

    Why: the generator makes these, and for fp8 any float in both.

    Fix: take such types.
    """
    small = c.dtype.isin("fp8", "bf8")
    sums = [(c.acc == t) & (c.d_dtype == t) for t in ("fp32", "fp16", "int32")]
    own = [(c.dtype == t) & (c.d_dtype == t) for t in ("fp16", "bf16", "int8")]
    kinds = ("fp32", "fp16", "bf16", "fp8", "bf8", "int8", "int32")
    same = [(c.c_dtype == t) & (c.d_dtype == t) for t in kinds]
    found, alike = sums[0], c.c_dtype == NONE
    for each in (*sums[1:], *own):
        found = found | each
    for each in same:
        alike = alike | each
    return small | (found & alike & ((c.d_dtype != "int8") | (c.c_dtype == "int8")))


@rule(
    "CUTL009", "settings-beyond-library", kind="profile", profiles=("library",),
    source="cutlass_library/gemm_operation.py: EmitGemmUniversal3xInstance.emit",
    accepts=[{}], rejects=[{"stages": 3}, {"epilogue_n": 64}, {"layout": "tnt"}, {"swizzle": 2}],
)  # fmt: skip
def settings_are_automatic(c: HopperGemm) -> BoolExpr:
    """Stages and epilogue tiles are automatic, C is column-major, and tiles are in plain order.

    Why: the generator makes no others.

    Fix: leave these fields out, and take a layout that ends with n.
    """
    plain = (c.stages == 0) & (c.epilogue_n == 0) & (c.swizzle == 1)
    return plain & ~c.c_row


@rule(
    "CUTL010", "alignment-beyond-library", kind="profile", profiles=("library",),
    source="cutlass_library/generator.py: GenerateSM90_TensorOp_16b_WGMMA_gemm and its siblings",
    accepts=[{}], rejects=[{"align": 16}],
)  # fmt: skip
def alignment_is_16_bytes(c: HopperGemm) -> BoolExpr:
    """A and B are aligned to exactly 16 bytes.

    Why: the generator asks for no more where the tensor memory accelerator loads.

    Fix: take an align of 16 bytes.
    """
    return c.align * c.operand_bytes == 16


@rule(
    "CUTL011", "columns-not-of-tile-k", kind="profile", profiles=("library",), source=_SCHEDULES,
    applies=lambda c: c.dtype == "tf32",
    accepts=[{"dtype": "tf32", "align": 4, "tile_k": 32}],
    rejects=[{"dtype": "tf32", "align": 4, "tile_k": 32, "tile_n": 80}],
)  # fmt: skip
def columns_are_of_tile_k(c: HopperGemm) -> BoolExpr:
    """The block tile's N is a multiple of its K for tf32.

    Why: the generator copies a condition of the mainloop that transposes B, for all layouts.

    Fix: take a tile_n that is a multiple of tile_k.
    """
    return c.tile_n % c.tile_k == 0
