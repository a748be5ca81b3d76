"""The rules that GEMMs share with other families, as far as they hold for these kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import RuleDef

#: Rules on widths that are configured: a computed width divides the tile and a thread's share.
ALWAYS_MET = ("VEC001", "VEC006", "VEC008", "PIPE006", "PIPE020", "EPI008", "EPI010", "EPI012")

#: Rules whose fact is another for GEMMs, which have the scheduler default as well (GEMM029).
OTHERWISE = ("PIPE016",)

#: Since 2026.06 computed widths always meet these.
MET_LATER = ("EPI001",)

#: With pre-shuffled weights B is not loaded through LDS, and A in a pattern of its own.
PATTERNS = ("VEC002", "VEC003", "VEC004", "VEC005", "VEC007", "VEC009", "WAVE004")


def _shuffled(c: GemmQuantities) -> BoolExpr:
    return c.shuffled_b


#: Shared rules by code, and where a GEMM has its own instead.
EXCEPT: Mapping[str, Any] = {
    **dict.fromkeys(PATTERNS, _shuffled),
    # B is not in LDS, so that nothing lies behind A
    "LDS004": _shuffled,
    # of these GEMM028 says it
    "PIPE010": lambda c: c.a_transposed | c.b_transposed,
    # A is loaded in a pattern that does not look at wave groups, and nothing is shuffled
    **dict.fromkeys(
        ("WAVE002", "WAVE003"),
        lambda c: c.shuffled_b & ((c.epilogue != "cshuffle") | c.permute_n),
    ),
    # a kernel that hands on one buffer does not look at the switch
    "PIPE004": lambda c: c.one_buffer,
    # results that go from registers to memory are not shuffled through LDS
    **dict.fromkeys(
        ("EPI002", "EPI003", "EPI004", "EPI005", "EPI006", "EPI007", "EPI011"),
        lambda c: c.permute_n,
    ),
}


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules without those that have nothing to reject, and narrowed to what holds."""
    out = []
    for rule in rules:
        if rule.code in ALWAYS_MET or rule.code in OTHERWISE:
            continue
        kept = rule.inherited()
        if rule.code in MET_LATER:
            kept = kept.before("2026.06")
        if rule.code in EXCEPT:
            kept = kept.except_where(EXCEPT[rule.code])
        out.append(kept)
    return out
