"""Words for types, pipelines and scales of GEMMs with scales."""

from __future__ import annotations

from collections.abc import Mapping

EXPERTS = "moe_flatmm"
MX = "mx_flatmm"
MX_GEMM = "mx_gemm"
#: Block scales by eight waves that take turns, and what both are with pre-shuffled weights.
EIGHT_WAVES = "abquant_eight_waves"
WEIGHTS_OF: Mapping[str, str] = {
    "abquant": "abquant_preshuffle", EIGHT_WAVES: "abquant_preshuffle_eight_waves",
}  # fmt: skip
BLOCK_WEIGHTS, EIGHT_WEIGHTS = WEIGHTS_OF.values()
VARIANTS = ("flatmm", EXPERTS, MX, "abquant", MX_GEMM)
#: Types of A, B and the sums by the word of the field ``dtype``; with 4-bit weights B is widened
#: to A's type, or both go into one scaled instruction.
TYPES: Mapping[str, tuple[str, str, str]] = {
    **{d: (d, d, "fp32") for d in ("fp8", "bf8", "fp16", "bf16")},
    "bf16_fp4": ("bf16", "bf16", "fp32"),
    "fp16_fp4": ("fp16", "fp16", "fp32"),
    "fp8_fp4": ("fp8", "pk_fp4", "fp32"),
    "fp4": ("pk_fp4", "pk_fp4", "fp32"),
}
NARROW = ("bf16_fp4", "fp16_fp4", "fp8_fp4")
#: Those of experts whose instructions take scales of both operands.
SCALED = ("fp8_fp4", "fp4")
#: Those whose weights are widened to the type of A.
WIDENED = ("bf16_fp4", "fp16_fp4")
OUTPUTS = ("bf16", "fp16")
#: The pipelines of these kernels, by variant.
PIPELINES: Mapping[str, tuple[str, ...]] = {
    "flatmm": ("flatmm",),
    "moe_flatmm": ("moe_flatmm",),
    "mx_flatmm": ("mx_flatmm",),
    "abquant": ("abquant", EIGHT_WAVES, BLOCK_WEIGHTS, EIGHT_WEIGHTS),
    "mx_gemm": ("weight_preshuffle",),
}
SCHEDULERS = ("intrawave", "interwave", "default")
#: What a scale belongs to: a row of A and a column of B, or aiter's words.
SCALES = ("row_column", "blocks", "per_tensor", "per_1x32", "per_1x128", "per_128x128", "no")
#: Those of a variant, where a configuration leaves them out.
USUAL: Mapping[str, str] = {
    "flatmm": "row_column", EXPERTS: "per_tensor", MX: "per_1x32", "abquant": "blocks",
    MX_GEMM: "per_1x32",
}  # fmt: skip
#: The tensors of scales that kernels of CK 2025.11 take, by the word for their scales.
TENSORS: Mapping[str, tuple[str, ...]] = {
    "row_column": ("aq", "bq"), "no": (), "per_1x32": ("aq", "bq"),
}  # fmt: skip
#: Bits of a sorted entry that say which token it is; the others say which of its experts.
TOKEN_BITS = 24
#: What says which rows of A meet the weights of which expert, in the order of kernels' tensors.
ROUTING = ("sorted", "owners", "last", "weights")
#: How products that a kernel computes together lie: one alone, or groups of rows of one size each,
#: of which a number says how many count.
GROUPINGS = ("no", "masked")
ACTIVATIONS = ("no", "silu", "gelu", "swiglu")
#: Elements of K that share a scale, and of N for B, with block scales.
GROUP = 128
#: Elements of K that share a scale of e8m0.
MICRO = 32

SYNONYMS = {
    "dtype": {
        "half": "fp16", "float16": "fp16", "bfloat16": "bf16", "f8": "fp8", "float8": "fp8",
        "bf16pkfp4": "bf16_fp4", "fp16pkfp4": "fp16_fp4", "fp8pkfp4": "fp8_fp4",
    },
    "dtype_c": {"half": "fp16", "float16": "fp16", "bfloat16": "bf16"},
    "scales": {"pertoken": "row_column"},
    "variant": {"mxflatmm": "mx_flatmm", "moeflatmm": "moe_flatmm", "blockscale": "abquant"},
}  # fmt: skip
