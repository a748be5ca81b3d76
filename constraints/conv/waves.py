"""WAVE: waves of a block and their wave groups."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"


@rule(
    "WAVE001", "waves-along-k", kind="wrong-result",
    applies=lambda c: c.pipeline != "compv5",
    source=["ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: the distribution has only M and N waves",
            "ops/epilogue/cshuffle_epilogue.hpp: kBlockSize = MWave * NWave * wave size"],
    accepts=[{}], rejects=[{"wave_k": 2}],
)  # fmt: skip
def one_wave_along_k(c: Quantities) -> BoolExpr:
    """One wave spans K, except in compv5.

    Why: the block size counts the waves along K, but the block GEMM and the epilogue place
    waves along M and N only; the surplus waves work outside the tile. Nothing asserts it.

    Fix: set wave_k to 1 and put the waves along M or N.
    """
    return c.wave_k == 1


@rule(
    "WAVE002", "uneven-wave-groups", kind="compile",
    source=f"{_PATTERN} static_assert X0 * Y1 * Y0 * NumWaveGroups == BlockSize",
    accepts=[{}], rejects=[{"num_wave_groups": 3}],
)  # fmt: skip
def groups_divide_waves(c: Quantities) -> BoolExpr:
    """The wave groups have equally many waves, for the loads and for the CShuffle store.

    Why: the distribution gives each group waves / num_wave_groups rows of waves; the store
    counts the waves along M and N only.

    Fix: set num_wave_groups to 1.
    """
    return all_of(
        c.load_waves % c.num_wave_groups == 0,
        implies(c.epilogue == "cshuffle", c.wave_m * c.wave_n % c.num_wave_groups == 0),
    )


@rule(
    "WAVE003", "wave-group-of-several-waves", kind="wrong-result",
    applies=lambda c: (c.num_wave_groups > 1) & (c.load_waves % c.num_wave_groups == 0),
    source=f"{_PATTERN}: for NumWaveGroups > 1 the rows of waves are a replication dimension",
    accepts=[{"wave_m": 2, "wave_n": 1, "num_wave_groups": 2}],
    rejects=[{"num_wave_groups": 2}],
)  # fmt: skip
def group_is_one_wave(c: Quantities) -> BoolExpr:
    """A wave group is a single wave.

    Why: with several waves in a group all of them load the same rows, and the rest of the tile
    is never loaded. It compiles.

    Fix: set num_wave_groups to 1, or to the number of waves.
    """
    return c.load_waves == c.num_wave_groups
