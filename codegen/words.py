"""The C++ words that a configuration's values stand for, by CK release.

Facts: ops/gemm/pipeline, ops/grouped_convolution and example/ck_tile/20_grouped_convolution
of CK 2025.11; for 2026.06 the generator of ROCm/rocm-libraries change 8573.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ELEMENTS = {"fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t", "fp32": "float"}

DATA_TYPES = {"fp16": "FP16", "bf16": "BF16", "fp32": "FP32"}
"""Enumerators of the dispatcher's DataType."""

LAYOUTS = {
    1: ("NWGC", "GKXC", "NWGK"),
    2: ("NHWGC", "GKYXC", "NHWGK"),
    3: ("NDHWGC", "GKZYXC", "NDHWGK"),
}
"""Input, weight and output in ``ck_tile::tensor_layout::convolution``."""

SPECIALIZATIONS = {
    "default": "Default",
    "filter1x1_pad0": "Filter1x1Pad0",
    "filter1x1_stride1_pad0": "Filter1x1Stride1Pad0",
    "filter3x3": "Filter3x3",
}

SCHEDULERS = {"intrawave": "Intrawave", "interwave": "Interwave"}

EPILOGUES = {"cshuffle": "CShuffle", "default": "Default"}

REDUCTIONS = {"linear": "Linear", "tree": "Tree"}


@dataclass(frozen=True, slots=True)
class Direction:
    """How the headers call one direction, and which tensors are its GEMM operands."""

    tag: str  # ex) bwd_data, as kernel names have it
    conv_type: str  # ex) bwd_data, as the dispatcher's key has it
    kernel: str  # ex) BackwardData
    short: str  # ex) BwdData
    header: str  # ex) backward_data
    operands: tuple[str, str, str]  # ex) ("Out", "Wei", "In"): A, B and C
    host_args: str  # ex) GroupedConvBwdDataHostArgs
    alias: str  # ex) SelectedConvBwdDataLauncher
    constant: str  # ex) CONV_BWD_DATA_KERNEL_NAME


FORWARD = Direction(
    *("fwd", "forward", "Forward", "Fwd", "forward", ("In", "Wei", "Out")),
    *("GroupedConvFwdHostArgs<>", "SelectedConvKernelLauncher", "CONV_FWD_KERNEL_NAME"),
)
BACKWARD_DATA = Direction(
    *("bwd_data", "bwd_data", "BackwardData", "BwdData", "backward_data", ("Out", "Wei", "In")),
    *("GroupedConvBwdDataHostArgs", "SelectedConvBwdDataLauncher", "CONV_BWD_DATA_KERNEL_NAME"),
)
BACKWARD_WEIGHT = Direction(
    *("bwd_weight", "bwd_weight", "BackwardWeight", "BwdWeight", "backward_weight"),
    ("Out", "In", "Wei"),
    "GroupedConvBwdWeightHostArgs",
    "SelectedConvBwdWeightLauncher",
    "CONV_BWD_WEIGHT_KERNEL_NAME",
)
DIRECTIONS: Mapping[str, Direction] = {
    "forward": FORWARD,
    "forward_depthwise": FORWARD,
    "bwd_data": BACKWARD_DATA,
    "bwd_weight": BACKWARD_WEIGHT,
}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """How the headers call one pipeline."""

    enum: str  # ex) COMPUTE_V3
    cls: str  # ex) GemmPipelineAgBgCrCompV3
    base: str | None  # what knows hot loop and tail; None: the pipeline has no variants
    tail: int  # arguments of the base's TailHandler; 0 where there is none
    policy: bool  # 2026.06: the conv policy is the second template argument
    dispatcher: str  # ex) CompV3


def _pipeline(
    enum: str, stem: str, tail: int, dispatcher: str, *, policy: bool = False, base: str = ""
) -> Pipeline:
    return Pipeline(enum, f"GemmPipeline{stem}", base or None, tail, policy, dispatcher)


_V1, _V2 = "BaseGemmPipelineAGmemBGmemCRegV1", "BaseGemmPipelineAGmemBGmemCRegV2"
_CR = "BaseGemmPipelineAgBgCr"

PIPELINES: Mapping[str, Mapping[str, Pipeline]] = {
    "2025.11": {
        # The v1 and v2 classes of this release have neither hot-loop nor tail variants.
        "basic_v1": _pipeline("BASIC_V1", "AGmemBGmemCRegV1", 0, "CompV1"),
        "basic_v2": _pipeline("BASIC_V2", "AGmemBGmemCRegV2", 0, "CompV2"),
        "mem": _pipeline("MEMORY", "AgBgCrMem", 3, "Mem", base=f"{_CR}Mem"),
        "compv3": _pipeline("COMPUTE_V3", "AgBgCrCompV3", 3, "CompV3", base=f"{_CR}CompV3"),
        "compv4": _pipeline("COMPUTE_V4", "AgBgCrCompV4", 3, "CompV4", base=f"{_CR}CompV4"),
        "compv5": _pipeline("COMPUTE_V5", "AgBgCrCompV5", 3, "CompV5", base=f"{_CR}CompV5"),
        "compv6": _pipeline("COMPUTE_V6", "AgBgCrCompV6", 3, "CompV6", base=f"{_CR}CompV6"),
        "comp_async": _pipeline(
            "COMPUTE_ASYNC", "AgBgCrCompAsync", 3, "CompAsync", base=f"{_CR}CompAsync"
        ),
        # Later than this release: generated with --force only, and refused by the compiler.
        "basic_async_v1": _pipeline("BASIC_ASYNC_V1", "AGmemBGmemCRegAsyncV1", 0, "BasicAsyncV1"),
        "wavelet": _pipeline("WAVELET", "AgBgCrWavelet", 0, "Wavelet"),
    },
    "2026.06": {
        "basic_v1": _pipeline("BASIC_V1", "AGmemBGmemCRegV1", 2, "CompV1", policy=True, base=_V1),
        "basic_v2": _pipeline("BASIC_V2", "AGmemBGmemCRegV2", 3, "CompV2", policy=True, base=_V2),
        "mem": _pipeline("MEMORY", "AgBgCrMem", 3, "Mem", policy=True, base=f"{_CR}Mem"),
        "compv3": _pipeline(
            "COMPUTE_V3", "AgBgCrCompV3", 3, "CompV3", policy=True, base=f"{_CR}CompV3"
        ),
        "compv4": _pipeline("COMPUTE_V4", "AgBgCrCompV4", 3, "CompV4", base=f"{_CR}CompV4"),
        "compv5": _pipeline("COMPUTE_V5", "AgBgCrCompV5", 3, "CompV5", base=f"{_CR}CompV5"),
        "compv6": _pipeline("COMPUTE_V6", "AgBgCrCompV6", 3, "CompV6", base=f"{_CR}CompV6"),
        "comp_async": _pipeline(
            "COMPUTE_ASYNC", "AgBgCrCompAsync", 3, "CompAsync", base=f"{_CR}CompAsync"
        ),
        "basic_async_v1": _pipeline(
            "BASIC_ASYNC_V1", "AGmemBGmemCRegAsyncV1", 2, "BasicAsyncV1", base=_V1
        ),
        "wavelet": _pipeline("WAVELET", "AgBgCrWavelet", 0, "Wavelet", policy=True),
    },
}

WAVELET_LOAD_WAVES = 4
"""Waves beside the computing ones that only load (GemmPipelineAgBgCrWavelet's default)."""

TWO_BLOCKS = frozenset({"basic_v1", "basic_v2", "basic_async_v1", "wavelet"})
"""Pipelines that are launched for two blocks on a compute unit."""

ONE_BLOCK = frozenset({"compv4", "comp_async"})
"""Pipelines that are launched for one block on a compute unit."""


def blocks_per_cu(pipeline: str, double_buffer: bool) -> int:
    """The second launch bound: two blocks on a compute unit where single LDS buffers leave room.

    >>> blocks_per_cu("mem", False), blocks_per_cu("compv3", True), blocks_per_cu("compv4", True)
    (2, 1, 1)
    """
    if pipeline in TWO_BLOCKS:
        return 2
    return 1 if pipeline in ONE_BLOCK or double_buffer else 2
