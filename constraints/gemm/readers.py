"""What GEMMs add to input formats.

Facts: tile_engine/ops of the PyPI sdist amd-aiter 0.1.7.post2.dev18 (November 2025).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.words import TILE_ENGINE_BUFFERS
from ckrules.kernels.reader_tables import SweepTable

_TILES = {
    **{f"tile_{x}": f"tile_{x}" for x in "mnk"},
    **{f"warp_{x}": f"wave_{x}" for x in "mnk"},
    **{f"warp_tile_{x}": f"warp_tile_{x}" for x in "mnk"},
}
_TRAITS = ("pipeline", "epilogue", "scheduler", "pad_m", "pad_n", "pad_k", "persistent")


def _buffers(fields: dict[str, Any]) -> None:
    fields["double_smem_buffer"] = fields["pipeline"] in TILE_ENGINE_BUFFERS


TILE_ENGINE = SweepTable(
    tool="tile_engine",
    profile="tile_engine",
    sections={"tile_config": _TILES, "trait_config": {k: k for k in _TRAITS}},
    ranges=("tile_m", "tile_n", "tile_k"),
    scalars={"k_block_per_cu": "k_block_per_cu", "permute_n": "permute_n"},
    beside={"multi_d": {"num_d": 2, "elementwise_op": "multiply"}},
    derive=_buffers,
)

TABLES: Mapping[str, Any] = {"sweep": TILE_ENGINE}
