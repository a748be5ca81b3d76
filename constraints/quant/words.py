"""Words for variants, types and scales of quantised GEMMs."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.gemm import words as gemm

#: Enumerators of ``ck_tile::QuantType``, in its order.
VARIANTS = ("aquant", "bquant", "rowcol_quant", "tensor_quant")
#: Variants whose scales belong to groups along K.
GROUPED = ("aquant", "bquant")
#: The tensors of scales that a variant's kernels read.
SCALED: Mapping[str, tuple[str, ...]] = {
    "aquant": ("aq",), "bquant": ("bq",), "rowcol_quant": ("aq", "bq"), "tensor_quant": ("aq", "bq"),
}  # fmt: skip
#: Types of A, B and what instructions see on both sides, by the word of the field ``dtype``.
TYPES: Mapping[str, tuple[str, str, str]] = {
    "fp8": ("fp8", "fp8", "fp8"),
    "bf8": ("bf8", "bf8", "bf8"),
    "fp8_i4": ("fp8", "int4", "fp8"),
    "bf8_i4": ("bf8", "int4", "bf8"),
    "i4_fp8": ("int4", "fp8", "fp8"),
    "i4_bf8": ("int4", "bf8", "bf8"),
}
NARROW_A = tuple(word for word, (a, _, _) in TYPES.items() if a == "int4")
NARROW_B = tuple(word for word, (_, b, _) in TYPES.items() if b == "int4")
OUTPUTS = ("fp16", "bf16", "fp32", "fp8", "bf8")
SCALES = ("fp32", "fp8", "bf8")
LAYOUTS = gemm.PLAIN_LAYOUTS
#: Pipelines of other GEMMs that take a window each of A and B.
PLAIN = ("compv3", "mem", "basic_v1", "compv5")
#: Pipelines of these kernels; that for pre-shuffled weights is bquant's.
PIPELINES: Mapping[str, tuple[str, ...]] = {
    "aquant": ("compv3", "mem"),
    "bquant": ("compv3", "preshufflev2"),
    "rowcol_quant": PLAIN,
    "tensor_quant": PLAIN,
}
#: Elements of K that share a scale where a configuration does not say.
GROUP = 128

SYNONYMS = {
    "variant": {
        "gemmaquant": "aquant", "aquantgrouped": "aquant", "gemmbquant": "bquant",
        "bquantgrouped": "bquant", "rowcolquant": "rowcol_quant",
        "gemmrowcolquant": "rowcol_quant", "tensorquant": "tensor_quant",
        "gemmtensorquant": "tensor_quant",
    },
    "dtype": {
        "f8": "fp8", "float8": "fp8", "fp8int4": "fp8_i4", "fp8pkint4": "fp8_i4",
        "bf8int4": "bf8_i4", "bf8pkint4": "bf8_i4", "int4fp8": "i4_fp8", "int4bf8": "i4_bf8",
    },
    "dtype_c": {"half": "fp16", "float16": "fp16", "bfloat16": "bf16", "float": "fp32"},
    "dtype_scale": {"float": "fp32", "float32": "fp32", "f8": "fp8", "float8": "fp8"},
    "pipeline": gemm.SYNONYMS["pipeline"],
}  # fmt: skip
