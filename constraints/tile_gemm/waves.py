"""WAVE: waves of a block and their wave groups."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vectors import elements_at_once
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_PATTERN = "core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d"


@rule(
    "WAVE001", "waves-along-k", kind="wrong-result",
    applies=lambda c: c.pipeline != "compv5",
    says="only compv5 has waves along K, not {pipeline}: wave_k = {wave_k}, expected 1",
    source=["ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: the distribution has only M and N waves",
            "ops/epilogue/cshuffle_epilogue.hpp: kBlockSize = MWave * NWave * wave size"],
    accepts=[{}], rejects=[{"wave_k": 2}],
)  # fmt: skip
def one_wave_along_k(c: TileGemm) -> BoolExpr:
    """One wave spans K, except in compv5.

    Why: the block size counts the waves along K, but the block GEMM and the epilogue place
    waves along M and N only; the surplus waves work outside the tile. Nothing asserts it.

    Fix: set wave_k to 1 and put the waves along M or N.
    """
    return c.wave_k == 1


@rule(
    "WAVE002", "uneven-wave-groups", kind="compile",
    says=[("the loading waves do not divide into groups: {load_waves=} is not a multiple "
          "of num_wave_groups = {num_wave_groups}"),
          ("the storing waves do not divide into groups: {wave_m * wave_n=} is not a "
          "multiple of num_wave_groups = {num_wave_groups}")],
    source=f"{_PATTERN} static_assert X0 * Y1 * Y0 * NumWaveGroups == BlockSize",
    accepts=[{}], rejects=[{"num_wave_groups": 3}],
)  # fmt: skip
def groups_divide_waves(c: TileGemm) -> BoolExpr:
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
    "WAVE004", "wave-groups-with-transposed-operand", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.num_wave_groups > 1) & c.a.sound & c.b.sound & elements_at_once(c),
    says=["with num_wave_groups = {num_wave_groups} a transposed A loses all rows of a thread but one",
          "with num_wave_groups = {num_wave_groups} a transposed B loses all rows of a thread but one"],
    source=[f"{_PATTERN}: for NumWaveGroups > 1 both dimensions of a thread have the same minor index (run)",
            "core/tensor/transpose_tile.hpp: get_rh_minor_to_y"],
    accepts=[{"num_wave_groups": 4}],
    rejects=[],
)  # fmt: skip
def groups_transpose_nothing(c: TileGemm) -> BoolExpr:
    """With several wave groups no operand is transposed in registers.

    Why: a thread's rows and its elements of a row get the same index in the distribution for
    wave groups, and the transposition in registers tells dimensions apart by that index. It
    keeps one row, and every thread has several. In forward no operand is transposed, and gfx950
    mostly reads transposed ones from LDS with instructions of its own. VEC009 is about vectors, where it does not
    compile. Since 2026.06 the transposition goes by the order of the dimensions.

    Fix: set num_wave_groups to 1.
    """
    return all_of(~c.a_shuffled, ~c.b_shuffled)


@rule(
    "WAVE003", "wave-group-of-several-waves", kind="wrong-result",
    applies=lambda c: (c.num_wave_groups > 1) & (c.load_waves % c.num_wave_groups == 0),
    says=("a wave group must be a single wave: num_wave_groups = {num_wave_groups} for "
          "{load_waves} waves, expected 1 or {load_waves}"),
    source=f"{_PATTERN}: for NumWaveGroups > 1 the rows of waves are a replication dimension",
    accepts=[{"wave_m": 2, "wave_n": 1, "num_wave_groups": 2}],
    rejects=[{"num_wave_groups": 2}],
)  # fmt: skip
def group_is_one_wave(c: TileGemm) -> BoolExpr:
    """A wave group is a single wave.

    Why: with several waves in a group all of them load the same rows, and the rest of the tile
    is never loaded. It compiles.

    Fix: set num_wave_groups to 1, or to the number of waves.
    """
    return c.load_waves == c.num_wave_groups
