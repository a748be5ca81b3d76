"""HW: launch bounds that a configuration asks for, and what they come to.

`__launch_bounds__(threads, kBlockPerCu)` of HIP is the attribute amdgpu_waves_per_eu: as many waves
on each SIMD, whatever a block has. With as many waves in a block as a compute unit has SIMDs that
is the number of blocks. Upstream's own choice (`block_per_cu` = 0) is not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, lookup
from ckrules.engine.rules import rule

#: Eight waves with 24 KB of LDS.
_RDNA: Mapping[str, Any] = {
    "arch": "gfx1100", "tile_m": 128, "tile_n": 64, "wave_m": 4, "wave_n": 2, "warp_tile_m": 16,
    "warp_tile_n": 16,
}  # fmt: skip
_SOURCE = (
    "include/ck_tile/host/kernel_launch.hpp: kentry __launch_bounds__(Kernel::kBlockSize, MinBlockPerCu)",
    "HIP API reference, __launch_bounds__ (amdgpu_waves_per_eu)",
)


@rule(
    "HW003", "launch-bound-beyond-waves", kind="performance", severity="warning",
    profiles=("fast",),
    applies=lambda c: c.block_per_cu > 0,
    says=("block_per_cu = {block_per_cu} has no effect: a SIMD of {arch} holds "
          "{table simd_waves} waves at most"),
    source=[*_SOURCE, "compiled with clang 19 for gfx908, gfx90a, gfx942, gfx1100 and gfx1201: 'failed to meet occupancy target', and registers as without a bound"],
    accepts=[{"block_per_cu": 8, "tile_m": 64, "tile_n": 64}],
    rejects=[{"block_per_cu": 9, "tile_m": 64, "tile_n": 64, "tile_k": 16}],
)  # fmt: skip
def bound_is_kept(c: ConvQuantities) -> BoolExpr:
    """A SIMD holds as many waves as the launch bound asks for.

    Why: the compiler drops a bound that the GPU cannot meet, with a warning; the kernel is built
    as if there were none.

    Fix: lower block_per_cu.
    """
    return _kept(c)


def _kept(c: ConvQuantities) -> BoolExpr:
    most: IntExpr = lookup(c.facts["simd_waves"], c.arch)
    return (most == 0) | (c.launch_blocks <= most)


@rule(
    "HW004", "accumulators-beyond-launch-bound", kind="performance", severity="warning",
    profiles=("fast",),
    applies=lambda c: (c.block_per_cu > 0) & _kept(c),
    says=("the accumulators spill: they take {accumulator_vgprs} registers of a lane, more than "
          "the {bound_vgprs} that block_per_cu = {block_per_cu} leaves on {arch}"),
    source=[*_SOURCE, "compiled with clang 19 for gfx908, gfx90a, gfx942, gfx1100 and gfx1201: registers of a kernel with 300 live values under bounds from 1 to 17"],
    accepts=[{"block_per_cu": 4}, {"block_per_cu": 2, "tile_m": 256, "tile_n": 256}],
    rejects=[{"block_per_cu": 4, "tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def accumulators_fit_the_bound(c: ConvQuantities) -> BoolExpr:
    """A lane's share of the fp32 sums fits in the registers that the launch bound leaves.

    Why: for so many waves on a SIMD the compiler gives each lane its part of the register file,
    and moves what does not fit to memory in every step along K.

    Fix: lower block_per_cu, use more waves or a smaller tile.
    """
    return c.accumulator_vgprs <= c.bound_vgprs


@rule(
    "HW005", "launch-bound-beyond-lds", kind="performance", severity="warning",
    profiles=("fast",),
    applies=lambda c: (c.block_per_cu > 0) & _kept(c) & (c.lds_bytes >= 0),
    says=("block_per_cu = {block_per_cu} limits registers for nothing: {bound_blocks} blocks with "
          "{lds_bytes} bytes of LDS each do not fit the {shared_lds} bytes that SIMDs of {arch} share"),
    source=[*_SOURCE, "AMD CDNA 3 ISA reference, LDS of a compute unit",
            "AMD RDNA 3 ISA reference, LDS of a work-group processor (compiled with clang 22 for gfx1100 and gfx1201: workgroup_processor_mode 1, and with 24 KB in 8 waves a bound of 10 is kept and one of 11 dropped)",
            "llvm/lib/Target/AMDGPU/AMDGPUSubtarget.cpp: getOccupancyWithLocalMemSize (compiled with clang 22 for gfx950: with 30 KB in 6 waves a bound of 8 is kept, with 40 KB in 4 waves one of 5 dropped)"],
    accepts=[{"block_per_cu": 2}, {**_RDNA, "block_per_cu": 10}],
    rejects=[{"block_per_cu": 3}, {**_RDNA, "block_per_cu": 11}],
)  # fmt: skip
def bound_fits_lds(c: ConvQuantities) -> BoolExpr:
    """The LDS that SIMDs share holds as many blocks as give one of them the waves of the launch bound.

    Why: the compiler keeps registers free for waves that LDS leaves no room for. It compiles and
    computes right. Four SIMDs share the LDS of a compute unit, on RDNA those of two compute units
    (a work-group processor) twice as much as a block may have.

    Fix: lower block_per_cu, or the tile, above all tile_k.
    """
    return c.lds_bytes * c.bound_blocks <= c.shared_lds
