"""The rules that GEMMs share with other families, as far as they hold for these kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.quantities import Quantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import Examples, RuleDef

#: Rules on widths that are configured: a computed width divides the tile and a thread's share.
ALWAYS_MET = ("VEC001", "VEC006", "VEC008", "PIPE006", "EPI008", "EPI010", "EPI012")

#: Rules whose fact is another for GEMMs, which have the scheduler default as well (GEMM029).
OTHERWISE = ("PIPE016",)

#: Since 2026.06 computed widths always meet these.
MET_LATER = ("EPI001",)

#: With weights shuffled beforehand B is not loaded through LDS, and A in a pattern of its own.
PATTERNS = ("VEC002", "VEC003", "VEC004", "VEC005", "VEC007", "VEC009", "WAVE004")


def _shuffled(c: Quantities) -> BoolExpr:
    return c.shuffled_b


def _registers(c: Quantities) -> BoolExpr:
    return c.permute_n


def _ungrouped(c: Quantities) -> BoolExpr:
    """Where wave groups divide neither loads (`PATTERNS`) nor CShuffle's stores."""
    return c.shuffled_b & ((c.epilogue != "cshuffle") | c.permute_n)


def _unshared(c: Quantities) -> BoolExpr:
    """A is loaded in a pattern that does not look at wave groups, and nothing is shuffled."""
    return c.shuffled_b & (c.epilogue == "default")


def _one_buffer(c: Quantities) -> BoolExpr:
    return c.one_buffer


#: Shared rules by code, and where a GEMM has its own instead.
EXCEPT: Mapping[str, Any] = {
    **dict.fromkeys(PATTERNS, _shuffled),
    "WAVE002": _unshared,
    "WAVE003": _ungrouped,
    # a kernel that hands on one buffer does not look at the switch
    "PIPE004": _one_buffer,
    # results that go from registers to memory are not shuffled through LDS
    **dict.fromkeys(("EPI002", "EPI003", "EPI004", "EPI005", "EPI006", "EPI007"), _registers),
}


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules without those that have nothing to reject, and narrowed to what holds."""
    out = []
    for rule in rules:
        if rule.code in ALWAYS_MET or rule.code in OTHERWISE:
            continue
        kept = rule.before("2026.06") if rule.code in MET_LATER else rule
        if rule.code in EXCEPT:
            kept = kept.except_where(EXCEPT[rule.code])
        out.append(kept)
    return out


TURNED = {"layout": "crr"}
_DSB: Mapping[str, Any] = {"double_smem_buffer": True}
_ASYNC: Mapping[str, Any] = {"arch": "gfx950", "pipeline": "comp_async", **_DSB}


def _instead(*rejects: Mapping[str, Any], accepts: Mapping[str, Any] | None = None) -> Examples:
    """In place of examples that set a width, which is not a field here."""
    return Examples([accepts or {}], rejects, instead=True)


#: Examples of shared rules that need the fields of a GEMM.
EXAMPLES: Mapping[str, Examples] = {
    "EPI001": _instead({"warp_tile_m": 4, "warp_tile_n": 4}),
    "EPI003": _instead({"wave_n": 3, "warp_tile_n": 4}),
    "EPI005": _instead({"wave_n": 3}),
    "EPI006": _instead(
        {"@ck": "2025.11", "tile_m": 192, "warp_tile_n": 4},
        {"@ck": "2026.06", "wave_m": 1, "wave_n": 1, "num_wave_groups": 2},
    ),
    "EPI007": _instead({"arch": "gfx1201", "dtype": "fp32", "dtype_c": "fp32",
                        "warp_tile_n": 64, "wave_n": 3}),
    "PIPE010": _instead({**_ASYNC, "tile_m": 16, "tile_k": 16}, accepts=_ASYNC),
    "VEC004": _instead({"wave_n": 3}),
    "PIPE013": Examples(rejects=[{"pipeline": "basic_v1", "layout": "rrr"}]),
    "WAVE004": Examples(
        rejects=[
            {"layout": "rrr", "num_wave_groups": 4, "tile_n": 32, "tile_k": 16,
             "warp_tile_m": 16, "warp_tile_n": 16},
        ],
    ),
    "PIPE014": Examples(rejects=[{"pipeline": "compv5", "layout": "ccr"}]),
    "VEC005": Examples(rejects=[{"tile_n": 48, "tile_k": 96}]),
    "VEC007": Examples(
        accepts=[{"layout": "rrr"}],
        rejects=[{"layout": "rrr", "warp_tile_n": 4, "wave_m": 3}],
    ),
    "VEC009": Examples(rejects=[{"layout": "ccr", "num_wave_groups": 2}]),
    "LDS002": Examples(
        accepts=[{"@ck": "2025.11", **TURNED}, {"@ck": "2026.06"}],
        rejects=[
            {"@ck": "2025.11", **TURNED, "tile_k": 96},
            {"@ck": "2026.06", "arch": "gfx1201", "layout": "rrr", "wave_m": 1, "tile_k": 96},
        ],
    ),
    "LDS003": Examples(accepts=[{"layout": "rrr"}], rejects=[{"layout": "rrr", "tile_n": 96}]),
    "WARP003": Examples(
        accepts=[{"arch": "gfx950", **TURNED}],
        rejects=[{"arch": "gfx950", **TURNED, "warp_tile_m": 4, "warp_tile_n": 64}],
    ),
}  # fmt: skip
