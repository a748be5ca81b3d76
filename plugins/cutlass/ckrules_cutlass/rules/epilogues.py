"""Epilogues: their tile, and what goes through shared memory."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, implies, maximum
from ckrules.engine.rules import rule
from ckrules_cutlass.vocabulary import HopperGemm

_BUILDER = "epilogue/collective/builders/sm90_builder.inl: sm90_compute_tile_shape_or_override"
_COLLECTIVE = "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp"


@rule(
    "CUTE001", "epilogue-tile-without-shared-memory", kind="profile", source=_BUILDER,
    applies=lambda c: c.epilogue_n != 0,
    accepts=[{"epilogue_n": 64}], rejects=[{"epilogue_n": 64, "epilogue": "nosmem"}],
)  # fmt: skip
def only_tma_epilogues_have_tiles(c: HopperGemm) -> BoolExpr:
    """An epilogue's tile is said only where the result goes through shared memory.

    Why: the builder of other epilogues reads none, so that two names would be one kernel.

    Fix: set epilogue to tma, or epilogue_n to 0.
    """
    return c.tma_epilogue


@rule(
    "CUTE002", "epilogue-tile-not-of-16", kind="compile", source=_BUILDER,
    applies=lambda c: c.tma_epilogue,
    accepts=[{}, {"epilogue_n": 16}], rejects=[{"epilogue_n": 24, "tile_n": 96}],
)  # fmt: skip
def epilogue_tiles_are_of_16(c: HopperGemm) -> BoolExpr:
    """An epilogue tile that is said has a multiple of 16 columns.

    Why: a store to shared memory moves 16 columns.

    Fix: take 16, 32, 64 or 128.
    """
    return c.epilogue_n % 16 == 0


@rule(
    "CUTE003", "partial-epilogue-tile", kind="compile",
    source=f"{_COLLECTIVE}: EPI_TILE_N must divide CTA_N",
    applies=lambda c: c.tma_epilogue,
    accepts=[{}, {"epilogue_n": 64}], rejects=[{"epilogue_n": 64, "tile_n": 96}],
)  # fmt: skip
def epilogue_tiles_are_whole(c: HopperGemm) -> BoolExpr:
    """The block tile's N is a multiple of the epilogue tile's.

    Why: the epilogue stores tile by tile.

    Fix: take an epilogue_n that divides tile_n.
    """
    return c.tile_n % c.epilogue_tile_n == 0


@rule(
    "CUTE004", "epilogue-tile-across-instructions", kind="compile",
    source=f"{_COLLECTIVE}: store, MMA_TILE_N, EPI_TILE_N and FragmentSize",
    applies=lambda c: c.tma_epilogue,
    accepts=[{}, {"tile_n": 192, "epilogue_n": 32}],
    rejects=[{"tile_n": 192, "epilogue_n": 128}, {"tile_n": 24, "layout": "ttt"}],
)  # fmt: skip
def epilogue_tiles_hold_instructions(c: HopperGemm) -> BoolExpr:
    """The instruction's N is a multiple of the epilogue tile's.

    Why: the epilogue takes an instruction's accumulators in whole parts. A tile of 24 columns is
    computed 8 at a time.

    Fix: take an epilogue_n that divides the instruction's N, or another tile_n than 24.
    """
    return c.mma_n % maximum(c.epilogue_tile_n, 1) == 0


@rule(
    "CUTE005", "epilogue-rows-not-of-16-bytes", kind="compile",
    source="gemm/collective/builders/sm90_common.inl: ss_smem_selector, Layout_K_INTER_Atom",
    applies=lambda c: c.tma_epilogue & c.c_row,
    accepts=[{"layout": "tnt"}],
    rejects=[{"layout": "tnt", "tile_n": 8, "dtype": "fp8", "d_dtype": "fp8", "align": 16,
              "tile_k": 128}],
    says=(
        "rows of D in the epilogue tile: {epilogue_tile_n * output_bytes=} is not a multiple of 16",
        "rows of C in the epilogue tile: {epilogue_tile_n * source_bytes=} is not a multiple of 16",
    ),
)  # fmt: skip
def epilogue_rows_are_of_16_bytes(c: HopperGemm) -> BoolExpr:
    """Rows of a row-major epilogue tile have a multiple of 16 bytes.

    Why: no layout of shared memory holds shorter ones.

    Fix: take a tile_n that is a multiple of 16.
    """
    return (c.epilogue_tile_n * c.output_bytes % 16 == 0) & implies(
        c.source, c.epilogue_tile_n * c.source_bytes % 16 == 0
    )


@rule(
    "CUTE006", "source-not-of-the-sums-type", kind="compile",
    source="epilogue/thread/linear_combination.h: LinearCombination::operator()",
    applies=lambda c: (c.acc == "fp16") & ~c.tma_epilogue,
    accepts=[{"acc": "fp16", "epilogue": "nosmem"},
             {"acc": "fp16", "epilogue": "nosmem", "c_dtype": "fp16", "d_dtype": "fp8"}],
    rejects=[{"acc": "fp16", "epilogue": "nosmem", "c_dtype": "fp32"},
             {"acc": "fp16", "epilogue": "nosmem", "d_dtype": "fp8"}],
    says="C of {c_dtype} and D of {d_dtype}: an epilogue in fp16 multiplies fp16 only",
)  # fmt: skip
def sources_have_the_type_of_sums(c: HopperGemm) -> BoolExpr:
    """Where sums are fp16 and the result is not staged, C is fp16, and D where there is no C.

    Why: C is multiplied before it is converted, and no other type becomes fp16 by itself; a C that
    is not read has D's type.

    Fix: set epilogue to tma, or acc to fp32.
    """
    return (c.c_dtype == "fp16") | (~c.source & (c.d_dtype == "fp16"))
