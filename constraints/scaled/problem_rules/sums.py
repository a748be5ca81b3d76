"""SPROB: sums and weights that flatmm accepts and computes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.problem_fields import ScaledProblem
from ckrules.engine.expr import BoolExpr, all_of, any_of
from ckrules.engine.rules import rule

_KERNEL = "ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmKernel"
_SPLIT = f"{_KERNEL}::SplitKBatchOffset"
_PIPELINE = (
    "ops/flatmm/pipeline/flatmm_pipeline_agmem_bgmem_creg_v1.hpp: FlatmmPipelineAGmemBGmemCRegV1"
)
_PADDED: Mapping[str, Any] = {"pad_n": True, "pad_k": True}
_PERMUTED: Mapping[str, Any] = {"permute_n": True, "scales": "no"}
_PARTS: Mapping[str, Any] = {"pad_m": True, "dtype_c": "bf16", "k_batch": 2}
_MICRO: Mapping[str, Any] = {
    "variant": "mx_flatmm", "pipeline": "mx_flatmm", "arch": "gfx950", "dtype": "fp4",
    "scales": "per_1x32", "tile_k": 256, "warp_tile_k": 128,
}  # fmt: skip
#: Experts whose instructions take the scales of both operands.
_SCALED: Mapping[str, Any] = {
    "@ck": "2026.06", "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 2,
    "arch": "gfx950", "dtype": "fp8_fp4", "scales": "per_1x32", "tile_m": 32, "tile_n": 256,
    "tile_k": 256, "warp_tile_k": 128, "split_k": True, "experts": 8, "topk": 2,
}  # fmt: skip
_EXPERTS: Mapping[str, Any] = {
    "@ck": "2026.06", "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 2,
    "scales": "row_column", "split_k": True, "experts": 8, "topk": 2, "M": 1,
}  # fmt: skip


def _in_parts(c: ScaledProblem) -> BoolExpr:
    return c.flat & (c.k_batch > 1)


@rule(
    "SPROB020", "part-beyond-scaled-sum", kind="wrong-result", applies=_in_parts,
    says=("the {k_batch} parts of {part_length} products are more than K = {K}: {last_part} are "
          "left for the last one"),
    source=f"{_SPLIT} (splitted_k of the last part; run)",
    accepts=[{"k_batch": 2}, {**_PADDED, "K": 128, "k_batch": 2}],
    rejects=[{**_PADDED, "K": 64, "k_batch": 3}, {"K": 128, "k_batch": 3}, {**_PADDED, "K": 64, "k_batch": 2}],
)  # fmt: skip
def parts_lie_within_sum(c: ScaledProblem) -> BoolExpr:
    """The parts of a split sum before the last one leave it something.

    Why: parts are whole warp tiles along K. Where there are too many of them, those before the last
    begin behind the sum and read what is not theirs. An empty last part still computes a tile, of
    weights behind those that there are (SPROB043).

    Fix: use a smaller k_batch.
    """
    return c.last_part >= 1


@rule(
    "SPROB021", "scaled-part-not-whole-tiles", kind="wrong-result",
    applies=lambda c: _in_parts(c) & ~c.pad_k,
    says="parts of {part_length} products are not a multiple of tile_k = {tile_k}: the next part's are added twice",
    source=[f"{_SPLIT} (whole warp tiles, not block tiles; read, not run)",
            f"{_KERNEL}::MakeGemmPadViews (A is not padded)"],
    accepts=[{"k_batch": 2}, {"k_batch": 2, "K": 768}], rejects=[{"k_batch": 2, "K": 640}],
)  # fmt: skip
def parts_are_whole_tiles(c: ScaledProblem) -> BoolExpr:
    """Parts of a split sum without padding are whole block tiles.

    Why: the last tile of a part reads on in the rows of A, and the weights that belong to these
    products. The argument check looks at K alone.

    Fix: use a kernel with pad_k, another k_batch or a smaller tile_k.
    """
    return c.part_length % c.tile_k == 0


@rule(
    "SPROB022", "last-part-ends-otherwise", kind="wrong-result", applies=_in_parts,
    says="the loop is compiled for the end of {part_tiles} block tiles, and the last part has {last_tiles}",
    source=[f"{_PIPELINE}::operator() (iCounter, TailNum; read, not run)",
            "example/ck_tile/18_flatmm/flatmm_basic.cpp: flatmm_calc (tail_num of a whole part; so in ROCm/aiter of August 2026; read)"],
    accepts=[{"k_batch": 2, "K": 1024}, {"k_batch": 2, "K": 768, "pad_k": True}],
    rejects=[{"k_batch": 2, "K": 640, "arch": "gfx950", "warp_tile_k": 128}, {"k_batch": 3, "K": 640, "pad_k": True}],
)  # fmt: skip
def parts_end_alike(c: ScaledProblem) -> BoolExpr:
    """The last part of a split sum has an odd number of block tiles where the others do.

    Why: the loop takes tiles in pairs, and a kernel is compiled for an odd or an even end, which
    host code chooses by the length of a part that is not the last. Of an even number an odd end
    leaves a tile out; of an odd number an even end takes one more, of weights behind those that
    there are (SPROB043).

    Fix: use another k_batch or tile_k.
    """
    return any_of(
        c.part_tiles % 2 == c.last_tiles % 2,
        c.last_part <= 0,  # SPROB020
    )


@rule(
    "SPROB043", "last-part-not-whole-tiles", kind="wrong-result",
    applies=lambda c: _in_parts(c) & c.pad_k,
    says="the last part has {last_part} products, not a multiple of tile_k = {tile_k}: it reads behind the weights",
    source=[f"{_KERNEL}::MakeGemmTensorViews (b_flat_tensor_view of a part is as long as all weights; run)",
            f"{_KERNEL}::MakeBFlatBlockWindow (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36: the same)"],
    accepts=[{**_PADDED, "k_batch": 2}, {**_PADDED, "k_batch": 2, "K": 704, "tile_k": 64}],
    rejects=[{**_PADDED, "k_batch": 2, "K": 608}, {**_PADDED, "k_batch": 2, "K": 640}],
)  # fmt: skip
def last_parts_are_whole_tiles(c: ScaledProblem) -> BoolExpr:
    """The last part of a split sum has whole block tiles, with padding too.

    Why: A is padded with zeros, but the view of a part's weights begins at the part and is as long
    as that of all weights, so that nothing cuts it off. Behind the last columns lies anything, and
    0 times NaN is NaN.

    Fix: use another k_batch or a smaller tile_k.
    """
    return (c.last_part % c.tile_k == 0) | (c.last_part <= 0)  # SPROB020


@rule(
    "SPROB039", "parts-with-the-first-scales", kind="wrong-result",
    applies=lambda c: c.but_mx_gemm(c.micro) | c.scaled_experts,
    says="every part of a sum takes the scales of the first: k_batch = {k_batch}",
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmKernel::MakeGemmTensorViews, MakeGemmTileWindows, AQUANT_Pipeline (CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)",
            "ops/flatmm/kernel/mx_flatmm_kernel.hpp: MXFlatmmKernel::MakeGemmTileWindows (scale windows begin at K = 0)",
            "ops/flatmm/kernel/mx_flatmm_kernel.hpp: MXFlatmmKernel::MakeScaleABlockWindow (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36: the same)"],
    accepts=[_MICRO, _SCALED], rejects=[{**_MICRO, "k_batch": 2}, {**_SCALED, "k_batch": 2}],
)  # fmt: skip
def parts_have_their_scales(c: ScaledProblem) -> BoolExpr:
    """Sums of mx_flatmm, and of experts whose instructions take scales, are in one part.

    Why: a part begins at its own products, but at the scales of the first ones.

    Fix: use k_batch = 1.
    """
    return c.k_batch == 1


@rule(
    "SPROB046", "last-part-of-experts-elsewhere", kind="wrong-result", since="2026.06",
    applies=lambda c: c.of_tokens & (c.k_batch > 1),
    says=("the last part of {last_part} products begins at the weights behind {k_batch - 1} parts of its "
          "own length, and the others have {part_length}"),
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmKernel::SplitKBatchOffset (b_k_split_offset by splitted_k of the part itself; CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)",
    accepts=[{**_EXPERTS, "k_batch": 2}], rejects=[{**_EXPERTS, "K": 1152, "k_batch": 4}],
)  # fmt: skip
def parts_of_experts_are_alike(c: ScaledProblem) -> BoolExpr:
    """The last part of a split sum of experts is as long as the others.

    Why: where a part's weights begin is counted by its own length, and where its products of A do
    by that of the others.

    Fix: use a k_batch that divides K into whole block tiles.
    """
    return (c.last_part == c.part_length) | (c.last_part <= 0)  # SPROB020


@rule(
    "SPROB041", "scaled-parts-added-beyond-c", kind="wrong-result", until="2026.06",
    applies=lambda c: _in_parts(c) & c.adds_by_address,
    says="rows beyond the last one are added to memory behind C: M = {M} is not a multiple of tile_m = {tile_m}",
    source=["core/tensor/buffer_view.hpp: atomic_add (use_amd_buffer_addressing)",
            f"{_KERNEL}::MakeGemmPadViews (C is padded along N alone; run)"],
    issue="ROCm/rocm-libraries#5842",
    accepts=[_PARTS], rejects=[{**_PARTS, "M": 520}],
)  # fmt: skip
def scaled_parts_stay_in_c(c: ScaledProblem) -> BoolExpr:
    """Where parts of sums are added to bf16 by address, M is a multiple of tile_m.

    Why: as of other GEMMs (GPROB044).

    Fix: use k_batch = 1, fp16 for C, or a tile_m that divides M.
    """
    return c.M % c.tile_m == 0


@rule(
    "SPROB023", "flat-weights-not-whole", kind="wrong-result",
    applies=lambda c: c.or_block_weights(c.flat),
    says=["N = {N} is not a multiple of warp_tile_n = {warp_tile_n}",
          "K = {K} is not a multiple of warp_tile_k = {warp_tile_k}",
          "columns are permuted within whole tiles: N = {N}, tile_n = {tile_n}, {repeat_n} warp tiles of a wave along N"],
    source=[f"{_KERNEL}::MakeGemmTensorViews (kFlatK, kFlatN round down; read, not run)",
            "example/ck_tile/18_flatmm/flatmm_basic.cpp: shuffle_b_v1 (a product of half a tile was run)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeBBlockWindow for PreshuffleB (CK 2026.09, read in ROCm/rocm-libraries @ 05fca22)"],
    accepts=[{}, {**_PADDED, "N": 528, "K": 576}, {**_PADDED, **_PERMUTED, "wave_n": 8, "N": 576}],
    rejects=[{**_PADDED, "N": 520}, {**_PADDED, "K": 528}, {**_PADDED, **_PERMUTED, "N": 576}],
)  # fmt: skip
def weights_are_whole(c: ScaledProblem) -> BoolExpr:
    """Pre-shuffled weights have whole warp tiles along N and K, and permuted ones whole tiles of N.

    Why: they are viewed as rows of whole warp tiles; none holds what is left of N or K, and
    where K is not a multiple each row begins in the one before. permute_n deals the columns of a
    block tile out to its waves, which part of a tile does not fill.

    Fix: pad the weights.
    """
    return all_of(
        c.N % c.warp_tile_n == 0, c.K % c.warp_tile_k == 0,
        ~c.permute_n | (c.repeat_n <= 1) | (c.N % c.tile_n == 0),
    )  # fmt: skip
