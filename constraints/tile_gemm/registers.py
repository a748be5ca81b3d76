"""An estimate of vector registers, fitted by scripts/fit_vgprs.py."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.engine.expr import BoolExpr, IntExpr, const, ite, maximum, minimum

#: A constant by wave size, and a weight of each term in eighths.
#: Fitted to part of the kernels of tests/data/vgprs.jsonl (clang 19, -O3, gfx90a, gfx942, gfx1201).
#: Of the 63 others for gfx9 half are within 25 %, nine of ten within 60 %, all within 80 %; of the 7
#: for gfx1201 half within 40 %, all within 70 % (scripts/fit_vgprs.py).
VGPR_BASE: Mapping[int, int] = {64: 32, 32: 38}
VGPR_WEIGHTS: Mapping[str, Mapping[int, int]] = {
    "accumulator_vgprs": {64: 10, 32: 8},
    "operand_vgprs": {64: 8, 32: 6},
    "staging_vgprs": {64: 24, 32: 32},
}


def estimate(terms: Mapping[str, IntExpr], wide: BoolExpr) -> IntExpr:
    """Vector registers of a lane, from the terms of `VGPR_WEIGHTS`.

    Args:
        terms: The terms by name.
        wide: Where waves have 64 lanes.
    """
    total: IntExpr = ite(wide, VGPR_BASE[64], VGPR_BASE[32])
    eighths: IntExpr = const(0)
    for name, weight in VGPR_WEIGHTS.items():
        eighths = eighths + terms[name] * ite(wide, weight[64], weight[32])
    return minimum(total + eighths // 8, ite(wide, 512, 256))


def bound(file: IntExpr, lane: IntExpr, waves: IntExpr) -> IntExpr:
    """Vector registers of a lane with which so many waves fit a SIMD.

    Args:
        file: Those of a SIMD for one lane of each wave, 0 where nobody has said.
        lane: Those that instructions of a lane can name.
        waves: Waves of a SIMD.
    """
    unit = maximum(file // 64, 1)  # they are given out by 8, 16 or 24
    return ite(file == 0, lane, minimum(lane, file // waves // unit * unit))
