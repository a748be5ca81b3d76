"""The fields that families of GEMMs share, as functions of their candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr
from ckrules.engine.expr.variables import Bool, Enum, Int, Role
from ckrules.engine.rules.book import Vocabulary, quantity

PIPELINES = (
    "basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5", "compv6",
    "comp_async", "wavelet",
)  # fmt: skip
SCHEDULERS = ("intrawave", "interwave")
EPILOGUES = ("cshuffle", "default")

#: Block tiles go beyond upstream's lists (16 to 256) in both directions.
TILE_MN = (4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
TILE_K = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512)
#: Every wave map that 1024 threads can hold, on wave32 and wave64.
WAVES = tuple(range(1, 33))
WARP_MN = (4, 16, 32, 64)
WARP_K = (4, 8, 16, 32, 64, 128)
VECTORS = (1, 2, 4, 8, 16)


#: What changing a field costs in a repair, by field or group. The pipeline and the block tile are
#: what a kernel is tuned for; flags that follow from them are cheap.
COSTS: Mapping[str, int] = {
    "pipeline": 20, "tile": 16, "wave": 7, "warp_tile": 6, "epilogue": 5, "scheduler": 4,
    "vector": 3,
}  # fmt: skip


class TileGemmFields(Vocabulary):
    """The shared fields of a point, typed for rule functions."""

    arch: EnumExpr
    dtype: EnumExpr
    tile_m: IntExpr
    tile_n: IntExpr
    tile_k: IntExpr
    wave_m: IntExpr
    wave_n: IntExpr
    wave_k: IntExpr
    warp_tile_m: IntExpr
    warp_tile_n: IntExpr
    warp_tile_k: IntExpr
    pipeline: EnumExpr
    scheduler: EnumExpr
    epilogue: EnumExpr
    double_smem_buffer: BoolExpr
    num_wave_groups: IntExpr
    pad_m: BoolExpr
    pad_n: BoolExpr
    pad_k: BoolExpr
    # fields, or what a family computes for itself
    vector_a: quantity[IntExpr]
    vector_b: quantity[IntExpr]
    vector_c: quantity[IntExpr]


def arch(archs: Sequence[str]) -> Expr:
    """The GPU."""
    return Enum("arch", archs, doc="GPU", role=Role.PURPOSE)


def dtype(dtypes: Sequence[str], doc: str) -> Expr:
    """The types of the operands, as one word of the family (`facts.Types`)."""
    return Enum("dtype", dtypes, doc=doc, role=Role.PURPOSE)


def geometry(waves: Sequence[int] = WAVES) -> list[Expr]:
    """Block tile, waves and warp tile along M, N and K."""
    return [
        *_sizes("tile", "block tile", (TILE_MN, TILE_MN, TILE_K), 65536),
        *_sizes("wave", "waves of a block", (waves, waves, waves), 1024),
        *_sizes("warp_tile", "MFMA or WMMA tile", (WARP_MN, WARP_MN, WARP_K), 1024),
    ]


def _sizes(
    stem: str, what: str, candidates: tuple[Sequence[int], Sequence[int], Sequence[int]], hi: int
) -> list[Expr]:
    return [
        Int(f"{stem}_{d}", values, lo=1, hi=hi, doc=f"{what} along {d.upper()}",
            role=Role.GEOMETRY, group=stem)
        for d, values in zip("mnk", candidates, strict=True)
    ]  # fmt: skip


def methods(
    pipelines: Sequence[str] = PIPELINES,
    schedulers: Sequence[str] = SCHEDULERS,
    epilogues: Sequence[str] = EPILOGUES,
) -> list[Expr]:
    """Pipeline, scheduler and epilogue."""
    doc = "GEMM pipeline; compv1 and compv2 are basic_v1, basic_v2"
    return [
        Enum("pipeline", pipelines, doc=doc, role=Role.METHOD),
        Enum("scheduler", schedulers, doc="pipeline scheduler", role=Role.METHOD),
        Enum("epilogue", epilogues, doc="how the block tile is stored", role=Role.METHOD),
    ]


def vectors(widths: Sequence[int] = VECTORS) -> list[Expr]:
    """The vector widths of A, B and C."""
    return [
        Int(f"vector_{operand}", widths, lo=1, hi=1024, group="vector",
            doc=f"elements of {operand.upper()} a thread {verb} at once")
        for operand, verb in (("a", "loads"), ("b", "loads"), ("c", "stores"))
    ]  # fmt: skip


def buffers() -> list[Expr]:
    """Double LDS buffers and wave groups."""
    return [
        Bool("double_smem_buffer", doc="two LDS buffers, used in turn"),
        Int("num_wave_groups", (1, 2), lo=1, hi=1024, doc="groups that share the loading"),
    ]


def pads() -> list[Expr]:
    """Whether the dimensions of the GEMM are padded."""
    return [Bool(f"pad_{d}", doc=f"pad GEMM dimension {d.upper()}") for d in "mnk"]
