"""What the dispatcher library of C knows of a kernel with block tiles."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ckrules.arch import DTYPES, load
from ckrules.kernels.parts import Point

_SHAPES = ("tile", "warp_tile", "wave")
_WRITTEN = ("tile", "wave", "warp_tile")
"""The same in the order of upstream's registries."""


def shape(config: Point) -> tuple[int, ...]:
    """M, N and K of block tile, warp tile and waves."""
    return tuple(int(config[f"{s}_{x}"]) for s in _SHAPES for x in "mnk")


def sizes(config: Point) -> tuple[int, int, int]:
    """Bytes of an element of A, B and C; 0 where A and B differ, or two are in a byte.

    >>> sizes({"dtype": "fp8", "dtype_c": "fp32"}), sizes({"dtype": "bf16"})
    ((1, 1, 4), (2, 2, 2))
    """
    operand = DTYPES.get(str(config["dtype"]), 0) // 8
    return operand, operand, DTYPES.get(str(config.get("dtype_c", config["dtype"])), 0) // 8


def identifier(config: Point) -> str:
    """Upstream's word for a kernel's shape.

    >>> shapes = {f"{s}_{x}": 2 for s in ("tile", "wave", "warp_tile") for x in "mnk"}
    >>> identifier({**shapes, "persistent": True})
    '2x2x2_2x2x2_2x2x2_pers'
    """
    words = ("x".join(str(config[f"{s}_{x}"]) for x in "mnk") for s in _WRITTEN)
    return f"{'_'.join(words)}_{'pers' if config.get('persistent') else 'nopers'}"


def algorithm(config: Point, *, shuffled: bool = False) -> Mapping[str, Any]:
    """What upstream's registries say of a kernel (``dispatcher_export_registry_json``)."""
    shapes = {f"{s}_shape": {x: int(config[f"{s}_{x}"]) for x in "mnk"} for s in _WRITTEN}
    waves = prod(shapes["wave_shape"].values())
    return {
        **shapes,
        "block_size": load(str(config["arch"])).wave_size * waves,
        "persistent": bool(config.get("persistent")),
        "double_buffer": bool(config.get("double_smem_buffer")),
        "preshuffle": shuffled,
        "transpose_c": bool(config.get("transpose_c")),
    }
