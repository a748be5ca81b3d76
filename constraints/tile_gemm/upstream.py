"""Tables of upstream's dispatcher (since June 2026) that the profiles `dispatcher` and `builder` look up.

They are facts of those tools, taken from the GPU files' ``[dispatcher]`` tables, and say nothing
about the C++: it has no wave-map table, and some of the warp tiles compute nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckrules.arch import Gpu
from ckrules.constraints.tile_gemm.facts import Types
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, rel
from ckrules.engine.expr.relation import Table

#: What the dispatcher calls pipelines that a point names otherwise.
DISPATCHER_NAMES = {"basic_v1": "compv1", "basic_v2": "compv2"}

#: Bytes of A and B that a pipeline may stage, on GPUs whose file does not say; others get 65536.
LDS_LIMITS = {"compv4": 32768, "compv6": 32768}

#: Since 2026.09, pipelines that may stage half of the GPU's LDS; others may stage all of it.
HALVED = ("compv4", "compv6", "comp_async", "preshufflev1", "preshufflev2")
#: What it takes a GPU's LDS for that it does not know, the smallest of those that it does.
SMALLEST = 65536

_INTRAWAVE_ONLY = ("comp_async", "compv3", "compv4", "compv5", "compv6")

#: Combinations of pipeline, epilogue and scheduler that upstream's tools refuse.
REFUSED_TRAITS = Table.relation(
    "refused_traits",
    ("pipeline", "epilogue", "scheduler"),
    [(p, e, "interwave") for p in _INTRAWAVE_ONLY for e in ("cshuffle", "default")],
    source="dispatcher/codegen/arch_specs.json: unsupported_traits",
)


def trait_is_listed(c: TileGemm) -> BoolExpr:
    """The pipeline, epilogue and scheduler are not a combination of the refused list.

    Why: the list has interwave with comp_async and compv3 to compv6; other pipelines that do
    not know interwave are not in it.

    Fix: use intrawave.
    """
    return ~rel(REFUSED_TRAITS, c.pipeline, c.epilogue, c.scheduler)


def staged(gpu: Gpu, pipeline: str, ck: str, *, twice: bool = False) -> int:
    """Bytes of A and B that the dispatcher lets a pipeline stage on a GPU.

    Args:
        gpu: The GPU; one without a table in its file is unknown to the dispatcher.
        pipeline: A pipeline as points name it.
        ck: The version. Since 2026.09 the bytes are a share of the GPU's LDS.
        twice: Whether the kernel has two buffers, which is asked since 2026.09.

    Source: dispatcher/codegen/arch_specs.json (CK 2026.06; CK 2026.09 at 029d7b0: pipeline_lds_budget),
    dispatcher/tests/test_lds_capacity_arch_aware.py (CK 2026.09: get_lds_limit).

    >>> from ckrules.arch import load
    >>> staged(load("gfx950"), "compv3", "2026.06"), staged(load("gfx950"), "compv3", "2026.09")
    (65536, 163840)
    >>> staged(load("gfx950"), "compv3", "2026.09", twice=True)
    81920
    """
    if ck < "2026.09":
        if gpu.dispatcher is None:
            return LDS_LIMITS.get(pipeline, 65536)
        return gpu.dispatcher.lds_limit(DISPATCHER_NAMES.get(pipeline, pipeline))
    capacity = SMALLEST if gpu.dispatcher is None else gpu.lds_bytes
    return capacity // 2 if twice or pipeline in HALVED else capacity


def tables(
    gpus: Sequence[Gpu], pipelines: Sequence[str], types: Types, ck: str
) -> dict[str, Table]:
    """The dispatcher's tables by name, for the GPUs that it knows.

    Args:
        gpus: The GPUs that points may name.
        pipelines: The family's pipelines.
        types: The family's dtypes; the dispatcher's table has A, B and accumulator as its key.
        ck: The version whose tables they are.

    >>> from ckrules.arch import load
    >>> halves = {"fp16": ("fp16", "fp16", "fp32")}
    >>> found = tables([load("gfx1201")], ["compv6"], halves, "2026.06")
    >>> sorted(found["dispatcher_waves"].rows)[0], found["dispatcher_lds"].rows[("gfx1201", "compv6")]
    (('gfx1201', 1, 8, 1), 32768)
    """
    known = [(g, g.dispatcher) for g in gpus if g.dispatcher is not None]
    source = "arch/data/*.toml [dispatcher]"

    def listed(rows: str, tiles: str, preshuffle: bool) -> dict[str, Table]:
        shapes = [
            (g.name, dtype, *shape)
            for g, d in known
            for dtype, row in types.items()
            for shape in d.tiles(*row, preshuffle=preshuffle, ck=ck)
        ]
        keys = ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")
        pairs = list(dict.fromkeys(s[:2] for s in shapes))
        return {
            rows: Table.relation(rows, keys[:2], pairs, source=source),
            tiles: Table.relation(tiles, keys, shapes, source=source),
        }

    return {
        "dispatcher_gpus": Table.relation(
            "dispatcher_gpus", ("arch",), [g.name for g, _ in known], source=source
        ),
        "dispatcher_waves": Table.relation(
            "dispatcher_waves",
            ("arch", "wave_m", "wave_n", "wave_k"),
            [(g.name, *waves) for g, d in known for waves in d.wave_maps],
            source=source,
        ),
        **listed("dispatcher_dtypes", "dispatcher_warp_tiles", preshuffle=False),
        **listed("dispatcher_weight_rows", "dispatcher_weight_tiles", preshuffle=True),
        **{
            name: Table(
                name,
                ("arch", "pipeline"),
                {(g.name, p): staged(g, p, ck, twice=twice) for g in gpus for p in pipelines},
                source=source,
            )
            for name, twice in (("dispatcher_lds", False), ("dispatcher_lds_twice", True))
        },
    }
