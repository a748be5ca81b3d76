"""What the probe's template takes: one explicit instantiation of a point's kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.render import cpp
from ckrules.support.errors import UsageError, unknown

V = TypeVar("V")
CK = "2025.11"
"""The release that the template is written against."""
TEMPLATE = "probe_2025_11.cpp.j2"

Point = Mapping[str, object]


def _text(point: Point, key: str) -> str:
    value = point.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} is {value!r} where a probe needs a word")
    return value


def _int(point: Point, key: str) -> int:
    value = point.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{key} is {value!r} where a probe needs an integer")
    return value


def _bool(point: Point, key: str) -> bool:
    value = point.get(key)
    if not isinstance(value, bool):
        raise UsageError(f"{key} is {value!r} where a probe needs true or false")
    return value


def _pick(point: Point, key: str, table: Mapping[str, V]) -> V:
    word = _text(point, key)
    if word not in table:
        raise unknown(key, word, table)
    return table[word]


def _scheduler(point: Point) -> str:
    _pick(point, "scheduler", words.SCHEDULERS)
    return words.problem_scheduler(CK, _text(point, "pipeline"), _text(point, "scheduler"))


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    element = _pick(point, "dtype", words.ELEMENTS)
    direction = _pick(point, "variant", words.DIRECTIONS)
    ndim = _int(point, "ndim")
    if ndim not in words.LAYOUTS:
        raise UsageError(f"ndim is {ndim} where a convolution has 1, 2 or 3 spatial dimensions")
    _pick(point, "epilogue", words.EPILOGUES)
    return {
        "elem": element,
        "stored": words.ELEMENTS["fp32"] if _bool(point, "two_stage") else element,
        "tile": [_int(point, f"tile_{d}") for d in "mnk"],
        "waves": [_int(point, f"wave_{d}") for d in "mnk"],
        "warp_tile": [_int(point, f"warp_tile_{d}") for d in "mnk"],
        "vectors": [_int(point, f"vector_{d}") for d in "abc"],
        "pads": [cpp(_bool(point, f"pad_{d}")) for d in "mnk"],
        "ndim": ndim,
        "layouts": words.LAYOUTS[ndim],
        "specialization": _pick(point, "specialization", words.SPECIALIZATIONS),
        "groups": _int(point, "num_groups_to_merge"),
        "wave_groups": _int(point, "num_wave_groups"),
        "split_image": cpp(_bool(point, "split_image")),
        "explicit_gemm": _bool(point, "explicit_gemm"),
        "double_smem_buffer": cpp(_bool(point, "double_smem_buffer")),
        "streamk": _pick(point, "streamk", {"off": "", **words.REDUCTIONS}),
        "persistent": cpp(_bool(point, "streamk_persistent")),
        "scheduler": _scheduler(point),
        "pipeline": _pick(point, "pipeline", words.PIPELINES[CK]).cls,
        "epilogue": point["epilogue"],
        "kernel": direction.kernel,
        "direction": direction.short,
    }
