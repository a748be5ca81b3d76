"""Names of GEMM kernels.

The usual ones are those of upstream's dispatcher of June 2026, with suffixes of our own for what
they leave out, in this order::

    gemm_{dtype}_{layout}_{pipeline}_{epilogue}_{scheduler}
        _{pad_m}_{pad_n}_{pad_k}_{persistent}_{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_preshuffle[_permuteN]][_multid_{Op}_d{n}]
        [_out_{dtype_c}][_acc_{dtype_acc}][_tc][_wg{n}][_kbpc{n}][_single|_double]

Truth values are ``True`` and ``False``. ``_out``, ``_acc``, ``_single`` and ``_double`` (LDS
buffers) are written where the value is not the one that follows from type and pipeline.

What other tools call kernels is in `ckrules.constraints.gemm.tool_names`; all of them are read by
`ckrules.constraints.gemm.naming`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm import words as w
from ckrules.kernels.family import ParsedName, Point
from ckrules.kernels.name_grammar import (
    Grammar,
    Piece,
    Suffix,
    flag,
    literal,
    number,
    numbers,
    one_of,
)
from ckrules.support.errors import UsageError, unknown

TRUTH = {"True": True, "False": False}
SWITCHES = ("pad_m", "pad_n", "pad_k", "persistent")
TILES = tuple(tuple(f"{g}_{x}" for x in "mnk") for g in ("tile", "wave", "warp_tile"))
OPERATIONS = {
    "MultiDAdd": "add", "MultiDMultiply": "multiply", "AddScale": "add_scale", "Relu": "relu",
    "Gelu": "gelu", "FastGelu": "fastgelu", "PassThrough": "passthrough",
}  # fmt: skip


def body() -> list[Piece]:
    """The tokens behind the prefix that every form has."""
    out = [
        one_of("dtype", tuple(w.TYPES)), literal("_"), one_of("layout", w.LAYOUTS), literal("_"),
        one_of("pipeline", w.PIPELINES), literal("_"), one_of("epilogue", w.EPILOGUES),
        literal("_"), one_of("scheduler", w.SCHEDULERS),
    ]  # fmt: skip
    for name in SWITCHES:
        out += [literal("_"), one_of(name, TRUTH)]
    for group in TILES:
        out += [literal("_"), *numbers(group, "x")]
    return out


_SUFFIXES = (
    flag("_preshuffle", "preshuffle"),
    flag("_permuteN", "permute_n", needs="preshuffle"),
    Suffix(
        "_multid", "_multid_OP_dN",
        (literal("_multid_"), one_of("elementwise_op", OPERATIONS), literal("_d"), number("num_d")),
        {"elementwise_op": "passthrough", "num_d": 0},
    ),
    Suffix("_out", "_out_TYPE", (literal("_out_"), one_of("dtype_c", w.OUTPUTS)), {"dtype_c": ""}),
    Suffix(
        "_acc", "_acc_TYPE", (literal("_acc_"), one_of("dtype_acc", w.ACCUMULATORS)),
        {"dtype_acc": ""},
    ),
    flag("_tc", "transpose_c"),
    Suffix("_wg", "_wgN", (literal("_wg"), number("num_wave_groups")), {"num_wave_groups": 1}),
    Suffix("_kbpc", "_kbpcN", (literal("_kbpc"), number("k_block_per_cu")), {"k_block_per_cu": 1}),
    Suffix(
        "_buffers", "_single, _double",
        (literal("_"), one_of("buffers", ("single", "double"))), {"buffers": ""},
    ),
)  # fmt: skip


GRAMMAR = Grammar([literal("gemm_"), *body()], _SUFFIXES)


def usual(point: Mapping[str, Any]) -> dict[str, Any]:
    """What follows from type and pipeline: the types of sums and results, and LDS buffers."""
    dtype = str(point["dtype"])
    if dtype not in w.TYPES:
        raise unknown("dtype", dtype, w.TYPES)
    return {
        "dtype_c": w.USUAL_C[dtype],
        "dtype_acc": w.TYPES[dtype][2],
        "double_smem_buffer": point["pipeline"] in w.TWO_BUFFERS,
    }


def parse(text: str) -> ParsedName:
    """The kernel of a usual name; raises `KernelNameError` with the column of the first fault."""
    said, _ = GRAMMAR.parse(text)
    preshuffle, buffers = said.pop("preshuffle"), said.pop("buffers")
    said["variant"] = "preshuffle" if preshuffle else "multi_d" if said["num_d"] else "standard"
    known = usual(said)
    if buffers:
        known["double_smem_buffer"] = buffers == "double"
    return ParsedName({**known, **{k: v for k, v in said.items() if v != ""}})


def write(point: Point) -> str:
    """The usual name of a point; raises `UsageError` if no name can say it."""
    for key in ("variant", "dtype", "pipeline", "double_smem_buffer", "dtype_c", "dtype_acc"):
        if key not in point:
            raise UsageError(f"a point without {key!r} has no name")
    meant = "preshuffle" if point["variant"] == "preshuffle" else (
        "multi_d" if point.get("num_d") else "standard"
    )  # fmt: skip
    if point["variant"] != meant or (meant == "preshuffle" and point.get("num_d")):
        raise UsageError(f"{point['variant']} with num_d = {point.get('num_d')} has no name")
    known = usual(point)
    two = point["double_smem_buffer"]
    said = {
        **point,
        "preshuffle": meant == "preshuffle",
        "buffers": "" if two == known["double_smem_buffer"] else "double" if two else "single",
        **{k: "" for k in ("dtype_c", "dtype_acc") if point[k] == known[k]},
    }
    return GRAMMAR.format(said)
