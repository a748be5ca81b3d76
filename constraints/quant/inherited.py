"""The rules that quantised GEMMs share with other GEMMs, and with all tile GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.inherited import EXCEPT, MET_LATER
from ckrules.constraints.quant.quantities import Quantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import Examples, RuleDef

_OTHERS: Mapping[str, Any] = {"variant": "rowcol_quant", "group_k": 1}
_SHUFFLED: Mapping[str, Any] = {
    "variant": "bquant", "pipeline": "preshufflev2", "double_smem_buffer": True, "warp_tile_k": 32,
}  # fmt: skip
_SMALL: Mapping[str, Any] = {"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32}
_LINES: Mapping[str, Any] = {
    **_OTHERS, "arch": "gfx1201", "epilogue": "default", "transpose_c": True, "pad_m": True,
    "tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_tile_m": 16, "warp_tile_n": 16,
    "warp_tile_k": 16,
}  # fmt: skip
_PERMUTED: Mapping[str, Any] = {**_SHUFFLED, **_SMALL, "permute_n": True}


#: What groups say themselves: their pipelines are other classes, which assert it.
_OF_OTHERS = ("WAVE001", "PIPE002", "GEMM035")
#: Since 2026.06 these kernels always meet these.
_MET_LATER = (*MET_LATER, "LDS002")


def _instead(accepts: Mapping[str, Any], *rejects: Mapping[str, Any]) -> Examples:
    return Examples([accepts], rejects, instead=True)


def _grouped(c: Quantities) -> BoolExpr:
    return c.grouped


#: The shared rules that have something to say of these kernels, with examples.
EXAMPLES: Mapping[str, Examples] = {
    "TILE001": _instead({"tile_m": 64}, {"tile_m": 96}),
    "TILE002": _instead({"tile_n": 64}, {"tile_n": 96}),
    "TILE003": _instead({**_OTHERS, "tile_k": 32}, {**_OTHERS, "tile_k": 16}),
    "TILE004": _instead({**_OTHERS, "tile_k": 64}, {**_OTHERS, "tile_k": 48}),
    "WAVE001": _instead(_OTHERS, {**_OTHERS, "wave_k": 2}),
    "WARP001": _instead({}, {"warp_tile_k": 8}),
    "WARP002": _instead({}, {"warp_tile_k": 64}),
    "PIPE002": _instead(_OTHERS, {**_OTHERS, "scheduler": "interwave"}),
    "PIPE007": _instead({**_OTHERS, "pipeline": "compv5"},
                        {**_OTHERS, "pipeline": "compv5", "tile_k": 16}),
    "PIPE013": _instead({**_OTHERS, "pipeline": "basic_v1"},
                        {**_OTHERS, "pipeline": "basic_v1", "layout": "rrr"}),
    "GEMM029": _instead({**_OTHERS, "pipeline": "basic_v1", "scheduler": "default"},
                        {**_OTHERS, "pipeline": "basic_v1"}),
    "HW001": _instead({}, {"wave_m": 16, "wave_n": 16}),
    "HW002": _instead({}, {"tile_m": 512, "tile_n": 512, "wave_m": 1, "wave_n": 1}),
    "LDS001": _instead({}, {"tile_m": 512, "tile_n": 512}),
    "LDS002": _instead({**_OTHERS, "layout": "crr"}, {**_OTHERS, "layout": "crr", "tile_k": 96}),
    "EPI001": _instead({}, {"warp_tile_m": 4, "warp_tile_n": 4}),
    "EPI002": _instead({}, {"@ck": "2025.11", **_SMALL, "tile_m": 96},
                       {"@ck": "2026.06", "tile_m": 192}),
    "EPI003": _instead({}, {"wave_n": 3, "warp_tile_n": 4}),
    "EPI004": _instead({}, {"arch": "gfx950", "warp_tile_m": 4, "warp_tile_n": 4}),
    "EPI005": _instead({}, {"wave_n": 3}),
    "VEC002": _instead({}, {"tile_m": 16, "tile_k": 8}),
    "VEC003": _instead({}, {"tile_k": 96}),
    "GEMM004": _instead({}, {"layout": "rcc"}),
    "GEMM005": _instead({}, {"epilogue": "direct2d"}),
    "GEMM008": _instead({"arch": "gfx950", "epilogue": "default", "pad_n": True},
                        {"arch": "gfx950", "epilogue": "default", "pad_n": True, "dtype_c": "fp8"}),
    "GEMM009": _instead(_LINES, {**_LINES, "dtype_c": "fp32"}),
    "GEMM010": _instead({"dtype_c": "fp8"}, {"dtype_c": "bf8"}),
    "GEMM025": _instead({**_OTHERS, "dtype": "fp8_i4"},
                        {**_OTHERS, "dtype": "fp8_i4", "pipeline": "mem"}),
    "GEMM032": _instead({**_OTHERS, "dtype": "fp8_i4"},
                        {**_OTHERS, "dtype": "fp8_i4", "pipeline": "compv5"}),
    "GEMM027": _instead({**_OTHERS, "arch": "gfx950", "layout": "rrr", "warp_tile_k": 16},
                        {**_OTHERS, "arch": "gfx950", "layout": "rrr", **_SMALL, "warp_tile_k": 64}),
    "GEMM031": _instead({**_OTHERS, "dtype": "fp8_i4"},
                        {**_OTHERS, "dtype": "fp8_i4", "layout": "rrr"}),
    "GEMM033": _instead({"variant": "bquant", "dtype": "fp8_i4"},
                        {**_SHUFFLED, "dtype": "fp8_i4", "warp_tile_k": 8}),
    "GEMM035": _instead({"@ck": "2026.06", **_OTHERS, "arch": "gfx950", "layout": "rrr",
                         "warp_tile_k": 16},
                        {"@ck": "2026.06", **_OTHERS, "arch": "gfx950", "layout": "rrr", **_SMALL,
                         "warp_tile_k": 64, "transpose_c": True}),
    "GEMM034": _instead({**_OTHERS, "dtype": "fp8_i4"},
                        {**_OTHERS, **_SMALL, "dtype": "fp8_i4", "tile_n": 16, "tile_k": 32,
                         "wave_m": 8, "wave_n": 1}),
    "GEMM040": _instead(_SHUFFLED, {**_SHUFFLED, "warp_tile_m": 64, "warp_tile_n": 4}),
    "GEMM041": _instead(_SHUFFLED, {**_SHUFFLED, "tile_m": 64, "wave_m": 2, "warp_tile_k": 8}),
    "GEMM042": _instead(_SHUFFLED, {**_SHUFFLED, "tile_k": 2048}),
    "GEMM043": _instead(_SHUFFLED, {**_SHUFFLED, **_SMALL, "tile_m": 16}),
    "GEMM044": _instead(_SHUFFLED, {**_SHUFFLED, "tile_k": 384}),
    "GEMM047": _instead({**_SHUFFLED, "epilogue": "default"},
                        {**_SHUFFLED, "epilogue": "default", "tile_n": 96}),
    "GEMM049": _instead(_PERMUTED, {**_SHUFFLED, "permute_n": True}),
    "GEMM074": _instead(_PERMUTED, {**_PERMUTED, "transpose_c": True}),
    "GEMM050": _instead(_PERMUTED, {**_PERMUTED, "arch": "gfx1201", "warp_tile_m": 4,
                                    "warp_tile_n": 64}),
}  # fmt: skip


#: The rules on products that hold here, with examples.
PROBLEM_EXAMPLES: Mapping[str, Examples] = {
    "GPROB001": _instead({}, {"K": 520}),
    "GPROB002": _instead({**_OTHERS, "layout": "crr"}, {**_OTHERS, "layout": "crr", "M": 520}),
    "GPROB003": _instead({}, {"N": 520}),
    "GPROB004": _instead({}, {"pad_k": True, "K": 516}),
    "GPROB005": _instead({}, {"pad_k": True, "K": 516}),
    "GPROB006": _instead({}, {"pad_n": True, "N": 516}),
    "GPROB013": _instead({"stride_a": 520, "stride_c": 1024}, {"stride_a": 256}),
    "GPROB014": _instead(
        {"stride_b": 520}, {**_SHUFFLED, "stride_b": 520}, {"dtype": "i4_fp8", "stride_a": 520}
    ),
    "GPROB022": _instead(_SHUFFLED, {**_SHUFFLED, "pad_n": True, "N": 520}),
    "GPROB040": _instead(
        {"dtype": "i4_fp8"},
        {
            "dtype": "i4_fp8",
            "pad_k": True,
            "tile_m": 32,
            "tile_k": 32,
            "group_k": 32,
            "wave_m": 4,
            "wave_n": 1,
            "K": 516,
        },
    ),
}


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules that have something to say, narrowed to what holds."""
    out = []
    for rule in rules:
        if rule.code not in EXAMPLES:
            continue
        kept = rule.before("2026.06") if rule.code in _MET_LATER else rule
        if rule.code in EXCEPT:
            kept = kept.except_where(EXCEPT[rule.code])
        out.append(kept.except_where(_grouped) if rule.code in _OF_OTHERS else kept)
    return out
