"""How loops over block tiles end: which numbers of tiles two parts of a sum may have side by side."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, IntExpr, ite


def scheduled_for_eight(c: TileGemm) -> BoolExpr:
    """Whether the loop of compv3 ends as that of the pipeline of eight waves, since 2026.06.

    Source: gemm_pipeline_ag_bg_cr_comp_v3.hpp: GetBlockLoopTailNum for NumWarps == 8 (CK 2026.06);
    Use8WarpSchedule (CK 2026.09, as ROCm/rocm-libraries#11175 shows it).
    """
    eight: BoolExpr = c.waves == 8
    return eight & ~c.has("four_wave_schedule") if c.since("2026.09") else eight


def end_of_loop(tiles: IntExpr, eight: BoolExpr, paired: BoolExpr) -> IntExpr:
    """A number for each way in which a loop ends, as hot loop and tail number tell them apart.

    The ends of one and of two tiles are their own, with eight waves that of three, too. Beyond,
    loops that take tiles in pairs (``paired``: pre-shuffled weights) and those scheduled for eight
    waves have an end for even numbers and one for odd.
    """
    short: IntExpr = ite(eight, 3, 2)
    return ite(tiles > short, short + 1 + ite(eight | paired, tiles % 2, 0), tiles)
