"""Which CK a source was read in, said behind it: the headers of 2026.06 are not at hand.

Where a rule holds for both versions, the one of 2025.11 was compiled or run, and that of 2026.06
read in ROCm/rocm-libraries, projects/composablekernel.
"""

from __future__ import annotations

BOTH = "(CK 2025.11, and 2026.06 as read in ROCm/rocm-libraries)"
REPLICATED = (
    "core/algorithm/static_encoding_pattern.hpp: for NumWaveGroups > 1 the waves of a pattern are "
    "a replication dimension"
)
"""Why every wave group stores all of a tile: what GEMM078 says of parts that stream-K adds, and
GPROB042 of those of a split sum."""
LATER = "(CK 2026.06, read in ROCm/rocm-libraries)"
BATCHED = "ops/gemm/kernel/batched_gemm_kernel.hpp: BatchedGemmKernel"
GROUPED = "ops/gemm/kernel/grouped_gemm_kernel.hpp: GroupedGemmKernel"
STREAMK = "ops/gemm/kernel/streamk_gemm_kernel.hpp: reboot::StreamKKernel"
