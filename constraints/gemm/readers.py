"""What GEMMs add to input formats.

Facts: tile_engine/ops of the PyPI sdist amd-aiter 0.1.7.post2.dev18 (November 2025); the
dispatcher's ``unified_gemm_codegen.py``, ``kernel_config_loader.py``, ``kernel_decl.hpp`` and
``json_export.hpp``, ROCm/composable_kernel of June 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm import words as w
from ckrules.constraints.gemm.dispatcher import OUTPUT
from ckrules.kernels.reader_tables import SaidError, SweepTable

_TILES = {
    **{f"tile_{x}": f"tile_{x}" for x in "mnk"},
    **{f"warp_{x}": f"wave_{x}" for x in "mnk"},
    **{f"warp_tile_{x}": f"warp_tile_{x}" for x in "mnk"},
}
_PADS = ("pad_m", "pad_n", "pad_k")
_LAYOUTS = ("rcr", "rrr", "crr", "ccr")
_D_LAYOUTS = tuple(f"{abc}r" for abc in _LAYOUTS)


def _buffers(fields: dict[str, Any]) -> None:
    if "pipeline" in fields:
        fields["double_smem_buffer"] = fields["pipeline"] in w.TILE_ENGINE_BUFFERS


TILE_ENGINE = SweepTable(
    tool="tile_engine",
    profile="tile_engine",
    ck="2025.11",
    sections={
        "tile_config": _TILES,
        "trait_config": {
            k: k for k in ("pipeline", "epilogue", "scheduler", *_PADS, "persistent")
        },
    },
    ranges=("tile_m", "tile_n", "tile_k"),
    scalars={"k_block_per_cu": "k_block_per_cu", "permute_n": "permute_n"},
    beside={"multi_d": {"num_d": 2, "elementwise_op": "multiply"}},
    derive=_buffers,
    purposes={
        "standard": (("fp16", "bf16", "fp8", "bf8"), _LAYOUTS),
        "preshuffle": (("fp16", "bf16", "fp8", "bf8"), ("rcr",)),
        "multi_d": (("fp16",), _D_LAYOUTS),
    },
    style="tile_engine",
)


def _loaded(value: Mapping[str, Any]) -> dict[str, tuple[str, tuple[Any, ...]]]:
    """What a file of the loader says; what it lacks is fp16, rcr, gfx942 and standard."""
    types = value.get("datatype", {})
    if not isinstance(types, dict):
        raise SaidError('datatype is not an object {"a", "b", "c", "acc"}', "datatype")
    pair = tuple("int4" if t == "pk_int4" else t for t in (types.get("a", "fp16"), types.get("b", "fp16")))
    word = next((k for k, row in w.TYPES.items() if row[:2] == pair), None)
    if word is None:
        raise SaidError(f"no GEMM of A and B of types {pair[0]} and {pair[1]}", "datatype")
    gpus = value.get("gpu_targets", value.get("gpu_target", ["gfx942"]))
    gpus = [gpus] if isinstance(gpus, str) else gpus
    if not isinstance(gpus, list) or not all(isinstance(g, str) for g in gpus):
        raise SaidError("gpu_targets is not a list of GPUs", "gpu_targets")
    return {
        "variant": ("variant", (value.get("variant", "standard"),)),
        "arch": ("gpu_target" if "gpu_targets" not in value else "gpu_targets", tuple(gpus)),
        "dtype": ("datatype", (word,)),
        "dtype_c": ("datatype", (types.get("c", "fp16"),)),
        "dtype_acc": ("datatype", (types.get("acc", "fp32"),)),
        "layout": ("layout", (value.get("layout", "rcr"),)),
    }


def _dispatched(fields: dict[str, Any]) -> None:
    """The dispatcher sums int8 in float and stores it as int8, which no header compiles."""
    _buffers(fields)
    fields["dtype_acc"] = "fp32"
    fields["dtype_c"] = OUTPUT.get(fields["dtype"], "fp16")


LOADER = SweepTable(
    tool="kernel_config_loader",
    profile="",
    sections={
        "tile_config": _TILES,
        "trait_config": {k: k for k in ("pipeline", "scheduler", "epilogue", *_PADS)},
    },
    optional=("trait_config",),
    ranges=(*_TILES, *_PADS),
    step=1,
    marks=("datatype", "layout", "gpu_targets", "gpu_target", "kernel_set_name", "variant"),
    absent={
        **{f"tile_{x}": (v,) for x, v in zip("mnk", (128, 128, 32), strict=True)},
        **{f"warp_{x}": (v,) for x, v in zip("mnk", (2, 2, 1), strict=True)},
        **{f"warp_tile_{x}": (v,) for x, v in zip("mnk", (32, 32, 16), strict=True)},
        "pipeline": ("compv4",), "scheduler": ("intrawave",), "epilogue": ("cshuffle",),
        **dict.fromkeys(_PADS, (False,)),
    },
    labels=("kernel_set_name",),
    derive=_buffers,
    said=_loaded,
)  # fmt: skip

_MULTI_D = {"elementwise_ops": "elementwise_op", "num_d_tensors": "num_d"}
_TRAITS = ("pipeline", "epilogue", "scheduler", *_PADS, "persistent")


def _generated(variant: str, axes: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    """The dispatcher's loops: with shuffled weights one kernel for compv3 and intrawave."""
    plain = {k: v for k, v in axes.items() if k not in _MULTI_D.values()}
    if variant == "multi_d":
        return {**plain, **{k: axes[k] for k in _MULTI_D.values()}}
    if variant != "preshuffle":
        return plain
    taken = "compv3" in axes["pipeline"] and "intrawave" in axes["scheduler"] and axes["epilogue"]
    own: dict[str, tuple[Any, ...]] = {
        "pipeline": ("preshufflev2",) if taken else (),
        "epilogue": ("cshuffle",), "scheduler": ("default",),
    }  # fmt: skip
    return {**plain, **own}


_DISPATCHED: dict[str, Any] = {
    "tool": "the dispatcher",
    "profile": "dispatcher",
    "plain": True,
    "absent": {
        **dict.fromkeys((*_PADS, "persistent"), (False,)),
        "elementwise_ops": ("add",),
        "num_d_tensors": (1,),
    },
    "labels": ("block_size", "streamk_config", "multi_abd_config"),
    "derive": _dispatched,
    "shape": _generated,
    "purposes": {
        "standard": (("fp16", "bf16", "fp32", "fp8", "bf8", "int8"), _LAYOUTS),
        "preshuffle": (("fp16", "bf16", "fp32", "fp8", "bf8", "int8"), ("rcr",)),
        "multi_d": (("fp16", "bf16", "fp32", "fp8", "bf8", "int8"), _D_LAYOUTS),
    },
    "style": "dispatcher",
}
#: ``--config``, and ``--tile-config-json`` with sections.
DISPATCHER = SweepTable(
    sections={
        "tile_config": _TILES,
        "trait_config": {k: k for k in _TRAITS},
        "multi_d_config": _MULTI_D,
    },
    optional=("multi_d_config",),
    **_DISPATCHED,
)
#: ``--tile-config-json`` with all keys at the top.
FLAT = SweepTable(
    sections={"": {**_TILES, **{k: k for k in _TRAITS}, **_MULTI_D}}, marks=("warp_tile_m",),
    **_DISPATCHED,
)  # fmt: skip

TABLES: Mapping[str, Any] = {"sweep": (LOADER, TILE_ENGINE, DISPATCHER, FLAT)}
