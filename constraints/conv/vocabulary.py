"""Fields of a grouped-convolution kernel and the facts of GPUs that its rules look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.constraints.conv.words import LAYOUTS
from ckrules.constraints.tile_gemm import facts as tile_gemm
from ckrules.constraints.tile_gemm import fields as shared
from ckrules.constraints.tile_gemm import upstream
from ckrules.constraints.tile_gemm.facts import Types
from ckrules.engine.expr import Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role

SINCE = "2025.11"
VARIANTS = ("forward", "bwd_data", "bwd_weight")
#: Input, weight and output have one type, which the word says; the sum is fp32.
TYPES: Types = {d: (d, d, "fp32") for d in ("fp16", "bf16", "fp32")}
KERNEL_DTYPES = tuple(TYPES)
SPECIALIZATIONS = ("default", "filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3")

#: Feature fields that a configuration may leave out, with what upstream takes then.
DEFAULTS: Mapping[str, Value] = {
    "double_smem_buffer": False,
    "num_wave_groups": 1,
    "num_groups_to_merge": 1,
    "pad_m": True,
    "pad_n": True,
    "pad_k": True,
    "specialization": "default",
    "two_stage": False,
    "explicit_gemm": False,
    "split_image": False,
    "streamk": "off",
    "streamk_persistent": False,
    "block_per_cu": 0,
}

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc",
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16,
    "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 8, "vector_b": 8, "vector_c": 8, **DEFAULTS,
}  # fmt: skip


#: What changing a field costs in a repair: features that a kernel is made for are not mere flags.
COSTS: Mapping[str, int] = {
    **shared.COSTS, "num_groups_to_merge": 2, "specialization": 2, "streamk": 2, "two_stage": 2,
    "explicit_gemm": 2, "block_per_cu": 3,
}  # fmt: skip

#: Selectors first, then waves and warp tiles, then each operand with its vector: once A is
#: settled, only its share of the LDS is remembered while B is.
ORDER = (
    "variant", "arch", "epilogue", "pipeline", "scheduler", "dtype", "double_smem_buffer",
    "two_stage", "num_wave_groups", "wave_k", "warp_tile_m", "warp_tile_n", "warp_tile_k",
    "wave_m", "wave_n", "tile_k", "tile_m", "vector_a", "vector_c", "tile_n", "vector_b",
    "split_image", "specialization", "num_groups_to_merge", "explicit_gemm", "streamk",
    "streamk_persistent", "ndim", "layout", "pad_m", "pad_n", "pad_k", "block_per_cu",
)  # fmt: skip


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them; candidates are data of this module."""
    what = "type of input, weight and output; the sum is fp32"
    return [
        Enum("variant", VARIANTS, doc="direction of the convolution", role=Role.PURPOSE),
        shared.arch(archs),
        shared.dtype(KERNEL_DTYPES, what),
        Int("ndim", (1, 2, 3), doc="spatial dimensions", role=Role.PURPOSE),
        Enum("layout", tuple(LAYOUTS.values()), doc="layout of input and output, channels last"),
        *shared.geometry(),
        *shared.methods(),
        *shared.vectors(),
        *shared.buffers(),
        Int(
            "num_groups_to_merge", (1, 2, 4, 8, 16, 32, 64), lo=1, hi=65536,
            doc="convolution groups computed as one GEMM",
        ),
        *shared.pads(),
        Enum("specialization", SPECIALIZATIONS, doc="what the kernel assumes of the filter"),
        Bool("two_stage", doc="sum in an fp32 workspace, then convert (backward weight)"),
        Bool("explicit_gemm", doc="run a plain batched GEMM (1x1 filters)"),
        Bool("split_image", doc="split images beyond 2 GB (large tensors, forward)"),
        Enum("streamk", ("off", "linear", "tree"), doc="stream-K reduction strategy"),
        Bool("streamk_persistent", doc="stream-K with a persistent grid"),
        # Upstream's own value only, unless another is asked for: lists and counts are upstream's.
        Int(
            "block_per_cu", (0,), lo=0, hi=16,
            doc="launch bound (kBlockPerCu): blocks on a compute unit; 0 is upstream's choice",
        ),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    return {
        **tile_gemm.facts(gpus, ck, TYPES),
        **tile_gemm.occupancy(gpus),
        **upstream.tables(gpus, shared.PIPELINES, TYPES, ck),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> ConvQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = ConvQuantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words
