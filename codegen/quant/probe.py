"""What the probe's template takes: one explicit instantiation of a quantised GEMM kernel."""

from __future__ import annotations

from typing import Any

from ckrules.codegen.gemm import cpp_names as gemm
from ckrules.codegen.gemm.probe import common
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.quant.cpp_names import KINDS, pipeline
from ckrules.codegen.render import cpp
from ckrules.constraints.quant.words import TYPES

TEMPLATE = "quant_probe_2025_11.cpp.j2"


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, both = pick(point, "dtype", TYPES)
    variant = str(point.get("variant"))
    word = str(point.get("pipeline"))
    pick(point, "pipeline", gemm.PROBED)
    return {
        "layouts": [gemm.LAYOUTS[letter] for letter in str(point.get("layout"))],
        **common(point),
        "a": gemm.ELEMENTS[a],
        "b": gemm.ELEMENTS[b],
        "compute": gemm.ELEMENTS[both],
        "scale": pick(point, "dtype_scale", gemm.ELEMENTS),
        "variant": variant,
        "kind": pick(point, "variant", KINDS),
        "groups": [integer(point, f"group_{d}") for d in "mnk"],
        "preshuffle_quant": cpp(truth(point, "preshuffle_quant")),
        "preshuffle": cpp(word == "preshufflev2"),
        "pipeline": pipeline(variant, word).cls,
        "tail": "Even" if word == "preshufflev2" else "Full",
        "operation_on_c": "set",
        "wave_groups": 1,
    }
