"""SCAL: the waves of a block, in groups, and from one tile to the next."""

from __future__ import annotations

from ckrules.constraints.scaled.kernel import OF_EXPERTS
from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.scaled.words import EXPERTS
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

TOO_EARLY = "one of {waves} waves begins the next tile while another still reads results in LDS: {waves=}, expected 1"


def stores_by_lds(c: ScaledQuantities) -> BoolExpr:
    """Whether results go through LDS; experts' kernels have an epilogue of their own, which does."""
    return c.flat & (c.epilogue == "cshuffle") & (~c.permute_n | (c.variant == EXPERTS))


@rule(
    "SCAL009", "wave-groups-with-scales", kind="wrong-result",
    says=("of a block's {waves} waves only the first stores: num_wave_groups = {num_wave_groups}, "
          "expected 1"),
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: scheduler_type (NumWaveGroups == 1)",
            "ops/flatmm/kernel/flatmm_kernel.hpp: RunFlatmm (UseDefaultScheduler or get_warp_id() == 0)"],
    accepts=[{}, {"num_wave_groups": 2, "wave_m": 1, "wave_n": 1}, {**OF_EXPERTS, "num_wave_groups": 4}],
    rejects=[{"num_wave_groups": 2}, {**OF_EXPERTS, "num_wave_groups": 2},
             {**OF_EXPERTS, "stage": 2, "num_wave_groups": 4}],
)  # fmt: skip
def scales_have_one_group(c: ScaledQuantities) -> BoolExpr:
    """Kernels with scales have one wave group, or one wave; first GEMMs of experts one or a wave in each.

    Why: with several groups only the first wave stores results without scales, which of one wave
    is all of them. Of experts' kernels every wave stores all rows of a slice, or with fewer groups
    than waves a part of them: two second GEMMs added each result four times, and a first one of
    two groups left rows out, while first ones of as many groups as waves were right, which store
    each result several times. What kernels with scales do with groups was not run.

    Fix: set num_wave_groups to 1.
    """
    stored_again = (c.stage == 1) & ~c.split_k & (c.num_wave_groups == c.waves)
    return (c.num_wave_groups == 1) | (c.waves == 1) | stored_again


@rule(
    "SCAL037", "uneven-groups-of-stores", kind="compile",
    applies=stores_by_lds,
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


@rule(
    "SCAL040", "tiles-of-flatmm-without-barrier-between", kind="wrong-result",
    applies=lambda c: stores_by_lds(c) & c.persistent & ~c.micro,
    says=TOO_EARLY,
    source=["ops/flatmm/kernel/{flatmm,moe_flatmm}_kernel.hpp: operator() (do … while(UsePersistentKernel); run)",
            "ops/epilogue/cshuffle_epilogue.hpp: operator() (no block_sync_lds behind the last load_tile)",
            "ops/flatmm/pipeline/{flatmm,moe_flatmm}_pipeline_agmem_bgmem_creg*.hpp: operator() (store_tile before the first block_sync_lds)"],
    issue="ROCm/rocm-libraries#8325",
    accepts=[{"persistent": True, "wave_n": 1}],
    rejects=[{"persistent": True}, {**OF_EXPERTS, "persistent": True}],
)  # fmt: skip
def tiles_of_flatmm_are_kept_apart(c: ScaledQuantities) -> BoolExpr:
    """Persistent kernels of flatmm that store through LDS have one wave.

    Why: from a tile to the next there is no barrier. The epilogue waits before it reads its last
    slice, not after, and a wave that is ahead writes rows of the next tile there. Of six kernels of
    several waves five are wrong; of the other the compiler had moved a barrier behind the last
    read. Where results do not go through LDS the pipeline's last barrier is enough. Upstream saw it
    of mx_flatmm (a pull request of June 2026).

    Fix: turn persistent off, or use the default epilogue.
    """
    return c.waves == 1


@rule(
    "SCAL041", "tiles-of-4-bits-without-barrier-between", kind="wrong-result", until="2026.09",
    applies=lambda c: stores_by_lds(c) & c.persistent & c.micro,
    says=TOO_EARLY,
    source="ops/flatmm/kernel/mx_flatmm_kernel.hpp: MXFlatmmKernel::operator() (do … while(UsePersistentKernel); run)",
    issue="ROCm/rocm-libraries#8325",
    accepts=[{**OF_FOUR_BITS, "persistent": True, "wave_n": 1}],
    rejects=[{**OF_FOUR_BITS, "persistent": True}],
)  # fmt: skip
def tiles_of_four_bits_are_kept_apart(c: ScaledQuantities) -> BoolExpr:
    """Persistent kernels of mx_flatmm that store through LDS have one wave.

    Why: what SCAL040 says of other flatmm. Since a pull request of June 2026 waves wait before a tile.

    Fix: turn persistent off, or use the default epilogue.
    """
    return c.waves == 1


@rule(
    "SCAL042", "packs-that-the-default-epilogue-does-not-know", kind="wrong-result",
    applies=lambda c: c.micro & (c.epilogue == "default"),
    says="the default epilogue takes warp tiles of {wave_n} waves in turn, and a wave of {variant} has two side by side",
    source=["ops/epilogue/default_2d_epilogue.hpp: Default2DEpilogue (has no BlockedXDLN_PerWarp, as cshuffle_epilogue.hpp has; run)",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: operator() (nIter_pack * NXdlPack + inxdl)",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: Run_ (CK 2026.09, read in ROCm/rocm-libraries @ 0bb4705: the same packs)",
            "ops/epilogue/default_2d_epilogue.hpp: Default2DEpilogue::operator() (storeOrUpdateTile(o_acc_tile), no packs; CK 2026.09, read in ROCm/rocm-libraries @ 9c29cd6)",
            "ops/gemm/block/block_mx_asmem_breg_creg.hpp: BlockMXGemmASmemBRegCReg::MakeCBlockTile, MXdlPack, NXdlPack (CK 2026.09, read in ROCm/rocm-libraries @ 9c29cd6)"],
    accepts=[{**OF_FOUR_BITS, "epilogue": "default", "wave_n": 1}],
    rejects=[{**OF_FOUR_BITS, "epilogue": "default"}],
)  # fmt: skip
def packs_are_stored_in_place(c: ScaledQuantities) -> BoolExpr:
    """mx_flatmm and mx_gemm with the default epilogue have one wave along N.

    Why: scales are packed for two warp tiles along N, which a wave has side by side. CShuffle is
    told so; the default epilogue stores the waves' warp tiles in turn, in each other's places.

    Fix: use cshuffle, as upstream does.
    """
    return c.wave_n == 1
