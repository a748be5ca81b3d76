"""The C++ words of GEMMs with scales that other GEMMs lack.

Facts: include/ck_tile/ops/flatmm of CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.codegen.gemm import cpp_names as gemm
from ckrules.codegen.gemm.cpp_names import GemmPipelineName

_BASE = "BaseFlatmmPipelineAGmemBGmemCRegV1"

PIPELINES: Mapping[str, GemmPipelineName] = {
    "flatmm": GemmPipelineName("FlatmmPipelineAGmemBGmemCRegV1", _BASE),
    "moe_flatmm": GemmPipelineName("MoeFlatmmPipelineAGmemBGmemCRegV1", _BASE),
    "mx_flatmm": GemmPipelineName("MXF4FlatmmPipelineAGmemBGmemCRegV1", _BASE),
}

ELEMENTS: Mapping[str, str] = {**gemm.ELEMENTS, "pk_fp4": "ck_tile::pk_fp4_t"}
"""Types of elements."""

WIDENING = GemmPipelineName("F16xMXF4FlatmmPipelineAGmemBGmemCRegV1", _BASE)
"""The pipeline of experts whose weights have 4 bits."""

PROBED: Mapping[str, str] = {
    # those of other GEMMs and of newer headers, which the kernel, or the compiler, refuses
    **{word: name.cls for word, name in {**gemm.PROBED, **PIPELINES}.items()},
    "abquant": "ABQuantGemmPipelineAgBgCrCompV3",
    "abquant_eight_waves": "ABQuantGemmPipelineAgBgCrEightWaves",
    "abquant_preshuffle": "WPABQuantBPipelineAgBgCrV2",
    "abquant_preshuffle_eight_waves": "ABQuantGemmPipelineAgBgCrEightWaves",
    "weight_preshuffle": "MXGemmPreshufflePipelineAGmemBGmemCRegV1",
}
"""What the probe calls each pipeline."""

GRANULARITIES: Mapping[str, str] = {
    "row_column": "1", "no": "-1", "per_tensor": "0", "blocks": "128, 128",
    "per_1x32": "1, 32", "per_1x128": "1, 128", "per_128x128": "128, 128",
}  # fmt: skip
"""Arguments of ``FlatmmScalePointer`` by the field ``scales``: along M or N, then along K."""

ACTIVATIONS: Mapping[str, str] = {"no": "", "silu": "MoeSilu", "swiglu": "Swiglu"}
"""Classes of ``ck_tile::moe`` by the field ``activation``; "": that of the header."""

KINDS: Mapping[int, str] = {1: "kFFN_gemm1_gate_up", 2: "kFFN_gemm2"}
"""Enumerators of ``MoeFlatmmKind`` by the field ``stage``."""
