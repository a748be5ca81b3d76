"""The C++ words that a configuration's values stand for, by CK release.

Facts: ops/gemm/pipeline, ops/grouped_convolution and example/ck_tile/20_grouped_convolution
of CK 2025.11; for 2026.06 the generator of ROCm/rocm-libraries change 8573; for 2026.09 the same,
which writes what it wrote in June (read in ROCm/rocm-libraries @ eaf6d8b on 25 November 2026:
CKTileGroupedConvKernelGenerator, CKTileDepthwiseConvKernelGenerator).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ELEMENTS = {"fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t", "fp32": "float"}

LAYOUTS = {
    "nwgc": ("NWGC", "GKXC", "NWGK"),
    "nhwgc": ("NHWGC", "GKYXC", "NHWGK"),
    "ndhwgc": ("NDHWGC", "GKZYXC", "NDHWGK"),
}
"""Input, weight and output in ``ck_tile::tensor_layout::convolution``, by the field ``layout``."""

SPECIALIZATIONS = {
    "default": "Default",
    "filter1x1_pad0": "Filter1x1Pad0",
    "filter1x1_stride1_pad0": "Filter1x1Stride1Pad0",
    "filter3x3": "Filter3x3",
}

SCHEDULERS = {"intrawave": "Intrawave", "interwave": "Interwave"}

UNSCHEDULED = {("2025.11", "basic_v1", "intrawave")}
"""Releases, pipelines and schedulers whose problem has the scheduler ``Default`` instead.

basic_v1 of CK 2025.11 never asks its block GEMM to read the LDS, and the block GEMM of Intrawave
reads nothing unless it is asked (ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: BlockGemmImpl).
That of Default reads by itself and then does the same.
"""


def problem_scheduler(ck: str, pipeline: str, scheduler: str) -> str:
    """The enumerator of GemmPipelineScheduler that the pipeline's problem takes.

    >>> problem_scheduler("2025.11", "basic_v1", "intrawave")
    'Default'
    """
    return "Default" if (ck, pipeline, scheduler) in UNSCHEDULED else SCHEDULERS[scheduler]


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
    "bwd_data": BACKWARD_DATA,
    "bwd_weight": BACKWARD_WEIGHT,
}


@dataclass(frozen=True, slots=True)
class ConvPipelineName:
    """How the headers call one pipeline."""

    enum: str  # ex) COMPUTE_V3
    cls: str  # ex) GemmPipelineAgBgCrCompV3
    base: str | None  # what knows hot loop and tail; None: the pipeline has no variants
    tail: int  # arguments of the base's TailHandler; 0 where there is none
    policy: bool  # since 2026.06: the conv policy is the second template argument


def _pipeline(
    enum: str, stem: str, tail: int, *, policy: bool = False, base: str = ""
) -> ConvPipelineName:
    name = f"GemmPipeline{stem}"
    return ConvPipelineName(enum, name, (base or f"Base{name}") if tail else None, tail, policy)


_2025_11: Mapping[str, ConvPipelineName] = {
    # The v1 and v2 classes of this release have neither hot-loop nor tail variants.
    "basic_v1": _pipeline("BASIC_V1", "AGmemBGmemCRegV1", 0),
    "basic_v2": _pipeline("BASIC_V2", "AGmemBGmemCRegV2", 0),
    "mem": _pipeline("MEMORY", "AgBgCrMem", 3),
    "compv3": _pipeline("COMPUTE_V3", "AgBgCrCompV3", 3),
    "compv4": _pipeline("COMPUTE_V4", "AgBgCrCompV4", 3),
    "compv5": _pipeline("COMPUTE_V5", "AgBgCrCompV5", 3),
    "compv6": _pipeline("COMPUTE_V6", "AgBgCrCompV6", 3),
    "comp_async": _pipeline("COMPUTE_ASYNC", "AgBgCrCompAsync", 3),
    # Later than this release: generated with --force only, and refused by the compiler.
    "basic_async_v1": _pipeline("BASIC_ASYNC_V1", "AGmemBGmemCRegAsyncV1", 0),
    "wavelet": _pipeline("WAVELET", "AgBgCrWavelet", 0),
}
_V1 = "BaseGemmPipelineAGmemBGmemCRegV1"

_2026_06: Mapping[str, ConvPipelineName] = {
    **_2025_11,
    "basic_v1": _pipeline("BASIC_V1", "AGmemBGmemCRegV1", 2, policy=True),
    "basic_v2": _pipeline("BASIC_V2", "AGmemBGmemCRegV2", 3, policy=True),
    "mem": _pipeline("MEMORY", "AgBgCrMem", 3, policy=True),
    "compv3": _pipeline("COMPUTE_V3", "AgBgCrCompV3", 3, policy=True),
    "basic_async_v1": _pipeline("BASIC_ASYNC_V1", "AGmemBGmemCRegAsyncV1", 2, base=_V1),
    "wavelet": _pipeline("WAVELET", "AgBgCrWavelet", 0, policy=True),
}

PIPELINES: Mapping[str, Mapping[str, ConvPipelineName]] = {
    "2025.11": _2025_11,
    "2026.06": _2026_06,
    "2026.09": _2026_06,
}
"""The classes of pipelines by their words, for the releases that there are templates for."""

INTERFACES = {"2025.11": "2025_11", "2026.06": "2026_06", "2026.09": "2026_06"}
"""Whose templates a release takes: its own, or those of an older one whose interface it has."""
