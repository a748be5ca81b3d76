"""SPROB: sizes that the argument checks of kernels with scales accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled import words as w
from ckrules.constraints.scaled.block_rules import OF_BLOCK_WEIGHTS, OF_BLOCKS
from ckrules.constraints.scaled.masked_rules import MASKED
from ckrules.constraints.scaled.mx_gemm_rules import OF_MX_GEMM
from ckrules.constraints.scaled.problem_fields import ScaledProblem
from ckrules.constraints.tile_gemm import tails
from ckrules.constraints.tile_gemm.offsets import VIEW, within_offsets
from ckrules.engine.expr import BoolExpr, all_of, ceil_div, implies
from ckrules.engine.rules import rule

UNIVERSAL = "ops/gemm/kernel/universal_gemm_kernel.hpp: UniversalGemmKernel::IsSupportedArgument, which mx_gemm_kernel.hpp: MxGemmKernel asks (CK 2026.09, read in ROCm/rocm-libraries @ 522292d)"
FLAT = "ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmKernel::IsSupportedArgument"
#: The text of 2026 that splits sums of kernels with block scales.
BLOCKS = "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: IsSupportedArgument for ABQuantGrouped (CK 2026.06, read in ROCm/rocm-libraries @ 05fca22)"

_EXPERTS: Mapping[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "row_column",
    "experts": 8, "topk": 2,
}  # fmt: skip
_BLOCKS: Mapping[str, Any] = {**OF_BLOCKS, "pad_m": True}
_WEIGHTS: Mapping[str, Any] = {**OF_BLOCK_WEIGHTS, "pad_m": True}
_FOUR_BY_TWO: Mapping[str, Any] = {"tile_m": 256, "wave_m": 4, "wave_n": 2}


@rule(
    "SPROB001", "product-for-experts", kind="launch",
    says=["kernels of {variant} compute tokens by their experts: experts = {experts}, expected 1 or more",
          "kernels of {variant} compute one product, not tokens by their experts: experts = {experts}"],
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmHostArgs (sorted token and expert ids, TopK)",
    accepts=[{}, _BLOCKS, _EXPERTS], rejects=[{**_EXPERTS, "experts": 0}, {"experts": 8, "topk": 2}],
)  # fmt: skip
def experts_have_tokens(c: ScaledProblem) -> BoolExpr:
    """Kernels for mixtures of experts take tokens with their experts, the others one product.

    Why: which rows of A meet which weights stands in lists that are sorted beforehand.

    Fix: say experts and topk of kernels for experts, and of no others.
    """
    some = c.experts >= 1
    return all_of(~c.of_tokens | some, c.of_tokens | ~some)


@rule(
    "SPROB002", "several-products-with-scales", kind="launch",
    says=["kernels with scales compute one product: batch = {batch}",
          "kernels with scales compute one product: {groups} groups"],
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: ScaleFlatmmHostArgs",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: QuantGemmHostArgs"],
    accepts=[{}, {**MASKED, "groups": 2}], rejects=[{"batch": 2}, {"groups": 2}],
)  # fmt: skip
def one_product(c: ScaledProblem) -> BoolExpr:
    """A kernel with scales computes one product, but for flatmm of masked groups.

    Why: its arguments describe one.

    Fix: launch the kernel for each product.
    """
    return all_of(c.batch == 1, c.masked | (c.groups == 1))


@rule(
    "SPROB003", "scaled-k-not-whole-tiles", kind="launch",
    applies=lambda c: ~c.pad_k,
    says=["K = {K} is not a multiple of tile_k = {tile_k}, and the kernel does not pad K",
          "K = {K} is not a multiple of {tile_k * k_batch=}, and the kernel does not pad K"],
    source=[FLAT, BLOCKS], accepts=[{}, {"K": 640, "k_batch": 2}, {**_BLOCKS, "k_batch": 2}],
    rejects=[{"K": 576}, {**_BLOCKS, "K": 640, "k_batch": 2}],
)  # fmt: skip
def k_is_whole(c: ScaledProblem) -> BoolExpr:
    """K is a multiple of tile_k unless it is padded; with block scales so is each part's.

    Why: flatmm asks it of the whole sum only (SPROB021 says what of parts).

    Fix: use a kernel with pad_k or a smaller tile_k.
    """
    return all_of(
        implies(c.flat, c.K % c.tile_k == 0),
        implies(~c.flat, c.K % (c.tile_k * c.k_batch) == 0),
    )


@rule(
    "SPROB047", "parts-of-mx-gemm-not-whole", kind="launch", since="2026.09",
    applies=lambda c: c.mx_gemm & (c.k_batch > 1),
    says="K = {K} is not a multiple of {tile_k * k_batch=}, and {variant} does not pad K",
    source=UNIVERSAL, accepts=[{**OF_MX_GEMM, "K": 1024, "k_batch": 2}],
    rejects=[{**OF_MX_GEMM, "K": 1280, "k_batch": 2}],
)  # fmt: skip
def parts_of_mx_gemm_are_whole(c: ScaledProblem) -> BoolExpr:
    """Parts of a split sum of mx_gemm are whole block tiles.

    Why: the argument check of other GEMMs asks it of kernels that pad no K.

    Fix: use another k_batch or a smaller tile_k.
    """
    return c.K % (c.tile_k * c.k_batch) == 0


@rule(
    "SPROB004", "scaled-n-not-whole-tiles", kind="launch",
    applies=lambda c: ~c.pad_n & ~c.of_tokens,
    says="N = {N} is not a multiple of tile_n = {tile_n}, and the kernel does not pad N",
    source=[FLAT, BLOCKS], accepts=[{}, {"N": 640}], rejects=[{"N": 576}],
)  # fmt: skip
def n_is_whole(c: ScaledProblem) -> BoolExpr:
    """N is a multiple of tile_n unless it is padded.

    Why: rows of C are contiguous. Rows beyond M are guarded by the end of the tensor.

    Fix: use a kernel with pad_n or a smaller tile_n.
    """
    return c.N % c.tile_n == 0


@rule(
    "SPROB024", "scaled-m-not-whole-tiles", kind="launch", since="2026.09",
    applies=lambda c: ~c.flat & ~c.pad_m & (c.waves != 8),
    says="M = {M} is not a multiple of tile_m = {tile_m}, and the kernel does not pad M",
    source=BLOCKS, accepts=[{**_BLOCKS, "pad_m": False, "M": 512}],
    rejects=[{**_BLOCKS, "pad_m": False, "M": 520}],
)  # fmt: skip
def m_is_whole(c: ScaledProblem) -> BoolExpr:
    """M is a multiple of tile_m with block scales, unless it is padded or the block has eight waves.

    Why: since 2026.09 the check asks it of rows of C that lie apart, too; aiter's kernels pad M.

    Fix: use a kernel with pad_m.
    """
    return c.M % c.tile_m == 0


@rule(
    "SPROB005", "scaled-k-not-whole-loads", kind="launch",
    says=["K = {K} is not a multiple of A's vector width {checked_vector_a}",
          "K = {K} is not a multiple of B's vector width {checked_vector_b}"],
    source=[FLAT, "ops/gemm/pipeline/gemm_pipeline_problem.hpp: FlatmmPipelineProblem::VectorSizeA, VectorSizeB (1 where K, or N, is padded)",
            BLOCKS],
    accepts=[{}, {"pad_k": True, "pad_n": True, "K": 513}],
    rejects=[{"pad_k": True, "K": 520}, {**_BLOCKS, "pad_k": True, "K": 516}],
)  # fmt: skip
def k_is_loaded_whole(c: ScaledProblem) -> BoolExpr:
    """K is a multiple of what a thread loads of A and of B at once.

    Why: K is contiguous in both. flatmm loads A by element where K is padded, and the weights
    where N is.

    Fix: pad the tensors along K.
    """
    return all_of(c.K % c.checked_vector_a == 0, c.K % c.checked_vector_b == 0)


@rule(
    "SPROB006", "scaled-rows-not-whole-stores", kind="launch",
    says="N = {N} is not a multiple of C's store width {store_width}",
    source=[FLAT, BLOCKS, "ops/epilogue/cshuffle_epilogue.hpp: GetVectorSizeC"],
    accepts=[{}, {"pad_n": True, "N": 528}], rejects=[{"pad_n": True, "N": 516}],
)  # fmt: skip
def c_is_stored_whole(c: ScaledProblem) -> BoolExpr:
    """N is a multiple of what is stored of C at once.

    Why: padding does not narrow the stores.

    Fix: pad C along N.
    """
    return c.N % c.store_width == 0


@rule(
    "SPROB007", "scaled-sum-not-split-here", kind="launch",
    applies=lambda c: c.flat & (c.k_batch > 1),
    says=["persistent kernels do not split sums: k_batch = {k_batch}",
          "results of {dtype_c} that are stored one by one are not added: k_batch = {k_batch}",
          "results of permuted columns are added in pairs: {repeat_n=}, expected an even number",
          "{epilogue} has no addition with padding: pad_m = {pad_m}, pad_n = {pad_n}"],
    source=[FLAT, "ops/epilogue/cshuffle_epilogue.hpp: operator() for TiledMMAPermuteN (NRepeat results of a row at once)",
            "ops/epilogue/default_2d_epilogue.hpp: update_tile_raw"],
    accepts=[{"k_batch": 2}, {"k_batch": 2, "permute_n": True}],
    rejects=[{"persistent": True, "k_batch": 2}, {"epilogue": "default", "k_batch": 2},
             {"k_batch": 2, "permute_n": True, "tile_n": 64},
             {"k_batch": 2, "epilogue": "default", "transpose_c": True, "pad_n": True}],
)  # fmt: skip
def sums_can_be_split(c: ScaledProblem) -> BoolExpr:
    """flatmm splits sums where it is not persistent and stores an even number of results.

    Why: the parts are added atomically, 16-bit results in pairs; the blocks of a persistent grid
    belong to no part. The default epilogue's addition with padding does not compile.

    Fix: use k_batch = 1.
    """
    return all_of(
        c.or_mx_gemm(~c.persistent),
        c.store_width % 2 == 0,
        ~c.from_registers | (c.repeat_n % 2 == 0),
        (c.epilogue == "cshuffle") | ~(c.pad_m | c.pad_n),
    )


@rule(
    "SPROB008", "parts-of-block-scales", kind="launch", since="2026.06",
    applies=lambda c: ~c.flat & (c.k_batch > 1),
    says=tails.faults_of_parts(str(w.GROUP)),
    source=[BLOCKS, "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: BlockHasHotloop, GetBlockLoopTailNum",
            "ops/gemm/pipeline/wp_pipeline_agmem_bgmem_creg_v2.hpp: the same (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[{**_BLOCKS, "k_batch": 2}, {**_BLOCKS, "pad_k": True, "K": 2432, "k_batch": 5},
             {**_WEIGHTS, "K": 1920, "k_batch": 5}],
    rejects=[{**_BLOCKS, "k_batch": 4}, {**_BLOCKS, "pad_k": True, "K": 576, "k_batch": 2},
             {**_BLOCKS, **_FOUR_BY_TWO, "pad_k": True, "K": 2432, "k_batch": 5},
             {**_WEIGHTS, "pad_k": True, "K": 2432, "k_batch": 5}],
)  # fmt: skip
def parts_of_block_scales_are_whole(c: ScaledProblem) -> BoolExpr:
    """Parts of a sum with block scales have whole groups, two block tiles or more, and like tails.

    Why: the check asks it; loads are a tile ahead, scales are shared by 128 products, and the host
    chooses one end of the loop for all parts.

    Fix: use a smaller k_batch.
    """
    return tails.parts_have_whole_groups(c, w.GROUP)


@rule(
    "SPROB040", "block-scales-in-compv3-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.pipeline == "abquant") & tails.scheduled_for_eight(c),
    says="{pipeline} of eight waves sums wrong where a sum has three block tiles, or, without padding, one: {part_length} products with tile_k = {tile_k}",
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: BlockHasHotloop and GetBlockLoopTailNum for NumWarps == 8 (CK 2026.09, read in ROCm/rocm-libraries @ 0bb9af6)",
            "ops/gemm_quant/pipeline/gemm_abquant_pipeline_ag_bg_cr_v3.hpp: PipelineImpl, tail_count (CK 2026.06, read)"],
    issue="ROCm/rocm-libraries#7669",
    accepts=[{**_BLOCKS, **_FOUR_BY_TWO, "K": 512}, {**_BLOCKS, **_FOUR_BY_TWO, "pad_k": True, "K": 128}],
    rejects=[{**_BLOCKS, **_FOUR_BY_TWO, "K": 384}, {**_BLOCKS, **_FOUR_BY_TWO, "K": 128}],
)  # fmt: skip
def eight_waves_have_their_tiles(c: ScaledProblem) -> BoolExpr:
    """abquant with eight waves has no sum of three block tiles, and without padding none of one.

    Why: it is compv3, which takes the ends of another pipeline for eight waves (GPROB028). Three
    tiles skip the loop, and only one is summed; a single one gets one too many, which is zero with
    padding.

    Fix: use four waves, abquant_eight_waves on gfx950, or another tile_k.
    """
    tiles = ceil_div(c.part_length, c.tile_k)
    return (tiles != 3) & implies(~c.pad_k & ~c.a_transposed & ~c.b_transposed, tiles > 1)


@rule(
    "SPROB009", "strides-with-scales", kind="launch",
    says=["pre-shuffled weights are packed, whatever stride is given: stride_b = {stride_b}",
          "A of {variant} is packed, whatever stride is given: stride_a = {stride_a}",
          "rows of A overlap: stride_a = {stride_a}, K = {K}",
          "columns of B overlap: stride_b = {stride_b}, K = {K}",
          "rows of C overlap: stride_c = {stride_c}, {result_columns=}"],
    source=["ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmKernel::MakeGemmTensorViews (kFlatK; read, not run)",
            "ops/flatmm/pipeline/mx_flatmm_pipeline_agmem_bgmem_creg_v1_policy.hpp: MakeMX_AAsyncLoadBytesDramWindow, make_naive_tensor_descriptor_packed (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)",
            "ops/gemm/pipeline/wp_mx_pipeline_agmem_bgmem_creg_v1_policy.hpp: the same (CK 2026.09, read in ROCm/rocm-libraries @ d67e7e8)",
            "ops/gemm_quant/kernel/gemm_quant_kernel.hpp: MakeCBlockWindow (read, not run)"],
    accepts=[{}, {"stride_a": 520, "stride_c": 1024}],
    rejects=[{"stride_b": 520}, {"stride_c": 8}],
)  # fmt: skip
def rows_lie_apart(c: ScaledProblem) -> BoolExpr:
    """Strides are at least as long as what is contiguous, and pre-shuffled weights are packed.

    A of mx_flatmm and mx_gemm is packed, too.

    Why: the kernels look at no stride; host libraries here refuse, and take none of 4-bit
    elements. Those two view A as packed rows. Weights of flatmm are viewed as whole warp tiles,
    one behind the other.

    Fix: use a larger stride, or none for packed tensors.
    """
    return all_of(
        implies(c.or_block_weights(c.flat), c.stride_b == 0),
        implies(c.micro, c.stride_a == 0),
        (c.stride_a == 0) | (c.stride_a >= c.K),
        (c.stride_b == 0) | (c.stride_b >= c.K),
        (c.stride_c == 0) | (c.stride_c >= c.result_columns),
    )


@rule(
    "SPROB044", "scaled-tensor-beyond-offsets", kind="wrong-result",
    says=["A reaches over 2**31 elements or more, beyond offsets of 32 bits: M = {M}, {operand_stride=}",
          "B reaches over 2**31 elements or more, beyond offsets of 32 bits: N = {N}, K = {K}",
          "C reaches over 2**31 elements or more, beyond offsets of 32 bits: M = {M}, {result_stride=}"],
    source=[*VIEW, "ops/flatmm/kernel/flatmm_kernel.hpp: FlatmmKernel::MakeGemmTensorViews (the whole tensor; read, not run)",
            "ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmKernel::MakeGemmTensorViews (the weights of an expert; read, not run)"],
    issue="ROCm/composable_kernel#3722",
    accepts=[{}, {"M": 131072, "N": 8192}, {**_EXPERTS, "N": 65536, "K": 16384, "experts": 256}],
    rejects=[{"M": 131072, "N": 16384}, {"N": 65536, "K": 32768}, {**_EXPERTS, "N": 65536, "K": 32768}],
)  # fmt: skip
def scaled_tensors_are_within_offsets(c: ScaledProblem) -> BoolExpr:
    """A, B and C of one product, and an expert's B, have fewer than 2**31 elements each.

    Why: as of other GEMMs (GPROB048). Tokens have SPROB035; where an expert's weights begin is
    found with 64 bits.

    Fix: compute parts of M or N on their own.
    """
    return all_of(
        c.of_tokens | within_offsets((c.M - 1) * c.operand_stride + c.K, c.element_bytes),
        within_offsets(c.N * c.K, c.element_bytes),
        c.of_tokens | within_offsets((c.M - 1) * c.result_stride + c.N, c.output_bytes),
    )
