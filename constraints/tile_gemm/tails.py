"""How loops over block tiles end: which numbers of tiles two parts of a sum may have side by side."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, ceil_div, ite


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


def even_part(c: TileGemm) -> IntExpr:
    """Products of a part of a split sum where all parts are alike but the last: whole warp tiles."""
    return ceil_div(c.K, c.k_batch * c.warp_tile_k) * c.warp_tile_k


def parts_have_whole_groups(c: TileGemm, group: IntExpr | int) -> BoolExpr:
    """Parts of a sum with scales have whole groups, two block tiles or more, and like tails."""
    return all_of(
        c.last_part >= 1, c.part_length % group == 0, c.part_tiles >= 2, c.last_end == c.part_end
    )


def faults_of_parts(group: str) -> tuple[str, ...]:
    """The sentences of a rule for `parts_have_whole_groups`, with what a group is called there."""
    return (
        "the {k_batch} parts of {part_length} products are more than K = {K}: {last_part} are left for the last one",
        f"parts of {{part_length}} products are not a multiple of the {group} that share a scale",
        "a part of {part_length} products has {part_tiles} block tile of tile_k = {tile_k}, expected 2 or more",
        "the last part has {last_tiles} block tiles, the others {part_tiles}: they end in different ways",
    )  # fmt: skip
