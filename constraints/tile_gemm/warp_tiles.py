"""WARP: warp tiles that the headers know and the hardware computes."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, implies
from ckrules.engine.rules import rule

_DISPATCHER = "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher"


@rule(
    "WARP001", "no-such-warp-gemm", kind="compile",
    says="the headers have no {dtype} warp tile {warp_tile}, {table header_warp_tiles}",
    source=f"{_DISPATCHER} (implicit instantiation of undefined template)",
    accepts=[{}, {"warp_tile_k": 8}, {"dtype": "fp32", "warp_tile_m": 16, "warp_tile_n": 16}],
    rejects=[{"warp_tile_k": 32}, {"dtype": "fp32", "warp_tile_k": 16}],
)  # fmt: skip
def header_has_warp_gemm(c: TileGemm) -> BoolExpr:
    """The headers have a warp GEMM of this shape for the dtype.

    Why: the dispatcher is a list of specializations; another shape is an undefined template.
    The list does not depend on the GPU, but for a few entries of gfx1250 alone; see WARP002.

    Fix: take a warp tile that the headers list.
    """
    return c.known_warp_tile


@rule(
    "WARP002", "no-such-matrix-instruction", kind="hardware",
    applies=lambda c: c.known_warp_tile,
    says="{arch} has no {dtype} warp tile {warp_tile}, {table hardware_warp_tiles}",
    source=["ops/gemm/warp/warp_gemm_attribute_mfma_impl.hpp: bodies guarded by __gfx9__ and finer",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl*.hpp: WmmaTraits",
            "AMD CDNA 4 ISA reference, MFMA instructions (and those of CDNA 1 to 3)",
            "AMD RDNA 4 ISA reference, WMMA instructions (and that of RDNA 3)"],
    accepts=[{}, {"arch": "gfx1201", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16}],
    rejects=[{"arch": "gfx1201"},
             {"arch": "gfx1201", "dtype": "fp32", "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def gpu_has_instruction(c: TileGemm) -> BoolExpr:
    """The GPU computes the warp tile with matrix instructions of its own.

    Why: the headers' list is not keyed by GPU; where the instruction is missing the body is
    empty, so the kernel compiles and returns zeros.

    Fix: take a warp tile of the GPU (`ckrules archs GPU`).
    """
    return c.own_warp_tile


@rule(
    "WARP003", "no-warp-gemm-for-transpose-loads", kind="compile",
    applies=lambda c: c.has("lds_transpose_load") & c.known_warp_tile,
    says=("{arch} reads transposed operands of {dtype} in a way that warp tile "
          "{warp_tile} does not take: warp_tile_m = {warp_tile_m}, warp_tile_n = {warp_tile_n}"),
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (wg_attr_num_access)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_{v4,v6,async}_default_policy.hpp: GetBlockGemm",
            "core/tensor/load_tile_transpose.hpp: static_assert on TransposeTileDistributionTraits",
            f"{_DISPATCHER} (implicit instantiation of undefined template)"],
    accepts=[], rejects=[],
)  # fmt: skip
def transposed_reads_fit_warp_tile(c: TileGemm) -> BoolExpr:
    """An operand read with transpose loads is of 16 bits and in a square warp tile.

    Why: the number of elements a lane reads per transpose load selects the warp GEMM's access
    pattern. The 4x64 and 64x4 tiles have none that matches, and neither has fp32, which CK 2025.11
    reads transposed all the same. compv5 always takes the pattern of a single read, which has
    8 bytes, so that only 16x16x16 and 32x32x8 are left.

    Fix: use a 16x16 or 32x32 warp tile of a 16-bit type.
    """
    transposed = c.a_transpose_load | c.b_transpose_load
    fits = (c.warp_tile_m == c.warp_tile_n) & (c.element_bytes <= 2)
    if not c.since("2026.06"):
        lane_bytes = c.warp_tile_n * c.warp_tile_k // c.wave_size * c.element_bytes
        fits = fits & implies(c.pipeline == "compv5", lane_bytes == 8)
    return implies(transposed, fits)
