"""Fields of a GEMM with scales, and what its rules look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import DTYPES, Gpu
from ckrules.constraints.gemm.warp_gemms import shapes
from ckrules.constraints.scaled import words as w
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.tile_gemm import facts as tile_gemm
from ckrules.constraints.tile_gemm import fields as shared
from ckrules.engine.expr import Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role

#: Fields that a configuration may leave out.
DEFAULTS: Mapping[str, Value] = {
    "epilogue": "cshuffle", "double_smem_buffer": False, "num_wave_groups": 1,
    "pad_m": False, "pad_n": False, "pad_k": False, "persistent": False, "transpose_c": False,
    "permute_n": False, "k_block_per_cu": 1, "partition_groups": 1, "partition_m01": 1,
    "scale_rows": False, "stage": 0, "activation": "no", "routed_weight": False, "bias": False,
    "split_k": False, "grouping": "no",
}  # fmt: skip

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "flatmm", "arch": "gfx942", "dtype": "fp8", "dtype_c": "bf16",
    "tile_m": 128, "tile_n": 128, "tile_k": 128, "wave_m": 1, "wave_n": 4, "wave_k": 1,
    "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 64, "pipeline": "flatmm",
    "scheduler": "default", "scales": "row_column", **DEFAULTS,
}  # fmt: skip

COSTS: Mapping[str, int] = {
    **shared.COSTS, "dtype_c": 60, "transpose_c": 3, "permute_n": 3, "k_block_per_cu": 2,
    "scales": 60, "stage": 60, "activation": 60, "routed_weight": 60, "bias": 60, "split_k": 60,
    "scale_rows": 60, "grouping": 60,
}  # fmt: skip

ORDER = (
    "variant", "arch", "dtype", "dtype_c", "pipeline", "scheduler", "epilogue", "scales", "stage",
    "double_smem_buffer", "num_wave_groups", "transpose_c", "permute_n", "persistent", "wave_k",
    "warp_tile_m", "warp_tile_n", "warp_tile_k", "wave_m", "wave_n", "tile_k", "tile_m", "tile_n",
    "pad_m", "pad_n", "pad_k", "k_block_per_cu", "partition_groups", "partition_m01",
    "scale_rows", "activation", "routed_weight", "bias", "split_k", "grouping",
)  # fmt: skip

_OWN = tuple(dict.fromkeys(p for found in w.PIPELINES.values() for p in found))
#: Waves of upstream's lists; other numbers are judged, and are not listed.
WAVES = (1, 2, 4, 8)


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    return [
        Enum("variant", w.VARIANTS, doc="kind of GEMM with scales", role=Role.PURPOSE),
        shared.arch(archs),
        shared.dtype(tuple(w.TYPES), "types of A and B, one word where they are the same"),
        Enum("dtype_c", w.OUTPUTS, doc="type of C"),
        *shared.geometry(waves=WAVES),
        *shared.methods((*shared.PIPELINES, *_OWN), w.SCHEDULERS),
        *shared.buffers(),
        *shared.pads(),
        Bool("persistent", doc="as many blocks as run at once, each computes several tiles"),
        Bool("transpose_c", doc="warp GEMMs compute the transposed product"),
        Bool("permute_n", doc="columns of pre-shuffled weights permuted"),
        Int("k_block_per_cu", (1, 2), lo=1, hi=16, doc="blocks on a compute unit (launch bound)"),
        Int("partition_groups", (1, 8), lo=1, hi=64, doc="groups of the tile partitioner"),
        Int("partition_m01", (1, 4), lo=1, hi=64, doc="rows of tiles of the partitioner"),
        Enum("scales", w.SCALES, doc="what a scale of A or B belongs to"),
        Bool("scale_rows", doc="scales of A lie in rows, with block scales"),
        Int("stage", (0, 1, 2), lo=0, hi=2, doc="GEMM of a mixture of experts: 1 has gate and up"),
        Enum("activation", w.ACTIVATIONS, doc="activation of the first GEMM of experts"),
        Bool("routed_weight", doc="results are multiplied by the expert's weight"),
        Bool("bias", doc="a bias is added"),
        Bool("split_k", doc="sums of experts are split along K"),
        Enum("grouping", w.GROUPINGS, doc="groups that flatmm computes together"),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    return {
        **tile_gemm.facts(gpus, ck, w.TYPES),
        "header_warp_tiles": shapes(ck, w.TYPES),
        "output_bytes": Table("output_bytes", ("dtype_c",), {d: DTYPES[d] // 8 for d in w.OUTPUTS}),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> ScaledQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = ScaledQuantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words
