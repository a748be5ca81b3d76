"""What the probe's template takes: one explicit instantiation of a kernel with scales."""

from __future__ import annotations

from typing import Any

from ckrules.codegen.gemm.probe import common
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.codegen.scaled.cpp_names import ELEMENTS, GRANULARITIES, KINDS, PROBED, WIDENING
from ckrules.constraints.scaled.words import MX, NARROW, TYPES

TEMPLATE = "scaled_probe_2025_11.cpp.j2"


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, _ = pick(point, "dtype", TYPES)
    experts = point.get("variant") == "moe_flatmm"
    plain = {"pipeline": pick(point, "pipeline", PROBED), "narrow": False, "blocked": 0}
    return {
        "experts": experts,
        "a": ELEMENTS[a],
        "b": ELEMENTS[b],
        **common(point),
        "persistent": cpp(truth(point, "persistent")),
        "wave_groups": integer(point, "num_wave_groups"),
        "scale": pick(point, "scales", GRANULARITIES),
        "operation_on_c": "set",
        **plain,
        "micro": point.get("variant") == MX,
        "masked": point.get("grouping") == "masked",
        **({"blocked": 2} if point.get("variant") == MX else {}),
        **(_of_experts(point) if experts else {}),
    }


def _of_experts(point: Point) -> dict[str, Any]:
    """What kernels for experts say beside flatmm: the stage, and the narrow weights' pipeline."""
    stage, narrow = integer(point, "stage"), point.get("dtype") in NARROW
    pipeline = pick(point, "pipeline", PROBED)
    if narrow and pipeline == PROBED["moe_flatmm"]:
        pipeline = WIDENING.cls
    return {
        "narrow": narrow,
        "pipeline": pipeline,
        # moe_flatmm.cpp: flatmm_calc (BlockedXDLN_PerWarp)
        "blocked": 2 if narrow or stage == 1 else 1,
        "kind": KINDS.get(stage, f"kFFN_gemm{stage}"),
        "scale_a": "-1" if narrow else pick(point, "scales", GRANULARITIES),
    }
