"""The C++ words of kernels of attention backward.

Facts: FMHA_BWD_DQ_DK_DV_KERNEL_BODY of example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py and
FmhaBwdTypeConfig of fmha_bwd.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.codegen.fmha.cpp_names import BIASES, MASKS, MODES
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha_bwd.vocabulary import TILE, WARP_TILES, WAVES

TYPES: Mapping[str, str] = {"fp32": "float", "fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t"}
#: ``DROPOUT_MAP``: whether there is one, of 32x32 warp tiles, and whether numbers are stored.
DROPOUTS: Mapping[str, str] = {
    "no": "false, true, false",
    "dropout_wg32": "true, true, false",
    "dropout_wg32_storerandval": "true, true, true",
    "dropout_wg16": "true, false, false",
    "dropout_wg16_storerandval": "true, false, true",
}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    return {
        "types_template": "fmha_bwd_types.hpp.j2",
        "type": pick(point, "dtype", TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "max_seqlen_q": integer(point, "max_seqlen_q"),
        "pads": [integer(point, "pad_d"), integer(point, "pad_dv")],
        "bias": pick(point, "bias", BIASES),
        "dbias": cpp(truth(point, "dbias")),
        "mask": pick(point, "mask", MASKS),
        "dropout": pick(point, "dropout", DROPOUTS),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "deterministic": cpp(truth(point, "deterministic")),
        "trload": cpp(truth(point, "trload")),
        "block_per_cu": integer(point, "block_per_cu"),
    }
