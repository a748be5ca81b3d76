"""Words for types, layouts and element-wise operations of GEMMs."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.tile_gemm import fields as shared

VARIANTS = ("standard", "preshuffle", "multi_d", "batched", "grouped", "stream_k")
#: Variants whose kernels hand the pipeline one LDS buffer whatever the configuration says.
ONE_BUFFER = ("batched", "stream_k")
#: How stream-K puts the parts of a tile together; other kernels have ``off``.
STREAMK = ("off", "atomic", "linear", "tree")
#: Types of A, B and the accumulator by the word of the field ``dtype``.
TYPES: Mapping[str, tuple[str, str, str]] = {
    **{d: (d, d, "fp32") for d in ("fp16", "bf16", "fp32", "fp8", "bf8")},
    "int8": ("int8", "int8", "int32"),
    "fp8_bf8": ("fp8", "bf8", "fp32"),
    "bf8_fp8": ("bf8", "fp8", "fp32"),
    "fp16_i4": ("fp16", "int4", "fp32"),
    "bf16_i4": ("bf16", "int4", "fp32"),
}
#: The type of C that a configuration means where it names none.
USUAL_C: Mapping[str, str] = {
    word: "fp16" if a in ("fp8", "bf8") else "int32" if a == "int8" else a
    for word, (a, _, _) in TYPES.items()
}
OUTPUTS = ("fp16", "bf16", "fp32", "fp8", "bf8", "int8", "int32")
ACCUMULATORS = ("fp32", "int32")

#: One letter each for A, B and C: rows or columns are contiguous.
PLAIN_LAYOUTS = ("rcr", "rrr", "crr", "ccr", "rcc", "rrc", "crc", "ccc")
#: The same with a letter for every D.
D_LAYOUTS = tuple(f"{abc}{d}" for abc in PLAIN_LAYOUTS for d in "rc")
LAYOUTS = (*PLAIN_LAYOUTS, *D_LAYOUTS)

#: Operations on C and every D, and those that take C alone.
D_OPERATIONS = ("add", "multiply", "add_scale")
UNARY_OPERATIONS = ("relu", "gelu", "fastgelu")
OPERATIONS = ("passthrough", *D_OPERATIONS, *UNARY_OPERATIONS)

PIPELINES = (*shared.PIPELINES, "preshufflev2")
#: Pipelines that alternate between two LDS buffers.
TWO_BUFFERS = ("compv4", "comp_async", "preshufflev2")
#: Those for which tile_engine writes two.
TILE_ENGINE_BUFFERS = ("compv4", "preshufflev2")
SCHEDULERS = ("intrawave", "interwave", "default")
#: ``direct2d`` is a word that upstream's lists let through; no header has such an epilogue.
EPILOGUES = ("cshuffle", "default", "direct2d")

PIPELINE_ALIASES = {"compv1": "basic_v1", "compv2": "basic_v2"}

#: What people write for the values of fields, in lower case without ``_`` and ``-``.
SYNONYMS = {
    "variant": {
        "gemm": "standard", "gemmuniversal": "standard", "universal": "standard",
        "gemmpreshuffle": "preshuffle", "weightpreshuffle": "preshuffle",
        "gemmmultid": "multi_d", "batchedgemm": "batched", "gemmbatched": "batched",
        "groupedgemm": "grouped", "gemmgrouped": "grouped", "streamk": "stream_k",
        "gemmstreamk": "stream_k",
    },
    "dtype": {
        "half": "fp16", "float16": "fp16", "f16": "fp16",
        "bfloat16": "bf16", "float": "fp32", "float32": "fp32", "f32": "fp32",
        "f8": "fp8", "float8": "fp8", "i8": "int8", "fp16pkint4": "fp16_i4", "fp16int4": "fp16_i4",
        "bf16pkint4": "bf16_i4", "bf16int4": "bf16_i4",
    },
    "dtype_c": {"half": "fp16", "float16": "fp16", "bfloat16": "bf16", "float": "fp32"},
    "dtype_acc": {"float": "fp32", "float32": "fp32"},
    "pipeline": {
        "memory": "mem", "basicv1": "basic_v1", "basicv2": "basic_v2", "compasync": "comp_async",
        **{f"compute{v}": f"comp{v}" for v in ("v3", "v4", "v5", "v6")},
        "computeasync": "comp_async", "weightpreshufflev2": "preshufflev2",
    },
    "streamk": {"reduction": "linear", "none": "off"},
    "elementwise_op": {
        "multidadd": "add", "multidmultiply": "multiply", "mul": "multiply", "addscale": "add_scale",
    },
}  # fmt: skip
