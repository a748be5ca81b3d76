"""Fields of a GEMM kernel and the facts of GPUs and headers that its rules look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import DTYPES, Gpu, of_release
from ckrules.constraints.gemm import warp_gemms
from ckrules.constraints.gemm import words as w
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.tile_gemm import facts as tile_gemm
from ckrules.constraints.tile_gemm import fields as shared
from ckrules.constraints.tile_gemm import upstream
from ckrules.engine.expr import Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role

SINCE = "2025.11"

#: Waves of upstream's lists go to 8; other numbers are judged, and are not listed.
WAVES = (1, 2, 4, 8, 16)

#: Feature fields that a configuration may leave out, with what upstream takes then.
DEFAULTS: Mapping[str, Value] = {
    "num_wave_groups": 1,
    "pad_m": False,
    "pad_n": False,
    "pad_k": False,
    "persistent": False,
    "transpose_c": False,
    "permute_n": False,
    "k_block_per_cu": 1,
    "streamk": "off",
}

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "standard", "arch": "gfx942", "dtype": "fp16", "layout": "rcr",
    "dtype_acc": "fp32", "dtype_c": "fp16",
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16,
    "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "double_smem_buffer": False, "num_d": 0, "elementwise_op": "passthrough", **DEFAULTS,
}  # fmt: skip

#: What changing a field costs in a repair: what a kernel computes is not a mere flag.
COSTS: Mapping[str, int] = {
    **shared.COSTS, "dtype_c": 60, "dtype_acc": 2, "num_d": 60, "elementwise_op": 60,
    "transpose_c": 3, "permute_n": 3, "k_block_per_cu": 2, "streamk": 10,
}  # fmt: skip

#: Selectors first, then waves and warp tiles, then the tile.
ORDER = (
    "variant", "arch", "dtype", "dtype_acc", "dtype_c", "layout", "epilogue", "pipeline",
    "scheduler", "double_smem_buffer", "num_wave_groups", "transpose_c", "permute_n", "num_d",
    "elementwise_op", "streamk", "persistent", "wave_k", "warp_tile_m", "warp_tile_n", "warp_tile_k",
    "wave_m", "wave_n", "tile_k", "tile_m", "tile_n", "pad_m", "pad_n", "pad_k", "k_block_per_cu",
)  # fmt: skip


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    what = "types of A and B, one word where they are the same"
    return [
        Enum("variant", w.VARIANTS, doc="kind of GEMM", role=Role.PURPOSE),
        shared.arch(archs),
        shared.dtype(tuple(w.TYPES), what),
        Enum("layout", w.LAYOUTS, doc="rows or columns contiguous in A, B, C and every D",
             role=Role.PURPOSE),
        Enum("dtype_acc", w.ACCUMULATORS, doc="type of the sums"),
        Enum("dtype_c", w.OUTPUTS, doc="type of C and of every D"),
        *shared.geometry(waves=WAVES),
        *shared.methods(w.PIPELINES, w.SCHEDULERS, w.EPILOGUES),
        *shared.buffers(),
        *shared.pads(),
        Bool("persistent", doc="as many blocks as run at once, each computes several tiles"),
        Bool("transpose_c", doc="warp GEMMs compute the transposed product"),
        Bool("permute_n", doc="columns of pre-shuffled weights permuted, results stored from registers"),
        Int("num_d", (0, 1, 2), lo=0, hi=64, doc="D tensors"),
        Enum("elementwise_op", w.OPERATIONS, doc="operation on C and every D"),
        Enum("streamk", w.STREAMK, doc="how stream-K joins the parts of a tile"),
        Int("k_block_per_cu", (1, 2), lo=1, hi=16, doc="blocks on a compute unit (launch bound)"),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    mixed = {word: types for word, types in w.TYPES.items() if types[1] != "int4"}
    widened = {
        word: (a, a, acc) for word, (a, b, acc) in w.TYPES.items() if b == "int4"
    }  # instructions see A's type on both sides
    shared = tile_gemm.facts(gpus, ck, {**mixed, **widened})
    if ck >= "2026.06":  # is_a_load_tr, is_b_load_tr: not with pk_int4_t
        shared["transpose_load"] = tile_gemm.facts(gpus, ck, mixed)["transpose_load"]
    return {
        **shared,
        **warp_gemms.tables(ck),
        # the dispatcher's map of types lacks fp32, which it looks up as fp16
        **upstream.tables(gpus, w.PIPELINES, {**w.TYPES, "fp32": w.TYPES["fp16"]}, ck),
        "schedulers": of_release(SCHEDULED, ck),
        "output_bytes": Table("output_bytes", ("dtype_c",), {d: DTYPES[d] // 8 for d in w.OUTPUTS}),
    }


def _scheduled(*free: str) -> Table:
    """The schedulers that each pipeline implements; free ones do not look."""
    looked = {("mem", "interwave"), ("basic_v1", "interwave")}
    pairs = looked | {(p, s) for p in free for s in ("interwave", "default")}
    return Table.relation(
        "schedulers",
        ("pipeline", "scheduler"),
        [*((p, "intrawave") for p in w.PIPELINES), *sorted(pairs)],
        source="ops/gemm/pipeline/gemm_pipeline_ag*.hpp: PipelineImpl specializations",
    )


#: By CK version; since 2026.06 the basic pipeline has forms for intrawave and interwave.
SCHEDULED = {
    "2025.11": _scheduled("basic_v1", "basic_v2", "preshufflev2"),
    "2026.06": _scheduled("basic_v2", "preshufflev2"),
}


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> GemmQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = GemmQuantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words
