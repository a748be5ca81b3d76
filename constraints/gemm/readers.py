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
from ckrules.constraints.gemm.tool_names import identified
from ckrules.kernels.reader_tables import KeyTable, MacroTable, SaidError, SweepTable

TILES = {
    **{f"tile_{x}": f"tile_{x}" for x in "mnk"},
    **{f"warp_{x}": f"wave_{x}" for x in "mnk"},
    **{f"warp_tile_{x}": f"warp_tile_{x}" for x in "mnk"},
}
PADS = ("pad_m", "pad_n", "pad_k")
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
        "tile_config": TILES,
        "trait_config": {k: k for k in ("pipeline", "epilogue", "scheduler", *PADS, "persistent")},
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
    if value.get("variant") == "multi_d":
        raise SaidError("the loader's files do not say the D tensors of multi_d", "variant")
    types = value.get("datatype", {})
    if not isinstance(types, dict):
        raise SaidError('datatype is not an object {"a", "b", "c", "acc"}', "datatype")
    pair = tuple(
        "int4" if t == "pk_int4" else t for t in (types.get("a", "fp16"), types.get("b", "fp16"))
    )
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
        "tile_config": TILES,
        "trait_config": {k: k for k in ("pipeline", "scheduler", "epilogue", *PADS)},
    },
    optional=("trait_config",),
    ranges=(*TILES, *PADS),
    step=1,
    marks=("datatype", "layout", "gpu_targets", "gpu_target", "kernel_set_name", "variant"),
    absent={
        **{f"tile_{x}": (v,) for x, v in zip("mnk", (128, 128, 32), strict=True)},
        **{f"warp_{x}": (v,) for x, v in zip("mnk", (2, 2, 1), strict=True)},
        **{f"warp_tile_{x}": (v,) for x, v in zip("mnk", (32, 32, 16), strict=True)},
        "pipeline": ("compv4",), "scheduler": ("intrawave",), "epilogue": ("cshuffle",),
        **dict.fromkeys(PADS, (False,)),
    },
    labels=("kernel_set_name",),
    derive=_buffers,
    said=_loaded,
)  # fmt: skip

_MULTI_D = {"elementwise_ops": "elementwise_op", "num_d_tensors": "num_d"}
_TRAITS = ("pipeline", "epilogue", "scheduler", *PADS, "persistent")


def _generated(variant: str, axes: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    """The dispatcher's loops: with pre-shuffled weights one kernel for compv3 and intrawave."""
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


#: What the dispatcher takes for keys that a file lacks.
_UNSAID: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys((*PADS, "persistent"), (False,)),
    "elementwise_ops": ("add",),
    "num_d_tensors": (1,),
}
_DISPATCHED: dict[str, Any] = {
    "tool": "the dispatcher",
    "profile": "dispatcher",
    "plain": True,
    "absent": _UNSAID,
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
        "tile_config": TILES,
        "trait_config": {k: k for k in _TRAITS},
        "multi_d_config": _MULTI_D,
    },
    optional=("multi_d_config",),
    **_DISPATCHED,
)
#: ``--tile-config-json`` with all keys at the top.
FLAT = SweepTable(
    sections={"": {**TILES, **{k: k for k in _TRAITS}, **_MULTI_D}}, marks=("warp_tile_m",),
    **_DISPATCHED,
)  # fmt: skip

_LETTERS = {"row": "r", "col": "c", "row_major": "r", "col_major": "c", "r": "r", "c": "c"}


def _layout(fields: dict[str, Any]) -> None:
    """One word of the layouts of A, B and C; what is not a layout is left for the report."""
    parts = [fields.pop(f"layout_{x}", None) for x in "abc"]
    if all(p is None for p in parts):
        return
    if parts[1:] == [None, None]:
        fields["layout"] = parts[0]
        return
    words = [_LETTERS.get(str(p), f"{p}") for p in parts]
    fields["layout"] = "".join(words) if all(len(x) == 1 for x in words) else " ".join(words)


def _variant(fields: dict[str, Any]) -> None:
    """The variant, which upstream says with a switch and the number of D tensors."""
    shuffled = fields.pop("preshuffle", False)
    if not isinstance(shuffled, bool):
        fields["preshuffle"] = shuffled  # left for the report
    ds = fields.get("num_d", 0)
    fields.setdefault(
        "variant", "preshuffle" if shuffled is True else "multi_d" if ds else "standard"
    )
    if fields["variant"] == "multi_d" and isinstance(fields.get("layout"), str):
        if len(fields["layout"]) == 3:
            fields["layout"] += fields["layout"][2]  # D tensors lie as C does
    else:
        fields.pop("num_d", None)
        if fields.get("elementwise_op") in ("PassThrough", "passthrough"):
            del fields["elementwise_op"]


def _declared(fields: dict[str, Any]) -> None:
    """What chains of setters say: ``.dtype(all)`` means C as well, and sums of fp32."""
    if "dtype_b" not in fields and "dtype_a" in fields:
        fields["dtype"] = fields.pop("dtype_a")
    if "dtype" in fields:
        fields.setdefault("dtype_c", fields["dtype"])
    fields.setdefault("dtype_acc", "fp32")
    fields.pop("structured_sparsity", None)
    _layout(fields)
    _variant(fields)


_DECLARED: Mapping[str, Any] = {
    "tile_m": 128, "tile_n": 128, "tile_k": 32, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "epilogue": "cshuffle",
    "pad_m": True, "pad_n": True, "pad_k": True,
}  # fmt: skip


def _fill(given: Mapping[str, Any]) -> dict[str, Any]:
    """What ``kernel_decl.hpp`` takes for what a declaration leaves out."""
    weights = given["variant"] == "preshuffle"
    plain = {
        **_DECLARED, "layout": "rcrr" if given["variant"] == "multi_d" else "rcr",
        "pipeline": "preshufflev2" if weights else "compv4",
        "scheduler": "default" if weights else "intrawave",
    }  # fmt: skip
    if "dtype" not in given and "dtype_a" not in given:
        plain |= {"dtype": "fp16", "dtype_c": "fp16"}
    return {k: v for k, v in plain.items() if k not in given}


_TILE = ("tile_m", "tile_n", "tile_k")
MACROS = MacroTable(
    macro="DECL_KERNEL_SET",
    alone="DECL_KERNEL",
    heads=("Signature", "Algorithm"),
    setters={
        "dtype": ("dtype_a", "dtype_b", "dtype_c", "dtype_acc"),
        "layout": ("layout_a", "layout_b", "layout_c"),
        "elementwise": ("elementwise_op", "num_d"),
        "tile": _TILE,
        "wave": ("wave_m", "wave_n", "wave_k"),
        "warp": ("warp_tile_m", "warp_tile_n", "warp_tile_k"),
        "pipeline": ("pipeline",), "scheduler": ("scheduler",), "epilogue": ("epilogue",),
        "pad": ("pad_m", "pad_n", "pad_k"), "preshuffle": ("preshuffle",),
        "structured_sparsity": ("structured_sparsity",),
    },
    outside={"structured_sparsity": (True,)},
    least={"dtype": 1, "layout": 1, "elementwise": 1, "wave": 2, "warp": 2},
    readings={},
    others=("block_size",),
    fill=_fill,
    short=_TILE,
    join=_declared,
)  # fmt: skip

_SHAPES = {"tile_shape": "tile", "wave_shape": "wave", "warp_tile_shape": "warp_tile"}


def _types(fields: dict[str, Any]) -> None:
    """One word of the types of A and B."""
    pair = fields.pop("dtype_a", None), fields.pop("dtype_b", None)
    known = next((k for k, row in w.TYPES.items() if row[:2] == pair), None)
    fields["dtype"] = known or (f"{pair[0]} and {pair[1]}" if None not in pair else pair[0])


def _registered(given: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """What an entry's identifier says beside its key: pads, and pipelines that it does not name."""
    _layout(fields)
    _types(fields)
    if fields.get("pipeline") == "preshufflev2":
        fields.pop("double_smem_buffer", None)  # the key says false, and the kernel has two
    if fields.get("scheduler") == "auto":
        fields["scheduler"] = "default"
    said = identified(given.get("identifier"))
    for name in ("pad_m", "pad_n", "pad_k"):
        if name in said:
            fields.setdefault(name, said[name])
    if fields.get("pipeline") == "unknown" and "pipeline" in said:
        fields["pipeline"] = said["pipeline"]
        fields.pop("double_smem_buffer", None)
    _variant(fields)


REGISTRY = KeyTable(
    fields={
        "num_d_tensors": "num_d", "double_buffer": "double_smem_buffer", "gfx_arch": "arch",
    },
    labels=("block_size", "grouped", "split_k", "structured_sparsity", "transpose_a", "transpose_b"),
    triples={
        key: (f"{stem}_m", f"{stem}_n", f"{stem}_k") for key, stem in _SHAPES.items()
    },
    outside={
        **dict.fromkeys(("structured_sparsity", "grouped", "transpose_a", "transpose_b"), (True,)),
        "split_k": tuple(range(2, 257)),
    },
    parts=tuple(_SHAPES),
    gpu="gfx_arch",
    joined={"dtype_a": "dtype", "layout_a": "layout", "preshuffle": "variant"},
    join=_registered,
)  # fmt: skip

TABLES: Mapping[str, Any] = {
    "sweep": (LOADER, TILE_ENGINE, DISPATCHER, FLAT),
    "macros": MACROS,
    "registry": REGISTRY,
}
