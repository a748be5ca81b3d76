"""Fields of a grouped-convolution kernel and the facts of GPUs that its rules look up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ckrules.arch import DTYPES, Gpu
from ckrules.constraints.conv import upstream
from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import Expr, Value
from ckrules.engine.table import Table
from ckrules.engine.variables import Bool, Enum, Int

SINCE = "2025.11"
VARIANTS = ("forward", "bwd_data", "bwd_weight")
KERNEL_DTYPES = ("fp16", "bf16", "fp32")
LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}
PIPELINES = (
    "basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5", "compv6",
    "comp_async", "wavelet",
)  # fmt: skip
SPECIALIZATIONS = ("default", "filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3")

#: Block tiles go beyond upstream's lists (16 to 256) in both directions.
TILE_MN = (4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
TILE_K = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512)
#: Every wave map that 1024 threads can hold, on wave32 and wave64.
WAVES = tuple(range(1, 33))

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
}

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc",
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16,
    "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 8, "vector_b": 8, "vector_c": 8, **DEFAULTS,
}  # fmt: skip


#: Selectors first, then waves and warp tiles, then each operand with its vector: once A is
#: settled, only its share of the LDS is remembered while B is.
ORDER = (
    "variant", "arch", "epilogue", "pipeline", "scheduler", "dtype", "double_smem_buffer",
    "two_stage", "num_wave_groups", "wave_k", "warp_tile_m", "warp_tile_n", "warp_tile_k",
    "wave_m", "wave_n", "tile_k", "tile_m", "vector_a", "vector_c", "tile_n", "vector_b",
    "split_image", "specialization", "num_groups_to_merge", "explicit_gemm", "streamk",
    "streamk_persistent", "ndim", "layout", "pad_m", "pad_n", "pad_k",
)  # fmt: skip


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them; candidates are data of this module."""
    return [
        Enum("variant", VARIANTS, doc="direction of the convolution"),
        Enum("arch", archs, doc="GPU"),
        Enum("dtype", KERNEL_DTYPES, doc="type of input, weight and output; the sum is fp32"),
        Int("ndim", (1, 2, 3), doc="spatial dimensions"),
        Enum("layout", tuple(LAYOUTS.values()), doc="layout of input and output, channels last"),
        *_ints("tile", "mnk", "block tile", (TILE_MN, TILE_MN, TILE_K), 65536),
        *_ints("wave", "mnk", "waves of a block", (WAVES, WAVES, WAVES), 1024),
        *_ints(
            "warp_tile", "mnk", "MFMA or WMMA tile",
            ((4, 16, 32, 64), (4, 16, 32, 64), (4, 8, 16, 32, 64, 128)), 1024,
        ),
        Enum("pipeline", PIPELINES, doc="GEMM pipeline; compv1 and compv2 are basic_v1, basic_v2"),
        Enum("scheduler", ("intrawave", "interwave"), doc="pipeline scheduler"),
        Enum("epilogue", ("cshuffle", "default"), doc="how the block tile is stored"),
        Int("vector_a", (1, 2, 4, 8, 16), lo=1, hi=1024, doc="elements of A a thread loads at once"),
        Int("vector_b", (1, 2, 4, 8, 16), lo=1, hi=1024, doc="elements of B a thread loads at once"),
        Int("vector_c", (1, 2, 4, 8, 16), lo=1, hi=1024, doc="elements of C a thread stores at once"),
        Bool("double_smem_buffer", doc="two LDS buffers, used in turn"),
        Int("num_wave_groups", (1, 2), lo=1, hi=1024, doc="groups that share the loading"),
        Int(
            "num_groups_to_merge", (1, 2, 4, 8, 16, 32, 64), lo=1, hi=65536,
            doc="convolution groups computed as one GEMM",
        ),
        *(Bool(f"pad_{d}", doc=f"pad GEMM dimension {d.upper()}") for d in "mnk"),
        Enum("specialization", SPECIALIZATIONS, doc="what the kernel assumes of the filter"),
        Bool("two_stage", doc="sum in an fp32 workspace, then convert (backward weight)"),
        Bool("explicit_gemm", doc="run a plain batched GEMM (1x1 filters)"),
        Bool("split_image", doc="split images beyond 2 GB (large tensors, forward)"),
        Enum("streamk", ("off", "linear", "tree"), doc="stream-K reduction strategy"),
        Bool("streamk_persistent", doc="stream-K with a persistent grid"),
    ]  # fmt: skip


def _ints(
    stem: str, dims: str, what: str, values: tuple[tuple[int, ...], ...], hi: int
) -> list[Expr]:
    return [
        Int(f"{stem}_{d}", v, lo=1, hi=hi, doc=f"{what} along {d.upper()}")
        for d, v in zip(dims, values, strict=True)
    ]


def _per_gpu(name: str, gpus: Sequence[Gpu], fact: Callable[[Gpu], Any]) -> Table:
    return Table(name, ("arch",), {g.name: fact(g) for g in gpus}, source="arch/data")


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    tiles = {
        (g.name, dtype, t.m, t.n, t.k)
        for g in gpus
        for dtype in KERNEL_DTYPES
        for t in g.warp_tiles(dtype, dtype, "fp32", ck)
    }
    transposing = {
        (g.name, dtype, k)
        for g in gpus
        if g.transpose_load is not None
        for dtype in KERNEL_DTYPES
        for k in (4, 8, 16, 32, 64, 128)
        if (ck < "2026.06" and g.isa == "gfx9") or g.transpose_load.allows(dtype, k)
    }
    return {
        "wave_size": _per_gpu("wave_size", gpus, lambda g: g.wave_size),
        "lds_capacity": _per_gpu("lds_capacity", gpus, lambda g: g.lds_bytes),
        "smem_capacity": _per_gpu("smem_capacity", gpus, lambda g: g.smem_capacity),
        "lds_banks": _per_gpu("lds_banks", gpus, lambda g: g.lds_banks),
        "max_threads": _per_gpu("max_threads", gpus, lambda g: g.max_threads),
        "element_bytes": Table(
            "element_bytes", ("dtype",), {d: DTYPES[d] // 8 for d in KERNEL_DTYPES}
        ),
        "hardware_warp_tiles": Table.relation(
            "hardware_warp_tiles",
            ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k"),
            sorted(tiles),
            source="arch/data, [[warp_tile]]",
        ),
        "transpose_load": Table.relation(
            "transpose_load", ("arch", "dtype", "warp_tile_k"), sorted(transposing)
        ),
        "direct_to_lds": Table.relation(
            "direct_to_lds",
            ("arch", "bytes"),
            [(g.name, b) for g in gpus for b in g.direct_to_lds_bytes],
        ),
        **{
            feature: Table.relation(feature, ("arch",), [g.name for g in gpus if g.has(feature)])
            for feature in ("async_pipelines", "streamk", "lds_row_padding", "lds_transpose_load")
        },
        **upstream.tables(gpus, PIPELINES),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> Quantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = Quantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order = BASELINE, ORDER
    return words
