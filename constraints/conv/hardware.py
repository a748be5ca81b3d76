"""HW and LDS: what only the back end or the launch refuses."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, lookup
from ckrules.engine.rules import rule


@rule(
    "HW001", "too-many-threads", kind="launch",
    source=["include/ck_tile/host/kernel_launch.hpp: kentry __launch_bounds__(Kernel::kBlockSize)",
            "HIP: hipDeviceProp_t::maxThreadsPerBlock"],
    accepts=[{"wave_m": 4, "wave_n": 4, "tile_m": 256, "tile_n": 256}],
    rejects=[{"wave_m": 8, "wave_n": 4, "tile_m": 256, "tile_n": 256},
             {"pipeline": "wavelet", "wave_m": 4, "wave_n": 4, "tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def threads_fit(c: Quantities) -> BoolExpr:
    """A block has no more threads than the GPU launches.

    Why: the compiler clamps the bound silently, so the kernel builds and the launch fails. The
    wavelet pipeline adds 4 loading waves.

    Fix: use fewer waves.
    """
    limit = lookup(c.facts["max_threads"], c.arch)
    return c.launch_threads <= limit


@rule(
    "LDS001", "lds-overflow", kind="hardware",
    applies=lambda c: c.lds_bytes >= 0,
    source=["ops/gemm/pipeline/*: GetSmemSize", "ops/epilogue/cshuffle_epilogue.hpp: GetSmemSize",
            "LLVM AMDGPU: local memory exceeds limit"],
    accepts=[{}, {"tile_m": 256, "tile_n": 256}],
    rejects=[{"tile_m": 256, "tile_n": 256, "tile_k": 128},
             {"tile_m": 256, "tile_n": 256, "pipeline": "compv4", "double_smem_buffer": True}],
)  # fmt: skip
def lds_fits(c: Quantities) -> BoolExpr:
    """The LDS of a workgroup fits the GPU.

    Why: the larger of staging buffers and epilogue is allocated; no static_assert compares it
    with the capacity, so the back end refuses the kernel late.

    Fix: lower the tile, above all tile_k.
    """
    limit = lookup(c.facts["lds_capacity"], c.arch)
    return c.lds_bytes <= limit
