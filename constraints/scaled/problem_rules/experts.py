"""SPROB: tokens and experts that kernels for mixtures of experts take, and compute right.

aiter launches these kernels without asking their argument check (csrc/ck_tile_gemm_moe_2stages/
include/moe_cktile2stages_common.cuh: moe_gemm; ROCm/aiter of August 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled.problem_fields import ScaledProblem
from ckrules.constraints.scaled.words import TOKEN_BITS
from ckrules.engine.expr import BoolExpr, all_of, const, maximum
from ckrules.engine.rules import rule

_KERNEL = "ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmKernel"
_RUN = f"{_KERNEL}::operator()"
_FIRST: Mapping[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "row_column",
    "experts": 8, "topk": 2,
}  # fmt: skip
_SECOND: Mapping[str, Any] = {**_FIRST, "stage": 2}
_NARROW: Mapping[str, Any] = {
    **_SECOND, "dtype": "bf16_fp4", "scales": "per_1x32", "tile_m": 32, "tile_k": 256,
    "warp_tile_k": 32,
}  # fmt: skip
_SCALED: Mapping[str, Any] = {
    **_NARROW, "@ck": "2026.06", "arch": "gfx950", "dtype": "fp8_fp4", "tile_n": 256,
    "warp_tile_k": 128,
}  # fmt: skip
#: The largest offset of 32 bits with a sign.
_MOST = 2**31 - 1


def _tokens(c: ScaledProblem) -> BoolExpr:
    return c.of_tokens


@rule(
    "SPROB030", "rows-of-experts-not-whole-tiles", kind="launch",
    applies=lambda c: c.of_tokens & ~c.pad_n,
    says="rows of C are {result_stride} elements apart, not a multiple of tile_n = {tile_n}, and the kernel does not pad N",
    source=f"{_KERNEL}::IsSupportedArgument (stride_C, where flatmm asks N)",
    accepts=[_FIRST, _SECOND, {**_SECOND, "N": 640}],
    rejects=[{**_FIRST, "N": 640}, {**_SECOND, "N": 576}],
)  # fmt: skip
def rows_of_experts_are_whole(c: ScaledProblem) -> BoolExpr:
    """The stride of C is a multiple of tile_n unless N is padded.

    Why: the check asks the stride. Of the first GEMM, whose result has half the columns of the
    weights, that is more than its blocks need.

    Fix: use a kernel with pad_n or a smaller tile_n.
    """
    return c.result_stride % c.tile_n == 0


@rule(
    "SPROB031", "experts-of-a-token", kind="launch", applies=_tokens,
    says=["a token meets {topk} of {experts} experts: topk = {topk}, expected at least 1",
          "a token meets {topk} of {experts} experts: {topk=}, {experts=}"],
    source="ops/flatmm/kernel/moe_flatmm_kernel.hpp: MoeFlatmmHostArgs (TopK, NumExperts)",
    accepts=[_FIRST, {**_FIRST, "topk": 8}], rejects=[{**_FIRST, "topk": 9}, {**_FIRST, "topk": 0}],
)  # fmt: skip
def tokens_have_experts(c: ScaledProblem) -> BoolExpr:
    """A token meets one expert or more, and none twice.

    Why: routing picks topk of the experts.

    Fix: use a smaller topk.
    """
    return all_of(c.topk >= 1, c.topk <= c.experts)


@rule(
    "SPROB032", "gate-and-up-not-whole", kind="wrong-result",
    applies=lambda c: c.first,
    says="gate and up have {result_columns} columns each, not a multiple of warp_tile_n = {warp_tile_n}: N = {N}",
    source="ops/flatmm/pipeline/moe_flatmm_pipeline_agmem_bgmem_creg.hpp: operator() (up_weight_stride; read, not run)",
    accepts=[_FIRST], rejects=[{**_FIRST, "pad_n": True, "N": 528}, {**_FIRST, "pad_n": True, "N": 529}],
)  # fmt: skip
def gate_and_up_are_whole(c: ScaledProblem) -> BoolExpr:
    """Each half of the first GEMM's weights has whole warp tiles of columns.

    Why: the kernel finds the upward projection by half the number of warp tiles.

    Fix: pad the weights.
    """
    return c.N % (2 * c.warp_tile_n) == 0


@rule(
    "SPROB033", "parts-of-experts", kind="wrong-result", until="2026.06",
    applies=_tokens,
    says=["gate and up are multiplied before their parts are added: k_batch = {k_batch}",
          "parts of {k_batch} begin at the wrong weights of an expert"],
    source=[f"{_KERNEL}::SplitKBatchOffset (b_k_split_offset without the columns of a warp tile; read, not run)",
            f"{_RUN} (ActivationOp before the result is added; read, not run)"],
    accepts=[_FIRST, _SECOND], rejects=[{**_FIRST, "k_batch": 2}, {**_SECOND, "k_batch": 2}],
)  # fmt: skip
def sums_of_experts_are_whole(c: ScaledProblem) -> BoolExpr:
    """Kernels for experts of November 2025 compute sums in one part.

    Why: the first GEMM's activation is not linear, and each part goes through it. In both the
    offset of a part's weights is that of plain columns, not of pre-shuffled ones.

    Fix: use k_batch = 1.
    """
    whole = c.k_batch == 1
    return all_of(whole | ~c.first, whole | c.first)


@rule(
    "SPROB037", "sums-of-experts-not-split-here", kind="launch",
    applies=lambda c: c.of_tokens & (c.k_batch > 1),
    says="the kernel is not instantiated for split sums: split_k = {split_k}, k_batch = {k_batch}",
    source=["example/ck_tile/18_flatmm/moe_flatmm.cpp: RunSplitk (an epilogue that adds, where sums are split)",
            "codegen/scaled/model.py: entries"],
    accepts=[{**_FIRST, "split_k": True, "k_batch": 2}], rejects=[{**_FIRST, "k_batch": 2}],
)  # fmt: skip
def split_sums_are_instantiated(c: ScaledProblem) -> BoolExpr:
    """Kernels for experts split sums where their epilogue adds to memory.

    Why: the epilogue's memory operation is a template argument.

    Fix: use a kernel with split_k, or k_batch = 1.
    """
    return c.split_k


@rule(
    "SPROB036", "rows-scaled-as-others", kind="wrong-result", until="2026.09",
    applies=lambda c: c.of_tokens & ~c.narrow_b & (c.scales == "row_column"),
    says="rows of A take the scales of other rows where an expert has several tokens: M = {M} tokens",
    source=[f"{_RUN} (scale_m_offsets has an entry for every row of a lane)",
            "core/tensor/tile_scatter_gather.hpp: load (idx_gather: YsGatherDim alone, the first of a lane's dimensions)",
            f"{_RUN} (CK 2026.09, read in ROCm/rocm-libraries @ 41164ca: gathers along all three)"],
    accepts=[{**_FIRST, "M": 1}, {**_SECOND, "M": 1}, {**_FIRST, "transpose_c": True, "tile_m": 16}],
    rejects=[{**_FIRST, "M": 2}, _SECOND, {**_FIRST, "transpose_c": True}],
)  # fmt: skip
def rows_have_scales_of_their_own(c: ScaledProblem) -> BoolExpr:
    """Kernels for experts with scales of rows compute one token right, or one row a lane.

    Why: the scales of a lane's rows are gathered by the first of three dimensions, so that a row
    takes the scale of the row behind another token, unless a lane has one row, as of transposed
    products with one warp tile along M. Upstream's example gives each tile one row.

    Fix: use a transposed kernel of the first GEMM whose tile_m is warp_tile_m.
    """
    return (c.M == 1) | (c.transpose_c & (c.repeat_m == 1))


@rule(
    "SPROB038", "scales-of-4-bit-weights-not-whole", kind="wrong-result",
    applies=lambda c: (c.of_tokens & c.narrow_b) | c.micro,
    says=["N = {N} is not a multiple of the 32 columns whose scales are loaded at once",
          "K = {K} is not a multiple of the 256 whose scales are loaded at once"],
    source=[f"{_KERNEL}::MakeGemmTensorViews (FlatScaleK, FlatScaleN)",
            "ops/flatmm/kernel/mx_flatmm_kernel.hpp: MXFlatmmKernel::MakeGemmTensorViews (scale_packs_n, scale_packs_k)",
            "example/ck_tile/18_flatmm/mixed_prec/a16w4_moe_flatmm.cpp: shuffle_mxfp4_scale"],
    accepts=[_NARROW, {**_NARROW, "pad_k": True, "K": 768}],
    rejects=[{**_NARROW, "pad_n": True, "N": 528}, {**_NARROW, "pad_k": True, "K": 640}],
)  # fmt: skip
def scales_are_whole(c: ScaledProblem) -> BoolExpr:
    """Of 4-bit weights N has whole pairs of warp tiles, and K whole loads of scales.

    Why: a lane loads the scales of two columns and of two parts of K at once, which lie side by side.

    Fix: pad the weights and their scales.
    """
    return all_of(c.N % 32 == 0, c.K % 256 == 0)


@rule(
    "SPROB045", "operands-of-scaled-experts-not-whole", kind="wrong-result", since="2026.06",
    applies=lambda c: c.of_tokens & c.scaled_experts & (c.dtype == "fp4"),
    says=["N = {N} is not a multiple of the 32 columns whose scales are loaded at once",
          "K = {K} is not a multiple of the 256 whose scales are loaded at once"],
    source=[f"{_KERNEL}::MakeGemmTensorViews (AQUANT_Pipeline: scale_n_packs, scale_k_packs; CK 2026.09, read in ROCm/rocm-libraries @ 705d00c)",
            "ops/flatmm/pipeline/mixed_prec_flatmm_pipeline_agmem_bgmem_creg_v1.hpp: F8xMXF4FlatmmPipelineAGmemBGmemCRegV1::operator() (NXdlPack, KXdlPack; CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)",
            "core/tensor/tile_scatter_gather.hpp: async_load_with_offset (page_idx_: rows of A are found by their stride; CK 2026.09, read in ROCm/rocm-libraries @ 44b5f7c)"],
    accepts=[{**_SCALED, "dtype": "fp4"}, {**_SCALED, "dtype": "fp4", "stride_a": 1024}],
    rejects=[{**_SCALED, "dtype": "fp4", "pad_n": True, "N": 528},
             {**_SCALED, "dtype": "fp4", "pad_k": True, "K": 640}],
)  # fmt: skip
def operands_of_scaled_experts_are_whole(c: ScaledProblem) -> BoolExpr:
    """Of experts with 4 bits in both operands N has whole pairs of warp tiles, and K whole loads of scales.

    Why: what SPROB038 says of 4-bit weights beside a wider A. Rows of A may lie apart: the view
    is of packed rows, but a row is found by its token and the stride.

    Fix: pad the operands and their scales.
    """
    return all_of(c.N % 32 == 0, c.K % 256 == 0)


@rule(
    "SPROB034", "tokens-beyond-their-bits", kind="wrong-result", applies=_tokens,
    says=[f"M = {{M}} tokens are more than {TOKEN_BITS} bits of a sorted entry can name",
          "topk = {topk}: the place among a token's experts is read from 8 bits with a sign, expected at most 128"],
    source=f"{_RUN} (token_id_offset, token_id_mask, fused_token >> token_id_offset; read, not run)",
    accepts=[{**_FIRST, "M": 1000000}, {**_FIRST, "experts": 256, "topk": 128}],
    rejects=[{**_FIRST, "M": 2**24}, {**_FIRST, "experts": 256, "topk": 129}],
)  # fmt: skip
def tokens_fit_their_bits(c: ScaledProblem) -> BoolExpr:
    """Sorted entries can name every token, one more for rows that have none, and a token's experts.

    Why: an entry has the token in its lower 24 bits and in the others which of the token's experts
    it is; what is padded has the number behind the last token.

    Fix: split the tokens.
    """
    return all_of(c.M < 2**TOKEN_BITS, c.topk <= 128)


@rule(
    "SPROB035", "offsets-of-tokens-overflow", kind="wrong-result", applies=_tokens,
    says=["the last of {operand_rows} rows of A begins beyond 2**31 elements: {operand_stride=}",
          "the last of {result_rows} rows of C begins beyond 2**31 elements: {result_stride=}"],
    source=f"{_RUN} (a_offsets, c_scatter_offsets are index_t; read, not run)",
    accepts=[_FIRST, {**_FIRST, "M": 1000000, "K": 1024}],
    rejects=[{**_SECOND, "M": 1000000, "K": 2048}, {**_FIRST, "M": 1000000, "N": 4096}],
)  # fmt: skip
def offsets_of_tokens_fit(c: ScaledProblem) -> BoolExpr:
    """Offsets of rows of A and C fit into 31 bits.

    Why: each row is found by its token times the stride, in 32-bit arithmetic.

    Fix: split the tokens.
    """
    return all_of(
        c.operand_stride <= const(_MOST) // maximum(c.operand_rows - 1, 1),
        c.result_stride <= const(_MOST) // maximum(c.result_rows - 1, 1),
    )


@rule(
    "SPROB042", "rows-of-no-token-behind-c", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.stage == 2) & c.adds_by_address,
    says=("entries that fill up a block of {tile_m} rows name no token, and on {arch} their rows of "
          "{dtype_c} are added to memory behind C: {M=}, {topk=}, {experts=}"),
    source=["ops/flatmm/kernel/moe_flatmm_kernel.hpp: operator() (c_scatter_offsets; run)",
            "core/tensor/buffer_view.hpp: atomic_add (use_amd_buffer_addressing)"],
    issue="ROCm/composable_kernel#3236",
    accepts=[{**_SECOND, "dtype_c": "bf16", "experts": 1, "topk": 1, "M": 1024}],
    rejects=[{**_SECOND, "dtype_c": "bf16"}],
)  # fmt: skip
def rows_of_no_token_are_left_out(c: ScaledProblem) -> BoolExpr:
    """Where the second GEMM of experts adds bf16 by address, its blocks are full.

    Why: entries that fill up an expert's last block name the token behind the last one. A buffer
    leaves their rows out; bf16 is added by address, but on gfx950, and reaches behind C. On real
    gfx942 it ended kernels. How many tokens each of several experts has is not known.

    Fix: use fp16 for C.
    """
    return (c.experts == 1) & (c.M * c.topk % c.tile_m == 0)
