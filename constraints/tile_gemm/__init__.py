"""What kernel families that CK Tile computes as a GEMM share: fields, quantities and rules.

A family inherits: its vocabulary is a subclass of `ckrules.constraints.tile_gemm.vocabulary`'s
and says which operand is transposed, which types are stored, and where else it differs; its rules
are those of this package and its own (``collect(tile_gemm, own, examples=...)``).
"""

from __future__ import annotations

from collections.abc import Mapping

#: What the letters of the shared rules' codes stand for.
TOPICS: Mapping[str, str] = {
    "TILE": "block tiles are covered by waves and warp tiles",
    "WAVE": "waves of a block and their wave groups",
    "WARP": "warp tiles that exist in the headers and in the hardware",
    "PIPE": "pipelines, schedulers and double LDS buffers",
    "VEC": "vector widths and the distribution of a tile over threads",
    "EPI": "epilogues",
    "LDS": "LDS bytes and layouts",
    "HW": "limits of the hardware and of the launch",
}
