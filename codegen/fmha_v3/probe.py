"""The C++ words of kernels of attention with two groups of waves.

Facts: fmha_fwd_v3_kernel_traits of example/ck_tile/01_fmha/fmha_fwd_v3_impl.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.codegen.fmha.cpp_names import MASKS, MODES, ROW_MAJOR
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha.vocabulary import PADS, TILE, WARP_TILES, WAVES

TYPES: Mapping[str, str] = {"fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t"}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    return {
        "types_template": "fmha_v3_types.hpp.j2",
        "type": pick(point, "dtype", TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "row_major": cpp(pick(point, "v_layout", ROW_MAJOR)),
        "pads": [cpp(truth(point, name)) for name in PADS],
        "lse": cpp(truth(point, "lse")),
        "mask": pick(point, "mask", MASKS),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
    }
