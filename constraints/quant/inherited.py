"""The rules that quantised GEMMs share with other GEMMs, and with all tile GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.inherited import EXCEPT, MET_LATER
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import FALSE, BoolExpr, all_of
from ckrules.engine.rules import Examples, RuleDef

_OTHERS: Mapping[str, Any] = {"variant": "rowcol_quant", "group_k": 1}
_SHUFFLED: Mapping[str, Any] = {
    "variant": "bquant", "pipeline": "preshufflev2", "double_smem_buffer": True, "warp_tile_k": 32,
}  # fmt: skip


#: What groups say themselves: their pipelines are other classes, which assert it.
_OF_OTHERS = ("WAVE001", "PIPE002", "GEMM035")
#: Since 2026.06 these kernels always meet these.
_MET_LATER = (*MET_LATER, "LDS002")


def _instead(accepts: Mapping[str, Any], *rejects: Mapping[str, Any]) -> Examples:
    return Examples([accepts], rejects, instead=True)


def _grouped(c: QuantQuantities) -> BoolExpr:
    return c.grouped


def _widens_b(c: QuantQuantities) -> BoolExpr:
    """basic_v1 of 2025.11 with an int4 B whose elements are loaded by vectors (VectorSizeB)."""
    if c.since("2026.06"):
        return FALSE
    return all_of(c.pipeline == "basic_v1", ~c.grouped, ~c.b_transposed, ~c.pad_n)


def _read_as_bytes(c: QuantQuantities) -> BoolExpr:
    """An int4 B of 2025.11 that LDS reads transpose (QUANT045)."""
    return FALSE if c.since("2026.06") else ~c.grouped & c.b_read_turned


#: Where kernels without groups have rules of their own.
_OF_PLAIN: Mapping[str, Any] = {"GEMM025": _widens_b, "GEMM031": _read_as_bytes}

#: The shared rules that have something to say of these kernels.
SHARED = (
    "TILE001", "TILE002", "TILE003", "TILE004",
    "WAVE001",
    "WARP001", "WARP002",
    "PIPE002", "PIPE007", "PIPE013",
    "GEMM023", "GEMM029", "GEMM004", "GEMM005", "GEMM008", "GEMM009", "GEMM010", "GEMM025", "GEMM032",
    "GEMM027", "GEMM031", "GEMM033", "GEMM035", "GEMM034", "GEMM040", "GEMM041", "GEMM042",
    "GEMM043", "GEMM044", "GEMM047", "GEMM049", "GEMM074", "GEMM050", "GEMM080", "GEMM083",
    "GEMM081", "GEMM084", "GEMM087",
    "HW001", "HW002",
    "LDS001", "LDS002",
    "EPI001", "EPI002", "EPI003", "EPI004", "EPI005", "EPI006", "EPI011",
    "VEC002", "VEC003", "VEC004",
)  # fmt: skip

_BASIC: Mapping[str, Any] = {
    **_OTHERS, "dtype": "fp8_i4", "pipeline": "basic_v1", "scheduler": "default",
}  # fmt: skip
_SMALL: Mapping[str, Any] = {
    **_OTHERS, "dtype": "bf8", "warp_tile_m": 16, "warp_tile_n": 16, "tile_m": 256, "tile_k": 32,
    "wave_m": 16, "wave_n": 1,
}  # fmt: skip

#: Examples of inherited rules.
EXAMPLES: Mapping[str, Examples] = {
    "GEMM025": Examples(
        [{**_BASIC, "@ck": "2025.11"}], [{**_BASIC, "pad_n": True, "@ck": "2025.11"}]
    ),
    "GEMM023": _instead(_SHUFFLED, {**_SHUFFLED, "double_smem_buffer": False}),
    "VEC004": _instead({**_SMALL, "tile_n": 64}, {**_SMALL, "tile_n": 80}),
}

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
    "GPROB027": _instead(
        {"variant": "bquant", "k_batch": 2},
        {"variant": "bquant", "k_batch": 2, "epilogue": "default"},
    ),
    "GPROB048": _instead({}, {"M": 131072, "N": 16384}),
    "GPROB040": _instead(
        {"dtype": "i4_fp8"},
        {
            "dtype": "i4_fp8", "pad_k": True, "tile_m": 32, "tile_k": 32, "group_k": 32,
            "wave_m": 4, "wave_n": 1, "K": 516,
        },
    ),
}  # fmt: skip


def inherited(rules: list[RuleDef]) -> list[RuleDef]:
    """The shared rules that have something to say, narrowed to what holds."""
    out = []
    for rule in rules:
        if rule.code not in SHARED:
            continue
        kept = rule.inherited()
        if rule.code in _MET_LATER:
            kept = kept.before("2026.06")
        if rule.code in EXCEPT:
            kept = kept.except_where(EXCEPT[rule.code])
        if rule.code in _OF_PLAIN:
            kept = kept.except_where(_OF_PLAIN[rule.code])
        out.append(kept.except_where(_grouped) if rule.code in _OF_OTHERS else kept)
    return out
