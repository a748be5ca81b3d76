"""SCAL: what kernels for mixtures of experts ask beside what flatmm does.

Their epilogue is their own: rows are scattered to tokens, and multiplied by scales and weights that
are gathered.
"""

from __future__ import annotations

from ckrules.constraints.scaled.kernel import FOUR_BITS, OF_EXPERTS
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.constraints.tile_gemm.pattern import TileDistribution
from ckrules.engine.expr import BoolExpr, all_of, const, ite
from ckrules.engine.rules import rule

_MIXED = "ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1.hpp"


@rule(
    "SCAL016", "scale-of-whole-tensor", kind="compile", until="2026.06",
    applies=lambda c: c.variant == "moe_flatmm",
    says="kernels for experts have no scale for a whole tensor: scales = {scales}",
    source="ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmScalePointer (static_assert GranularityMN != 0)",
    accepts=[OF_EXPERTS], rejects=[{**OF_EXPERTS, "scales": "per_tensor"}],
)  # fmt: skip
def experts_have_no_scale_of_tensors(c: ScaledQuantities) -> BoolExpr:
    """Kernels for experts have no scale that belongs to a whole tensor.

    Why: the type of the scales asserts it. aiter's kernels that are called per_tensor compile
    because its generator looks for another word (per_tenser) and hands them no scales at all.

    Fix: use row_column.
    """
    return c.scales != "per_tensor"


@rule(
    "SCAL017", "scales-experts-do-not-read", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == "moe_flatmm") & (c.scales != "per_tensor"),
    says=["kernels for experts with {dtype} read scales of rows and columns, not {scales}",
          "4-bit weights have a scale for every 32 of a column, not {scales}"],
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (scale_m, scale_n; MXFP4_Pipeline)",
    accepts=[OF_EXPERTS, {**FOUR_BITS, "scales": "per_1x32"}],
    rejects=[{**OF_EXPERTS, "scales": "per_1x128"}, {**OF_EXPERTS, "scales": "no"}, FOUR_BITS],
)  # fmt: skip
def experts_read_their_scales(c: ScaledQuantities) -> BoolExpr:
    """Kernels for experts read scales of rows and columns, and of 32 along K with 4-bit weights.

    Why: the kernel compiles with others, and reads them as these. Where there are none it reads
    them at address 0.

    Fix: use row_column, or per_1x32 for 4-bit weights.
    """
    return all_of(c.narrow_b | (c.scales == "row_column"), ~c.narrow_b | (c.scales == "per_1x32"))


@rule(
    "SCAL025", "experts-without-scales", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "moe_flatmm") & ~c.narrow_b,
    says="kernels for experts read scales of rows and columns at address 0 where there are none: scales = {scales}",
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (CK 2026.09, read in ROCm/rocm-libraries @ 41164ca: scale_m_window.load; of 2025.11 it was run)",
    accepts=[OF_EXPERTS], rejects=[{**OF_EXPERTS, "scales": "no"}],
)  # fmt: skip
def experts_have_scales(c: ScaledQuantities) -> BoolExpr:
    """Kernels for experts have scales.

    Why: only 4-bit weights keep the kernel from loading them; the pointer of no scales is null.

    Fix: use row_column, with ones.
    """
    return c.scales != "no"


@rule(
    "SCAL026", "shuffles-of-experts-not-whole", kind="compile", until="2026.06",
    applies=lambda c: (c.variant == "moe_flatmm") & (c.repeat_m >= 1) & (c.tile_m % (c.wave_m * c.warp_tile_m) == 0),
    says=("a wave's {repeat_m} warp tiles along M do not divide into shuffles of {shuffle_repeat}, "
          "which kernels for experts index: {repeat_m=}, {shuffle_repeat=}"),
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (c_scatter_offsets[mIter], NumMEpiTile = MRepeat / NumMXdlPerWavePerShuffle)",
    accepts=[OF_EXPERTS], rejects=[{**OF_EXPERTS, "stage": 2, "tile_m": 48, "tile_n": 64, "tile_k": 256}],
)  # fmt: skip
def shuffles_of_experts_are_whole(c: ScaledQuantities) -> BoolExpr:
    """The warp tiles of a wave along M divide into equal shuffles, where experts store.

    Why: what EPI002 says of other kernels; these have offsets for whole shuffles only, and the
    index of the last one is beyond them.

    Fix: use another tile_m.
    """
    return c.repeat_m % c.shuffle_repeat == 0


@rule(
    "SCAL027", "weights-of-other-entries", kind="wrong-result",
    applies=lambda c: c.stage == 2,
    says=("a lane's columns of the transposed product take the weights of neighbouring entries: "
          "{pad_k=}"),
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (exp_weight_window: (M, 1) with strides (1, 0), loaded by vectors of GetVectorSizeA along N)",
            "ops/gemm/pipeline/gemm_pipeline_problem.hpp: GemmPipelineProblemBase::VectorSizeA (1 where kPadK; run)",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (CK 2026.09, read in ROCm/rocm-libraries @ 41164ca; as in 2025.11)"],
    accepts=[{**OF_EXPERTS, "stage": 2},
             {**OF_EXPERTS, "stage": 2, "transpose_c": True, "pad_k": True}],
    rejects=[{**OF_EXPERTS, "stage": 2, "transpose_c": True}],
)  # fmt: skip
def entries_have_their_own_weights(c: ScaledQuantities) -> BoolExpr:
    """The second GEMM of experts is not transposed, unless K is padded.

    Why: a row has one weight for all columns, but a lane with several columns of a row loads
    several weights at once. Kernels that were run had only every fourth column right. Where K is
    padded, loads are of single elements, and each is the row's weight.

    Fix: set transpose_c to false, or pad_k to true.
    """
    return ~c.transpose_c | c.pad_k


@rule(
    "SCAL028", "waves-along-k-of-4-bit-weights", kind="wrong-result",
    applies=lambda c: (c.variant == "moe_flatmm") & c.narrow_b,
    says="nothing adds up what waves along K have of 4-bit weights: wave_k = {wave_k}",
    source=f"{_MIXED}: operator() (waves along M and N; read, not run, it compiles)",
    accepts=[{**FOUR_BITS, "scales": "per_1x32"}],
    rejects=[{**FOUR_BITS, "scales": "per_1x32", "wave_n": 2, "wave_k": 2}],
)  # fmt: skip
def four_bit_waves_lie_along_n(c: ScaledQuantities) -> BoolExpr:
    """A block for 4-bit weights has one wave along K.

    Why: the other pipelines assert it; this one compiles and treats each wave as one along N.

    Fix: set wave_k to 1.
    """
    return c.wave_k == 1


@rule(
    "SCAL038", "stores-of-experts-not-covered", kind="compile", until="2026.06",
    applies=lambda c: (c.stage == 2) & (~c.narrow_b | (c.repeat_n % 2 == 0)),
    says=("the second GEMM of {dtype} stores two elements a lane, which does not cover a shuffle "
          "of {wave_m}x{wave_n} waves: {shuffle_m=}, {shuffle_n=}"),
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (TileEncodingPattern, kFFN_gemm2 ? 2 : GetVectorSizeC)",
            "core/algorithm/static_encoding_pattern.hpp: static_assert X0 * Y1 == warp_size, Y0 * Y1 * Y2 == YPerTile",
            "example/ck_tile/18_flatmm/moe_flatmm.cpp: flatmm_calc (BlockedXDLN_PerWarp)"],
    accepts=[{**OF_EXPERTS, "stage": 2}],
    rejects=[{**OF_EXPERTS, "stage": 2, "wave_n": 8, "tile_n": 256, "warp_tile_m": 32, "warp_tile_n": 32}],
)  # fmt: skip
def stores_of_experts_cover_shuffles(c: ScaledQuantities) -> BoolExpr:
    """Vectors of two elements cover what the second GEMM of experts shuffles at once.

    Why: its rows are scattered by atomic additions of pairs, whatever vector_c is, and a row may
    not be longer than a wave has lanes. Kernels with 4-bit weights shuffle two warp tiles along N.

    Fix: use fewer waves along N, or smaller warp tiles.
    """
    columns = ite(c.narrow_b, 2, 1) * c.shuffle_n
    waves, groups = c.wave_m * c.wave_n, c.num_wave_groups
    stored = TileDistribution(
        "stored", columns, c.shuffle_m, const(2), waves, c.wave_size, groups, several_passes=False
    )
    return stored.lanes_fill_wave & stored.rows_covered


@rule(
    "SCAL043", "experts-without-gelu", kind="compile",
    applies=lambda c: (c.variant == "moe_flatmm") & (c.stage == 1),
    says="CK has no class for {activation} of experts",
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: namespace moe (MoeSilu and Swiglu alone; so in ROCm/rocm-libraries @ 41164ca, read)",
            "csrc/ck_tile_gemm_moe_2stages/gen_instances.py: choices silu and gelu (amd-aiter 0.1.7, whose FusedAct goes by the type of the weights)"],
    accepts=[OF_EXPERTS, {**OF_EXPERTS, "activation": "swiglu"}], rejects=[{**OF_EXPERTS, "activation": "gelu"}],
)  # fmt: skip
def experts_have_no_gelu(c: ScaledQuantities) -> BoolExpr:
    """The first GEMM of experts ends with silu or swiglu.

    Why: there is no class for gelu. aiter's generator takes the word and puts it into names; what
    it compiles ends with swiglu where weights have 4 bits and with silu elsewhere.

    Fix: use silu or swiglu.
    """
    return c.activation != "gelu"


@rule(
    "SCAL045", "tiles-of-experts-out-of-turn", kind="wrong-result", since="2026.06",
    applies=lambda c: c.variant == "moe_flatmm",
    says="a persistent block of {variant} goes on from the tile that its number was exchanged for, which leaves tiles out",
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (partition_idx = tilePartitioner.RemapXCD(…), partition_idx += gridDim.x; CK 2026.09, read in ROCm/rocm-libraries @ 41164ca)",
            "ops/gemm/kernel/gemm_tile_partitioner.hpp: RemapXCD (an XCD's numbers become a line; CK 2026.09, read)"],
    accepts=[OF_EXPERTS], rejects=[{**OF_EXPERTS, "persistent": True, "wave_n": 1}],
)  # fmt: skip
def blocks_of_experts_have_one_tile(c: ScaledQuantities) -> BoolExpr:
    """Kernels for experts are not persistent.

    Why: the number of a tile is exchanged for one of the same XCD, and a block counts on from that
    one. Chains of numbers that end where they began are never entered: of 425 tiles on 304 blocks
    one is left out, and of seven in ten numbers of tiles, up to eight times the blocks, some are.

    Fix: turn persistent off.
    """
    return ~c.persistent
