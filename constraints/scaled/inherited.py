"""The rules that GEMMs with scales share with other tile GEMMs."""

from __future__ import annotations

from ckrules.constraints.scaled.vocabulary import ScaledQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import RuleDef

#: Shared rules that hold for these kernels.
SHARED = (
    "TILE001", "TILE002", "TILE003", "TILE004", "WARP001", "WARP002", "HW001", "LDS001",
    "EPI002", "EPI004", "EPI005", "EPI006",
)  # fmt: skip
#: Those of loads through LDS, which block scales have and flatmm has in a pattern of its own.
LOADS = ("VEC002", "VEC003", "VEC004")


def _flat(c: ScaledQuantities) -> BoolExpr:
    return c.flat


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules that hold, narrowed where they do."""
    kept = [r.inherited() for r in rules if r.code in SHARED]
    return kept + [r.inherited().except_where(_flat) for r in rules if r.code in LOADS]
