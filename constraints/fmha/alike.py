"""Kernels of attention that make the same device code: ``--distinct`` keeps one of each set.

What is alike was read in the headers of CK 2025.11 that are named, and compiled for a pair of each.
"""

from __future__ import annotations

from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import Expr
from ckrules.engine.rules.alike import alike

_KERNELS = "ops/fmha/kernel/fmha_{fwd,fwd_splitkv,fwd_pagedkv,batch_prefill}_kernel.hpp"


@alike(
    "heads-of-one-tile", "hdim", until="2026.06",
    source="ops/fmha/pipeline/tile_fmha_shape.hpp: TileFmhaShape (kQKHeaddim is tile_k0max)",
)  # fmt: skip
def heads_are_their_tiles(c: AttentionQuantities) -> tuple[Expr, ...]:
    """A kernel has the tile of a head; the head is for those who choose among kernels."""
    return ()


@alike(
    "launch-bounds-as-the-pipeline-has-them", "block_per_cu", until="2026.06",
    source=[f"{_KERNELS}: kBlockPerCu, and kBlockPerCuInput of GetName alone",
            "ops/fmha/pipeline/block_fmha_*pipeline_*.hpp: kBlockPerCu"],
)  # fmt: skip
def launch_bounds_are_numbers(c: AttentionQuantities) -> tuple[Expr, ...]:
    """A launch bound of -1 is the number that the pipeline decides on."""
    return (c.launch_blocks,)


@alike(
    "skips-of-batch-mode", "skip", until="2026.06",
    applies=lambda c: (c.variant == "fmha_fwd") & (c.mode == "batch"),
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: FmhaFwdBatchModeKargs, run_ (kSkipMinSeqlenQ in group mode alone)",
)  # fmt: skip
def batches_skip_nothing(c: AttentionQuantities) -> tuple[Expr, ...]:
    """In batch mode forward has no shortest sequence of Q to skip."""
    return ()


ALIKE = (heads_are_their_tiles, launch_bounds_are_numbers, batches_skip_nothing)
