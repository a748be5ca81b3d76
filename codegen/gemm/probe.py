"""What the probe's template takes: one explicit instantiation of a GEMM kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.render import cpp
from ckrules.constraints.gemm.words import TYPES
from ckrules.support.errors import UsageError, unknown

V = TypeVar("V")
CK = "2025.11"
"""The release that the template is written against."""
TEMPLATE = "probe_2025_11.cpp.j2"

Point = Mapping[str, object]


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
    word = point.get(key)
    if not isinstance(word, str):
        raise UsageError(f"{key} is {word!r} where a probe needs a word")
    if word not in table:
        raise unknown(key, word, table)
    return table[word]


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, _ = _pick(point, "dtype", TYPES)
    layout = str(point.get("layout"))
    kernel = _pick(point, "variant", words.KERNELS)
    ds = _int(point, "num_d")
    pipeline = _pick(point, "pipeline", words.PIPELINES)
    preshuffle = point.get("variant") == "preshuffle"
    known = {
        **words.STRATEGIES,
        "tree": "Tree",
        "off": "Off" if point.get("variant") == "stream_k" else "",
    }
    strategy = _pick(point, "streamk", known)
    tail = "Even" if pipeline is words.PIPELINES["preshufflev2"] else "Full"
    return {
        "a": words.ELEMENTS[a],
        "b": words.ELEMENTS[b],
        "acc": _pick(point, "dtype_acc", words.ELEMENTS),
        "c": _pick(point, "dtype_c", words.ELEMENTS),
        "layouts": [words.LAYOUTS[letter] for letter in layout],
        "ds": ds,
        "operation": _pick(point, "elementwise_op", words.OPERATIONS),
        "tile": [_int(point, f"tile_{d}") for d in "mnk"],
        "waves": [_int(point, f"wave_{d}") for d in "mnk"],
        "warp_tile": [_int(point, f"warp_tile_{d}") for d in "mnk"],
        "pads": [cpp(_bool(point, f"pad_{d}")) for d in "mnk"],
        "double_smem_buffer": cpp(_bool(point, "double_smem_buffer")),
        "transpose_c": cpp(_bool(point, "transpose_c")),
        "persistent": cpp(_bool(point, "persistent")),
        "wave_groups": _int(point, "num_wave_groups"),
        "preshuffle": cpp(preshuffle),
        "permute_n": cpp(_bool(point, "permute_n")),
        "scheduler": _pick(point, "scheduler", words.SCHEDULERS),
        "pipeline": pipeline.cls,
        "tail": tail,
        "epilogue": _pick(point, "epilogue", {**words.EPILOGUES, "direct2d": "Direct2D"}),
        "kernel": kernel,
        "grouped": point.get("variant") == "grouped",
        "own_args": point.get("variant") in ("batched", "stream_k"),
        "strategy": strategy,
        "operation_on_c": "atomic_add" if strategy == "Atomic" else "set",
    }
