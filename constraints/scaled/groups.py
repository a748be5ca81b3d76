"""SCAL: wave groups of kernels with scales."""

from __future__ import annotations

from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import EXPERTS
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule


@rule(
    "SCAL009", "wave-groups-with-scales", kind="wrong-result",
    says=("of a block's {waves} waves only the first stores: num_wave_groups = {num_wave_groups}, "
          "expected 1"),
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: scheduler_type (NumWaveGroups == 1)",
            "ops/flatmm/kernel/flatmm_kernel.hpp: RunFlatmm (UseDefaultScheduler or get_warp_id() == 0)"],
    accepts=[{}, {"num_wave_groups": 2, "wave_m": 1, "wave_n": 1}], rejects=[{"num_wave_groups": 2}],
)  # fmt: skip
def scales_have_one_group(c: ScaledQuantities) -> BoolExpr:
    """Kernels with scales have one wave group, or one wave.

    Why: with several groups only the first wave stores results without scales, which of one wave
    is all of them. What kernels with scales and those of experts do with groups was not run.

    Fix: set num_wave_groups to 1.
    """
    return (c.num_wave_groups == 1) | (c.waves == 1)


@rule(
    "SCAL037", "uneven-groups-of-stores", kind="compile",
    applies=lambda c: c.flat & (c.epilogue == "cshuffle") & (~c.permute_n | (c.variant == EXPERTS)),
    says=("the storing waves do not divide into groups: {wave_m * wave_n=} is not a multiple of "
          "num_wave_groups = {num_wave_groups}"),
    source=["ops/epilogue/cshuffle_epilogue.hpp: operator() (tile_distribution_encoding_pattern_2d with kNumWaveGroups)",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (EpiProblem::kNumWaveGroups)",
            "core/algorithm/static_encoding_pattern.hpp: static_assert X0 * Y1 * Y0 * NumWaveGroups == BlockSize"],
    accepts=[{}, {"num_wave_groups": 2}], rejects=[{"num_wave_groups": 3}],
)  # fmt: skip
def groups_divide_storing_waves(c: ScaledQuantities) -> BoolExpr:
    """The wave groups have equally many waves that store with CShuffle.

    Why: what WAVE002 says of other kernels. flatmm loads A in a pattern that does not look at
    groups, and neither the default epilogue nor stores from registers do.

    Fix: set num_wave_groups to 1.
    """
    return c.wave_m * c.wave_n % c.num_wave_groups == 0
