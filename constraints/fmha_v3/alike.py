"""Kernels with two groups of waves of the same code: ``--distinct`` keeps one of each set."""

from __future__ import annotations

from ckrules.constraints.fmha_v3.vocabulary import TwoGroupQuantities
from ckrules.engine.expr import Expr
from ckrules.engine.rules.alike import alike

_KERNEL = "ops/fmha/kernel/fmha_fwd_v3_kernel.hpp: FmhaFwdV3Kernel"


@alike(
    "heads-of-one-tile-in-two-groups", "hdim", until="2026.06",
    source="ops/fmha/pipeline/tile_fmha_shape.hpp: TileFmhaShape (kQKHeaddim is tile_k0max)",
)  # fmt: skip
def heads_are_their_tiles(c: TwoGroupQuantities) -> tuple[Expr, ...]:
    """A kernel has the tile of a head; the head is for those who choose among kernels."""
    return ()


@alike(
    "launch-bounds-of-two-groups", "block_per_cu", until="2026.06",
    source=[f"{_KERNEL}, kBlockPerCu",
            "ops/fmha/pipeline/block_fmha_fwd_v3_pipeline.hpp: kBlockPerCu"],
)  # fmt: skip
def launch_bounds_are_numbers(c: TwoGroupQuantities) -> tuple[Expr, ...]:
    """A launch bound of -1 is the number that the pipeline decides on."""
    return (c.launch_blocks,)


ALIKE = (heads_are_their_tiles, launch_bounds_are_numbers)
