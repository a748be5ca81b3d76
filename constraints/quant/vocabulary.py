"""Fields of a quantised GEMM and the facts of GPUs and headers that its rules look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import DTYPES, Gpu, of_release
from ckrules.constraints.gemm import vocabulary as gemm
from ckrules.constraints.gemm import warp_gemms
from ckrules.constraints.gemm.words import EPILOGUES, SCHEDULERS
from ckrules.constraints.gemm.words import PIPELINES as GEMM_PIPELINES
from ckrules.constraints.quant import words as w
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.constraints.tile_gemm import facts as tile_gemm
from ckrules.constraints.tile_gemm import fields as shared
from ckrules.engine.expr import Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role

#: Feature fields that a configuration may leave out, with what upstream takes then.
DEFAULTS: Mapping[str, Value] = {
    "dtype_scale": "fp32", "scheduler": "intrawave", "epilogue": "cshuffle",
    "pad_m": False, "pad_n": False, "pad_k": False, "transpose_c": False, "permute_n": False,
    "preshuffle_quant": False, "group_m": 1, "group_n": 1, "k_block_per_cu": 1,
}  # fmt: skip

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "aquant", "arch": "gfx942", "dtype": "fp8", "layout": "rcr", "dtype_c": "fp16",
    "tile_m": 64, "tile_n": 128, "tile_k": 128, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 32, "pipeline": "compv3",
    "double_smem_buffer": False, "group_k": w.GROUP, **DEFAULTS,
}  # fmt: skip

COSTS: Mapping[str, int] = {
    **shared.COSTS, "dtype_c": 60, "dtype_scale": 60, "transpose_c": 3, "permute_n": 3,
    "group": 60, "preshuffle_quant": 10, "k_block_per_cu": 2,
}  # fmt: skip

ORDER = (
    "variant", "arch", "dtype", "dtype_c", "dtype_scale", "layout", "epilogue", "pipeline",
    "scheduler", "double_smem_buffer", "transpose_c", "permute_n", "preshuffle_quant", "group_m",
    "wave_k", "warp_tile_m", "warp_tile_n", "warp_tile_k", "wave_m", "wave_n", "group_n", "group_k",
    "tile_k", "tile_m", "tile_n", "pad_m", "pad_n", "pad_k", "k_block_per_cu",
)  # fmt: skip


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    what = "types of A and B, one word where they are the same"
    return [
        Enum("variant", w.VARIANTS, doc="what the scales belong to", role=Role.PURPOSE),
        shared.arch(archs),
        shared.dtype(tuple(w.TYPES), what),
        Enum("layout", w.LAYOUTS, doc="rows or columns contiguous in A, B and C",
             role=Role.PURPOSE),
        Enum("dtype_c", w.OUTPUTS, doc="type of C"),
        Enum("dtype_scale", w.SCALES, doc="type of the scales"),
        Int("group_m", (1,), lo=1, hi=65536, doc="rows that share a scale", group="group"),
        Int("group_n", (1, 8, 16, 32, 64, 128), lo=1, hi=65536, group="group",
            doc="columns that share a scale"),
        Int("group_k", (1, 32, 64, 128, 256), lo=1, hi=65536, group="group",
            doc="elements of a sum that share a scale"),
        *shared.geometry(waves=gemm.WAVES),
        *shared.methods(GEMM_PIPELINES, SCHEDULERS, EPILOGUES),
        Bool("double_smem_buffer", doc="two LDS buffers, used in turn"),
        *shared.pads(),
        Bool("transpose_c", doc="warp GEMMs compute the transposed product"),
        Bool("permute_n", doc="columns of pre-shuffled weights permuted, results stored from registers"),
        Bool("preshuffle_quant", doc="scales of A shuffled beforehand"),
        Int("k_block_per_cu", (1, 2), lo=1, hi=16, doc="blocks on a compute unit (launch bound)"),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    seen = {word: (both, both, "fp32") for word, (_, _, both) in w.TYPES.items()}
    shared = tile_gemm.facts(gpus, ck, seen)
    if ck >= "2026.06":  # is_a_load_tr, is_b_load_tr: not with pk_int4_t
        wide = {word: seen[word] for word, types in w.TYPES.items() if "int4" not in types}
        shared["transpose_load"] = tile_gemm.facts(gpus, ck, wide)["transpose_load"]
    return {
        **shared,
        "header_warp_tiles": warp_gemms.shapes(ck, seen),
        **warp_gemms.accesses(ck),
        "schedulers": of_release(gemm.SCHEDULED, ck),
        "output_bytes": Table("output_bytes", ("dtype_c",), {d: DTYPES[d] // 8 for d in w.OUTPUTS}),
        "scale_bytes": Table(
            "scale_bytes", ("dtype_scale",), {d: DTYPES[d] // 8 for d in w.SCALES}
        ),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> QuantQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = QuantQuantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words
