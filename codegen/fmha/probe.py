"""What the probe's template takes: one explicit instantiation of an attention kernel, forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.codegen.fmha import cpp_names as words
from ckrules.codegen.probing import Point, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha.vocabulary import PADS, TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha.words import LISTED
from ckrules.support.errors import UsageError

CK = "2025.11"
TEMPLATE = "fmha_probe_2025_11.cpp.j2"

_COMMON = ("logits", "lse", "squant")
#: The switches that the template takes of each kernel. Forward lacks one of those that FMHA013 is
#: about, so that certification keeps to that rule: a trait that a kernel lacks has no C++.
_SWITCHES: Mapping[str, Sequence[str]] = {
    "fmha_fwd": (*_COMMON, "dropout", "skip", "trload"),
    "fmha_fwd_splitkv": (*_COMMON, "paged_kv"),
    "fmha_fwd_pagedkv": (*_COMMON, "skip", "paged_kv"),
    "fmha_batch_prefill": (*_COMMON, "dropout", "skip", "trload"),
}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field, or has sinks or pages of batch prefill.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    for name, usual in {"sink": False, **LISTED}.items():
        if (value := point.get(name, usual)) != usual:
            raise UsageError(f"there is no C++ for {name} = {value}, which CK {CK} lacks")
    variant, kernel = text(point, "variant"), pick(point, "variant", words.KERNELS)
    return {
        "types_template": "fmha_types.hpp.j2",
        "variant": variant,
        "types": pick(point, "dtype", words.TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "row_major": cpp(pick(point, "v_layout", words.ROW_MAJOR)),
        "pads": [cpp(truth(point, name)) for name in PADS],
        **{name: cpp(truth(point, name)) for name in _SWITCHES[variant]},
        "bias": pick(point, "bias", words.BIASES),
        "mask": pick(point, "mask", words.MASKS),
        "group_mode": cpp(pick(point, "mode", words.MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
        "pipeline": pick(point, "pipeline", words.PIPELINES[variant]),
        "kernel": kernel,
    }
