"""How an operand that is transposed through registers is folded in LDS, on wave64 since 2026.06.

Make{A,B}LdsBlockDescriptorImpl (ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp):
K is folded, and M or N are paired, as often as the banks are wide.
"""

from __future__ import annotations

from ckrules.constraints.tile_gemm.pattern import TileDistribution
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import (
    BoolExpr,
    IntExpr,
    all_of,
    const,
    is_pow2,
    ite,
    lookup,
    maximum,
    minimum,
    named,
)


class Fold:
    """The folded layout of one operand, in integer arithmetic as the header does it.

    Args:
        operand: How the operand is loaded.
        size: Bytes of an element.
        warp_tile: The warp tile along the operand's contiguous dimension.
    """

    def __init__(
        self, c: TileGemm, operand: TileDistribution, size: IntExpr, warp_tile: IntExpr
    ) -> None:
        # the descriptor takes the distribution of the whole block, with one wave group
        whole = TileDistribution(
            f"{operand.name}_lds", operand.extent, operand.rows, operand.vector, c.waves,
            c.wave_size, const(1), several_passes=True,
        )  # fmt: skip
        bank_bytes: IntExpr = lookup(c.facts["lds_banks"], c.arch) * 4
        pack = whole.passes_y * size
        self._lanes = whole.lanes_x
        self._writers = whole.wave_rows * whole.lanes_y
        self._readers = 64 // warp_tile
        self._fold: IntExpr = named(
            f"{operand.name}_fold", maximum(1, bank_bytes // (pack * whole.lanes_x)),
            doc="how often K is folded in LDS",
        )  # fmt: skip
        self._pair: IntExpr = named(
            f"{operand.name}_pair",
            minimum(whole.lanes_x, maximum(1, bank_bytes // (pack * warp_tile))),
            doc="how often M or N is paired in LDS",
        )

    @property
    def has_rows(self) -> BoolExpr:
        """No length of the layout is zero."""
        return (self._writers >= self._readers) & (self._fold <= self._writers)

    @property
    def exact(self) -> BoolExpr:
        """The lengths multiply to the tile, and rows are swizzled within a power of two.

        Where there are too few rows (`has_rows`) that is the fault to tell.
        """
        writers, readers = self._writers, self._readers
        repeat = self._fold // (writers // readers)
        apart: IntExpr = ite(repeat > 1, readers // repeat, readers)
        step: IntExpr = ite(writers < readers, writers, self._fold * apart)
        return all_of(
            writers % step == 0,
            self._lanes % self._pair == 0,
            is_pow2(self._fold * self._lanes // self._pair),
        )


def folds(c: TileGemm) -> tuple[Fold, Fold]:
    """The layouts of A and B, for operands that have one (`TileGemm.a_folded`)."""
    return Fold(c, c.a, c.a_bytes, c.warp_tile_m), Fold(c, c.b, c.b_bytes, c.warp_tile_n)
