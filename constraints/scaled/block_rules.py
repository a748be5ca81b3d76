"""SCAL: what kernels with scales of blocks ask, whose weights may be shuffled beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled import words as w
from ckrules.constraints.scaled.quantities import ScaledQuantities
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_PROBLEM = "ops/gemm_quant/pipeline/gemm_quant_pipeline_problem.hpp"
_EIGHT = "ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_eight_waves{,_policy}.hpp (CK 2026.06, read)"

#: A kernel with block scales, and one with pre-shuffled weights, for examples of rules.
OF_BLOCKS: Mapping[str, Any] = {
    "@ck": "2026.06", "variant": "abquant", "pipeline": "abquant", "scales": "blocks",
    "scheduler": "intrawave", "transpose_c": True,
}  # fmt: skip
_EIGHTS: Mapping[str, Any] = {
    **OF_BLOCKS, "arch": "gfx950", "pipeline": w.EIGHT_WAVES, "tile_m": 192, "tile_n": 256,
    "wave_m": 4, "wave_n": 2, "warp_tile_k": 128,
}  # fmt: skip
OF_BLOCK_WEIGHTS: Mapping[str, Any] = {
    **OF_BLOCKS, "pipeline": w.BLOCK_WEIGHTS, "double_smem_buffer": True,
}  # fmt: skip


@rule(
    "SCAL002", "no-block-scales-yet", kind="compile", until="2026.06",
    says="CK 2025.11 has no kernel with block scales of both A and B: {variant}",
    source="ops/gemm_quant/pipeline/tile_gemm_quant_traits.hpp: QuantType (no ABQuantGrouped)",
    accepts=[{}], rejects=[{"variant": "abquant", "pipeline": "abquant", "scales": "blocks"}],
)  # fmt: skip
def block_scales_exist(c: ScaledQuantities) -> BoolExpr:
    """Kernels with block scales of both operands came after November 2025.

    Why: the headers of then scale A or B by groups, not both.

    Fix: use newer headers.
    """
    return c.variant != "abquant"


@rule(
    "SCAL020", "groups-not-whole", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "abquant",
    says=[f"tile_k = {{tile_k}} is not a multiple of {w.GROUP}",
          f"tile_n = {{tile_n}} is neither a multiple of {w.GROUP} nor a divisor",
          f"the group's length {w.GROUP} is not a multiple of warp_tile_k = {{warp_tile_k}}",
          "block scales want one wave along K: wave_k = {wave_k}"],
    source=[f"{_PROBLEM}: static_assert kK % QuantGroupSize",
            "ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_v3.hpp: NPerBlockBQ (1 where kN is more than the tile; CK 2026.06, read)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeBQBlockWindow (i_n / kN; CK 2026.06, read)",
            "ops/gemm_quant/pipeline/gemm_group_quant_utils.hpp: static_assert KWarps == 1"],
    accepts=[OF_BLOCKS, {**OF_BLOCKS, "tile_n": 64}], rejects=[{**OF_BLOCKS, "tile_k": 64}, {**OF_BLOCKS, "tile_n": 192}],
)  # fmt: skip
def groups_are_whole(c: ScaledQuantities) -> BoolExpr:
    """The tile is a multiple of the groups that share a scale, and a group of the warp tile.

    Why: asserted along K; scales are 1x128 of A and 128x128 of B. Along N a block finds the scale
    of its first column, so that a group may have several tiles, but a tile no parts of groups.

    Fix: use multiples of 128 for tile_k, and 128 or 64 for tile_n.
    """
    return all_of(
        c.tile_k % w.GROUP == 0,
        (c.tile_n % w.GROUP == 0) | (w.GROUP % c.tile_n == 0),
        w.GROUP % c.warp_tile_k == 0,
        c.wave_k == 1,
    )


@rule(
    "SCAL021", "other-form-of-eight-waves", kind="compile", since="2026.06",
    applies=lambda c: c.eight_waves,
    says=["eight waves take turns in two columns: wave_n = {wave_n}, expected 2",
          f"eight waves take {w.GROUP} of K at once: tile_k = {{tile_k}}",
          f"eight waves take {w.GROUP} of K at once: warp_tile_k = {{warp_tile_k}}",
          "eight waves want the product transposed: transpose_c = {transpose_c}",
          "eight waves want scheduler intrawave, not {scheduler}",
          f"each column of eight waves has whole groups: tile_n = {{tile_n}} is not a multiple of {2 * w.GROUP}"],
    source=[_EIGHT, "ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_eight_waves_policy.hpp: MakeBQBlockDistribution (NPerWarpBQ; CK 2026.09, read in ROCm/rocm-libraries @ 925db99)"],
    accepts=[_EIGHTS, {**_EIGHTS, "pipeline": w.EIGHT_WEIGHTS}],
    rejects=[{**_EIGHTS, "wave_n": 4, "wave_m": 2}, {**_EIGHTS, "tile_k": 256}, {**_EIGHTS, "tile_n": 128}],
)  # fmt: skip
def eight_waves_have_their_form(c: ScaledQuantities) -> BoolExpr:
    """The pipeline of eight waves has two of them along N, with whole groups, and one group of K in a tile.

    Why: asserted; the two columns of waves load and compute in turn. Each lays out the scales of its
    groups along N, of which there would be none.

    Fix: use 4x2x1 waves, a tile_k of 128, a tile_n of 256 and the warp tile 16x16x128.
    """
    return all_of(
        c.wave_n == 2,
        c.tile_k == w.GROUP,
        c.warp_tile_k == w.GROUP,
        c.transpose_c,
        c.scheduler == "intrawave",
        c.tile_n % (2 * w.GROUP) == 0,
    )


@rule(
    "SCAL019", "blocks-with-other-scales", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "abquant",
    says="kernels with block scales have them for blocks, not {scales}",
    source="ops/gemm_quant/pipeline/tile_gemm_quant_traits.hpp: QuantType::ABQuantGrouped (CK 2026.06, read)",
    accepts=[OF_BLOCKS], rejects=[{**OF_BLOCKS, "scales": "row_column"}],
)  # fmt: skip
def block_scales_are_of_blocks(c: ScaledQuantities) -> BoolExpr:
    """The kernels of abquant have scales of blocks.

    Why: other scales are other kernels (`rowcol_quant`, `tensor_quant`).

    Fix: set scales to blocks.
    """
    return c.scales == "blocks"


@rule(
    "SCAL022", "eight-waves-elsewhere", kind="hardware", since="2026.06",
    applies=lambda c: c.eight_waves,
    says="{pipeline} computes on gfx950 only, on {arch} it does nothing",
    source=f"{_EIGHT}: kIsAvailable", accepts=[_EIGHTS], rejects=[{**_EIGHTS, "arch": "gfx942"}],
)  # fmt: skip
def eight_waves_are_on_gfx950(c: ScaledQuantities) -> BoolExpr:
    """The pipeline of eight waves is for gfx950.

    Why: its body is empty for other GPUs, and C keeps no result.

    Fix: use four waves.
    """
    return c.has("eight_wave_pipeline")


@rule(
    "SCAL023", "block-scales-out-of-turn", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline == "abquant",
    says="block scales want scheduler intrawave, not {scheduler}",
    source="ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_v3.hpp: PipelineImpl (CK 2026.06, read)",
    accepts=[OF_BLOCKS], rejects=[{**OF_BLOCKS, "scheduler": "interwave"}],
)  # fmt: skip
def block_scales_are_intrawave(c: ScaledQuantities) -> BoolExpr:
    """Kernels with block scales use the scheduler intrawave.

    Why: the pipeline has no other implementation.

    Fix: use intrawave.
    """
    return c.scheduler == "intrawave"


@rule(
    "SCAL051", "block-scales-of-wider-types", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "abquant",
    says="kernels with block scales multiply fp8 and bf8, not {dtype}",
    source="ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_policy.hpp: GemmABQuantPipelineAgBgCrDefaultPolicy::GetBlockGemm (static_assert on AComputeDataType, BComputeDataType; CK 2026.09, read in ROCm/rocm-libraries @ fe9b4c1)",
    accepts=[OF_BLOCKS, {**OF_BLOCKS, "dtype": "bf8"}],
    rejects=[{**OF_BLOCKS, "dtype": "bf16", "warp_tile_k": 32}],
)  # fmt: skip
def block_scales_are_of_bytes(c: ScaledQuantities) -> BoolExpr:
    """The kernels of abquant multiply fp8 or bf8.

    Why: asserted of the types that instructions see.

    Fix: use fp8.
    """
    return c.dtype.isin("fp8", "bf8")


@rule(
    "SCAL059", "permuted-columns-with-block-scales", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.variant == "abquant") & c.permute_n,
    says=("nobody permutes the columns that CShuffle puts back: permute_n = {permute_n}, a wave has "
          "{repeat_n} warp tiles along N"),
    source=["ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeBBlockWindow (CK 2026.09, read in ROCm/rocm-libraries @ 05fca22)",
            "csrc/ck_gemm_a8w8_blockscale/gemm_a8w8_blockscale_cktile_instance.py and the wrapper beside it: TileGemmComputeImpl (static_assert on TiledMMAPermuteN; ROCm/aiter @ 0cf6df2)"],
    accepts=[{**OF_BLOCKS, "transpose_c": False, "permute_n": True, "tile_n": 64}],
    rejects=[{**OF_BLOCKS, "transpose_c": False, "permute_n": True},
             {**OF_BLOCK_WEIGHTS, "transpose_c": False, "permute_n": True}],
)  # fmt: skip
def block_scales_permute_no_columns(c: ScaledQuantities) -> BoolExpr:
    """Kernels with block scales have no permuted columns, unless a wave has one warp tile along N.

    Why: B is read in the order in which it lies, and pre-shuffled weights are shuffled without a
    permutation: that of upstream's example has an epilogue of its own, which no field here says.

    Fix: turn permute_n off.
    """
    return c.repeat_n == 1
