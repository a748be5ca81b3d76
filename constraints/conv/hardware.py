"""HW and LDS: what only the back end or the launch refuses, and how LDS is laid out."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, IntExpr, is_pow2, lookup
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
    limit: IntExpr = lookup(c.facts["max_threads"], c.arch)
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
    with the capacity, so the back end refuses the kernel late. (LLVM may move private arrays
    into LDS that is left over; it never exceeds the capacity by that.)

    Fix: lower the tile, above all tile_k.
    """
    limit: IntExpr = lookup(c.facts["lds_capacity"], c.arch)
    return c.lds_bytes <= limit


@rule(
    "LDS002", "lds-rows-not-power-of-two", kind="wrong-result",
    applies=lambda c: _swizzled(c),
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor, MakeBLdsBlockDescriptor",
            "core/algorithm/coordinate_transform.hpp: xor_t, a ^ (b % length) (read, not run)"],
    accepts=[{"@ck": "2025.11", "variant": "bwd_weight"},
             {"@ck": "2026.06", "variant": "bwd_weight", "arch": "gfx1201"}],
    rejects=[{"@ck": "2025.11", "variant": "bwd_weight", "tile_k": 48},
             {"@ck": "2026.06", "variant": "bwd_weight", "arch": "gfx1201", "tile_k": 48}],
)  # fmt: skip
def lds_rows_are_powers(c: Quantities) -> BoolExpr:
    """The block tile's K is a power of two where transposed tiles are swizzled in LDS.

    Why: rows are swizzled by an exclusive or with the row number modulo the row's length, which
    stays inside the row only if that length is a power of two. Nothing asserts it. (With K
    contiguous in global memory such a tile is refused by VEC003.)

    Fix: use a power of two for tile_k.
    """
    return is_pow2(c.tile_k)


def _swizzled(c: Quantities) -> BoolExpr:
    """Neither operand has K contiguous, and both use the swizzled layout.

    Since 2026.06 wave64 folds K for them instead (VEC007).
    """
    both = c.a_transposed & c.b_transposed & ~c.a_transpose_load
    return both & (c.wave_size == 32) if c.since("2026.06") else both
