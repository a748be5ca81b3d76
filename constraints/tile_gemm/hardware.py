"""HW and LDS: what only the back end or the launch refuses, and how LDS is laid out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.tile_gemm.folding import folds
from ckrules.constraints.tile_gemm.pattern import TileDistribution
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, implies, is_pow2, lookup
from ckrules.engine.rules import rule

#: Four rows of A to a block tile.
_NARROW: Mapping[str, Any] = {
    "tile_m": 4, "tile_n": 64, "tile_k": 16, "wave_m": 1, "wave_n": 1, "warp_tile_m": 4,
    "warp_tile_n": 64, "warp_tile_k": 16,
}  # fmt: skip


@rule(
    "HW001", "too-many-threads", kind="launch",
    says="a block has {launch_threads=} threads with pipeline {pipeline}, more than the {table max_threads} that {arch} launches",
    source=["include/ck_tile/host/kernel_launch.hpp: kentry __launch_bounds__(Kernel::kBlockSize)",
            "HIP API reference, hipDeviceProp_t::maxThreadsPerBlock"],
    accepts=[{"wave_m": 4, "wave_n": 4, "tile_m": 256, "tile_n": 256}],
    rejects=[{"wave_m": 8, "wave_n": 4, "tile_m": 256, "tile_n": 256},
             {"pipeline": "wavelet", "wave_m": 4, "wave_n": 4, "tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def threads_fit(c: TileGemm) -> BoolExpr:
    """A block has no more threads than the GPU launches.

    Why: the compiler clamps the bound silently, so the kernel builds and the launch fails. The
    wavelet pipeline adds 4 loading waves.

    Fix: use fewer waves.
    """
    limit: IntExpr = lookup(c.facts["max_threads"], c.arch)
    return c.launch_threads <= limit


@rule(
    "HW002", "accumulators-beyond-registers", kind="performance", severity="warning",
    profiles=("fast",),
    says=(
        "the accumulators spill: they take {accumulator_vgprs} registers of a lane, more than the "
        "{table lane_vgprs} of {arch}: {accumulator_vgprs=}"
    ),
    source=["ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: MakeCBlockTile (a wave's sums are one distributed tensor in registers)",
            "ck_tile/core/arch/arch.hpp get_max_vgpr_count",
            "AMD CDNA 1 ISA reference, 256 VGPRs and 256 AccVGPRs; AMD CDNA 3 ISA reference, a unified file of 512; AMD RDNA 4 ISA reference, 256 VGPRs"],
    accepts=[{}, {"tile_m": 256, "tile_n": 256, "wave_m": 1, "wave_n": 2}],
    rejects=[{"tile_m": 256, "tile_n": 256, "wave_m": 1, "wave_n": 1},
             {"arch": "gfx1201", "tile_m": 128, "tile_n": 128, "wave_m": 1, "wave_n": 1,
              "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def accumulators_fit(c: TileGemm) -> BoolExpr:
    """A lane's share of the fp32 sums fits in its registers.

    Why: the block tile's sums stay in registers from the first step along K to the last. Beyond
    the registers of a lane the compiler moves them to memory and back in every step. It compiles
    and computes right, so the rule is one of the profile `fast` and a warning of `ckrules check`.
    Operands need registers, too: see the quantity vgprs.

    Fix: use more waves or a smaller tile.
    """
    limit: IntExpr = lookup(c.facts["lane_vgprs"], c.arch)
    return c.accumulator_vgprs <= limit


@rule(
    "LDS001", "lds-overflow", kind="hardware",
    applies=lambda c: c.lds_bytes >= 0,
    says="LDS: {lds_bytes=} bytes, more than the {table lds_capacity} of {arch}",
    source=["ops/gemm/pipeline/gemm_pipeline_ag*.hpp: GetSmemSize", "ops/epilogue/cshuffle_epilogue.hpp: GetSmemSize",
            "llvm/lib/Target/AMDGPU/AMDGPUAsmPrinter.cpp: local memory exceeds limit"],
    accepts=[{}, {"tile_m": 256, "tile_n": 256}],
    rejects=[{"tile_m": 256, "tile_n": 256, "tile_k": 128},
             {"tile_m": 256, "tile_n": 256, "pipeline": "compv4", "double_smem_buffer": True}],
)  # fmt: skip
def lds_fits(c: TileGemm) -> BoolExpr:
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
    says="rows of K are swizzled in LDS: tile_k = {tile_k} is not a power of two",
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor, MakeBLdsBlockDescriptor",
            "ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp: the same for basic_v1, mem, compv3 and wavelet (CK 2026.06)",
            "core/algorithm/coordinate_transform.hpp: xor_t, a ^ (b % length) (CK 2025.11: run, with K contiguous in both, in A and in none)"],
    accepts=[], rejects=[],
)  # fmt: skip
def lds_rows_are_powers(c: TileGemm) -> BoolExpr:
    """The block tile's K is a power of two where tiles are swizzled in LDS, or its rows are few.

    Why: rows are swizzled by an exclusive or with the row number modulo the row's length in
    vectors, which stays inside the row only if that length is a power of two, or a multiple of
    one that no row number reaches. Nothing asserts it. (Of the tiles with K contiguous in global
    memory VEC003 and VEC005 leave those of which a thread loads 3, 6 or 12 elements side by side.)

    Fix: use a power of two for tile_k.
    """
    if c.since("2026.06"):
        return is_pow2(c.tile_k)
    a = c.a_transpose_load | _few_rows(c, c.tile_m)
    return is_pow2(c.tile_k) | (a & (c.b_transpose_load | _few_rows(c, c.tile_n)))


def _few_rows(c: TileGemm, rows: IntExpr) -> BoolExpr:
    """A row has a multiple of 16 or 32 vectors, and there are no more rows.

    A vector is what a lane multiplies at once, where a wave of 64 shares out warp tiles of 16 or 32
    squared; elsewhere this is not known.
    """
    square = (c.wave_size == 64) & (c.warp_tile_m == c.warp_tile_n) & c.warp_tile_m.isin(16, 32)
    return square & any_of(
        *(
            (rows <= many) & (c.tile_k * (64 // tile) % (c.warp_tile_k * many) == 0)
            & (c.warp_tile_m == tile)
            for tile in (16, 32)
            for many in (16, 32)
        )
    )  # fmt: skip


def _swizzled(c: TileGemm) -> BoolExpr:
    """An operand uses the swizzled layout, and its distribution does not refuse such a K."""
    if not c.since("2026.06"):
        loaded = _loads_rows(c.a_transposed, c.a) & _loads_rows(c.b_transposed, c.b)
        swizzles = c.pipeline.isin("basic_v1", "mem", "compv3", "compv4", "compv5", "compv6")
        return loaded & swizzles & ~(c.a_transpose_load & c.b_transpose_load)
    # compv4 loads straight to LDS where it can; with padded rows the GEMMs' layout has no swizzle
    turned = c.a_transposed | c.b_transposed
    direct = c.has("async_pipelines") & (c.pipeline == "compv4") & ~turned
    plain = c.gemm_layout & ~c.has("lds_row_padding") & ~direct
    a = (c.swizzled_layout | (plain & ~c.a_folded)) & ~c.a_transpose_load
    b = (c.swizzled_layout | (plain & ~c.b_folded)) & ~c.b_transpose_load
    return any_of(a & _loads_rows(c.a_transposed, c.a), b & _loads_rows(c.b_transposed, c.b))


def _in_lines(c: TileGemm) -> BoolExpr:
    """A lies in lines of LDS banks, rows side by side."""
    lined: BoolExpr = ~c.a_transpose_load & (c.pipeline != "comp_async")
    if not c.since("2026.06"):
        return lined
    direct = c.has("async_pipelines") & (c.pipeline == "compv4")
    direct &= ~(c.a_transposed | c.b_transposed)
    return lined & ~c.a_folded & ~direct & (c.pipeline != "basic_async_v1")


def _loads_rows(transposed: BoolExpr, operand: TileDistribution) -> BoolExpr:
    """K is not contiguous, or it is and the distribution covers its extent (VEC001 to VEC005)."""
    return transposed | (operand.sound & operand.lanes_fill_wave & operand.extent_covered)


@rule(
    "LDS003", "lds-fold-not-exact", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.a_folded | c.b_folded) & c.a.sound & c.b.sound,
    says=[("{pipeline} on {arch} does not fold A into LDS without remainder: tile_k = "
          "{tile_k}, tile_m = {tile_m}, waves {wave}, vector_a = {vector_a}"),
          ("{pipeline} on {arch} does not fold B into LDS without remainder: tile_k = "
          "{tile_k}, tile_n = {tile_n}, waves {wave}, vector_b = {vector_b}")],
    source="ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: Make{A,B}LdsBlockDescriptorImpl (kfold, KThreadReadPerm, mpair: truncating divisions, not asserted; read, not run)",
    accepts=[], rejects=[],
)  # fmt: skip
def folds_are_exact(c: TileGemm) -> BoolExpr:
    """Transposed operands of compv4, compv5 and compv6 fold into LDS without remainder.

    Why: on wave64 their rows are folded and paired as often as the banks are wide. The lengths
    are truncating divisions: with a K or with waves that are not powers of two rows may share
    their place in LDS. Nothing asserts it. (Where a length is zero, VEC007 says so.)

    Fix: use powers of two for tile_k and the waves.
    """
    a, b = folds(c)
    return all_of(implies(c.a_folded, a.exact), implies(c.b_folded, b.exact))


@rule(
    "LDS004", "lds-rows-not-whole-lines", kind="wrong-result",
    applies=lambda c: _in_lines(c),
    says=("B begins in LDS before A ends: tile_m = {tile_m} is not a multiple of the "
          "{rows_in_banks} rows of A, of {tile_k} elements, that lie in one line of {arch}'s banks"),
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor (MPerBlock / MLdsLayer; run)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_base.hpp: GetABLdsTensorViews (p_b_lds behind get_element_space_size)",
            "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptorImpl, A with rows (CK 2026.09, read in ROCm/rocm-libraries @ 1ce6fcd)",
            "ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp: MakeALdsBlockDescriptor (CK 2026.09, read in ROCm/rocm-libraries @ 925db99)"],
    accepts=[_NARROW, {**_NARROW, "arch": "gfx950", "tile_m": 8}],
    rejects=[{**_NARROW, "arch": "gfx950"}, {**_NARROW, "arch": "gfx950", "tile_m": 12}],
)  # fmt: skip
def lines_of_banks_are_whole(c: TileGemm) -> BoolExpr:
    """The rows of A fill whole lines of LDS banks, where several rows lie in one.

    Why: the layout has tile_m divided by the rows of a line, rounded down, and B is placed behind
    it: the rest of A, with 4 rows of 16 fp16 on gfx950 all of it, is overwritten by B. Nothing
    asserts it, and the LDS asked for has room for both. Nothing lies behind B. Since 2026.06 what
    is folded, and what goes straight to LDS, lies otherwise.

    Fix: use a multiple of it for tile_m, or a larger tile_k.
    """
    return c.tile_m % c.rows_in_banks == 0
