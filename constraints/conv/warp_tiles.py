"""WARP: warp tiles that the headers know and the hardware computes."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import Quantities
from ckrules.engine.expr import BoolExpr, implies, rel
from ckrules.engine.rules import rule
from ckrules.engine.table import Table

_DISPATCHER = "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher"
_HALF = ((32, 32, 8), (32, 32, 16), (16, 16, 16), (16, 16, 32), (4, 64, 16), (64, 4, 16))

#: Specializations without transposed C, by CK version: type, then (m, n, k).
_ENTRIES = {
    "2025.11": {"fp16": _HALF, "bf16": _HALF, "fp32": ((16, 16, 4), (16, 16, 16))},
    "2026.06": {
        "fp16": _HALF,
        "bf16": (*_HALF, (16, 16, 64)),
        "fp32": ((16, 16, 4), (16, 16, 8), (16, 16, 16), (32, 32, 4), (32, 32, 8)),
    },
}

HEADER_WARP_TILES = {
    ck: Table.relation(
        "header_warp_tiles",
        ("dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k"),
        [(dtype, *shape) for dtype, shapes in rows.items() for shape in shapes],
        source=f"{_DISPATCHER}, CK {ck}",
    )
    for ck, rows in _ENTRIES.items()
}


def _in_header(c: Quantities) -> BoolExpr:
    table = HEADER_WARP_TILES[c.ck]
    return rel(table, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)


@rule(
    "WARP001", "no-such-warp-gemm", kind="compile",
    source=f"{_DISPATCHER} (implicit instantiation of undefined template)",
    accepts=[{}, {"warp_tile_k": 8}, {"dtype": "fp32", "warp_tile_m": 16, "warp_tile_n": 16}],
    rejects=[{"warp_tile_k": 32}, {"dtype": "fp32", "warp_tile_k": 16}],
)  # fmt: skip
def header_has_warp_gemm(c: Quantities) -> BoolExpr:
    """The headers have a warp GEMM of this shape for the dtype.

    Why: the dispatcher is a list of specializations; another shape is an undefined template.
    The list does not depend on the GPU, see WARP002.

    Fix: take a warp tile that the headers list.
    """
    return _in_header(c)


@rule(
    "WARP002", "no-such-matrix-instruction", kind="hardware",
    applies=_in_header,
    source=["ops/gemm/warp/warp_gemm_attribute_mfma_impl.hpp: bodies guarded by __gfx9__ and finer",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl*.hpp: WmmaTraits",
            "AMD Instinct and RDNA instruction set manuals"],
    accepts=[{}, {"arch": "gfx1201", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16}],
    rejects=[{"arch": "gfx1201"},
             {"arch": "gfx1201", "dtype": "fp32", "warp_tile_m": 16, "warp_tile_n": 16}],
)  # fmt: skip
def gpu_has_instruction(c: Quantities) -> BoolExpr:
    """The GPU computes the warp tile with matrix instructions of its own.

    Why: the headers' list is not keyed by GPU; where the instruction is missing the body is
    empty, so the kernel compiles and returns zeros.

    Fix: take a warp tile of the GPU (`ckrules archs GPU`).
    """
    table = c.facts["hardware_warp_tiles"]
    return rel(table, c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)


@rule(
    "WARP003", "transpose-load-of-flat-warp-tile", kind="compile",
    applies=lambda c: c.has("lds_transpose_load") & _in_header(c),
    source=f"ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm; {_DISPATCHER}",
    accepts=[{"arch": "gfx950", "variant": "bwd_weight"}],
    rejects=[{"arch": "gfx950", "variant": "bwd_weight", "warp_tile_m": 4, "warp_tile_n": 64}],
)  # fmt: skip
def transposed_reads_fit_warp_tile(c: Quantities) -> BoolExpr:
    """An operand read with transpose loads does not use the 4x64 or 64x4 warp tiles.

    Why: the number of elements a lane reads per transpose load selects the warp GEMM's access
    pattern, and these two shapes have none that matches.

    Fix: use a 16x16 or 32x32 warp tile.
    """
    transposed = c.a_transpose_load | c.b_transpose_load
    return implies(transposed, c.warp_tile_m == c.warp_tile_n)
