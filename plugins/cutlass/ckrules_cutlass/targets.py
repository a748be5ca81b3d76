"""The GPUs that the kernels are for: what CUTLASS and the rules ask of one."""

from __future__ import annotations

from dataclasses import dataclass

from ckrules.arch import TargetGpu


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


TARGETS = (HopperTarget("sm_90a", ("H100", "H200", "H800", "GH200")),)
"""Compute capability 9.0 with the instructions that only it has."""
