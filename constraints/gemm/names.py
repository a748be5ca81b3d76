"""Names of GEMM kernels.

The usual ones are those of upstream's dispatcher of June 2026, with suffixes of our own for what
they leave out, in this order::

    gemm_{dtype}_{layout}_{pipeline}_{epilogue}_{scheduler}
        _{pad_m}_{pad_n}_{pad_k}_{persistent}_{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_preshuffle[_permuteN]][_multid_{Op}_d{n}]
        [_out_{dtype_c}][_acc_{dtype_acc}][_tc][_wg{n}][_kbpc{n}][_single|_double]

Truth values are ``True`` and ``False``. ``_out``, ``_acc``, ``_single`` and ``_double`` (LDS
buffers) are written where the value is not the one that follows from type and pipeline.

`TILE_ENGINE` has the names of upstream's tile_engine: the same first two lines behind ``gemm_``,
``gemm_preshuffle_`` or ``gemm_multi_d_`` and no suffixes, so that they leave much out.
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

_TRUTH = {"True": True, "False": False}
_SWITCHES = ("pad_m", "pad_n", "pad_k", "persistent")
_TILES = tuple(tuple(f"{g}_{x}" for x in "mnk") for g in ("tile", "wave", "warp_tile"))
_OPERATIONS = {
    "MultiDAdd": "add", "MultiDMultiply": "multiply", "AddScale": "add_scale", "Relu": "relu",
    "Gelu": "gelu", "FastGelu": "fastgelu", "PassThrough": "passthrough",
}  # fmt: skip


def _body() -> list[Piece]:
    """The tokens behind the prefix that every form has."""
    out = [
        one_of("dtype", tuple(w.TYPES)), literal("_"), one_of("layout", w.LAYOUTS), literal("_"),
        one_of("pipeline", w.PIPELINES), literal("_"), one_of("epilogue", w.EPILOGUES),
        literal("_"), one_of("scheduler", w.SCHEDULERS),
    ]  # fmt: skip
    for name in _SWITCHES:
        out += [literal("_"), one_of(name, _TRUTH)]
    for group in _TILES:
        out += [literal("_"), *numbers(group, "x")]
    return out


_SUFFIXES = (
    flag("_preshuffle", "preshuffle"),
    flag("_permuteN", "permute_n", needs="preshuffle"),
    Suffix(
        "_multid", "_multid_OP_dN",
        (literal("_multid_"), one_of("elementwise_op", _OPERATIONS), literal("_d"), number("num_d")),
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


GRAMMAR = Grammar([literal("gemm_"), *_body()], _SUFFIXES)


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


class GemmNames:
    """The usual names, which say every field but the GPU."""

    prefix = "gemm_"

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`; names of tile_engine are read as well."""
        if text.startswith(_TILE_ENGINE_ONLY):
            return TILE_ENGINE.parse(text)
        said, _ = GRAMMAR.parse(text)
        preshuffle, buffers = said.pop("preshuffle"), said.pop("buffers")
        said["variant"] = "preshuffle" if preshuffle else "multi_d" if said["num_d"] else "standard"
        known = usual(said)
        if buffers:
            known["double_smem_buffer"] = buffers == "double"
        return ParsedName({**known, **{k: v for k, v in said.items() if v != ""}})

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt = dict(spelling or {})
        if spelt.pop("variant", None):
            return TILE_ENGINE.format(point)
        for key in spelt.keys() - {"pipeline"}:
            raise unknown("spelling", key, ("pipeline", "variant"))
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

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        if text.startswith(_TILE_ENGINE_ONLY):
            return TILE_ENGINE.span(text, name)
        return GRAMMAR.span(text, name)

    def without_defaults(self, text: str) -> str:
        """The text without ``_wg1`` and ``_kbpc1``."""
        return text if text.startswith(_TILE_ENGINE_ONLY) else GRAMMAR.without_defaults(text)

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """Nothing: upstream's lists spell values as everybody does."""
        return {}


#: By variant what tile_engine's names begin with; its own folders are called so.
TILE_ENGINE_PREFIXES = {
    "standard": "gemm_", "preshuffle": "gemm_preshuffle_", "multi_d": "gemm_multi_d_",
}  # fmt: skip
_TILE_ENGINE_ONLY = ("gemm_preshuffle_", "gemm_multi_d_")

#: What tile_engine's kernels have and its names leave out, where it is one value for all.
_FIXED: Mapping[str, Any] = {"transpose_c": False, "num_wave_groups": 1}
#: What its names leave out although kernels of one name may differ, and what is meant.
_LEFT_OUT: Mapping[str, Any] = {"permute_n": False, "k_block_per_cu": 1}


def _own(point: Mapping[str, Any]) -> dict[str, Any]:
    """What tile_engine makes of type and pipeline, and what all of its kernels have."""
    buffers = point["pipeline"] in w.TILE_ENGINE_BUFFERS
    return {**usual(point), **_FIXED, "double_smem_buffer": buffers}


class TileEngineNames:
    """tile_engine's names of November 2025, which several kernels may share."""

    prefix = "gemm_"

    def __init__(self) -> None:
        words = {p: v for v, p in TILE_ENGINE_PREFIXES.items()}
        self._grammar = Grammar([one_of("variant", words), *_body()])

    def parse(self, text: str) -> ParsedName:
        """The kernel of a name; what it leaves out is what tile_engine takes where it is asked
        for nothing else: two tensors D that are multiplied, no permuted columns.
        """
        said, words = self._grammar.parse(text)
        ds = said["variant"] == "multi_d"
        left = {"num_d": 2 if ds else 0, "elementwise_op": "multiply" if ds else "passthrough"}
        point = {**said, **_own(said), **_LEFT_OUT, **left}
        plain = said["variant"] == "standard"
        return ParsedName(point, {} if plain else {"variant": words["variant"].rstrip("_")})

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """The name; raises `UsageError` for a kernel that tile_engine does not make."""
        for key, value in _own(point).items():
            if key in point and point[key] != value:
                raise UsageError(f"tile_engine has no kernel with {key} = {point[key]}")
        return self._grammar.format(point)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        found = self._grammar.span(text, name)
        return (found[0], found[1] - 1) if found and name == "variant" else found


class DispatcherNames:
    """The dispatcher's names of June 2026: the usual ones without suffixes of our own."""

    def format(self, point: Point) -> str:
        """The name; raises `UsageError` for a kernel that the dispatcher does not make."""
        from ckrules.constraints.gemm.dispatcher import BUFFERS, OUTPUT

        own = {
            "dtype_c": OUTPUT.get(str(point["dtype"])), "dtype_acc": "fp32", **_FIXED, **_LEFT_OUT,
            "double_smem_buffer": point["pipeline"] in BUFFERS,
        }  # fmt: skip
        for key, value in own.items():
            if key in point and point[key] != value:
                raise UsageError(f"the dispatcher has no kernel with {key} = {point[key]}")
        return NAMING.format({**point, **usual(point)})


NAMING = GemmNames()
TILE_ENGINE = TileEngineNames()
DISPATCHER = DispatcherNames()
