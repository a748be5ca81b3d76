"""The C++ words of the kernels before and after attention.

Facts: FMHA_FWD_SPLITKV_COMBINE_KERNEL_BODY, FMHA_FWD_APPENDKV_KERNEL_BODY,
FMHA_BWD_DOT_DO_O_KERNEL_BODY and FMHA_BWD_CONVERT_DQ_KERNEL_BODY of
example/ck_tile/01_fmha/codegen/ops, and ROPE_MAP of its cpp_symbol_map.py, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.codegen.fmha.cpp_names import MODES, ROW_MAJOR
from ckrules.codegen.fmha.cpp_names import TYPES as FORWARD
from ckrules.codegen.probing import Point, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT

_OPERANDS: Mapping[str, str] = {word: types.operand for word, types in FORWARD.items()}
#: The results of combined splits, and the operands of the others.
_TYPES: Mapping[str, Mapping[str, str]] = {
    COMBINE: {word: types.result for word, types in FORWARD.items()},
    **dict.fromkeys((APPEND, DOT, CONVERT), _OPERANDS),
}
_SIZES: Mapping[str, tuple[str, ...]] = {
    COMBINE: ("tile_dv",), APPEND: ("tile_s", "tile_sk", "tile_d", "tile_dv"), DOT: ("tile_s",),
    CONVERT: ("tile_s", "tile_sk"),
}  # fmt: skip
_SWITCHES: Mapping[str, tuple[str, ...]] = {
    COMBINE: ("pad_s", "pad_dv", "lse", "squant"), DOT: ("pad_s", "pad_dv"),
    APPEND: ("pad_s", "pad_sk", "pad_d", "pad_dv", "paged_kv"),
    CONVERT: ("pad_s", "pad_d", "deterministic"),
}  # fmt: skip
#: ``RotaryEmbeddingEnum``.
_ROPES: Mapping[str, str] = {"no": "NONE", "inter": "INTERLEAVED", "halves": "HALF_ROTATED"}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    pick(point, "variant", _TYPES)
    variant = text(point, "variant")
    return {
        "types_template": "fmha_steps_types.hpp.j2",
        "variant": variant.removeprefix("fmha_"),
        "type": pick(point, "dtype", _TYPES[variant]),
        "hdim": integer(point, "hdim"),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
        "row_major": cpp(pick(point, "v_layout", ROW_MAJOR)),
        "rope": pick(point, "rope", _ROPES),
        **{name: integer(point, name) for name in _SIZES[variant]},
        **{name: cpp(truth(point, name)) for name in _SWITCHES[variant]},
    }
