"""The C++ words that a GEMM configuration's values stand for.

Facts: include/ck_tile/ops/{gemm,epilogue,elementwise} and core/numeric of CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ELEMENTS: Mapping[str, str] = {
    "fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t", "fp32": "float",
    "fp8": "ck_tile::fp8_t", "bf8": "ck_tile::bf8_t", "int8": "ck_tile::int8_t",
    "int32": "ck_tile::int32_t", "int4": "ck_tile::pk_int4_t",
}  # fmt: skip

LAYOUTS: Mapping[str, str] = {"r": "RowMajor", "c": "ColumnMajor"}
"""A letter of the field ``layout`` in ``ck_tile::tensor_layout::gemm``."""

SCHEDULERS: Mapping[str, str] = {
    "intrawave": "Intrawave", "interwave": "Interwave", "default": "Default",
}  # fmt: skip

EPILOGUES: Mapping[str, str] = {"cshuffle": "CShuffle", "default": "Default"}

OPERATIONS: Mapping[str, str] = {
    "passthrough": "PassThrough", "add": "MultiDAdd", "multiply": "MultiDMultiply",
    "add_scale": "AddScale", "relu": "Relu", "gelu": "Gelu", "fastgelu": "FastGelu",
}  # fmt: skip
"""Classes of ``ck_tile::element_wise``."""


@dataclass(frozen=True, slots=True)
class GemmPipelineName:
    """How the headers call one pipeline."""

    cls: str
    base: str | None
    """What knows hot loop and tail; None: the pipeline has no variants."""


def _with_tails(name: str) -> GemmPipelineName:
    return GemmPipelineName(name, f"Base{name}")


PIPELINES: Mapping[str, GemmPipelineName] = {
    "basic_v1": GemmPipelineName("GemmPipelineAGmemBGmemCRegV1", None),
    "basic_v2": GemmPipelineName("GemmPipelineAGmemBGmemCRegV2", None),
    **{
        word: _with_tails(f"GemmPipelineAgBgCr{stem}")
        for word, stem in (
            ("mem", "Mem"), ("compv3", "CompV3"), ("compv4", "CompV4"), ("compv5", "CompV5"),
            ("compv6", "CompV6"), ("comp_async", "CompAsync"),
        )
    },
    "preshufflev2": _with_tails("WeightPreshufflePipelineAGmemBGmemCRegV2"),
}  # fmt: skip

PROBED: Mapping[str, GemmPipelineName] = {
    **PIPELINES,
    "basic_async_v1": GemmPipelineName("GemmPipelineAGmemBGmemCRegAsyncV1", None),
    "wavelet": GemmPipelineName("GemmPipelineAgBgCrWavelet", None),
}
"""What the probe calls each pipeline: those of newer headers too, which the compiler refuses."""

KERNELS: Mapping[str, str] = {
    "standard": "GemmKernel", "preshuffle": "GemmKernel", "multi_d": "GemmKernelMultiD",
    "batched": "BatchedGemmKernel", "grouped": "GroupedGemmKernel",
    "stream_k": "reboot::StreamKKernel",
}  # fmt: skip
"""The kernel class by variant."""

STRATEGIES: Mapping[str, str] = {"atomic": "Atomic", "linear": "Reduction"}
"""Enumerators of ``ck_tile::StreamKReductionStrategy``."""
