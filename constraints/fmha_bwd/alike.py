"""Kernels of attention backward that make the same code: ``--distinct`` keeps one of each set."""

from __future__ import annotations

from ckrules.constraints.fmha_bwd.vocabulary import BackwardQuantities
from ckrules.engine.expr import Expr
from ckrules.engine.rules.alike import alike


@alike(
    "heads-of-one-tile-backward", "hdim", until="2026.06",
    source="ops/fmha/pipeline/tile_fmha_shape.hpp: TileFmhaBwdShape (kQKHeaddim is tile_hdq, kVHeaddim tile_hdv)",
)  # fmt: skip
def heads_are_their_tiles(c: BackwardQuantities) -> tuple[Expr, ...]:
    """A kernel has the tiles of heads; the head is for those who choose among kernels."""
    return ()


ALIKE = (heads_are_their_tiles,)
