"""What the probe's template takes: one explicit instantiation of a point's kernel."""

from __future__ import annotations

from typing import Any

from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.probing import Point, geometry, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.support.errors import UsageError

CK = "2025.11"
"""The release that the template is written against."""
TEMPLATE = "probe_2025_11.cpp.j2"


def _scheduler(point: Point) -> str:
    pick(point, "scheduler", words.SCHEDULERS)
    return words.problem_scheduler(CK, text(point, "pipeline"), text(point, "scheduler"))


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    element = pick(point, "dtype", words.ELEMENTS)
    direction = pick(point, "variant", words.DIRECTIONS)
    ndim = integer(point, "ndim")
    if ndim not in (1, 2, 3):
        raise UsageError(f"ndim is {ndim} where a convolution has 1, 2 or 3 spatial dimensions")
    pick(point, "epilogue", words.EPILOGUES)
    return {
        "elem": element,
        "stored": words.ELEMENTS["fp32"] if truth(point, "two_stage") else element,
        **geometry(point),
        "vectors": [integer(point, f"vector_{d}") for d in "abc"],
        "pads": [cpp(truth(point, f"pad_{d}")) for d in "mnk"],
        "ndim": ndim,
        "layouts": pick(point, "layout", words.LAYOUTS),
        "specialization": pick(point, "specialization", words.SPECIALIZATIONS),
        "groups": integer(point, "num_groups_to_merge"),
        "wave_groups": integer(point, "num_wave_groups"),
        "split_image": cpp(truth(point, "split_image")),
        "explicit_gemm": truth(point, "explicit_gemm"),
        "double_smem_buffer": cpp(truth(point, "double_smem_buffer")),
        "streamk": pick(point, "streamk", {"off": "", **words.REDUCTIONS}),
        "persistent": cpp(truth(point, "streamk_persistent")),
        "scheduler": _scheduler(point),
        "pipeline": pick(point, "pipeline", words.PIPELINES[CK]).cls,
        "epilogue": point["epilogue"],
        "kernel": direction.kernel,
        "direction": direction.short,
    }
