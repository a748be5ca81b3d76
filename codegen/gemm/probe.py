"""What the probe's template takes: one explicit instantiation of a GEMM kernel."""

from __future__ import annotations

from typing import Any

from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.probing import Point, geometry, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.gemm.words import TYPES

CK = "2025.11"
"""The release that the template is written against."""
TEMPLATE = "probe_2025_11.cpp.j2"


def common(point: Point) -> dict[str, Any]:
    """The template's names that are alike in all GEMMs: shape, pads, how C is stored."""
    return {
        "c": pick(point, "dtype_c", words.ELEMENTS),
        **geometry(point),
        "pads": [cpp(truth(point, f"pad_{d}")) for d in "mnk"],
        "double_smem_buffer": cpp(truth(point, "double_smem_buffer")),
        "transpose_c": cpp(truth(point, "transpose_c")),
        "permute_n": cpp(truth(point, "permute_n")),
        "scheduler": pick(point, "scheduler", words.SCHEDULERS),
        "epilogue": pick(point, "epilogue", {**words.EPILOGUES, "direct2d": "Direct2D"}),
    }


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, _ = pick(point, "dtype", TYPES)
    kernel = pick(point, "variant", words.KERNELS)
    ds = integer(point, "num_d")
    pipeline = pick(point, "pipeline", words.PROBED)
    preshuffle = point.get("variant") == "preshuffle"
    known = {
        **words.STRATEGIES,
        "tree": "Tree",
        "off": "Off" if point.get("variant") == "stream_k" else "",
    }
    strategy = pick(point, "streamk", known)
    tail = "Even" if pipeline is words.PIPELINES["preshufflev2"] else "Full"
    return {
        "layouts": [words.LAYOUTS[letter] for letter in str(point.get("layout"))],
        **common(point),
        "a": words.ELEMENTS[a],
        "b": words.ELEMENTS[b],
        "acc": pick(point, "dtype_acc", words.ELEMENTS),
        "ds": ds,
        "ds_layouts": max(ds, 1) if len(str(point.get("layout"))) > 3 else 0,
        "operation": pick(point, "elementwise_op", words.OPERATIONS),
        "persistent": cpp(truth(point, "persistent")),
        "wave_groups": integer(point, "num_wave_groups"),
        "preshuffle": cpp(preshuffle),
        "pipeline": pipeline.cls,
        "tail": tail,
        "kernel": kernel,
        "grouped": point.get("variant") == "grouped",
        "own_args": point.get("variant") in ("batched", "stream_k"),
        "strategy": strategy,
        "operation_on_c": "atomic_add" if strategy == "Atomic" else "set",
    }
