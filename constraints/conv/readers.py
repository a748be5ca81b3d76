"""What convolution adds to input formats.

Facts: the dispatcher's ``grouped_config_rules.py`` and ``kernel_config_loader``, its C++ macros in
``include/ck_tile/dispatcher`` and the registry export, ROCm/rocm-libraries of June 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.builder_lines import LINES
from ckrules.constraints.conv.words import (
    NDIMS_BY_LAYOUT,
    OLD_LAYOUTS,
    OTHER_LAYOUTS,
    SPECIALIZATIONS,
    VARIANT_WORDS,
)
from ckrules.kernels.reader_tables import Fields, KeyTable, MacroTable

_STREAMK = "streamk_enabled"


def _streamk(given: Mapping[str, Any], fields: Fields) -> None:
    """The strategy, which the dispatcher writes beside a switch."""
    enabled, strategy = given.get(_STREAMK), fields.get("streamk")
    if "streamk" in fields or enabled is not None:
        fields["streamk"] = (strategy or "linear") if enabled else "off"
        if enabled is None and strategy:
            fields["streamk"] = strategy


DISPATCHER = KeyTable(
    fields={
        **{f"warp_{x}": f"wave_{x}" for x in "mnk"},
        **{f"vector_size_{x}": f"vector_{x}" for x in "abc"},
        "ndim_spatial": "ndim", "datatype": "dtype", "data_type": "dtype",
        "streamk_reduction_strategy": "streamk",
    },
    labels=("id", "block_per_cu", "memory_op", "kernel_set_name", "comment", "description"),
    mark=r'"warp_[mnk]"\s*:',
    outside={"layout": OTHER_LAYOUTS},
    joined={_STREAMK: "streamk"},
    join=_streamk,
)  # fmt: skip
REGISTRY = KeyTable(
    fields=DISPATCHER.fields,
    labels=("block_per_cu", "memory_op", "block_size"),
    triples={
        "wave": ("wave_m", "wave_n", "wave_k"),
        "warp": ("warp_tile_m", "warp_tile_n", "warp_tile_k"),
        "vector_sizes": ("vector_a", "vector_b", "vector_c"),
    },
    outside=DISPATCHER.outside,
)

_FILLED: Fields = {
    "variant": "forward", "dtype": "fp16", "ndim": 2, "tile_m": 16, "tile_n": 64,
    "wave_m": 1, "wave_n": 4, "wave_k": 1, "warp_tile_m": 16, "warp_tile_n": 16,
    "warp_tile_k": 32, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 4, "vector_b": 8, "vector_c": 8,
}  # fmt: skip


def _fill(given: Mapping[str, Any]) -> Fields:
    filled = {k: v for k, v in _FILLED.items() if k not in given}
    compv4 = {**filled, **given}["pipeline"] == "compv4"
    for name, value in (("tile_k", 128 if compv4 else 64), ("double_smem_buffer", compv4)):
        if name not in given:
            filled[name] = value
    return filled


def _word(name: str, value: Any) -> Any:
    if name == "variant":
        return VARIANT_WORDS.get(value, value)
    if name == "layout":
        return OLD_LAYOUTS.get(value, value)
    if name == "specialization" and isinstance(value, str):
        return SPECIALIZATIONS.get(value.lower().replace("_", ""), value)
    return value


def _infer(fields: Fields) -> None:
    fields.setdefault("ndim", NDIMS_BY_LAYOUT.get(str(fields.get("layout")), 2))


_TILE = ("tile_m", "tile_n", "tile_k")
MACROS = MacroTable(
    macro="DECL_GROUPED_CONV_KERNEL_SET",
    heads=("GroupedConvSig", "GroupedConvAlgo"),
    setters={
        "dtype": ("dtype",), "layout": ("layout",), "conv_type": ("variant",), "dims": ("ndim",),
        "spec": ("specialization",),
        "wave": ("wave_m", "wave_n", "wave_k"),
        "warp": ("warp_tile_m", "warp_tile_n", "warp_tile_k"),
        "vector_sizes": ("vector_a", "vector_b", "vector_c"),
        "pipeline": ("pipeline",), "scheduler": ("scheduler",), "epilogue": ("epilogue",),
        "double_smem_buffer": ("double_smem_buffer",), "num_wave_groups": ("num_wave_groups",),
        "num_groups_to_merge": ("num_groups_to_merge",), "two_stage": ("two_stage",),
        "split_image": ("split_image",), "explicit_gemm": ("explicit_gemm",),
        "pad": ("pad_m", "pad_n", "pad_k"), "padding": ("pad_m", "pad_n", "pad_k"),
    },
    readings={"tile": {"gmn": ("", *_TILE[:2]), "mnk": _TILE}},
    others=("groups", "tile_output", "memory_op", "block_per_cu", "elementwise", "preshuffle"),
    fill=_fill,
    short=("ndim", *_TILE),
    infer=_infer,
    words=_word,
    outside={"layout": OTHER_LAYOUTS},
)  # fmt: skip

TABLES: Mapping[str, Any] = {
    "dispatcher": DISPATCHER,
    "registry": REGISTRY,
    "macros": MACROS,
    "conf": LINES,
}
