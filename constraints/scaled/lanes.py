"""SCAL: the lanes that flatmm reads its weights with."""

from __future__ import annotations

from ckrules.constraints.scaled.kernel import FLAT_POLICY, OF_EXPERTS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule


@rule(
    "SCAL034", "weights-for-waves-of-64", kind="compile",
    applies=lambda c: c.flat,
    says="flatmm reads pre-shuffled weights in waves of 64 lanes, not {wave_size}",
    source=f"{FLAT_POLICY}: MakeBFlatDramTileDistribution static_assert flatKPerWarp == KThdPerWave * KBPerLoad",
    accepts=[{}, {"arch": "gfx90a", "dtype": "bf16", "warp_tile_k": 16}],
    rejects=[{"arch": "gfx1201", "dtype": "bf16", "warp_tile_k": 16},
             {**OF_EXPERTS, "arch": "gfx1100", "dtype": "bf16", "warp_tile_k": 16}],
)  # fmt: skip
def weights_are_for_waves_of_64(c: ScaledQuantities) -> BoolExpr:
    """Kernels of flatmm are of GPUs whose waves have 64 lanes.

    Why: a lane loads a half or a quarter of the warp tile's K, by its columns alone, so that all
    lanes load a warp tile of B where there are 64 of them; asserted. The weights of preshufflev2
    are loaded by another policy, which knows waves of 32.

    Fix: use preshufflev2, or a GPU with waves of 64 lanes.
    """
    return c.wave_size == 64
