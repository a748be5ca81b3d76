"""The GPUs that the kernels are for: what CUTLASS and the rules ask of one."""

from __future__ import annotations

from dataclasses import dataclass

from ckrules.arch import TargetGpu
from ckrules.arch.performance import GpuProduct, Performance


@dataclass(frozen=True, slots=True)
class HopperTarget(TargetGpu):
    """A GPU with warp-group MMA and the tensor memory accelerator.

    ``smem_bytes`` is what a block may have of shared memory, ``max_cluster`` the blocks of a
    cluster beyond the portable size, ``mma_registers`` the 32-bit registers of a thread that
    computes.

    Source: gemm/collective/builders/sm90_common.inl sm90_smem_capacity_bytes;
    gemm/kernel/sm90_gemm_tma_warpspecialized_cooperative.hpp MmaRegisterRequirement (CUTLASS
    4.2.0); CUDA C++ Programming Guide 13.0, Thread Block Clusters.
    """

    smem_bytes: int = 232448
    max_cluster: int = 16
    mma_registers: int = 240


SPEEDS = Performance(
    simds=4,
    waves_per_simd=16,
    lds_bytes_per_clock=128,
    l2_bytes=50 << 20,
    l2_bytes_per_clock=64,
    last_level_bytes=0,
    chiplets=1,
    matrix_flops=(
        *(("fp16", 4096), ("bf16", 4096), ("tf32", 2048)),
        *(("fp8", 8192), ("bf8", 8192), ("int8", 8192)),
    ),
    slower=(),
    products=(
        GpuProduct("NVIDIA H100", 132, 1980, 3350),
        GpuProduct("NVIDIA H200", 132, 1980, 4800),
    ),
)
"""Of SXM boards; operations in a clock are those of one multiprocessor without sparsity.

Source: NVIDIA H100 Tensor Core GPU Architecture (whitepaper), NVIDIA H200 data sheet.
"""

TARGETS = (HopperTarget("sm_90a", ("H100", "H200", "H800", "GH200"), performance=SPEEDS),)
"""Compute capability 9.0 with the instructions that only it has."""
