"""Names of GEMM kernels.

The usual ones are those of upstream's dispatcher of June 2026, with suffixes of our own for what
they leave out, in this order::

    gemm_{dtype}_{layout}_{pipeline}_{epilogue}_{scheduler}
        _{pad_m}_{pad_n}_{pad_k}_{persistent}_{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_preshuffle[_permuteN]][_multid_{Op}_d{n}][_batched|_grouped|_streamk[_linear|_tree]]
        [_out_{dtype_c}][_acc_{dtype_acc}][_tc][_wg{n}][_kbpc{n}][_single|_double]

Truth values are ``True`` and ``False``. ``_out``, ``_acc``, ``_single`` and ``_double`` (LDS
buffers) are written where the value is not the one that follows from type and pipeline.

What other tools call kernels is in `ckrules.constraints.gemm.tool_names`; all of them are read by
`ckrules.constraints.gemm.naming`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.gemm import words as w
from ckrules.constraints.tile_gemm import names as tile_names
from ckrules.kernels.name_grammar import Grammar, Piece, Suffix, flag, literal, number, one_of
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError, unknown

SWITCHES = ("pad_m", "pad_n", "pad_k", "persistent")
OPERATIONS = {
    "MultiDAdd": "add", "MultiDMultiply": "multiply", "AddScale": "add_scale", "Relu": "relu",
    "Gelu": "gelu", "FastGelu": "fastgelu", "PassThrough": "passthrough",
}  # fmt: skip


#: What the last of the dispatcher's suffixes says of the variants that have one.
_KINDS = ("batched", "grouped", "streamk", "streamk_linear", "streamk_tree")
_ATOMIC = "atomic"


def _said_kind(word: str, num_d: int) -> tuple[str, str]:
    """Variant and strategy of a suffix; empty: neither, and the D tensors decide."""
    stem, _, strategy = word.partition("_")
    if stem == "streamk":
        return "stream_k", strategy or _ATOMIC
    return stem or ("multi_d" if num_d else "standard"), "off"


def _kind(point: Mapping[str, Any]) -> str:
    variant, strategy = str(point["variant"]), str(point.get("streamk", "off"))
    if variant == "stream_k":
        return "streamk" if strategy == _ATOMIC else f"streamk_{strategy}"
    return variant if variant in _KINDS else ""


def body(switches: Sequence[str] = SWITCHES) -> list[Piece]:
    """The tokens behind the prefix that every form has."""
    head = [
        one_of("dtype", tuple(w.TYPES)), literal("_"), one_of("layout", w.LAYOUTS), literal("_"),
        one_of("pipeline", w.PIPELINES), literal("_"), one_of("epilogue", w.EPILOGUES),
        literal("_"), one_of("scheduler", w.SCHEDULERS),
    ]  # fmt: skip
    return [*head, *tile_names.switches(switches), *tile_names.shapes()]


_SUFFIXES = (
    flag("_preshuffle", "preshuffle"),
    flag("_permuteN", "permute_n", needs="preshuffle"),
    Suffix(
        "_multid", "_multid_OP_dN",
        (literal("_multid_"), one_of("elementwise_op", OPERATIONS), literal("_d"), number("num_d")),
        {"elementwise_op": "passthrough", "num_d": 0},
    ),
    Suffix(
        "_kind", "_batched, _grouped, _streamk, _streamk_linear, _streamk_tree",
        (literal("_"), one_of("kind", _KINDS)), {"kind": ""},
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
    kind = str(said.pop("kind"))
    if preshuffle and kind:
        raise UsageError(f"a kernel with pre-shuffled weights is not {kind}: {text}")
    variant, said["streamk"] = _said_kind(kind, int(said["num_d"]))
    said["variant"] = "preshuffle" if preshuffle else variant
    known = usual(said)
    if buffers:
        known["double_smem_buffer"] = buffers == "double"
    return ParsedName({**known, **{k: v for k, v in said.items() if v != ""}})


def write(point: Point) -> str:
    """The usual name of a point; raises `UsageError` if no name can say it."""
    for key in ("variant", "dtype", "pipeline", "double_smem_buffer", "dtype_c", "dtype_acc"):
        if key not in point:
            raise UsageError(f"a point without {key!r} has no name")
    kind, ds = _kind(point), int(point.get("num_d", 0))
    meant = _said_kind(kind, ds)
    if point["variant"] == "preshuffle" and not ds:
        meant = ("preshuffle", "off")
    if (point["variant"], point.get("streamk", "off")) != meant:
        raise UsageError(
            f"{point['variant']} with num_d = {ds} and streamk = {point.get('streamk', 'off')} "
            "has no name"
        )
    known = usual(point)
    two = point["double_smem_buffer"]
    said = {
        **point,
        "preshuffle": meant[0] == "preshuffle",
        "kind": kind,
        "buffers": "" if two == known["double_smem_buffer"] else "double" if two else "single",
        **{k: "" for k in ("dtype_c", "dtype_acc") if point[k] == known[k]},
    }
    return GRAMMAR.format(said)
