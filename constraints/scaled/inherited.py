"""The rules that GEMMs with scales share with other tile GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.vocabulary import Quantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import Examples, RuleDef

#: Shared rules that hold for these kernels.
SHARED = (
    "TILE001", "TILE002", "TILE003", "TILE004", "WARP001", "WARP002", "HW001", "LDS001",
    "EPI002", "EPI004", "EPI005", "EPI006",
)  # fmt: skip
#: Those of loads through LDS, which block scales have and flatmm has in a pattern of its own.
LOADS = ("VEC002", "VEC003", "VEC004")
_BLOCKS: Mapping[str, Any] = {
    "variant": "abquant", "pipeline": "abquant", "scales": "blocks",
    "scheduler": "intrawave", "transpose_c": True,
}  # fmt: skip


def _flat(c: Quantities) -> BoolExpr:
    return c.flat


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules that hold, narrowed where they do."""
    kept = [r for r in rules if r.code in SHARED]
    return kept + [r.except_where(_flat) for r in rules if r.code in LOADS]


#: Examples of shared rules on kernels with scales.
EXAMPLES: Mapping[str, Examples] = {
    "TILE001": Examples([{"tile_m": 48}], [{"tile_m": 24}], instead=True),
    "TILE002": Examples([{"tile_n": 64}], [{"tile_n": 96}], instead=True),
    "TILE003": Examples([{"tile_k": 64}], [{"tile_k": 32}], instead=True),
    "TILE004": Examples([{"tile_k": 64}], [{"tile_k": 96}], instead=True),
    "WARP001": Examples([{}], [{"warp_tile_m": 64}], instead=True),
    "WARP002": Examples([{}], [{"warp_tile_k": 128}], instead=True),
    "HW001": Examples([{"wave_n": 8}], [{"wave_n": 32}], instead=True),
    "LDS001": Examples([{}], [{"tile_m": 512}], instead=True),
    "EPI002": Examples(
        [{}], [{"@ck": "2025.11", "tile_m": 48},
               {"@ck": "2026.06", "tile_m": 96, "warp_tile_m": 32, "warp_tile_n": 32}],
        instead=True,
    ),
    "EPI004": Examples([{}], [{"arch": "gfx950", "warp_tile_m": 4, "warp_tile_n": 4}], instead=True),
    "EPI005": Examples([{}], [{"wave_n": 3}], instead=True),
    "EPI006": Examples(
        [{}], [{"@ck": "2025.11", "tile_m": 24, "wave_n": 1, "warp_tile_m": 4},
               {"@ck": "2026.06", "wave_n": 6, "warp_tile_m": 4}],
        instead=True,
    ),
    "VEC002": Examples([_BLOCKS], [{**_BLOCKS, "tile_m": 1, "wave_n": 8}], instead=True),
    "VEC003": Examples([_BLOCKS], [{**_BLOCKS, "tile_k": 96}], instead=True),
    "VEC004": Examples([_BLOCKS], [{**_BLOCKS, "wave_m": 3, "wave_n": 1, "tile_m": 16, "tile_n": 32, "tile_k": 32}],
                       instead=True),
}  # fmt: skip
