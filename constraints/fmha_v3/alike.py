"""Kernels with two groups of waves of the same code: ``--distinct`` keeps one of each set."""

from __future__ import annotations

from dataclasses import replace

from ckrules.constraints.fmha import alike as forward
from ckrules.constraints.fmha_v3.shapes import KERNEL, PIPELINE

ALIKE = (
    replace(forward.heads_are_their_tiles, name="heads-of-one-tile-in-two-groups"),
    replace(
        forward.launch_bounds_are_numbers, name="launch-bounds-of-two-groups",
        sources=(f"{KERNEL}: FmhaFwdV3Kernel, kBlockPerCu", f"{PIPELINE}: kBlockPerCu"),
    ),
)  # fmt: skip
