"""Tables of upstream's dispatcher (June 2026) that the profiles `dispatcher` and `builder` look up.

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


def tables(gpus: Sequence[Gpu], pipelines: Sequence[str], types: Types) -> dict[str, Table]:
    """The dispatcher's tables by name, for the GPUs that it knows.

    Args:
        gpus: The GPUs that points may name.
        pipelines: The family's pipelines.
        types: The family's dtypes; the dispatcher's table has A, B and accumulator as its key.

    >>> from ckrules.arch import load
    >>> found = tables([load("gfx1201")], ["compv6"], {"fp16": ("fp16", "fp16", "fp32")})
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
            for shape in d.tiles(*row, preshuffle=preshuffle)
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
        "dispatcher_lds": Table(
            "dispatcher_lds",
            ("arch", "pipeline"),
            {
                (g.name, p): LDS_LIMITS.get(p, 65536)
                if g.dispatcher is None
                else g.dispatcher.lds_limit(DISPATCHER_NAMES.get(p, p))
                for g in gpus
                for p in pipelines
            },
            source=source,
        ),
    }  # fmt: skip
